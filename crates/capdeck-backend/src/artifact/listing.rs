//! Lists and deletes artifacts.

use std::{fs, path::Path, time::SystemTime};

use capdeck_definition::CapabilityId;

use super::{
    Artifact, ArtifactError, ArtifactUri, FACTS_SUFFIX, lock::ArtifactLock, read_error,
    sweep::folders,
};

#[derive(Debug, Clone)]
pub struct StoredArtifact {
    pub capability: CapabilityId,
    pub artifact: Artifact,
    pub created: SystemTime,
}

/// Lists every artifact, the newest first. Unreadable ones are omitted: they are unfinished, or about to be removed.
pub(super) fn list(root: &Path) -> Vec<StoredArtifact> {
    let mut found: Vec<StoredArtifact> = folders(root)
        .flat_map(|capability| folders(&capability).collect::<Vec<_>>())
        .flat_map(|call| files(root, &call))
        .collect();
    found.sort_by(|one, other| {
        other.created.cmp(&one.created).then_with(|| one.artifact.uri.cmp(&other.artifact.uri))
    });
    found
}

fn files(root: &Path, call: &Path) -> Vec<StoredArtifact> {
    let entries = fs::read_dir(call).into_iter().flatten().flatten();
    let facts = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        Some((name.strip_suffix(FACTS_SUFFIX)?.to_owned(), entry.path()))
    });
    let stored = |(name, facts): (String, std::path::PathBuf)| {
        let segment = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
        let capability = CapabilityId::new(&segment(call.parent()?)?).ok()?;
        // The URI is derived from the path, so that a changed facts file cannot name another file.
        let uri = ArtifactUri::new(capability.clone(), segment(call)?, name)?;
        let created = fs::metadata(uri.file(root).ok()?).ok()?.modified().ok()?;
        let facts: Artifact = serde_json::from_slice(&fs::read(facts).ok()?).ok()?;
        let artifact = Artifact { uri: uri.to_string(), ..facts };
        Some(StoredArtifact { capability, artifact, created })
    };
    facts.filter_map(stored).collect()
}

/// Removes the folder of the call, which has only this artifact.
pub(super) fn delete(root: &Path, uri: &ArtifactUri) -> Result<(), ArtifactError> {
    uri.file(root)?;
    let folder = uri.folder(root);
    let claim = ArtifactLock::claim(&folder).map_err(|source| read_error(uri, source))?;
    let Some(_claim) = claim else {
        return Err(ArtifactError::InUse { uri: uri.to_string() });
    };
    fs::remove_dir_all(&folder)
        .map_err(|source| ArtifactError::Remove { uri: uri.to_string(), source })
}
