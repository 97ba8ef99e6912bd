//! A capsule for one caller: what its role allows, within its prefixes, with one audit line for every call.

mod prompts;
mod scoped_store;
mod skills;
mod writing;

use std::{future::poll_fn, io, sync::Arc, task::Poll};

use jiff::civil::Date;

pub use prompts::{EntryPrompt, PromptArgument};
pub use skills::CapsuleSkill;

use self::scoped_store::ScopedStore;
use crate::{
    AnchorProject, AnchorReport, AuditLogLine, AuditOutcome, BlobContent, CapsuleAccess,
    CapsuleAuthor, CapsuleInfo, ChangeAuthor, ChangeSubscription, Entry, EntryMeta,
    EntrySearchPage, EntryUri, PrunedLines, Role, Scheme, SchemeCount, Store, StoreClock,
    StoreError, StorePage,
    audit::ChainedAuditLog,
    blocking::{blocking, finished},
    neutralise,
    service::{ListQuery, SearchQuery},
    unified_diff,
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
    /// The steps of calls. Work of many steps, such as an export, uses them and is one line of the audit.
    pub(crate) entries: ScopedStore,
    audit: Option<Arc<ChainedAuditLog>>,
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
#[derive(Debug, Clone)]
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
    /// Nothing more.
    fn plain<T>(_: &T) -> Self {
        Self::default()
    }

    /// About a change whose line the store writes.
    fn recorded<T>(_: &T) -> Self {
        Self { is_recorded: true, ..Self::default() }
    }

    fn of_bytes(bytes: u64) -> Self {
        Self { bytes: Some(bytes), ..Self::default() }
    }

    fn read(read: &RenderedEntry) -> Self {
        let EntryMeta { version, bytes, .. } = read.entry.meta;
        Self { version: Some(version), bytes: Some(bytes), is_recorded: false }
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
        let by = ChangeAuthor { author: Arc::new(author), role: Some(access.role) };
        let access = Arc::new(access);
        let entries = ScopedStore { store, access, by, clock, project: None };
        Self { capsule: Arc::new(capsule), entries, audit }
    }

    /// With the project the caller works in: anchors are checked against it.
    pub fn in_project(mut self, project: Arc<dyn AnchorProject>) -> Self {
        self.entries.project = Some(project);
        self
    }

    pub fn capsule(&self) -> &CapsuleInfo {
        &self.capsule
    }

    pub fn access(&self) -> &CapsuleAccess {
        &self.entries.access
    }

    /// An entry with its bands.
    pub async fn read(
        &self,
        uri: &EntryUri,
        version: Option<u64>,
    ) -> Result<RenderedEntry, StoreError> {
        let work = move |entries: ScopedStore, uri| async move {
            let entry = entries.read(&uri, version).await?;
            entries.with_bands(entry).await
        };
        self.audited_at("read", uri, work, AuditNote::read).await
    }

    pub async fn list(&self, query: ListQuery) -> Result<StorePage<EntryMeta>, StoreError> {
        let work = |entries: ScopedStore| async move { entries.list(&query).await };
        self.audited("list", work, AuditNote::plain).await
    }

    /// Schemes with counts and the latest entries.
    pub async fn overview(&self) -> Result<EntryOverview, StoreError> {
        let work = |entries: ScopedStore| async move {
            let scope = &entries.access.scope;
            let mut schemes = entries.store.counts(scope).await?;
            schemes.retain(|count| scope.reaches_scheme(&count.scheme));
            let latest =
                ListQuery { latest_first: true, limit: MAX_RECENT, ..ListQuery::default() };
            Ok(EntryOverview { schemes, recent: entries.list(&latest).await?.items })
        };
        self.audited("list", work, AuditNote::plain).await
    }

    /// Hits on the page whose cited files are stale come after those whose are not.
    pub async fn search(&self, query: SearchQuery) -> Result<EntrySearchPage, StoreError> {
        let work = |entries: ScopedStore| async move {
            if let Some(scheme) = &query.scheme {
                entries.check_scheme(scheme).await?;
            }
            let page = entries.store.search(&query, &entries.access.scope).await?;
            let Some(project) = entries.project else { return Ok(page) };
            let ranked = blocking(move || rank_by_anchors(page, project.as_ref())).await;
            ranked.map_err(unfinished())
        };
        self.audited("search", work, AuditNote::plain).await
    }

    pub async fn history(&self, uri: &EntryUri) -> Result<Vec<EntryMeta>, StoreError> {
        let work = |entries: ScopedStore, uri| async move { entries.history(&uri).await };
        self.audited_at("history", uri, work, AuditNote::plain).await
    }

    /// What changed between two versions, the current one if the second is not named. Look-alikes of bands are marked.
    pub async fn diff(
        &self,
        uri: &EntryUri,
        from: u64,
        to: Option<u64>,
    ) -> Result<String, StoreError> {
        let work = move |entries: ScopedStore, uri: EntryUri| async move {
            let old = entries.read(&uri, Some(from)).await?;
            let new = entries.read(&uri, to).await?;
            let name = |entry: &Entry| format!("{uri}@{}", entry.meta.version);
            let (old_name, new_name) = (name(&old), name(&new));
            let diff =
                move || neutralise(&unified_diff(&old.body, &new.body, &old_name, &new_name));
            blocking(diff).await.map_err(unfinished())
        };
        self.audited_at("diff", uri, work, AuditNote::plain).await
    }

    pub async fn read_blob(
        &self,
        uri: &EntryUri,
        version: Option<u64>,
    ) -> Result<BlobContent, StoreError> {
        let work =
            move |entries: ScopedStore, uri| async move { entries.read_blob(&uri, version).await };
        let note = move |blob: &BlobContent| AuditNote {
            bytes: Some(blob.reference.bytes),
            version,
            is_recorded: false,
        };
        self.audited_at("blob.read", uri, work, note).await
    }

    pub async fn schemes(&self) -> Result<Vec<Scheme>, StoreError> {
        let work = |entries: ScopedStore| async move { entries.schemes().await };
        self.audited("scheme.list", work, AuditNote::plain).await
    }

    /// Removes the files of days before one from the capsule's audit, for its owner.
    pub async fn prune_audit(&self, before: Date) -> Result<PrunedLines, StoreError> {
        let audit = self.audit.clone();
        let work = |entries: ScopedStore| async move {
            entries.require(Role::Owner, "prune the audit")?;
            let audit = audit.ok_or(StoreError::ReadOnly)?;
            let pruned = blocking(move || audit.prune(before)).await;
            pruned.flatten().map_err(StoreError::io("prune the audit"))
        };
        self.audited("audit.prune", work, AuditNote::plain).await
    }

    /// Changes that this caller may see, from now on. Not a call, so not in the audit.
    pub fn changes(&self) -> ChangeSubscription {
        self.entries.store.changes().within(self.access().scope.clone())
    }

    /// Records a call that failed before it got here, such as one with an address that is none.
    pub fn note_failure(
        &self,
        action: impl Into<String>,
        error: &StoreError,
    ) -> Result<(), StoreError> {
        self.record(action, None, Err(error), AuditNote::default())
    }

    /// Writes the line of a call that was not done by a method of this type.
    pub fn recorded<T>(
        &self,
        action: &'static str,
        result: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.record(action, None, result.as_ref().map(|_| ()), AuditNote::default())?;
        result
    }

    /// Does a call on one entry: see [`Self::audited`].
    async fn audited_at<T: Send + 'static, F>(
        &self,
        action: &'static str,
        uri: &EntryUri,
        work: impl FnOnce(ScopedStore, EntryUri) -> F,
        note: impl FnOnce(&T) -> AuditNote + Send + 'static,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let work = work(self.entries.clone(), uri.clone());
        self.finish(action, Some(uri.clone()), work, note).await
    }

    /// Does a call and writes its line.
    async fn audited<T: Send + 'static, F>(
        &self,
        action: &'static str,
        work: impl FnOnce(ScopedStore) -> F,
        note: impl FnOnce(&T) -> AuditNote + Send + 'static,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        self.finish(action, None, work(self.entries.clone()), note).await
    }

    /// Finishes a call and its line even when the caller stops waiting.
    async fn finish<T: Send + 'static>(
        &self,
        action: &'static str,
        uri: Option<EntryUri>,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
        note: impl FnOnce(&T) -> AuditNote + Send + 'static,
    ) -> Result<T, StoreError> {
        let handle = self.clone();
        let mut call = Box::pin(async move {
            // Those who only ask for what is in memory let others have their turn, too.
            tokio::task::coop::consume_budget().await;
            handle.audit.as_deref().map_or(Ok(()), ChainedAuditLog::settle)?;
            match work.await {
                Ok(done) => {
                    let audit_note = note(&done);
                    if !audit_note.is_recorded {
                        handle.record(action, uri, Ok(()), audit_note)?;
                    }
                    Ok(done)
                }
                // Its line is owed already.
                Err(error @ StoreError::AuditFailed { .. }) => Err(error),
                Err(error) => {
                    // Nothing was done, which is what the caller must hear; the line is owed.
                    handle.record(action, uri, Err(&error), AuditNote::default()).ok();
                    Err(error)
                }
            }
        });
        // A call that has nothing to wait for is over at once and needs no task of its own.
        let begun = poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
        if let Poll::Ready(result) = begun {
            return result;
        }
        finished(tokio::spawn(call).await).map_err(unfinished())?
    }

    /// Adds a line to the audit.
    fn record(
        &self,
        action: impl Into<String>,
        uri: Option<EntryUri>,
        result: Result<(), &StoreError>,
        audit_note: AuditNote,
    ) -> Result<(), StoreError> {
        let Some(audit) = &self.audit else { return Ok(()) };
        let ScopedStore { access, by, .. } = &self.entries;
        let outcome = match result {
            Ok(()) => AuditOutcome::Ok,
            Err(error) if error.is_denial() => AuditOutcome::Denied,
            // What is hidden from the caller is not hidden from the audit.
            Err(StoreError::NotFound { uri, .. }) if !access.scope.reaches(uri) => {
                AuditOutcome::Denied
            }
            Err(_) => AuditOutcome::Error,
        };
        audit.record(AuditLogLine {
            role: Some(access.role),
            uri,
            version: audit_note.version,
            bytes: audit_note.bytes,
            outcome,
            error_code: result.err().map(|error| error.code().as_str().to_owned()),
            ..AuditLogLine::new(&by.author, action)
        })
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

fn unfinished() -> impl FnOnce(io::Error) -> StoreError {
    StoreError::io("finish the call")
}
