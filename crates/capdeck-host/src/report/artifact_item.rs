//! A stored artifact in listings.

use capdeck_backend::StoredArtifact;
use jiff::Timestamp;
use serde_json::{Value, json};

/// `{uri, filename, mimeType?, byteLength, sha256, capability, createdAt}`.
pub fn artifact_item(one: &StoredArtifact) -> Value {
    let mut item = json!(one.artifact);
    item["capability"] = json!(one.capability);
    item["createdAt"] = json!(artifact_created(one));
    item
}

/// When it was stored, to the second.
pub fn artifact_created(one: &StoredArtifact) -> String {
    let second = Timestamp::try_from(one.created).map(Timestamp::as_second);
    second.and_then(Timestamp::from_second).map_or_else(|_| "-".to_owned(), |at| at.to_string())
}
