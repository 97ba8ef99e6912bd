//! `capletSet`: another collection of definitions, nested as one capability.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{number, small_number};

/// A nested collection, loaded on its own from a config file, a folder, or both.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CapletSet {
    #[schemars(length(min = 1))]
    pub config_path: Option<String>,
    #[schemars(length(min = 1))]
    pub caplets_root: Option<String>,
    #[serde(default = "small_number::<u32, 20>")]
    #[schemars(range(min = 1))]
    pub default_search_limit: u32,
    #[serde(default = "small_number::<u32, 50>")]
    #[schemars(range(min = 1, max = 50))]
    pub max_search_limit: u32,
    #[serde(default = "number::<30_000>")]
    pub tool_cache_ttl_ms: u64,
}
