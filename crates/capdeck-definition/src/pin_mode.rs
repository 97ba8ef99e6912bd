//! What happens when a server changes the definition of a tool after it was first seen.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How closely definitions are watched. The later, the stricter.
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
pub enum PinMode {
    /// Nothing is recorded or compared.
    Off,
    /// Changes are shown; calls go on.
    #[default]
    Warn,
    /// A changed, new or deceptive tool is held until a person approves it.
    Block,
}
