//! The way to the capsules that every process takes.

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
    AuditMode, CapsuleCaller, CapsuleChange, CapsuleChanges, CapsuleDesk, CapsuleFailure,
    CapsuleOperation, CapsuleRequest, Indexing, LocalDesk, Mode, Reach, Scheme, StoreOptions,
    probe_folder,
};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::{
    sync::{Mutex, mpsc},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{
    answering::answer_others,
    remote::{Lost, RemoteDesk},
};
use crate::local_socket::{LocalSocket, NoHost};

/// How long to wait for a process that has the folder and answers nobody: short commands do that while they work.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two looks at a folder that is in use.
const GLANCE: Duration = Duration::from_millis(20);
/// Between two looks for a first capsule, for those who listen before there is one.
const LOOKING: Duration = Duration::from_secs(1);
/// How long a data folder that could not be written is read before writing is tried again.
const READ_ONLY_RETRY: Duration = Duration::from_secs(10);
/// Changes that wait for a slow listener.
const WAITING: usize = 256;

/// What a desk is opened with, on first use.
#[derive(Debug, Clone)]
pub struct SharedDeskSettings {
    /// The data folder. It is made with the first capsule.
    pub folder: PathBuf,
    /// Schemes that every capsule has besides the built-in ones: JSON, or names between commas.
    pub schemes: Option<String>,
    /// What happens when a call cannot be recorded, while this process has the folder.
    pub audit: AuditMode,
    /// Told to processes of another version.
    pub version: String,
    pub standing: Standing,
}

/// How long this process is going to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It keeps the folder once it has it, and answers others.
    Lasting,
    /// It has the folder only while it works on a request.
    Passing,
}

/// All capsules of a data folder, whichever process has it. Cheap to clone. Nothing is touched before the first use.
#[derive(Debug, Clone)]
pub struct SharedDesk(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    settings: SharedDeskSettings,
    way: Mutex<Way>,
    /// Whoever listens is there until the end, whatever it said.
    listens: AtomicBool,
    stop: CancellationToken,
}

/// How the capsules are reached now.
#[derive(Debug, Clone, Default)]
enum Way {
    #[default]
    Unknown,
    Own(LocalDesk, Arc<Answering>),
    Other(Arc<RemoteDesk>),
}

/// The task that answers others, and how many requests of this process are under way.
#[derive(Debug)]
struct Answering {
    requests: AtomicUsize,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
    /// Since when the folder is only read, if it cannot be written.
    reads_since: Option<Instant>,
}

impl SharedDesk {
    /// A desk that has not been used yet.
    pub fn new(settings: SharedDeskSettings) -> Self {
        let (way, stop) = (Mutex::default(), CancellationToken::new());
        Self(Arc::new(Shared { settings, way, listens: AtomicBool::new(false), stop }))
    }
}

#[async_trait]
impl CapsuleDesk for SharedDesk {
    fn may_have_capsules(&self) -> bool {
        // An empty list is two brackets, with or without a line's end.
        let list = std::fs::metadata(self.0.list_file());
        list.is_ok_and(|list| list.len() > 3)
    }

    fn list_file(&self) -> Option<PathBuf> {
        Some(self.0.list_file())
    }

    async fn ask(&self, request: CapsuleRequest) -> Result<Value, CapsuleFailure> {
        // What is written down has to be written even where there is no capsule yet.
        let needs_folder = match request.operation {
            CapsuleOperation::CreateCapsule { .. } | CapsuleOperation::NoteAccess(_) => true,
            CapsuleOperation::Looked(_) => !matches!(request.caller.reach, Reach::All),
            // What was kept of deleted capsules is there without any that are left.
            CapsuleOperation::PurgeCapsule => self.0.settings.folder.join("deleted").exists(),
            _ => false,
        };
        if !needs_folder && !self.may_have_capsules() && !self.0.stop.is_cancelled() {
            if matches!(request.operation, CapsuleOperation::StorageStatus) {
                return Ok(self.0.status_without_capsules().await);
            }
            return self.0.nothing().await?.ask(request).await;
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (way, in_use) = self.0.way(deadline).await?;
            let lost = match &way {
                Way::Own(desk, answering) => {
                    let answer = desk.ask(request.clone()).await;
                    drop(in_use);
                    if !self.0.lasts() {
                        self.0.release(desk, answering).await;
                    }
                    match answer {
                        // It was let go while this request was on its way.
                        Err(failure) if failure.code == "closed" && !self.0.stop.is_cancelled() => {
                            Lost::Untouched
                        }
                        answer => return answer,
                    }
                }
                Way::Other(other) => match other.ask(&request).await {
                    Ok(answer) => return answer,
                    Err(lost) => {
                        self.0.forget(other).await;
                        lost
                    }
                },
                Way::Unknown => Lost::Untouched,
            };
            if lost == Lost::Begun && !request.operation.is_repeatable() {
                return Err(outcome_unknown());
            }
            if Instant::now() >= deadline {
                return Err(no_answer());
            }
        }
    }

    async fn changes(&self, caller: CapsuleCaller) -> Result<CapsuleChanges, CapsuleFailure> {
        self.0.listens.store(true, Ordering::Relaxed);
        let first = match self.may_have_capsules() {
            true => Some(self.0.listen(&caller).await?),
            false => None,
        };
        let (sender, receiver) = mpsc::channel(WAITING);
        tokio::spawn(pass_on(self.clone(), caller, first, sender));
        let told = stream::unfold(receiver, |mut receiver| async move {
            Some((receiver.recv().await?, receiver))
        });
        Ok(CapsuleChanges::new(told))
    }

    async fn close(&self) {
        self.0.stop.cancel();
        let way = std::mem::take(&mut *self.0.way.lock().await);
        if let Way::Own(desk, answering) = way {
            answering.end().await;
            desk.close().await;
        }
    }
}

/// Tells changes for as long as somebody listens, from whichever process has the capsules.
async fn pass_on(
    desk: SharedDesk,
    caller: CapsuleCaller,
    first: Option<CapsuleChanges>,
    sender: mpsc::Sender<CapsuleChange>,
) {
    let stop = desk.0.stop.clone();
    let telling = async {
        let mut current = first;
        loop {
            if let Some(mut changes) = current.take() {
                while let Some(change) = changes.next().await {
                    if sender.send(change).await.is_err() {
                        return;
                    }
                }
            }
            while !desk.may_have_capsules() {
                tokio::time::sleep(LOOKING).await;
            }
            match desk.0.listen(&caller).await {
                // What happened in between was heard by nobody.
                Ok(changes) => {
                    current = Some(changes);
                    if sender.send(CapsuleChange::Missed).await.is_err() {
                        return;
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "changes of capsules cannot be followed now");
                    tokio::time::sleep(LOOKING).await;
                }
            }
        }
    };
    tokio::select! {
        () = telling => {}
        () = sender.closed() => {}
        () = stop.cancelled() => {}
    }
}

impl Shared {
    /// The way that is known, or a new one, and a mark that it is used.
    async fn way(&self, deadline: Instant) -> Result<(Way, Option<InUse>), CapsuleFailure> {
        let mut way = self.way.lock().await;
        let is_over = |since: Instant| since.elapsed() >= READ_ONLY_RETRY;
        if let Way::Own(_, answering) = &*way
            && answering.reads_since.is_some_and(is_over)
        {
            // Requests under way keep their own clone until they are done.
            *way = Way::Unknown;
        }
        if matches!(&*way, Way::Unknown) {
            *way = self.find_way(deadline).await?;
        }
        let in_use = match &*way {
            Way::Own(_, answering) => Some(InUse::of(answering)),
            Way::Other(_) | Way::Unknown => None,
        };
        Ok((way.clone(), in_use))
    }

    /// Takes the folder, or finds the process that has it.
    async fn find_way(&self, deadline: Instant) -> Result<Way, CapsuleFailure> {
        if self.stop.is_cancelled() {
            return Err(CapsuleFailure::new("closed", "the host is closing"));
        }
        loop {
            let in_use = match LocalDesk::open(&self.settings.folder, self.options()?).await {
                Ok(desk) => return Ok(self.own(desk)),
                Err(failure) if failure.code == "in_use" => failure,
                Err(failure) if is_unwritable(&failure) => return self.only_read(failure).await,
                Err(failure) => return Err(failure),
            };
            match RemoteDesk::connect(&self.socket()).await {
                Ok(other) => return Ok(Way::Other(Arc::new(other))),
                Err(error @ (NoHost::Foreign | NoHost::OtherVersion { .. })) => {
                    return Err(in_use.hint(format!("{error}; stop it, or update capdeck")));
                }
                // It has just begun, is about to end, or is a short command.
                Err(NoHost::Absent | NoHost::Silent) if Instant::now() < deadline => {
                    tokio::time::sleep(GLANCE).await;
                }
                Err(NoHost::Absent | NoHost::Silent) => return Err(in_use),
            }
        }
    }

    /// A folder that cannot be written can still be read. Nothing is recorded then, so not where recording is required.
    async fn only_read(&self, failure: CapsuleFailure) -> Result<Way, CapsuleFailure> {
        if self.settings.audit == AuditMode::Strict {
            return Err(failure.hint(
                "recording is required (CAPDECK_AUDIT_STRICT), so nothing is read from a folder that cannot be written",
            ));
        }
        let options = StoreOptions { mode: Mode::ReadOnly, ..self.options()? };
        let Ok(desk) = LocalDesk::open(&self.settings.folder, options).await else {
            return Err(failure);
        };
        tracing::warn!(%failure, "the data folder cannot be written; capsules are only read");
        let (requests, task) = (AtomicUsize::new(0), Mutex::new(None));
        let (stop, reads_since) = (CancellationToken::new(), Some(Instant::now()));
        Ok(Way::Own(desk, Arc::new(Answering { requests, stop, task, reads_since })))
    }

    /// Whether a first capsule could be made. Nothing is made for it.
    async fn status_without_capsules(&self) -> Value {
        let folder = self.settings.folder.clone();
        let probed = tokio::task::spawn_blocking(move || probe_folder(&folder)).await;
        match probed.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
            Ok(()) => json!({ "writable": true, "capsules": [] }),
            Err(error) => {
                let reason = format!("cannot write to the data folder: {error}");
                json!({ "writable": false, "reason": reason, "capsules": [] })
            }
        }
    }

    /// The folder is this process's: others are answered from now on, if it lasts.
    fn own(&self, desk: LocalDesk) -> Way {
        let stop = CancellationToken::new();
        let bound = self.lasts().then(|| LocalSocket::bind(&self.socket()));
        let task = match bound {
            None => None,
            Some(Ok(socket)) => {
                let version = self.settings.version.clone();
                Some(tokio::spawn(answer_others(socket, desk.clone(), version, stop.clone())))
            }
            Some(Err(error)) => {
                tracing::warn!(%error, "other processes cannot use the capsules now");
                None
            }
        };
        let (requests, task) = (AtomicUsize::new(0), Mutex::new(task));
        Way::Own(desk, Arc::new(Answering { requests, stop, task, reads_since: None }))
    }

    /// Lets the folder go after a request, unless another one of this process is under way.
    async fn release(&self, desk: &LocalDesk, answering: &Arc<Answering>) {
        let mut way = self.way.lock().await;
        if let Way::Own(_, current) = &*way
            && Arc::ptr_eq(current, answering)
            && answering.requests.load(Ordering::Relaxed) == 0
        {
            *way = Way::Unknown;
            desk.close().await;
        }
    }

    /// The other process ended; the next request looks for another way.
    async fn forget(&self, other: &Arc<RemoteDesk>) {
        let mut way = self.way.lock().await;
        if let Way::Other(current) = &*way
            && Arc::ptr_eq(current, other)
        {
            *way = Way::Unknown;
        }
    }

    /// What changes, from the process that has the capsules now.
    async fn listen(&self, caller: &CapsuleCaller) -> Result<CapsuleChanges, CapsuleFailure> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.way(deadline).await?.0 {
                Way::Own(desk, _) => return desk.changes(caller.clone()).await,
                Way::Other(other) => match other.listen(caller).await {
                    Ok(changes) => return changes,
                    Err(_) => self.forget(&other).await,
                },
                Way::Unknown => {}
            }
            if Instant::now() >= deadline {
                return Err(no_answer());
            }
        }
    }

    /// A desk without capsules, which makes and locks nothing.
    async fn nothing(&self) -> Result<LocalDesk, CapsuleFailure> {
        let options = StoreOptions { mode: Mode::ReadOnly, ..StoreOptions::default() };
        LocalDesk::open(&self.settings.folder, options).await
    }

    fn lasts(&self) -> bool {
        self.settings.standing == Standing::Lasting || self.listens.load(Ordering::Relaxed)
    }

    fn list_file(&self) -> PathBuf {
        self.settings.folder.join("boxes.json")
    }

    fn socket(&self) -> PathBuf {
        self.settings.folder.join("desk.sock")
    }

    fn options(&self) -> Result<StoreOptions, CapsuleFailure> {
        let schemes = match &self.settings.schemes {
            Some(text) => Scheme::parse_registry_list(text).map_err(|error| {
                CapsuleFailure::new("invalid_scheme", format!("CAPSOL_SCHEMES: {error}"))
            })?,
            None => Vec::new(),
        };
        // A short command ends before an index for others would be made.
        let indexing = match self.settings.standing {
            Standing::Lasting => Indexing::WhenOpened,
            Standing::Passing => Indexing::WhenSearched,
        };
        let audit = self.settings.audit;
        Ok(StoreOptions { schemes, indexing, audit, ..StoreOptions::default() })
    }
}

/// A request of this process is under way.
struct InUse(Arc<Answering>);

impl InUse {
    fn of(answering: &Arc<Answering>) -> Self {
        answering.requests.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(answering))
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Answering {
    /// Ends the answering of others, after what was begun.
    async fn end(&self) {
        self.stop.cancel();
        if let Some(task) = self.task.lock().await.take() {
            // Only a bug in a conversation ends it otherwise, and that was logged.
            let _ended = task.await;
        }
    }
}

/// Whether a folder could not be opened for writing only because it cannot be written.
fn is_unwritable(failure: &CapsuleFailure) -> bool {
    ["read_only", "permission_denied"].contains(&failure.code.as_str())
}

fn outcome_unknown() -> CapsuleFailure {
    CapsuleFailure::new(
        "outcome_unknown",
        "the process that has the capsules ended or fell silent before it answered",
    )
    .hint("whether it was done is not known; look before you repeat it, or write with an `idempotency_key`")
}

fn no_answer() -> CapsuleFailure {
    CapsuleFailure::new("in_use", "the process that has the capsules does not answer")
        .hint("see which it is in the file `lock` of the data folder, and stop it")
}

#[cfg(test)]
mod tests;
