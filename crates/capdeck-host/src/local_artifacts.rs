//! Where an artifact lies, for a client on this machine: it opens the file itself, without reading
//! it through the host.

use capdeck_backend::ArtifactStore;
use capdeck_catalog::RawMembers;
use serde_json::{Value, json, value::RawValue};

use crate::raw;

/// The result with the `path` of each artifact in its structured content. Most results have none
/// and are not parsed.
pub(crate) fn with_paths(store: &ArtifactStore, result: Box<RawValue>) -> Box<RawValue> {
    if !result.get().contains("capdeck://artifacts/") {
        return result;
    }
    located(store, &result).unwrap_or(result)
}

fn located(store: &ArtifactStore, result: &RawValue) -> Option<Box<RawValue>> {
    let mut object: RawMembers = raw::parse(result)?;
    let mut structured: RawMembers = raw::get(&object, "structuredContent")?;
    if let Some(uri) = structured.get("uri") {
        let path = path_of(store, &raw::value(uri)?)?;
        raw::set(&mut structured, "kind", &json!("local-artifact"));
        raw::set(&mut structured, "path", &path);
    } else {
        // A command's result names the artifact beside what it printed.
        let mut artifact: RawMembers = raw::get(&structured, "artifact")?;
        let path = path_of(store, &raw::value(artifact.get("uri")?)?)?;
        raw::set(&mut artifact, "path", &path);
        raw::set(&mut structured, "artifact", &artifact);
    }
    raw::set(&mut object, "structuredContent", &structured);
    raw::text(&object).ok()
}

fn path_of(store: &ArtifactStore, uri: &Value) -> Option<Value> {
    let path = store.path(uri.as_str()?).ok()?;
    path.to_str().map(Value::from)
}
