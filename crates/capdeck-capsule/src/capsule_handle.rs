//! A capsule for one caller: what its role allows, within its prefixes, with one audit line for every call.

mod messages;
mod prompts;
mod reach;
mod skills;
mod writing;

use std::{borrow::Cow, future::poll_fn, sync::Arc, task::Poll};

use jiff::civil::Date;
use serde::Serialize;

pub use prompts::{EntryPrompt, PromptArgument};
pub use skills::CapsuleSkill;

use crate::{
    AnchorProject, AnchorReport, AuditMode, BlobContent, CapsuleAccess, CapsuleAuthor, CapsuleInfo,
    ChangeSubscription, Entry, EntryMeta, EntrySearchPage, EntrySearchRequest, EntryUri, ListOrder,
    ListRequest, ProvenanceFrame, PrunedLines, Role, Scheme, SchemeCount, Store, StoreClock,
    StoreError, StorePage,
    audit::{AuditOutcome, AuditRecord, ChainedAuditLog},
    neutralise, unified_diff,
};

/// Entries shown when nothing in particular is asked for.
const MAX_RECENT: usize = 20;

/// What one caller can do with one capsule. Made by [`crate::CapsuleRegistry::handle`], per connection or per call.
///
/// What the caller's prefixes do not reach does not exist for it: a read is answered as if nothing were there, and a
/// write outside them is refused whether or not something is. The store below knows neither roles nor prefixes.
#[derive(Clone)]
pub struct CapsuleHandle {
    capsule: Arc<CapsuleInfo>,
    store: Arc<dyn Store>,
    access: Arc<CapsuleAccess>,
    audit: Option<Arc<ChainedAuditLog>>,
    author: Arc<CapsuleAuthor>,
    clock: StoreClock,
    project: Option<Arc<dyn AnchorProject>>,
}

/// An entry as it is given to a reader.
#[derive(Debug, Clone)]
pub struct RenderedEntry {
    pub entry: Entry,
    /// The files it cites, checked where the host knows the project.
    pub anchors: AnchorReport,
    /// Preamble, body and footer: the only form in which content goes to an agent as text.
    pub text: String,
}

/// What a capsule holds.
#[derive(Debug, Clone, Serialize)]
pub struct EntryOverview {
    pub schemes: Vec<SchemeCount>,
    pub recent: Vec<EntryMeta>,
}

/// What the audit says about a call besides its outcome.
#[derive(Debug, Default)]
pub(crate) struct AuditNote {
    version: Option<u64>,
    bytes: Option<u64>,
    /// The store wrote the line together with the change.
    is_recorded: bool,
}

impl AuditNote {
    /// About a change whose line the store writes.
    fn recorded() -> Self {
        Self { is_recorded: true, ..Self::default() }
    }
}

impl CapsuleHandle {
    pub(crate) fn new(
        capsule: CapsuleInfo,
        store: Arc<dyn Store>,
        access: CapsuleAccess,
        audit: Option<Arc<ChainedAuditLog>>,
        author: CapsuleAuthor,
        clock: StoreClock,
    ) -> Self {
        let (capsule, access, author) = (Arc::new(capsule), Arc::new(access), Arc::new(author));
        Self { capsule, store, access, audit, author, clock, project: None }
    }

    /// With the project the caller works in: anchors are checked against it.
    pub fn in_project(mut self, project: Arc<dyn AnchorProject>) -> Self {
        self.project = Some(project);
        self
    }

    pub fn capsule(&self) -> &CapsuleInfo {
        &self.capsule
    }

    pub fn access(&self) -> &CapsuleAccess {
        &self.access
    }

    pub fn author(&self) -> &CapsuleAuthor {
        &self.author
    }

    /// An entry with its bands.
    pub async fn read(
        &self,
        uri: &EntryUri,
        version: Option<u64>,
    ) -> Result<RenderedEntry, StoreError> {
        let (handle, address) = (self.clone(), uri.clone());
        let work = async move {
            let entry = handle.read_unrecorded(&address, version).await?;
            Ok(handle.with_bands(entry).await)
        };
        self.audited("read", Some(uri), work, |read| AuditNote {
            version: Some(read.entry.meta.version),
            bytes: Some(read.entry.meta.bytes),
            ..AuditNote::default()
        })
        .await
    }

    pub async fn list(&self, request: ListRequest) -> Result<StorePage<EntryMeta>, StoreError> {
        let handle = self.clone();
        let work = async move { handle.list_unrecorded(request).await };
        self.audited("list", None, work, |_| AuditNote::default()).await
    }

    /// Schemes with counts and the latest entries.
    pub async fn overview(&self) -> Result<EntryOverview, StoreError> {
        let handle = self.clone();
        let work = async move {
            let scope = &handle.access.scope;
            let mut schemes = handle.store.counts(scope).await?;
            schemes.retain(|count| scope.reaches_scheme(&count.scheme));
            let latest = ListRequest {
                order: ListOrder::ByTime,
                limit: MAX_RECENT,
                ..ListRequest::default()
            };
            Ok(EntryOverview { schemes, recent: handle.list_unrecorded(latest).await?.items })
        };
        self.audited("list", None, work, |_| AuditNote::default()).await
    }

    /// Hits on the page whose cited files are stale come after those whose are not.
    pub async fn search(
        &self,
        mut request: EntrySearchRequest,
    ) -> Result<EntrySearchPage, StoreError> {
        let handle = self.clone();
        let work = async move {
            if let Some(scheme) = &request.scheme {
                handle.check_scheme(scheme).await?;
            }
            request.scope = handle.access.scope.clone();
            let page = handle.store.search(&request).await?;
            let Some(project) = handle.project.clone() else { return Ok(page) };
            blocking(move || rank_by_anchors(page, project.as_ref())).await
        };
        self.audited("search", None, work, |_| AuditNote::default()).await
    }

    pub async fn history(&self, uri: &EntryUri) -> Result<Vec<EntryMeta>, StoreError> {
        let (handle, address) = (self.clone(), uri.clone());
        let work = async move { handle.history_unrecorded(&address).await };
        self.audited("history", Some(uri), work, |_| AuditNote::default()).await
    }

    /// What changed between two versions, the current one if the second is not named. Look-alikes of bands are marked.
    pub async fn diff(
        &self,
        uri: &EntryUri,
        from: u64,
        to: Option<u64>,
    ) -> Result<String, StoreError> {
        let (handle, address) = (self.clone(), uri.clone());
        let work = async move {
            let old = handle.read_unrecorded(&address, Some(from)).await?;
            let new = handle.read_unrecorded(&address, to).await?;
            let name = |entry: &Entry| format!("{address}@{}", entry.meta.version);
            let (old_name, new_name) = (name(&old), name(&new));
            let diff =
                move || neutralise(&unified_diff(&old.body, &new.body, &old_name, &new_name));
            blocking(diff).await
        };
        self.audited("diff", Some(uri), work, |_| AuditNote::default()).await
    }

    pub async fn read_blob(
        &self,
        uri: &EntryUri,
        version: Option<u64>,
    ) -> Result<BlobContent, StoreError> {
        let (handle, address) = (self.clone(), uri.clone());
        let work = async move { handle.read_blob_unrecorded(&address, version).await };
        self.audited("blob.read", Some(uri), work, move |blob| AuditNote {
            bytes: Some(blob.reference.bytes),
            version,
            ..AuditNote::default()
        })
        .await
    }

    pub async fn schemes(&self) -> Result<Vec<Scheme>, StoreError> {
        let handle = self.clone();
        let work = async move { handle.schemes_unrecorded().await };
        self.audited("scheme.list", None, work, |_| AuditNote::default()).await
    }

    /// Removes the files of days before one from the capsule's audit, for its owner.
    pub async fn prune_audit(&self, before: Date) -> Result<PrunedLines, StoreError> {
        let (audit, role) = (self.audit.clone(), self.access.role);
        let work = async move {
            StoreError::require_role(role, Role::Owner, "prune the audit")?;
            let audit = audit.ok_or(StoreError::ReadOnly)?;
            blocking(move || audit.prune(before)).await?.map_err(StoreError::io("prune the audit"))
        };
        self.audited("audit.prune", None, work, |_| AuditNote::default()).await
    }

    /// Changes that this caller may see, from now on. Not a call, so not in the audit.
    pub fn changes(&self) -> ChangeSubscription {
        self.store.changes().within(self.access.scope.clone())
    }

    /// Records a call that failed before it got here, such as one with an address that is none.
    pub async fn note_failure(
        &self,
        action: impl Into<Cow<'static, str>>,
        error: &StoreError,
    ) -> Result<(), StoreError> {
        self.write_line(self.record(action, None, Err(error), AuditNote::default()))
    }

    /// Writes the line of a call that was not done by a method of this type.
    pub async fn recorded<T>(
        &self,
        action: &'static str,
        result: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let record = self.record(action, None, result.as_ref().map(|_| ()), AuditNote::default());
        self.write_line(record)?;
        result
    }

    pub(crate) async fn with_bands(&self, entry: Entry) -> RenderedEntry {
        let (project, now) = (self.project.clone(), self.clock.now());
        let rendered = move || {
            let anchors = AnchorReport::of(&entry.meta, project.as_deref());
            let text =
                ProvenanceFrame { entry: &entry, anchors: &anchors, now: Some(now) }.render();
            RenderedEntry { entry, anchors, text }
        };
        match &self.project {
            // Asking git takes its time.
            Some(_) => match tokio::task::spawn_blocking(rendered).await {
                Ok(read) => read,
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            },
            None => rendered(),
        }
    }

    /// Does a call and writes its line. Both are finished even when the caller stops waiting.
    pub(crate) async fn audited<T: Send + 'static>(
        &self,
        action: &'static str,
        uri: Option<&EntryUri>,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
        note: impl FnOnce(&T) -> AuditNote + Send + 'static,
    ) -> Result<T, StoreError> {
        let (handle, uri) = (self.clone(), uri.cloned());
        let mut call = Box::pin(async move {
            // Those who only ask for what is in memory let others have their turn, too.
            tokio::task::coop::consume_budget().await;
            handle.settle()?;
            match work.await {
                Ok(done) => {
                    let audit_note = note(&done);
                    if !audit_note.is_recorded {
                        handle.write_line(handle.record(action, uri, Ok(()), audit_note))?;
                    }
                    Ok(done)
                }
                // Its line is owed already.
                Err(error @ StoreError::AuditFailed { .. }) => Err(error),
                Err(error) => {
                    let record = handle.record(action, uri, Err(&error), AuditNote::default());
                    // Nothing was done, which is what the caller must hear; the line is owed.
                    handle.write_line(record).ok();
                    Err(error)
                }
            }
        });
        // A call that has nothing to wait for is over at once and needs no task of its own.
        let begun = poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
        if let Poll::Ready(result) = begun {
            return result;
        }
        match tokio::spawn(call).await {
            Ok(result) => result,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(error) => Err(StoreError::io("finish the call")(std::io::Error::other(error))),
        }
    }

    /// In strict mode, nothing is done while an earlier call is not recorded.
    fn settle(&self) -> Result<(), StoreError> {
        match self.audit.as_ref().filter(|audit| audit.mode() == AuditMode::Strict) {
            None => Ok(()),
            Some(audit) => audit.write_pending().map_err(|source| StoreError::AuditOwed { source }),
        }
    }

    /// Adds a line to the audit. That is one call to the system, which does not wait for the disk: handing it to
    /// another thread would take longer than the line.
    fn write_line(&self, record: AuditRecord) -> Result<(), StoreError> {
        let Some(audit) = &self.audit else { return Ok(()) };
        match (audit.append(record), audit.mode()) {
            (Ok(()), _) => Ok(()),
            (Err(source), AuditMode::Strict) => Err(StoreError::AuditFailed { source }),
            (Err(error), AuditMode::Lenient) => {
                tracing::error!(%error, "a call could not be recorded; its line is written with the next one");
                Ok(())
            }
        }
    }

    fn record(
        &self,
        action: impl Into<Cow<'static, str>>,
        uri: Option<EntryUri>,
        result: Result<(), &StoreError>,
        audit_note: AuditNote,
    ) -> AuditRecord {
        let outcome = match result {
            Ok(()) => AuditOutcome::Ok,
            Err(error) if error.is_denial() => AuditOutcome::Denied,
            // What is hidden from the caller is not hidden from the audit.
            Err(StoreError::NotFound { uri, .. }) if !self.access().scope.reaches(uri) => {
                AuditOutcome::Denied
            }
            Err(_) => AuditOutcome::Error,
        };
        AuditRecord {
            author: Arc::clone(&self.author),
            action: action.into(),
            role: Some(self.access().role),
            uri,
            version: audit_note.version,
            bytes: audit_note.bytes,
            outcome,
            error_code: result.err().map(|error| error.code().as_str().into()),
            ..AuditRecord::default()
        }
    }
}

fn rank_by_anchors(mut page: EntrySearchPage, project: &dyn AnchorProject) -> EntrySearchPage {
    for hit in &mut page.hits {
        let report = AnchorReport::of(&hit.meta, Some(project));
        hit.is_stale = report.is_stale();
        hit.score *= report.weight();
    }
    page.hits.sort_by(|one, other| other.score.total_cmp(&one.score));
    page
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => Ok(result),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Err(StoreError::io("finish the call")(std::io::Error::other(error))),
    }
}
