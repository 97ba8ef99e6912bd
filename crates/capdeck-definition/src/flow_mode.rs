//! What happens when a script carries data from one capability into a changing call of another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How closely data is followed from call to call. The later, the stricter.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum FlowMode {
    /// Nothing is followed.
    #[default]
    Off,
    /// Such a call runs and is told of.
    Warn,
    /// Such a call runs only with a person's approval.
    Ask,
}
