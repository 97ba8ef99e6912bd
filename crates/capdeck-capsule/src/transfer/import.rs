//! Exports, folders, `AGENTS.md` and skills into a capsule. Each entry that is written is a call of its own in the audit,
//! and the import is one more.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    archive,
    import_candidates::{self, ImportCandidate, ImportCandidates},
    manifest::ManifestEntry,
};
use crate::{
    BlobId, BlobSource, CapsuleHandle, CommitRef, Entry, EntryUri, Scheme, StoreError, StoreResult,
    StoreWrite, WriteContent, WriteOutcome,
    service::{AddSchemeRequest, ImportFilesRequest, ImportSource},
};

/// What happens to entries that are there already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExistingEntryMode {
    /// They get a new version.
    #[default]
    Replace,
    Keep,
}

/// Whether anything is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImportMode {
    #[default]
    Write,
    /// Everything is read and checked, and nothing is changed.
    Rehearse,
}

/// What an import did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportReport {
    /// Schemes that were added.
    pub schemes: Vec<String>,
    pub entries: Vec<ImportedFile>,
    pub skipped: Vec<SkippedFile>,
}

/// A file that is an entry now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedFile {
    #[schemars(with = "String")]
    pub file: PathBuf,
    pub uri: EntryUri,
    pub version: u64,
    /// `created`, `replaced` or `unchanged`.
    #[schemars(with = "String")]
    pub outcome: ImportOutcome,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportOutcome {
    Created,
    Replaced,
    /// The entry says the same already, so it was not written.
    Unchanged,
}

/// A file that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedFile {
    #[schemars(with = "String")]
    pub file: PathBuf,
    pub reason: String,
}

/// Takes a file, a folder or an archive in. What is wrong with one file leaves that one out.
pub async fn import(
    session: &CapsuleHandle,
    request: &ImportFilesRequest,
) -> StoreResult<ImportReport> {
    let imported = gather_and_write(session, request).await;
    let action = match request.mode {
        ImportMode::Write => "import",
        ImportMode::Rehearse => "import.rehearse",
    };
    session.recorded(action, imported)
}

async fn gather_and_write(
    session: &CapsuleHandle,
    request: &ImportFilesRequest,
) -> StoreResult<ImportReport> {
    let ImportFilesRequest { path: source, form, existing, mode } = request;
    let ImportCandidates { schemes, found, skipped } = match form {
        ImportSource::Export => archive::gather(session, source).await?,
        ImportSource::Folder { scheme } => {
            import_candidates::folder(session, source, scheme).await?
        }
        ImportSource::Skills => import_candidates::skills(session, source).await?,
        ImportSource::File { uri } => import_candidates::file(source, EntryUri::parse(uri)?)?,
    };
    let mut report = ImportReport { skipped, ..ImportReport::default() };
    for scheme in &schemes {
        if *mode == ImportMode::Write {
            session.add_scheme(AddSchemeRequest { scheme: scheme.clone() }).await?;
        }
        report.schemes.push(scheme.name.clone());
    }
    for found in found {
        let file = found.file.clone();
        match put(session, found, *existing, *mode, &schemes).await {
            Ok(imported) => report.entries.push(imported),
            Err(ImportFailure::File(reason)) => report.skipped.push(SkippedFile { file, reason }),
            Err(ImportFailure::All(error)) => return Err(error),
        }
    }
    Ok(report)
}

/// Why a file is no entry now.
enum ImportFailure {
    /// Something is wrong with it.
    File(String),
    /// Something is wrong with the store, or the caller may not write: the next file would fare no better.
    All(StoreError),
}

impl From<StoreError> for ImportFailure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Io { .. }
            | StoreError::AuditFailed { .. }
            | StoreError::AuditOwed { .. }
            | StoreError::ReadOnly
            | StoreError::Closed
            | StoreError::ForbiddenRole { .. } => Self::All(error),
            other => Self::File(other.to_string()),
        }
    }
}

async fn put(
    session: &CapsuleHandle,
    found: ImportCandidate,
    existing: ExistingEntryMode,
    mode: ImportMode,
    new_schemes: &[Scheme],
) -> Result<ImportedFile, ImportFailure> {
    let ImportCandidate { file, uri, place, known, blob } = found;
    let body = place.text().await.map_err(ImportFailure::File)?;
    let imported = |version, outcome| ImportedFile { file, uri: uri.clone(), version, outcome };
    if mode == ImportMode::Rehearse
        && let Some(scheme) = new_schemes.iter().find(|scheme| scheme.name == uri.scheme())
    {
        // The capsule does not have the scheme yet, so it cannot say.
        scheme.check_body(&uri, &body)?;
        return Ok(imported(1, ImportOutcome::Created));
    }
    let current = match session.entries.read(&uri, None).await {
        Ok(current) => Some(current),
        Err(StoreError::NotFound { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    if let Some(current) = &current {
        if says_the_same(current, &body, known.as_ref()) {
            return Ok(imported(current.meta.version, ImportOutcome::Unchanged));
        }
        if existing == ExistingEntryMode::Keep {
            let version = current.meta.version;
            return Err(ImportFailure::File(format!(
                "`{uri}` is there in version {version} and is kept"
            )));
        }
    }
    let content = match existing {
        ExistingEntryMode::Replace => session.default_content(body),
        ExistingEntryMode::Keep => WriteContent::Create(body),
    };
    let mut write = StoreWrite::new(uri.clone(), content);
    if let Some(known) = known {
        let bytes = match blob {
            Some(place) => Some(place.bytes().await.map_err(ImportFailure::File)?),
            None => None,
        };
        describe(&mut write, known, bytes)?;
    }
    let done: WriteOutcome = match mode {
        ImportMode::Write => session.put(write).await?,
        ImportMode::Rehearse => session.entries.dry_run(write).await?,
    };
    let outcome = if done.created { ImportOutcome::Created } else { ImportOutcome::Replaced };
    Ok(imported(done.version, outcome))
}

fn says_the_same(current: &Entry, body: &str, known: Option<&ManifestEntry>) -> bool {
    let meta = &current.meta;
    current.body == body
        && known.is_none_or(|known| {
            let hash = |commit: &CommitRef| commit.hash.clone();
            known.title == meta.title
                && known.tags == meta.tags
                && known.risk_class == meta.risk_class
                && known.blob == meta.blob
                && known.commit_at_write.as_ref().map(hash)
                    == meta.commit_at_write.as_ref().map(hash)
        })
}

/// Adds what an export knows about an entry to its write.
fn describe(
    write: &mut StoreWrite,
    known: ManifestEntry,
    blob: Option<Vec<u8>>,
) -> Result<(), ImportFailure> {
    write.title = Some(known.title.unwrap_or_default());
    write.tags = Some(known.tags);
    // A class that was chosen by the body is chosen by it again.
    write.risk_class = known.promotion_reason.is_none().then_some(known.risk_class);
    write.file_anchors = known.file_anchors;
    // That commit was not seen here.
    write.commit = known.commit_at_write.map(|commit| CommitRef { is_claimed: true, ..commit });
    write.blob = match (known.blob, blob) {
        (Some(reference), Some(bytes)) if BlobId::of(&bytes) == reference.sha256 => {
            Some(BlobSource::Bytes { bytes, mime: reference.mime })
        }
        (Some(reference), _) => {
            let reason = format!("its blob `{}` was changed or cut off", reference.sha256);
            return Err(ImportFailure::File(reason));
        }
        (None, _) => Some(BlobSource::Remove),
    };
    Ok(())
}
