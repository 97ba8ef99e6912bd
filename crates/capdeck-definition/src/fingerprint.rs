//! The hash that tells whether a change to a file changes behaviour.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::Definition;

impl Definition {
    /// The definition with the SHA-256 of everything that changes what it does, in a form that key order does not affect.
    pub(crate) fn with_fingerprint(mut self) -> Self {
        let mut behaviour = json!({
            "id": self.id,
            "backend": self.backend,
            "setup": self.setup,
            "projectBound": self.project_bound,
            "features": self.runtime.features,
        });
        if let Some(tailoring) = &self.tailoring {
            behaviour["tailoring"] = json!(tailoring);
        }
        self.fingerprint = sha256_hex(sorted(behaviour).to_string());
        self
    }
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
