//! The artifacts that a client received in results, where it may read only those.

use std::collections::HashSet;

use parking_lot::Mutex;
use serde_json::value::RawValue;

/// A client that exceeds this keeps the artifacts it already knows.
const MAX_KNOWN: usize = 4096;

const PREFIX: &str = "capdeck://artifacts/";

/// A client that has only some tools of a capability may read the artifacts of its own results, and
/// none of others.
#[derive(Debug, Default)]
pub(crate) struct KnownArtifacts(Mutex<HashSet<String>>);

impl KnownArtifacts {
    pub(crate) fn note(&self, result: &RawValue) {
        let found = uris(result.get());
        let mut known = self.0.lock();
        for uri in found {
            if known.len() < MAX_KNOWN {
                known.insert(uri);
            }
        }
    }

    pub(crate) fn has(&self, uri: &str) -> bool {
        self.0.lock().contains(uri)
    }
}

pub(crate) fn uris(text: &str) -> Vec<String> {
    let ends =
        |letter: char| !(letter.is_ascii_alphanumeric() || "-._~%/!$&'()*+,;=:@".contains(letter));
    let tails = text.split(PREFIX).skip(1);
    let uri = |tail: &str| {
        let path = tail.split(ends).next().unwrap_or_default();
        format!("{PREFIX}{path}")
    };
    tails.map(uri).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_found_anywhere_in_a_text() {
        let text = r#"{"a":"capdeck://artifacts/x/1/out.txt","b":"see capdeck://artifacts/y/2/b%20c?offset=1 now"}"#;
        assert_eq!(
            uris(text),
            ["capdeck://artifacts/x/1/out.txt", "capdeck://artifacts/y/2/b%20c"]
        );
        assert!(uris("capdeck://artifact/x").is_empty());
    }
}
