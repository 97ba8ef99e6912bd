//! A capsule for one caller. Every request is one call here, and every call is one line in the audit.

mod messages;
mod prompts;
mod skills;
mod writing;

use std::{future::poll_fn, sync::Arc, task::Poll};

use jiff::civil::Date;
use serde::Serialize;

pub use prompts::{Prompt, PromptArgument};
pub use skills::Skill;

use crate::{
    Access, AnchorReport, AuditMode, Author, Bands, Blob, CapsuleInfo, Changes, Clock, Entry,
    EntryMeta, EntryUri, FilteredStore, ListRequest, Order, Page, Project, PrunedLines, Role,
    Scheme, SchemeCount, Scope, SearchPage, SearchRequest, Store as _, StoreError,
    audit::{AuditLog, AuditOutcome, AuditRecord},
    neutralise, unified_diff,
};

/// Entries shown when nothing in particular is asked for.
const RECENT: usize = 20;

/// What one caller can do with one capsule. Made by [`crate::Capsules::session`], per connection or per call.
#[derive(Clone)]
pub struct CapsuleSession {
    capsule: Arc<CapsuleInfo>,
    store: FilteredStore,
    audit: Option<Arc<AuditLog>>,
    author: Arc<Author>,
    clock: Clock,
    project: Option<Arc<dyn Project>>,
}

/// An entry as it is given to a reader.
#[derive(Debug, Clone)]
pub struct ReadEntry {
    pub entry: Entry,
    /// The files it cites, checked where the host knows the project.
    pub anchors: AnchorReport,
    /// Preamble, body and footer: the only form in which content goes to an agent as text.
    pub text: String,
}

/// What a capsule holds, at a glance.
#[derive(Debug, Clone, Serialize)]
pub struct Overview {
    pub schemes: Vec<SchemeCount>,
    pub recent: Vec<EntryMeta>,
}

/// What the audit says about a call besides its outcome.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    version: Option<u64>,
    bytes: Option<u64>,
    /// The store wrote the line together with the change.
    is_recorded: bool,
}

impl Noted {
    /// About a change whose line the store writes.
    fn recorded() -> Self {
        Self { is_recorded: true, ..Self::default() }
    }
}

impl CapsuleSession {
    pub(crate) fn new(
        capsule: CapsuleInfo,
        store: FilteredStore,
        audit: Option<Arc<AuditLog>>,
        author: Author,
        clock: Clock,
    ) -> Self {
        let (capsule, author) = (Arc::new(capsule), Arc::new(author));
        Self { capsule, store, audit, author, clock, project: None }
    }

    /// With the project the caller works in: anchors are checked against it.
    pub fn in_project(mut self, project: Arc<dyn Project>) -> Self {
        self.project = Some(project);
        self
    }

    pub fn capsule(&self) -> &CapsuleInfo {
        &self.capsule
    }

    pub fn access(&self) -> &Access {
        self.store.access()
    }

    pub fn author(&self) -> &Author {
        &self.author
    }

    /// An entry with its bands.
    pub async fn read(
        &self,
        uri: &EntryUri,
        version: Option<u64>,
    ) -> Result<ReadEntry, StoreError> {
        let (session, address) = (self.clone(), uri.clone());
        let work = async move {
            let entry = session.store.read(&address, version).await?;
            Ok(session.with_bands(entry).await)
        };
        self.audited("read", Some(uri), work, |read| Noted {
            version: Some(read.entry.meta.version),
            bytes: Some(read.entry.meta.bytes),
            ..Noted::default()
        })
        .await
    }

    pub async fn list(&self, request: ListRequest) -> Result<Page<EntryMeta>, StoreError> {
        let store = self.store.clone();
        self.audited("list", None, async move { store.list(&request).await }, |_| Noted::default())
            .await
    }

    /// Schemes with counts and the latest entries.
    pub async fn overview(&self) -> Result<Overview, StoreError> {
        let store = self.store.clone();
        let work = async move {
            let request =
                ListRequest { order: Order::ByTime, limit: RECENT, ..ListRequest::default() };
            let (schemes, recent) =
                (store.counts(&Scope::all()).await?, store.list(&request).await?.items);
            Ok(Overview { schemes, recent })
        };
        self.audited("list", None, work, |_| Noted::default()).await
    }

    /// Hits on the page whose cited files are stale come after those whose are not.
    pub async fn search(&self, request: SearchRequest) -> Result<SearchPage, StoreError> {
        let session = self.clone();
        let work = async move {
            let page = session.store.search(&request).await?;
            let Some(project) = session.project.clone() else { return Ok(page) };
            blocking(move || rank_by_anchors(page, project.as_ref())).await
        };
        self.audited("search", None, work, |_| Noted::default()).await
    }

    pub async fn history(&self, uri: &EntryUri) -> Result<Vec<EntryMeta>, StoreError> {
        let (store, address) = (self.store.clone(), uri.clone());
        self.audited("history", Some(uri), async move { store.history(&address).await }, |_| {
            Noted::default()
        })
        .await
    }

    /// What changed between two versions, the current one if the second is not named. Look-alikes of bands are marked.
    pub async fn diff(
        &self,
        uri: &EntryUri,
        from: u64,
        to: Option<u64>,
    ) -> Result<String, StoreError> {
        let (store, address) = (self.store.clone(), uri.clone());
        let work = async move {
            let (old, new) =
                (store.read(&address, Some(from)).await?, store.read(&address, to).await?);
            let name = |entry: &Entry| format!("{address}@{}", entry.meta.version);
            let (old_name, new_name) = (name(&old), name(&new));
            let diff =
                move || neutralise(&unified_diff(&old.body, &new.body, &old_name, &new_name));
            blocking(diff).await
        };
        self.audited("diff", Some(uri), work, |_| Noted::default()).await
    }

    pub async fn read_blob(
        &self,
        uri: &EntryUri,
        version: Option<u64>,
    ) -> Result<Blob, StoreError> {
        let (store, address) = (self.store.clone(), uri.clone());
        let work = async move { store.read_blob(&address, version).await };
        self.audited("blob.read", Some(uri), work, move |blob| Noted {
            bytes: Some(blob.reference.bytes),
            version,
            ..Noted::default()
        })
        .await
    }

    pub async fn schemes(&self) -> Result<Vec<Scheme>, StoreError> {
        let store = self.store.clone();
        self.audited("scheme.list", None, async move { store.schemes().await }, |_| {
            Noted::default()
        })
        .await
    }

    /// Removes the files of days before one from the capsule's audit, for its owner.
    pub async fn prune_audit(&self, before: Date) -> Result<PrunedLines, StoreError> {
        let (audit, role) = (self.audit.clone(), self.access().role);
        let work = async move {
            if role < Role::Owner {
                let (needed, action) = (Role::Owner, "prune the audit");
                return Err(StoreError::ForbiddenRole { role, needed, action });
            }
            let audit = audit.ok_or(StoreError::ReadOnly)?;
            blocking(move || audit.prune(before)).await?.map_err(StoreError::io("prune the audit"))
        };
        self.audited("audit.prune", None, work, |_| Noted::default()).await
    }

    /// Changes that this caller may see, from now on. Not a call, so not in the audit.
    pub fn changes(&self) -> Changes {
        self.store.changes()
    }

    /// Records a call that failed before it got here, such as one with an address that is none.
    pub async fn note_failure(
        &self,
        action: &'static str,
        error: &StoreError,
    ) -> Result<(), StoreError> {
        self.write_line(self.record(action, None, Err(error), Noted::default()))
    }

    /// The store as this caller sees it, for work of many steps that is one call.
    pub(crate) fn store(&self) -> &FilteredStore {
        &self.store
    }

    /// Writes the line of a call that was not done by a method of this type.
    pub async fn recorded<T>(
        &self,
        action: &'static str,
        result: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let record = self.record(action, None, result.as_ref().map(|_| ()), Noted::default());
        self.write_line(record)?;
        result
    }

    pub(crate) async fn with_bands(&self, entry: Entry) -> ReadEntry {
        let (project, now) = (self.project.clone(), self.clock.now());
        let rendered = move || {
            let anchors = AnchorReport::of(&entry.meta, project.as_deref());
            let text = Bands { entry: &entry, anchors: &anchors, now: Some(now) }.render();
            ReadEntry { entry, anchors, text }
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
        note: impl FnOnce(&T) -> Noted + Send + 'static,
    ) -> Result<T, StoreError> {
        let (session, uri) = (self.clone(), uri.cloned());
        let mut call = Box::pin(async move {
            // Those who only ask for what is in memory let others have their turn, too.
            tokio::task::coop::consume_budget().await;
            session.settle()?;
            match work.await {
                Ok(done) => {
                    let noted = note(&done);
                    if !noted.is_recorded {
                        session.write_line(session.record(action, uri, Ok(()), noted))?;
                    }
                    Ok(done)
                }
                // Its line is owed already.
                Err(error @ StoreError::AuditFailed { .. }) => Err(error),
                Err(error) => {
                    let record = session.record(action, uri, Err(&error), Noted::default());
                    // Nothing was done, which is what the caller must hear; the line is owed.
                    session.write_line(record).ok();
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
            Some(audit) => audit.settle().map_err(|source| StoreError::AuditOwed { source }),
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
        action: &'static str,
        uri: Option<EntryUri>,
        result: Result<(), &StoreError>,
        noted: Noted,
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
            version: noted.version,
            bytes: noted.bytes,
            outcome,
            error_code: result.err().map(|error| error.code().into()),
            ..AuditRecord::default()
        }
    }
}

fn rank_by_anchors(mut page: SearchPage, project: &dyn Project) -> SearchPage {
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
