//! A capsule for one caller: what its role allows, within its prefixes, with one audit line for every call.
//!
//! Each operation in one capsule is a method here that takes its request and gives its response.

mod prompts;
mod scoped_store;
mod skills;
mod writing;

use std::{future::poll_fn, io, sync::Arc, task::Poll};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capdeck_storage::WallClock;
use jiff::civil::Date;

pub use prompts::{EntryPrompt, PromptArgument};

use self::scoped_store::ScopedStore;
use crate::{
    AnchorProject, AnchorReport, AuditLogLine, AuditOutcome, BlobRef, CapsuleAccess, CapsuleAuthor,
    CapsuleInfo, ChangeAuthor, Entry, EntryUri, PrunedLines, Role, Store, StoreError, StoreResult,
    blocking::{blocking, finished},
    neutralise,
    search::EntrySearchPage,
    service::*,
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
    /// The steps of calls. Work of many steps, such as an export, uses them and is one line of the audit.
    pub(crate) entries: ScopedStore,
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

    fn read(read: &ReadResponse) -> Self {
        let EntryInfo { version, bytes, .. } = read.info;
        Self { version: Some(version), bytes: Some(bytes), is_recorded: false }
    }
}

impl CapsuleHandle {
    pub(crate) fn new(
        capsule: CapsuleInfo,
        store: Arc<dyn Store>,
        access: CapsuleAccess,
        author: CapsuleAuthor,
        clock: WallClock,
    ) -> Self {
        let by = ChangeAuthor { author: Arc::new(author), role: access.role };
        let (capsule, access) = (Arc::new(capsule), Arc::new(access));
        Self { entries: ScopedStore { capsule, store, access, by, clock, project: None } }
    }

    /// With the project the caller works in: anchors are checked against it.
    pub fn in_project(mut self, project: Arc<dyn AnchorProject>) -> Self {
        self.entries.project = Some(project);
        self
    }

    pub fn capsule(&self) -> &CapsuleInfo {
        &self.entries.capsule
    }

    pub fn access(&self) -> &CapsuleAccess {
        &self.entries.access
    }

    /// An entry with its bands.
    pub async fn read(&self, request: ReadRequest) -> StoreResult<ReadResponse> {
        let ReadRequest { uri, version, body } = request;
        let work = move |entries: ScopedStore, uri| async move {
            let entry = entries.read(&uri, version).await?;
            entries.with_bands(entry, body).await
        };
        self.audited_at("read", &uri, work, AuditNote::read).await
    }

    pub async fn list(&self, query: ListQuery) -> StoreResult<ListResponse> {
        let work = |entries: ScopedStore| async move {
            let page = entries.list(&query).await?;
            let (capsule, listed) = (entries.id(), page.items.into_iter().map(EntryInfo::from));
            Ok(ListResponse { capsule, entries: listed.collect(), next_cursor: page.next_cursor })
        };
        self.audited("list", work, AuditNote::plain).await
    }

    /// Schemes with counts and the latest entries.
    pub async fn overview(&self, _: OverviewRequest) -> StoreResult<OverviewResponse> {
        let work = |entries: ScopedStore| async move {
            let scope = &entries.access.scope;
            let mut schemes = entries.store.counts(scope).await?;
            schemes.retain(|count| scope.reaches_scheme(&count.scheme));
            let latest =
                ListQuery { latest_first: true, limit: MAX_RECENT, ..ListQuery::default() };
            let recent = entries.list(&latest).await?.items;
            let CapsuleInfo { id, name, description, .. } = &*entries.capsule;
            Ok(OverviewResponse {
                capsule: id.clone(),
                name: name.clone(),
                description: description.clone(),
                role: entries.access.role,
                schemes,
                recent: recent.into_iter().map(EntryInfo::from).collect(),
            })
        };
        self.audited("list", work, AuditNote::plain).await
    }

    /// Hits on the page whose cited files are stale come after those whose are not.
    pub async fn search(&self, query: SearchQuery) -> StoreResult<SearchResponse> {
        let work = |entries: ScopedStore| async move {
            if let Some(scheme) = &query.scheme {
                entries.check_scheme(scheme).await?;
            }
            let capsule = entries.id();
            let mut page = entries.store.search(&query, &entries.access.scope).await?;
            if let Some(project) = entries.project {
                let ranked = blocking(move || rank_by_anchors(page, project.as_ref())).await;
                page = ranked.map_err(unfinished())?;
            }
            let EntrySearchPage { hits, total, next_cursor } = page;
            Ok(SearchResponse { capsule, hits, total, next_cursor })
        };
        self.audited("search", work, AuditNote::plain).await
    }

    pub async fn history(&self, request: HistoryRequest) -> StoreResult<HistoryResponse> {
        let work = |entries: ScopedStore, uri| async move {
            let versions = entries.history(&uri).await?.into_iter().map(EntryInfo::from).collect();
            Ok(HistoryResponse { capsule: entries.id(), uri, versions })
        };
        self.audited_at("history", &request.uri, work, AuditNote::plain).await
    }

    /// What changed between two versions, the current one if the second is not named. Look-alikes of bands are marked.
    pub async fn diff(&self, request: DiffRequest) -> StoreResult<DiffResponse> {
        let DiffRequest { uri, from, to } = request;
        let work = move |entries: ScopedStore, uri: EntryUri| async move {
            let old = entries.read(&uri, Some(from)).await?;
            let new = entries.read(&uri, to).await?;
            let name = |entry: &Entry| format!("{uri}@{}", entry.meta.version);
            let (old_name, new_name) = (name(&old), name(&new));
            let compare =
                move || neutralise(&unified_diff(&old.body, &new.body, &old_name, &new_name));
            let diff = blocking(compare).await.map_err(unfinished())?;
            Ok(DiffResponse { capsule: entries.id(), uri, from, to, diff })
        };
        self.audited_at("diff", &uri, work, AuditNote::plain).await
    }

    pub async fn read_blob(&self, request: ReadBlobRequest) -> StoreResult<BlobResponse> {
        let ReadBlobRequest { uri, version } = request;
        let work = move |entries: ScopedStore, uri| async move {
            let blob = entries.read_blob(&uri, version).await?;
            let (capsule, data) = (entries.id(), STANDARD.encode(&blob.bytes));
            let BlobRef { sha256, mime, bytes } = blob.reference;
            Ok(BlobResponse { capsule, uri, sha256, mime, bytes, data })
        };
        let note = move |blob: &BlobResponse| AuditNote {
            bytes: Some(blob.bytes),
            version,
            is_recorded: false,
        };
        self.audited_at("blob.read", &uri, work, note).await
    }

    pub async fn schemes(&self, _: SchemesRequest) -> StoreResult<SchemesResponse> {
        let work = |entries: ScopedStore| async move {
            Ok(SchemesResponse { capsule: entries.id(), schemes: entries.schemes().await? })
        };
        self.audited("scheme.list", work, AuditNote::plain).await
    }

    /// Removes the files of days before one from the capsule's audit, for its owner.
    pub async fn prune_audit(&self, before: Date) -> StoreResult<PrunedLines> {
        let work = move |entries: ScopedStore| async move {
            entries.require(Role::Owner, "prune the audit")?;
            entries.store.prune_audit(before).await
        };
        self.audited("audit.prune", work, AuditNote::plain).await
    }

    /// Records a call that failed before it got here, such as one with an address that is none.
    pub fn note_failure(&self, action: impl Into<String>, error: &StoreError) -> StoreResult<()> {
        self.record(action, None, Err(error), AuditNote::default())
    }

    /// Writes the line of a call that was not done by a method of this type.
    pub fn recorded<T>(&self, action: &'static str, result: StoreResult<T>) -> StoreResult<T> {
        self.record(action, None, result.as_ref().map(|_| ()), AuditNote::default())?;
        result
    }

    /// Input as it was read. What cannot be read is recorded as a failed call.
    fn checked<T>(&self, action: &'static str, parsed: StoreResult<T>) -> StoreResult<T> {
        if let Err(error) = &parsed {
            self.note_failure(action, error)?;
        }
        parsed
    }

    /// Does a call on one entry: see [`Self::audited`].
    async fn audited_at<T: Send + 'static, F>(
        &self,
        action: &'static str,
        uri: &str,
        work: impl FnOnce(ScopedStore, EntryUri) -> F,
        note: impl FnOnce(&T) -> AuditNote + Send + 'static,
    ) -> StoreResult<T>
    where
        F: Future<Output = StoreResult<T>> + Send + 'static,
    {
        let uri = self.checked(action, EntryUri::parse(uri).map_err(StoreError::from))?;
        let work = work(self.entries.clone(), uri.clone());
        self.finish(action, Some(uri), work, note).await
    }

    /// Does a call and writes its line.
    async fn audited<T: Send + 'static, F>(
        &self,
        action: &'static str,
        work: impl FnOnce(ScopedStore) -> F,
        note: impl FnOnce(&T) -> AuditNote + Send + 'static,
    ) -> StoreResult<T>
    where
        F: Future<Output = StoreResult<T>> + Send + 'static,
    {
        self.finish(action, None, work(self.entries.clone()), note).await
    }

    /// Finishes a call and its line even when the caller stops waiting.
    async fn finish<T: Send + 'static>(
        &self,
        action: &'static str,
        uri: Option<EntryUri>,
        work: impl Future<Output = StoreResult<T>> + Send + 'static,
        note: impl FnOnce(&T) -> AuditNote + Send + 'static,
    ) -> StoreResult<T> {
        let handle = self.clone();
        let mut call = Box::pin(async move {
            // Those who only ask for what is in memory let others have their turn, too.
            tokio::task::coop::consume_budget().await;
            handle.entries.store.settle_audit()?;
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
        let first_poll = poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
        if let Poll::Ready(result) = first_poll {
            return result;
        }
        finished(tokio::spawn(call).await).map_err(unfinished())?
    }

    fn record(
        &self,
        action: impl Into<String>,
        uri: Option<EntryUri>,
        result: Result<(), &StoreError>,
        audit_note: AuditNote,
    ) -> StoreResult<()> {
        let ScopedStore { store, access, by, .. } = &self.entries;
        let outcome = match result {
            Ok(()) => AuditOutcome::Ok,
            Err(error) if error.is_denial() => AuditOutcome::Denied,
            // What is hidden from the caller is not hidden from the audit.
            Err(StoreError::NotFound { uri, .. }) if !access.scope.reaches(uri) => {
                AuditOutcome::Denied
            }
            Err(_) => AuditOutcome::Error,
        };
        store.record(AuditLogLine {
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
        let EntryInfo { file_anchors, commit_at_write, .. } = &hit.info;
        let report = AnchorReport::of_files(file_anchors, commit_at_write.as_ref(), Some(project));
        hit.stale = report.is_stale();
        hit.score *= f64::from(report.weight());
    }
    page.hits.sort_by(|one, other| other.score.total_cmp(&one.score));
    page
}

fn unfinished() -> impl FnOnce(io::Error) -> StoreError {
    StoreError::io("finish the call")
}
