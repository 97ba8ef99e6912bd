//! The hash that tells whether a change to a file changes behaviour.

use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{Backend, CapabilityId, CapabilityTailoring, RuntimeFeature, SetupCommands};

/// Everything that changes what a capability does.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FingerprintInput<'a> {
    pub(crate) id: &'a CapabilityId,
    pub(crate) backend: &'a Backend,
    pub(crate) setup: Option<&'a SetupCommands>,
    pub(crate) project_bound: bool,
    pub(crate) features: &'a [RuntimeFeature],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tailoring: Option<&'a CapabilityTailoring>,
}

/// SHA-256 over a capability's behaviour, in a form that key order does not affect.
pub(crate) fn fingerprint(behaviour: FingerprintInput<'_>) -> String {
    sha256_hex(sorted(json!(behaviour)).to_string())
}

/// SHA-256 in lower-case hex.
pub fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> =
                map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|left, right| left.0.cmp(&right.0));
            Value::Object(entries.into_iter().collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}
