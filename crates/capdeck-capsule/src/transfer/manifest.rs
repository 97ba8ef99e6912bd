//! `capsule.json`: what is known about exported entries, beside their bare content.

use std::{collections::HashMap, io};

use serde::{Deserialize, Serialize};

use crate::{
    BlobRef, BodyFormat, CapsuleHandle, CapsuleInfo, CommitRef, Entry, EntryMeta, EntryUri,
    PromotionReason, RiskClass, Scheme, SchemeOrigin, SkippedEntry, StoreError, StoreResult,
};

/// The file's name, at the top of an export.
pub(super) const MANIFEST: &str = "capsule.json";
/// The folder of blobs. No scheme can be called so.
pub(super) const BLOBS: &str = "_blobs";

#[derive(Serialize)]
struct ManifestDocument<'a> {
    capsule: &'a CapsuleInfo,
    schemes: Vec<Scheme>,
    entries: &'a [EntryMeta],
    /// What could not be read.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    skipped: &'a [SkippedEntry],
}

#[derive(Deserialize)]
struct ManifestInput {
    #[serde(default)]
    schemes: Vec<Scheme>,
    #[serde(default)]
    entries: Vec<serde_json::Value>,
}

/// What an export says about one entry, as far as an import takes its word for it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ManifestEntry {
    uri: EntryUri,
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) tags: Vec<String>,
    pub(super) risk_class: RiskClass,
    pub(super) promotion_reason: Option<PromotionReason>,
    pub(super) commit_at_write: Option<CommitRef>,
    #[serde(default)]
    pub(super) file_anchors: Vec<String>,
    pub(super) blob: Option<BlobRef>,
}

#[derive(Debug, Default)]
pub(super) struct ExportManifest {
    pub(super) schemes: Vec<Scheme>,
    pub(super) entries: HashMap<EntryUri, ManifestEntry>,
    /// Records that say nothing usable, and why.
    pub(super) unusable: Vec<String>,
}

pub(super) async fn render(
    session: &CapsuleHandle,
    entries: &[EntryMeta],
    skipped: &[SkippedEntry],
) -> StoreResult<Vec<u8>> {
    let mut schemes = session.entries.schemes().await?;
    schemes.retain(|scheme| scheme.origin != SchemeOrigin::Builtin);
    let manifest = ManifestDocument { capsule: session.capsule(), schemes, entries, skipped };
    let text = serde_json::to_vec_pretty(&manifest).map_err(io::Error::other);
    text.map_err(StoreError::io("describe the export"))
}

impl ExportManifest {
    pub(super) fn parse(text: &[u8]) -> StoreResult<Self> {
        let read: ManifestInput = serde_json::from_slice(text)
            .map_err(|error| StoreError::invalid("source", format!("`{MANIFEST}`: {error}")))?;
        let mut manifest = Self { schemes: read.schemes, ..Self::default() };
        for (place, entry) in read.entries.into_iter().enumerate() {
            match serde_json::from_value::<ManifestEntry>(entry) {
                Ok(known) => drop(manifest.entries.insert(known.uri.clone(), known)),
                Err(error) => manifest.unusable.push(format!("entry {}: {error}", place + 1)),
            }
        }
        Ok(manifest)
    }
}

/// Where an entry's content goes, below the top of an export.
pub(super) fn file_name(entry: &Entry) -> String {
    path_of(&entry.meta.uri, entry.format)
}

pub(super) fn path_of(uri: &EntryUri, format: BodyFormat) -> String {
    format!("{}/{}.{}", uri.scheme(), uri.path(), format.extension())
}
