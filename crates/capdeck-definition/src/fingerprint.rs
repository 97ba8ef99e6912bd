//! The hash that tells whether a change to a file changes behaviour.

use capdeck_storage::sha256_hex;
use serde_json::json;

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
        behaviour.sort_all_objects();
        self.fingerprint = sha256_hex(behaviour.to_string());
        self
    }
}
