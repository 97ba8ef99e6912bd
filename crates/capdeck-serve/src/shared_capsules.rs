//! The capsules of this machine, for every process that uses them.
//!
//! One process at a time has the data folder. [`SharedCapsuleService`] takes the folder when it is free, else it sends its
//! requests to the process that has it, over a socket in that folder. When that process ends, the next request takes the
//! folder over. A `LocalCapsuleService` responds either route.

mod socket;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use capdeck_host::{
    AuditMode, CapsuleCaller, CapsuleChange, CapsuleChanges, CapsuleError, CapsuleErrorCode,
    CapsuleOperation, CapsuleRequest, CapsuleResponse, CapsuleService, IndexTiming,
    LocalCapsuleService, Reach, Scheme, StorageStatusResponse, StoreMode, StoreOptions,
    probe_folder,
};
use futures_util::stream;
use tokio::{
    sync::{Mutex, mpsc},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use self::socket::{LostConnection, RemoteCapsules, serve_others};
use crate::local_socket::{HostUnreachable, LocalSocket};

/// How long to wait for a process that has the folder and does not respond: short commands do that while they work.
const FOLDER_TIMEOUT: Duration = Duration::from_secs(20);
/// Between two looks at a folder that is in use.
const FOLDER_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Between two looks for a first capsule, for those who listen before there is one.
const FIRST_CAPSULE_INTERVAL: Duration = Duration::from_secs(1);
/// How long a data folder that could not be written is read before writing is tried again.
const READ_ONLY_RETRY_INTERVAL: Duration = Duration::from_secs(10);
/// Changes that wait for a slow listener.
const MAX_WAITING: usize = 256;

/// What the capsules are opened with, on first use.
#[derive(Debug, Clone)]
pub struct SharedCapsulesSettings {
    /// The data folder. It is made with the first capsule.
    pub folder: PathBuf,
    /// Schemes that every capsule has besides the built-in ones: JSON, or names between commas.
    pub schemes: Option<String>,
    /// What happens when a call cannot be recorded, while this process has the folder.
    pub audit: AuditMode,
    /// Sent to processes of another version.
    pub version: String,
    pub standing: ProcessLifetime,
}

/// How long this process is going to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessLifetime {
    /// It keeps the folder once it has it, and answers others.
    Lasting,
    /// It has the folder only while it works on a request.
    Passing,
}

/// All capsules of a data folder, whichever process has it. Cheap to clone. Nothing is touched before the first use.
#[derive(Debug, Clone)]
pub struct SharedCapsuleService(Arc<SharedServiceState>);

#[derive(Debug)]
struct SharedServiceState {
    settings: SharedCapsulesSettings,
    route: Mutex<Route>,
    /// A process with a subscriber lasts, whatever its lifetime says.
    listens: AtomicBool,
    stop: CancellationToken,
}

/// How the capsules are reached now.
#[derive(Debug, Clone, Default)]
enum Route {
    #[default]
    Unknown,
    Own(LocalCapsuleService, Arc<FolderOwnership>),
    Other(Arc<RemoteCapsules>),
}

/// The task that answers others, and how many requests of this process are in flight.
#[derive(Debug)]
struct FolderOwnership {
    requests: AtomicUsize,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
    /// Since when the folder is only read, if it cannot be written.
    reads_since: Option<Instant>,
}

impl SharedCapsuleService {
    /// Capsules that have not been used yet.
    pub fn new(settings: SharedCapsulesSettings) -> Self {
        let (route, stop) = (Mutex::default(), CancellationToken::new());
        Self(Arc::new(SharedServiceState {
            settings,
            route,
            listens: AtomicBool::new(false),
            stop,
        }))
    }
}

#[async_trait]
impl CapsuleService for SharedCapsuleService {
    fn may_have_capsules(&self) -> bool {
        // An empty list is two brackets, with or without a line's end.
        let list = std::fs::metadata(self.0.list_file());
        list.is_ok_and(|list| list.len() > 3)
    }

    fn list_file(&self) -> Option<PathBuf> {
        Some(self.0.list_file())
    }

    async fn dispatch(
        &self,
        request: CapsuleRequest<CapsuleOperation>,
    ) -> Result<CapsuleResponse, CapsuleError> {
        // What is recorded has to be recorded even where there is no capsule yet.
        let needs_folder = match request.operation {
            CapsuleOperation::CreateCapsule(_) | CapsuleOperation::NoteAccess(_) => true,
            CapsuleOperation::NoteLook(_) => !matches!(request.caller.reach, Reach::All),
            // What was moved aside of deleted capsules is there without any that are left.
            CapsuleOperation::PurgeCapsule(_) => self.0.settings.folder.join("deleted").exists(),
            _ => false,
        };
        if !needs_folder && !self.may_have_capsules() && !self.0.stop.is_cancelled() {
            if matches!(request.operation, CapsuleOperation::StorageStatus(_)) {
                let status = self.0.status_without_capsules().await;
                return Ok(CapsuleResponse::StorageStatus(status));
            }
            return self.0.nothing().await?.dispatch(request).await;
        }
        let deadline = Instant::now() + FOLDER_TIMEOUT;
        loop {
            let (route, in_use) = self.0.route(deadline).await?;
            let lost = match &route {
                Route::Own(local, ownership) => {
                    let answer = local.dispatch(request.clone()).await;
                    drop(in_use);
                    if !self.0.lasts() {
                        self.0.release(local, ownership).await;
                    }
                    match answer {
                        // It was let go while this request was in flight.
                        Err(error)
                            if error.code == CapsuleErrorCode::Closed
                                && !self.0.stop.is_cancelled() =>
                        {
                            LostConnection::Untouched
                        }
                        answer => return answer,
                    }
                }
                Route::Other(other) => match other.dispatch(&request).await {
                    Ok(answer) => return answer,
                    Err(lost) => {
                        self.0.forget(other).await;
                        lost
                    }
                },
                Route::Unknown => LostConnection::Untouched,
            };
            if lost == LostConnection::Started && !request.operation.is_repeatable() {
                return Err(outcome_unknown());
            }
            if Instant::now() >= deadline {
                return Err(no_answer());
            }
        }
    }

    async fn changes(&self, caller: CapsuleCaller) -> Result<CapsuleChanges, CapsuleError> {
        self.0.listens.store(true, Ordering::Relaxed);
        let first = match self.may_have_capsules() {
            true => Some(self.0.listen(&caller).await?),
            false => None,
        };
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        tokio::spawn(pass_on(self.clone(), caller, first, sender));
        let changes = stream::unfold(receiver, |mut receiver| async move {
            Some((receiver.recv().await?, receiver))
        });
        Ok(CapsuleChanges::new(changes))
    }

    async fn close(&self) {
        self.0.stop.cancel();
        let route = std::mem::take(&mut *self.0.route.lock().await);
        if let Route::Own(local, ownership) = route {
            ownership.end().await;
            local.close().await;
        }
    }
}

/// Sends changes for as long as there is a subscriber, from whichever process has the capsules.
async fn pass_on(
    capsules: SharedCapsuleService,
    caller: CapsuleCaller,
    first: Option<CapsuleChanges>,
    sender: mpsc::Sender<CapsuleChange>,
) {
    let stop = capsules.0.stop.clone();
    let sending = async {
        let mut current = first;
        loop {
            if let Some(mut changes) = current.take() {
                while let Some(change) = changes.next().await {
                    if sender.send(change).await.is_err() {
                        return;
                    }
                }
            }
            while !capsules.may_have_capsules() {
                tokio::time::sleep(FIRST_CAPSULE_INTERVAL).await;
            }
            match capsules.0.listen(&caller).await {
                // No one listened to what happened in between.
                Ok(changes) => {
                    current = Some(changes);
                    if sender.send(CapsuleChange::Missed).await.is_err() {
                        return;
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "changes of capsules cannot be followed now");
                    tokio::time::sleep(FIRST_CAPSULE_INTERVAL).await;
                }
            }
        }
    };
    tokio::select! {
        () = sending => {}
        () = sender.closed() => {}
        () = stop.cancelled() => {}
    }
}

impl SharedServiceState {
    /// The route that is known, or a new one, and a mark that it is used.
    async fn route(
        &self,
        deadline: Instant,
    ) -> Result<(Route, Option<LocalRequestGuard>), CapsuleError> {
        let mut route = self.route.lock().await;
        let is_over = |since: Instant| since.elapsed() >= READ_ONLY_RETRY_INTERVAL;
        if let Route::Own(_, ownership) = &*route
            && ownership.reads_since.is_some_and(is_over)
        {
            // Requests in flight keep their own clone until they are done.
            *route = Route::Unknown;
        }
        if matches!(&*route, Route::Unknown) {
            *route = self.find_route(deadline).await?;
        }
        let in_use = match &*route {
            Route::Own(_, ownership) => Some(LocalRequestGuard::of(ownership)),
            Route::Other(_) | Route::Unknown => None,
        };
        Ok((route.clone(), in_use))
    }

    /// Takes the folder, or finds the process that has it.
    async fn find_route(&self, deadline: Instant) -> Result<Route, CapsuleError> {
        if self.stop.is_cancelled() {
            return Err(CapsuleError::new(CapsuleErrorCode::Closed, "the host is closing"));
        }
        loop {
            let in_use = match LocalCapsuleService::open(&self.settings.folder, self.options()?)
                .await
            {
                Ok(local) => return Ok(self.own(local)),
                Err(error) if error.code == CapsuleErrorCode::InUse => error,
                Err(failure) if is_unwritable(&failure) => return self.only_read(failure).await,
                Err(failure) => return Err(failure),
            };
            match RemoteCapsules::connect(&self.socket()).await {
                Ok(other) => return Ok(Route::Other(Arc::new(other))),
                Err(error @ (HostUnreachable::Foreign | HostUnreachable::OtherVersion { .. })) => {
                    return Err(in_use.hint(format!("{error}; stop it, or update capdeck")));
                }
                // It has just started, is about to end, or is a short command.
                Err(HostUnreachable::Absent | HostUnreachable::Silent)
                    if Instant::now() < deadline =>
                {
                    tokio::time::sleep(FOLDER_POLL_INTERVAL).await;
                }
                Err(HostUnreachable::Absent | HostUnreachable::Silent) => return Err(in_use),
            }
        }
    }

    /// A folder that cannot be written can still be read. Nothing is recorded then, so not where recording is required.
    async fn only_read(&self, failure: CapsuleError) -> Result<Route, CapsuleError> {
        if self.settings.audit == AuditMode::Strict {
            return Err(failure.hint(
                "recording is required (CAPDECK_AUDIT_STRICT), so nothing is read from a folder that cannot be written",
            ));
        }
        let options = StoreOptions { mode: StoreMode::ReadOnly, ..self.options()? };
        let Ok(local) = LocalCapsuleService::open(&self.settings.folder, options).await else {
            return Err(failure);
        };
        tracing::warn!(%failure, "the data folder cannot be written; capsules are only read");
        let (requests, task) = (AtomicUsize::new(0), Mutex::new(None));
        let (stop, reads_since) = (CancellationToken::new(), Some(Instant::now()));
        Ok(Route::Own(local, Arc::new(FolderOwnership { requests, stop, task, reads_since })))
    }

    /// Whether a first capsule could be made. Nothing is made for it.
    async fn status_without_capsules(&self) -> StorageStatusResponse {
        let folder = self.settings.folder.clone();
        let probed = tokio::task::spawn_blocking(move || probe_folder(&folder)).await;
        let probed = probed.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        let reason = probed.err().map(|error| format!("cannot write to the data folder: {error}"));
        StorageStatusResponse { writable: reason.is_none(), reason, capsules: Vec::new() }
    }

    /// The folder is this process's: others are answered from now on, if it lasts.
    fn own(&self, local: LocalCapsuleService) -> Route {
        let stop = CancellationToken::new();
        let bound = self.lasts().then(|| LocalSocket::bind(&self.socket()));
        let task = match bound {
            None => None,
            Some(Ok(socket)) => {
                let version = self.settings.version.clone();
                Some(tokio::spawn(serve_others(socket, local.clone(), version, stop.clone())))
            }
            Some(Err(error)) => {
                tracing::warn!(%error, "other processes cannot use the capsules now");
                None
            }
        };
        let (requests, task) = (AtomicUsize::new(0), Mutex::new(task));
        Route::Own(local, Arc::new(FolderOwnership { requests, stop, task, reads_since: None }))
    }

    /// Lets the folder go after a request, unless another one of this process is in flight.
    async fn release(&self, local: &LocalCapsuleService, ownership: &Arc<FolderOwnership>) {
        let mut route = self.route.lock().await;
        if let Route::Own(_, current) = &*route
            && Arc::ptr_eq(current, ownership)
            && ownership.requests.load(Ordering::Relaxed) == 0
        {
            *route = Route::Unknown;
            local.close().await;
        }
    }

    /// The other process ended; the next request looks for another route.
    async fn forget(&self, other: &Arc<RemoteCapsules>) {
        let mut route = self.route.lock().await;
        if let Route::Other(current) = &*route
            && Arc::ptr_eq(current, other)
        {
            *route = Route::Unknown;
        }
    }

    /// What changes, from the process that has the capsules now.
    async fn listen(&self, caller: &CapsuleCaller) -> Result<CapsuleChanges, CapsuleError> {
        let deadline = Instant::now() + FOLDER_TIMEOUT;
        loop {
            match self.route(deadline).await?.0 {
                Route::Own(local, _) => return local.changes(caller.clone()).await,
                Route::Other(other) => match other.listen(caller).await {
                    Ok(changes) => return changes,
                    Err(_) => self.forget(&other).await,
                },
                Route::Unknown => {}
            }
            if Instant::now() >= deadline {
                return Err(no_answer());
            }
        }
    }

    /// A local without capsules, which makes and locks nothing.
    async fn nothing(&self) -> Result<LocalCapsuleService, CapsuleError> {
        let options = StoreOptions { mode: StoreMode::ReadOnly, ..StoreOptions::default() };
        LocalCapsuleService::open(&self.settings.folder, options).await
    }

    fn lasts(&self) -> bool {
        self.settings.standing == ProcessLifetime::Lasting || self.listens.load(Ordering::Relaxed)
    }

    fn list_file(&self) -> PathBuf {
        self.settings.folder.join("boxes.json")
    }

    fn socket(&self) -> PathBuf {
        // Processes of other versions look for it under this name.
        self.settings.folder.join("desk.sock")
    }

    fn options(&self) -> Result<StoreOptions, CapsuleError> {
        let schemes = match &self.settings.schemes {
            Some(text) => Scheme::parse_registry_list(text).map_err(|error| {
                CapsuleError::new(
                    CapsuleErrorCode::InvalidScheme,
                    format!("CAPSOL_SCHEMES: {error}"),
                )
            })?,
            None => Vec::new(),
        };
        // A short command ends before an index for others would be made.
        let indexing = match self.settings.standing {
            ProcessLifetime::Lasting => IndexTiming::WhenOpened,
            ProcessLifetime::Passing => IndexTiming::WhenSearched,
        };
        let audit = self.settings.audit;
        Ok(StoreOptions { schemes, indexing, audit, ..StoreOptions::default() })
    }
}

/// A request of this process in flight.
struct LocalRequestGuard(Arc<FolderOwnership>);

impl LocalRequestGuard {
    fn of(ownership: &Arc<FolderOwnership>) -> Self {
        ownership.requests.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(ownership))
    }
}

impl Drop for LocalRequestGuard {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

impl FolderOwnership {
    /// Ends the ownership of others, after what was started.
    async fn end(&self) {
        self.stop.cancel();
        if let Some(task) = self.task.lock().await.take() {
            // Only a bug in a conversation ends it otherwise, and that was logged.
            let _ended = task.await;
        }
    }
}

/// Whether a folder could not be opened for writing only because it cannot be written.
fn is_unwritable(error: &CapsuleError) -> bool {
    matches!(error.code, CapsuleErrorCode::ReadOnly | CapsuleErrorCode::PermissionDenied)
}

fn outcome_unknown() -> CapsuleError {
    CapsuleError::new(
        CapsuleErrorCode::OutcomeUnknown,
        "the process that has the capsules ended or fell silent before it answered",
    )
    .hint("whether it was done is not known; look before you repeat it, or write with an `idempotency_key`")
}

fn no_answer() -> CapsuleError {
    CapsuleError::new(CapsuleErrorCode::InUse, "the process that has the capsules does not answer")
        .hint("see which it is in the file `lock` of the data folder, and stop it")
}

#[cfg(test)]
mod tests;
