//! Writing an entry: conditions, body, files, and the notifications of it.

use std::{borrow::Cow, fs, path::PathBuf, sync::Arc};

use capdeck_storage::sha256_hex;

use super::{
    capsule_files::{CommitJob, FileStep},
    disk::StagedPath,
    engine::StoreEngine,
    frontmatter, scan,
    version_files::heading,
};
use crate::{
    AuditLogLine, BlobId, BlobRef, BlobSource, CapsuleAuthor, ChangeAuthor, ChangeKind, EntryMeta,
    EntryUri, Scheme, Signal, StoreError, StoreResult, StoreWrite, WriteConflict, WriteContent,
    WriteOutcome, merge, patch,
    trust::{RiskAssessment, classify, is_line, one_line},
};

const MAX_TITLE_LENGTH: usize = 200;
const MAX_TAGS: usize = 50;
const MAX_TAG_LENGTH: usize = 64;
const MAX_IDEMPOTENCY_KEY_LENGTH: usize = 200;
/// Versions looked through for an idempotency key.
const MAX_IDEMPOTENCY_LOOKBACK: u64 = 50;

struct VersionDraft {
    meta: EntryMeta,
    body: String,
    /// Bytes of a new blob.
    blob: Option<Vec<u8>>,
    previous: Option<Arc<EntryMeta>>,
}

impl StoreEngine {
    pub(crate) fn write(&self, write: StoreWrite, by: &ChangeAuthor) -> StoreResult<WriteOutcome> {
        self.files.writable()?;
        check_fields(&write)?;
        let uri = write.uri.clone();
        let scheme = self.scheme(&uri)?;
        let _entry = self.files.stripe(&uri.folded()).lock();
        self.state.read().check_twin(&uri)?;
        let current = self.current(&uri);
        let key = write.idempotency_key.as_ref().map(|key| idempotency(&by.author, key, &write));
        if let Some(key) = &key
            && let Some(done) = self.repeated(&uri, &scheme, key, current.as_deref())?
        {
            return Ok(done);
        }
        let body = self.new_body(&write, &scheme, current.as_deref())?;
        let (action, bytes) = (write.content.action(), write.content.bytes());
        let draft = self.draft(write, &scheme, body, current, key, &by.author)?;
        self.persist(draft, &scheme, by, action, bytes)
    }

    /// What [`Self::write`] would answer now, repeated requests aside.
    pub(crate) fn dry_run(
        &self,
        write: StoreWrite,
        author: &CapsuleAuthor,
    ) -> StoreResult<WriteOutcome> {
        self.files.writable()?;
        check_fields(&write)?;
        let scheme = self.scheme(&write.uri)?;
        self.state.read().check_twin(&write.uri)?;
        let current = self.current(&write.uri);
        let body = self.new_body(&write, &scheme, current.as_deref())?;
        let draft = self.draft(write, &scheme, body, current, None, author)?;
        let blob = draft.blob.as_ref().map_or(0, Vec::len);
        self.check_quota(&draft.meta, draft.previous.is_some(), blob)?;
        Ok(WriteOutcome { created: draft.previous.is_none(), ..written(&draft.meta) })
    }

    pub(crate) fn restore(
        &self,
        uri: &EntryUri,
        version: u64,
        if_version: Option<u64>,
        by: &ChangeAuthor,
    ) -> StoreResult<WriteOutcome> {
        self.files.writable()?;
        let scheme = self.scheme(uri)?;
        let _entry = self.files.stripe(&uri.folded()).lock();
        let current = self.current(uri);
        self.check_version(uri, &scheme, if_version, current.as_deref(), None)?;
        let files = match &current {
            Some(current) if current.version == version => self.files.layout.current(uri, &scheme),
            _ => self.files.layout.version(uri, version, scheme.format),
        };
        let not_found = || StoreError::NotFound { uri: uri.clone(), version: Some(version) };
        let known = current.is_some() || self.state.read().deleted.contains_key(uri);
        let old =
            if known { self.files.layout.load_whole(uri, &files, scheme.format)? } else { None };
        let old = old.ok_or_else(not_found)?;
        let write = StoreWrite {
            title: Some(old.meta.title.clone().unwrap_or_default()),
            tags: Some(old.meta.tags.clone()),
            file_anchors: old.meta.file_anchors.clone(),
            commit: old.meta.commit_at_write.clone(),
            blob: Some(match old.meta.blob.clone() {
                Some(blob) => BlobSource::Pointer { id: blob.sha256, mime: blob.mime },
                None => BlobSource::Remove,
            }),
            // A class that a writer chose stays chosen.
            risk_class: old.meta.promotion_reason.is_none().then_some(old.meta.risk_class),
            ..StoreWrite::replace(uri.clone(), "")
        };
        let draft = self.draft(write, &scheme, old.body, current, None, &by.author)?;
        self.persist(draft, &scheme, by, "restore", None)
    }

    /// The body after a write, when its conditions hold.
    fn new_body(
        &self,
        write: &StoreWrite,
        scheme: &Scheme,
        current: Option<&EntryMeta>,
    ) -> StoreResult<String> {
        let uri = &write.uri;
        if let (WriteContent::Create(_), Some(current), None | Some(0)) =
            (&write.content, current, write.if_version)
        {
            return Err(StoreError::Exists { uri: uri.clone(), version: current.version });
        }
        self.check_version(uri, scheme, write.if_version, current, Some(&write.content))?;
        let body = match &write.content {
            WriteContent::Create(body) | WriteContent::Replace(body) => body.clone(),
            WriteContent::Patch(steps) => {
                let not_found = || StoreError::NotFound { uri: uri.clone(), version: None };
                let current = match self.current(uri) {
                    Some(_) => self.read_quiet(uri, scheme)?.ok_or_else(not_found)?,
                    None => return Err(not_found()),
                };
                patch::apply(&current.body, steps).map_err(|problem| StoreError::PatchFailed {
                    uri: uri.clone(),
                    version: current.meta.version,
                    step: problem.step,
                    reason: problem.reason,
                })?
            }
        };
        scheme.check_body(uri, &body)?;
        let (bytes, most) = (body.len() as u64, self.files.options.limits.body);
        if bytes > most {
            return Err(StoreError::TooLarge { what: "the content", bytes, most });
        }
        Ok(body)
    }

    pub(super) fn check_version(
        &self,
        uri: &EntryUri,
        scheme: &Scheme,
        expected: Option<u64>,
        current: Option<&EntryMeta>,
        proposed: Option<&WriteContent>,
    ) -> StoreResult<()> {
        let current_version = current.map_or(0, |meta| meta.version);
        let Some(expected_version) = expected.filter(|expected| *expected != current_version)
        else {
            return Ok(());
        };
        let proposal = proposed.and_then(|content| {
            let base =
                self.files.layout.load_version(uri, expected_version, scheme.format).ok()??;
            let ours = match content {
                WriteContent::Create(body) | WriteContent::Replace(body) => {
                    Cow::Borrowed(body.as_str())
                }
                // What it would have made of the version it was meant for.
                WriteContent::Patch(steps) => Cow::Owned(patch::apply(&base.body, steps).ok()?),
            };
            let theirs = self.read_quiet(uri, scheme).ok()??;
            Some(merge::merge(&base.body, &ours, &theirs.body))
        });
        let uri = uri.clone();
        Err(StoreError::VersionConflict(Box::new(WriteConflict {
            uri,
            expected_version,
            current_version,
            proposal,
        })))
    }

    /// The answer to an earlier write with the same key.
    fn repeated(
        &self,
        uri: &EntryUri,
        scheme: &Scheme,
        key: &str,
        current: Option<&EntryMeta>,
    ) -> StoreResult<Option<WriteOutcome>> {
        let same_key = |meta: &EntryMeta| {
            let kept = meta.idempotency.as_deref()?;
            (kept.split('.').next() == key.split('.').next()).then(|| kept == key)
        };
        let answer = |meta: &EntryMeta| match same_key(meta) {
            Some(true) => Some(Ok(WriteOutcome { repeated: true, ..written(meta) })),
            Some(false) => Some(Err(StoreError::KeyReused)),
            None => None,
        };
        if let Some(done) = current.and_then(answer) {
            return done.map(Some);
        }
        let last = match current {
            Some(current) => current.version.saturating_sub(1),
            None => self.state.read().last_version(uri).unwrap_or(0),
        };
        for version in (last.saturating_sub(MAX_IDEMPOTENCY_LOOKBACK) + 1..=last).rev() {
            if let Ok(Some(entry)) = self.files.layout.load_version(uri, version, scheme.format)
                && let Some(done) = answer(&entry.meta)
            {
                return done.map(Some);
            }
        }
        Ok(None)
    }

    fn draft(
        &self,
        write: StoreWrite,
        scheme: &Scheme,
        body: String,
        previous: Option<Arc<EntryMeta>>,
        idempotency: Option<String>,
        author: &CapsuleAuthor,
    ) -> StoreResult<VersionDraft> {
        let version = self.state.read().last_version(&write.uri).unwrap_or(0) + 1;
        let given = write.risk_class.or(scheme.default_risk_class);
        let RiskAssessment { class, reason, anchors, contradicted } =
            classify(&body, given, &write.file_anchors);
        let (reference, blob) = self.take_blob(write.blob, previous.as_deref())?;
        let now = self.files.options.clock.now();
        let kept = |field: fn(&EntryMeta) -> Option<String>| previous.as_deref().and_then(field);
        let title =
            write.title.map(|title| one_line(&title)).or_else(|| kept(|meta| meta.title.clone()));
        let meta = EntryMeta {
            version,
            title: title.filter(|title| !title.is_empty()),
            heading: heading(&body, scheme.format),
            tags: match write.tags {
                Some(tags) => tags,
                None => previous.as_deref().map(|meta| meta.tags.clone()).unwrap_or_default(),
            },
            risk_class: class,
            promotion_reason: reason,
            anchors_detected: contradicted,
            written_by: author.written_by(),
            written_by_principal: author.principal.clone(),
            client: Some(author.claimed_client()),
            connection_id: author.connection.clone(),
            // A later version is never dated before an earlier one, even when the clock goes back.
            written_at: previous.as_deref().map_or(now, |meta| meta.written_at.max(now)),
            commit_at_write: write.commit,
            file_anchors: anchors,
            content_sha256: sha256_hex(body.as_bytes()),
            bytes: body.len() as u64,
            blob: reference,
            idempotency,
            uri: write.uri,
        };
        Ok(VersionDraft { meta, body, blob, previous })
    }

    fn take_blob(
        &self,
        source: Option<BlobSource>,
        previous: Option<&EntryMeta>,
    ) -> StoreResult<(Option<BlobRef>, Option<Vec<u8>>)> {
        match source {
            None => Ok((previous.and_then(|meta| meta.blob.clone()), None)),
            Some(BlobSource::Remove) => Ok((None, None)),
            Some(BlobSource::Bytes { bytes, mime }) => {
                let (length, most) = (bytes.len() as u64, self.files.options.limits.blob);
                if length > most {
                    return Err(StoreError::TooLarge { what: "the blob", bytes: length, most });
                }
                let reference =
                    BlobRef { sha256: BlobId::of(&bytes), mime: one_line(&mime), bytes: length };
                Ok((Some(reference), Some(bytes)))
            }
            Some(BlobSource::Pointer { id, mime }) => {
                let path = self.files.layout.blob(&id);
                self.files.layout.check_file(&path)?;
                let length = fs::metadata(&path)
                    .map_err(|_| StoreError::invalid("blob", format!("there is no blob `{id}`")))?
                    .len();
                Ok((Some(BlobRef { sha256: id, mime: one_line(&mime), bytes: length }), None))
            }
        }
    }

    /// Brings a version to its place. The caller holds the entry's lock.
    fn persist(
        &self,
        draft: VersionDraft,
        scheme: &Scheme,
        by: &ChangeAuthor,
        action: &'static str,
        bytes: Option<u64>,
    ) -> StoreResult<WriteOutcome> {
        let VersionDraft { meta, body, blob, previous } = draft;
        let _blobs = self.blobs_in_use.read();
        self.check_quota(&meta, previous.is_some(), blob.as_ref().map_or(0, Vec::len))?;
        let failed = || StoreError::io(format!("write `{}`", meta.uri));
        let mut job = CommitJob::default();
        let mut staged: Vec<StagedPath> = Vec::new();
        let mut place = |bytes: Vec<u8>, to: PathBuf, job: &mut CommitJob| -> StoreResult<()> {
            self.files.make_folder_of(&to)?;
            let file = self.files.disk.stage(&bytes).map_err(failed())?;
            job.steps.push(FileStep::Place { from: file.path.clone(), to, bytes });
            staged.push(file);
            Ok(())
        };
        let mut used = meta.bytes;
        if let (Some(bytes), Some(reference)) = (blob, &meta.blob) {
            let path = self.files.layout.blob(&reference.sha256);
            self.files.layout.check_file(&path)?;
            if !path.exists() {
                used += bytes.len() as u64;
                place(bytes, path, &mut job)?;
            }
        }
        let files = self.files.layout.current(&meta.uri, scheme);
        if let Some(previous) = &previous {
            self.files.archive_version(&meta.uri, previous.version, scheme, &mut job.steps)?;
        }
        // The body comes last: it commits the version. See `scan` for what is done with a part.
        match &files.meta {
            None => {
                place(frontmatter::join(&meta, &body).into_bytes(), files.body, &mut job)?;
            }
            Some(sidecar) => {
                let text = serde_json::to_vec_pretty(&meta)
                    .map_err(std::io::Error::other)
                    .map_err(failed())?;
                place(text, sidecar.clone(), &mut job)?;
                place(body.clone().into_bytes(), files.body, &mut job)?;
            }
        }
        if self.state.read().deleted.contains_key(&meta.uri) {
            job.steps.push(FileStep::Remove(self.files.layout.tombstone(&meta.uri)));
        }
        let kind = if previous.is_some() { ChangeKind::Updated } else { ChangeKind::Created };
        job.signals.push(change_signal(kind, &meta.uri, meta.version, &by.author));
        let (uri, version) = (Some(meta.uri.clone()), Some(meta.version));
        let line = self.files.line_of(by, action)?;
        job.line = Some(AuditLogLine { uri, version, bytes, ..line });
        let committed = match self.files.commit(job) {
            Ok(committed) => committed,
            Err(error) => {
                drop(staged);
                scan::heal(&self.files, &meta.uri, scheme);
                return Err(failed()(error));
            }
        };
        staged.into_iter().for_each(StagedPath::placed);
        self.used.add(used);
        let meta = Arc::new(meta);
        self.state.write().insert(Arc::clone(&meta));
        self.index.put(&meta, body);
        self.publish_change(kind, &meta.uri, meta.version);
        self.files.require_line(committed.unrecorded)?;
        Ok(WriteOutcome { created: previous.is_none(), ..written(&meta) })
    }
}

pub(super) fn change_signal(
    kind: ChangeKind,
    uri: &EntryUri,
    version: u64,
    author: &CapsuleAuthor,
) -> Signal {
    let (uri, version) = (Some(uri.clone()), Some(version));
    Signal { uri, version, ..Signal::new(kind.signal(), author.clone()) }
}

fn written(meta: &EntryMeta) -> WriteOutcome {
    WriteOutcome {
        uri: meta.uri.clone(),
        version: meta.version,
        created: meta.version == 1,
        risk_class: meta.risk_class,
        promotion_reason: meta.promotion_reason,
        repeated: false,
    }
}

fn check_fields(write: &StoreWrite) -> StoreResult<()> {
    if write.title.as_ref().is_some_and(|title| title.chars().count() > MAX_TITLE_LENGTH) {
        return Err(StoreError::invalid("title", format!("at most {MAX_TITLE_LENGTH} characters")));
    }
    let tags = write.tags.as_deref().unwrap_or_default();
    if tags.len() > MAX_TAGS || !tags.iter().all(|tag| is_line(tag, MAX_TAG_LENGTH)) {
        let rule =
            format!("at most {MAX_TAGS} tags of 1 to {MAX_TAG_LENGTH} characters on one line");
        return Err(StoreError::invalid("tags", rule));
    }
    if write
        .idempotency_key
        .as_ref()
        .is_some_and(|key| key.is_empty() || key.len() > MAX_IDEMPOTENCY_KEY_LENGTH)
    {
        return Err(StoreError::invalid(
            "idempotency_key",
            format!("1 to {MAX_IDEMPOTENCY_KEY_LENGTH} bytes"),
        ));
    }
    Ok(())
}

/// Hashes of who used which key, and of the request.
fn idempotency(author: &CapsuleAuthor, key: &str, write: &StoreWrite) -> String {
    let short = |text: String| sha256_hex(text).chars().take(24).collect::<String>();
    let StoreWrite {
        uri,
        content,
        if_version,
        title,
        tags,
        risk_class,
        file_anchors,
        commit,
        blob,
        ..
    } = write;
    // A blob is identified by its hash.
    let blob = blob.as_ref().map(|source| match source {
        BlobSource::Bytes { bytes, mime } => (Some(BlobId::of(bytes)), mime.as_str()),
        BlobSource::Pointer { id, mime } => (Some(id.clone()), mime.as_str()),
        BlobSource::Remove => (None, ""),
    });
    // Hashes outlive this version: nothing in them may depend on the name of a type.
    let commit = commit.as_ref().map(|commit| serde_json::json!(commit).to_string());
    let request = format!(
        "{uri:?}{content:?}{if_version:?}{title:?}{tags:?}{risk_class:?}{file_anchors:?}{commit:?}{blob:?}"
    );
    format!("k{}.{}", short(format!("{:?}\0{key}", author.owner())), short(request))
}
