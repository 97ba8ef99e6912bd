//! The hash that tells whether a change to a file changes behaviour.

use serde_json::json;
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
        behaviour.sort_all_objects();
        self.fingerprint = sha256_hex(behaviour.to_string());
        self
    }
}

/// SHA-256 in lower-case hex.
pub fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    let digits = Sha256::digest(bytes).into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect()
}
