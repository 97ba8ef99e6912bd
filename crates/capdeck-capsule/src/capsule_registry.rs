//! The data folder: all capsules, who may open them, and the lock that keeps a second process out.

mod removal;
mod shares;

use std::{
    collections::HashMap,
    fs::{self, File, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use capdeck_storage::{make_private_folder, private_options};
use jiff::{Timestamp, civil::Date};
use parking_lot::Mutex;

use crate::{
    AccessEvent, AuditLogLine, AuditOutcome, CapsuleAccess, CapsuleAuthor, CapsuleHandle,
    CapsuleInfo, CapsuleUpdate, FileStoreFactory, NameScope, PrunedLines, REGISTRY_LOG, Store,
    StoreError, StoreFactory, StoreMode, StoreOptions, StoreResult,
    audit::ChainedAuditLog,
    blocking::blocking,
    capsule_info::{self, RecordFile},
    file_store::StoreDisk,
    share::ShareRecord,
};

/// Bytes written to see whether there is room. More than a journal is lengthened by: a disk that has less takes no change.
const PROBE_BYTES: usize = 320 * 1024;

/// All capsules of a data folder. Cheap to clone; the folder is free again when the last clone is gone.
///
/// What is done to capsules and shares as a whole is recorded in the data folder's own audit, with the caller
/// [`Self::acting_for`] names.
#[derive(Debug, Clone)]
pub struct CapsuleRegistry {
    inner: Arc<CapsuleRegistryInner>,
    author: Arc<CapsuleAuthor>,
    /// Which names a new name must differ from.
    names: NameScope,
}

/// A store that the first caller opens, and others wait for.
type OpeningStore = Arc<tokio::sync::OnceCell<Arc<dyn Store>>>;

#[derive(Debug)]
struct CapsuleRegistryInner {
    folder: PathBuf,
    options: StoreOptions,
    stores: Box<dyn StoreFactory>,
    disk: Arc<StoreDisk>,
    boxes: RecordFile<CapsuleInfo>,
    shares: RecordFile<ShareRecord>,
    /// When shares were used that the file does not know of yet, by their ids.
    share_uses: Mutex<HashMap<String, Timestamp>>,
    /// The data folder's own audit; none where the folder is only read.
    audit: Option<ChainedAuditLog>,
    open: Mutex<HashMap<String, OpeningStore>>,
    /// Locked as long as it is open.
    lock: Arc<Mutex<Option<Arc<File>>>>,
}

#[derive(Debug, Clone, Default)]
struct AuditSubject {
    capsule: Option<String>,
    share: Option<String>,
}

impl AuditSubject {
    fn capsule(id: &str) -> Self {
        Self { capsule: Some(id.to_owned()), share: None }
    }
}

/// Tries whether a folder can be written, or the nearest one above it that there is. Nothing of it stays. Blocks.
pub fn probe_folder(folder: &Path) -> io::Result<()> {
    let nearest = folder.ancestors().find(|place| place.is_dir()).unwrap_or(folder);
    let path = nearest.join(format!(".capdeck-probe-{}", std::process::id()));
    // A full disk may still take an empty file.
    let written = File::create(&path).and_then(|mut file| file.write_all(&vec![0; PROBE_BYTES]));
    // What could not be made need not go.
    fs::remove_file(&path).ok();
    written
}

impl CapsuleRegistry {
    /// Opens a data folder, which is made when it is not there. Fails when another process writes to it.
    pub async fn open(folder: &Path, options: StoreOptions) -> StoreResult<Self> {
        let folder = folder.to_owned();
        let inner = on_disk(move || CapsuleRegistryInner::open(&folder, options)).await?;
        let author = Arc::new(CapsuleAuthor::client("capdeck"));
        Ok(Self { inner: Arc::new(inner), author, names: NameScope::All })
    }

    /// The same capsules, with another author for what is done through this clone.
    pub fn acting_for(&self, author: CapsuleAuthor) -> Self {
        Self { author: Arc::new(author), ..self.clone() }
    }

    /// The same, for a caller who may learn of these capsules only by a name that is taken.
    pub(crate) fn knowing(self, names: NameScope) -> Self {
        Self { names, ..self }
    }

    /// The folder of the data folder's own audit; its files start with [`crate::REGISTRY_LOG`].
    pub fn registry_logs(&self) -> PathBuf {
        self.inner.folder.join("logs")
    }

    /// Waits for everything in flight and lets the next process in. Sessions that are still held do nothing more.
    pub async fn close(&self) {
        let cells: Vec<_> = self.inner.open.lock().drain().map(|(_, cell)| cell).collect();
        for store in cells.iter().filter_map(|cell| cell.get()) {
            store.close().await;
        }
        self.save_share_uses().await;
        if let Some(audit) = &self.inner.audit {
            audit.close();
        }
        self.inner.lock.lock().take();
    }

    /// All capsules, by name.
    pub fn list(&self) -> Vec<CapsuleInfo> {
        let mut all = self.inner.boxes.all();
        all.sort_by_key(|capsule| (capsule.name.to_lowercase(), capsule.id.clone()));
        all
    }

    /// The capsule with this id or name.
    pub fn find(&self, name: &str) -> StoreResult<CapsuleInfo> {
        let all = self.inner.boxes.all();
        let not_found = || StoreError::CapsuleNotFound { name: name.to_owned() };
        capsule_info::find(&all, name).cloned().ok_or_else(not_found)
    }

    /// Makes a new capsule; its name must be given.
    pub async fn create(&self, new: CapsuleUpdate) -> StoreResult<CapsuleInfo> {
        let (now, names) = (self.inner.options.clock.now(), self.names.clone());
        let change = move |inner: &CapsuleRegistryInner, subject: &mut AuditSubject| {
            let mut made = None;
            let created = inner.boxes.change(&inner.disk, |capsules| {
                let name = new.name.clone().unwrap_or_default();
                let described = CapsuleUpdate { name: Some(name.clone()), ..new.clone() };
                capsule_info::check_text(&described, None, capsules, &names)?;
                let info = CapsuleInfo {
                    id: capsule_info::new_id(&name, capsules, &names)?,
                    uid: capsule_info::new_uid(),
                    name,
                    description: new.description.unwrap_or_default(),
                    visibility: new.visibility.unwrap_or_default(),
                    created_at: now,
                };
                made = Some(info.id.clone());
                inner.stores.create(&info.id, now)?;
                capsules.push(info.clone());
                Ok(info)
            });
            match (&created, made) {
                (Ok(info), _) => *subject = AuditSubject::capsule(&info.id),
                // Otherwise its name could not be used again.
                (Err(_), Some(id)) => inner.stores.discard(&id),
                (Err(_), None) => {}
            }
            created
        };
        self.change("capsule.create", AuditSubject::default(), change).await
    }

    /// Changes what a capsule is called, says or shows. Its id stays.
    pub async fn update(&self, id: &str, update: CapsuleUpdate) -> StoreResult<CapsuleInfo> {
        let (id, names) = (self.find(id)?.id, self.names.clone());
        let subject = AuditSubject::capsule(&id);
        let change = move |inner: &CapsuleRegistryInner, _: &mut AuditSubject| {
            inner.boxes.change(&inner.disk, |capsules| {
                capsule_info::check_text(&update, Some(&id), capsules, &names)?;
                let found = capsules.iter_mut().find(|capsule| capsule.id == id);
                let capsule = found.ok_or(StoreError::CapsuleNotFound { name: id })?;
                let CapsuleUpdate { name, description, visibility } = update;
                capsule.name = name.unwrap_or_else(|| capsule.name.clone());
                capsule.description = description.unwrap_or_else(|| capsule.description.clone());
                capsule.visibility = visibility.unwrap_or(capsule.visibility);
                Ok(capsule.clone())
            })
        };
        self.change("capsule.update", subject, change).await
    }

    /// The store of a capsule, unfiltered. It is opened when it is first asked for.
    pub async fn store(&self, id: &str) -> StoreResult<Arc<dyn Store>> {
        let id = self.find(id)?.id;
        self.inner.check_lock()?;
        let cell = Arc::clone(self.inner.open.lock().entry(id.clone()).or_default());
        let inner = Arc::clone(&self.inner);
        cell.get_or_try_init(|| on_disk(move || inner.stores.open(&id))).await.cloned()
    }

    /// A capsule for one caller: filtered by its access, recorded in the audit.
    pub async fn handle(
        &self,
        id: &str,
        author: CapsuleAuthor,
        access: CapsuleAccess,
    ) -> StoreResult<CapsuleHandle> {
        let info = self.find(id)?;
        let store = self.store(&info.id).await?;
        let clock = self.inner.options.clock.clone();
        Ok(CapsuleHandle::new(info, store, access, author, clock))
    }

    /// Records that a caller named a capsule that it does not reach, or that does not exist. The name is no part of it: it
    /// may be anything.
    pub fn record_unreachable_capsule(&self) {
        self.record_denial("capsule.open", "not_found");
    }

    /// Writes down what was decided about access, in the data folder's own audit.
    pub async fn record_access_event(&self, event: AccessEvent) -> StoreResult<()> {
        self.inner.check_lock()?;
        let line = AuditLogLine {
            capsule: event.capsule,
            subject: event.subject,
            outcome: event.outcome,
            error_code: event.error_code,
            self_approved: event.self_approved,
            ..AuditLogLine::new(&self.author, event.action)
        };
        let inner = Arc::clone(&self.inner);
        on_disk(move || inner.record(line)).await
    }

    /// The folder of a capsule's files, for tools that read them: export, verification, the audit.
    pub fn root(&self, id: &str) -> StoreResult<PathBuf> {
        Ok(FileStoreFactory::root(&self.inner.folder, &self.find(id)?.id))
    }

    /// Tries whether the data folder can be written. Nothing of it stays.
    pub async fn check_writable(&self) -> StoreResult<()> {
        self.inner.check_writable()?;
        let inner = Arc::clone(&self.inner);
        let failed = || StoreError::io("write to the data folder");
        on_disk(move || probe_folder(&inner.folder).map_err(failed())).await
    }

    /// Removes the files of days before one from the data folder's own audit.
    pub async fn prune_registry_audit(&self, before: Date) -> StoreResult<PrunedLines> {
        let prune = move |inner: &CapsuleRegistryInner, _: &mut AuditSubject| {
            let audit = inner.audit.as_ref().ok_or(StoreError::RegistryReadOnly)?;
            audit.prune(before).map_err(StoreError::io("prune the audit"))
        };
        self.change("audit.prune", AuditSubject::default(), prune).await
    }

    /// Changes the records and writes the line of it, whether or not the caller waits. `subject` is what the line speaks of;
    /// the change may name it when it is known.
    async fn change<T: Send + 'static>(
        &self,
        action: &'static str,
        mut subject: AuditSubject,
        change: impl FnOnce(&CapsuleRegistryInner, &mut AuditSubject) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.inner.check_writable()?;
        let (inner, author) = (Arc::clone(&self.inner), Arc::clone(&self.author));
        on_disk(move || {
            inner.audit.as_ref().map_or(Ok(()), ChainedAuditLog::settle)?;
            let result = change(&inner, &mut subject);
            let error = result.as_ref().err();
            let recorded = inner.record(AuditLogLine {
                capsule: subject.capsule,
                share: subject.share,
                outcome: if error.is_none() { AuditOutcome::Ok } else { AuditOutcome::Error },
                error_code: error.map(|error| error.code().as_str().to_owned()),
                ..AuditLogLine::new(&author, action)
            });
            // A failure is returned as it is: nothing was done that could be unrecorded.
            result.and_then(|done| recorded.map(|()| done))
        })
        .await
    }

    fn record_denial(&self, action: &'static str, error_code: &str) {
        let recorded = self.inner.record(AuditLogLine {
            outcome: AuditOutcome::Denied,
            error_code: Some(error_code.to_owned()),
            ..AuditLogLine::new(&self.author, action)
        });
        if let Err(error) = recorded {
            tracing::error!(%error, action, "a refusal could not be recorded");
        }
    }
}

impl CapsuleRegistryInner {
    fn open(folder: &Path, options: StoreOptions) -> StoreResult<Self> {
        let is_writable = options.mode == StoreMode::ReadWrite;
        let (temp, logs) = (folder.join("tmp"), folder.join("logs"));
        let mut lock = None;
        if is_writable {
            make_private_folder(&temp)
                .map_err(StoreError::io(format!("make `{}`", folder.display())))?;
            lock = Some(take_lock(folder)?);
        }
        let lock = Arc::new(Mutex::new(lock.map(Arc::new)));
        let disk = Arc::new(StoreDisk::new(temp, options.durability));
        let stores =
            FileStoreFactory::new(folder, options.clone(), Arc::clone(&disk), Arc::clone(&lock));
        let mut audit = None;
        if is_writable {
            disk.sweep().map_err(StoreError::io("remove unfinished files"))?;
            let log = make_private_folder(&logs)
                .and_then(|()| ChainedAuditLog::open(logs, REGISTRY_LOG, &options));
            audit = Some(log.map_err(StoreError::io("open the registry's audit"))?);
        }
        let inner = Self {
            audit,
            boxes: RecordFile::load(&folder.join("boxes.json"))?,
            shares: RecordFile::load(&folder.join("shares.json"))?,
            share_uses: Mutex::default(),
            folder: folder.to_owned(),
            options,
            stores: Box::new(stores),
            disk,
            open: Mutex::default(),
            lock,
        };
        if is_writable {
            inner.identify_capsules()?;
        }
        Ok(inner)
    }

    /// Fails once the folder was left to the next process.
    fn check_lock(&self) -> StoreResult<()> {
        match self.options.mode {
            StoreMode::ReadWrite if self.lock.lock().is_none() => Err(StoreError::Closed),
            StoreMode::ReadWrite | StoreMode::ReadOnly => Ok(()),
        }
    }

    fn check_writable(&self) -> StoreResult<()> {
        match self.options.mode {
            StoreMode::ReadWrite => self.check_lock(),
            StoreMode::ReadOnly => Err(StoreError::RegistryReadOnly),
        }
    }

    fn record(&self, line: AuditLogLine) -> StoreResult<()> {
        self.audit.as_ref().map_or(Ok(()), |audit| audit.record(line))
    }
}

/// Takes the lock of a data folder, or fails with who has it.
fn take_lock(folder: &Path) -> StoreResult<File> {
    let failed = || StoreError::io(format!("lock `{}`", folder.display()));
    let mut options = private_options();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(folder.join("lock")).map_err(failed())?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            file.read_to_string(&mut holder).ok();
            let holder = match holder.trim().parse::<u32>() {
                Ok(process) => format!(" by process {process}"),
                Err(_) => " by another process".to_owned(),
            };
            return Err(StoreError::InUse { folder: folder.to_owned(), holder });
        }
        Err(TryLockError::Error(error)) => return Err(failed()(error)),
    }
    // Only for people: the lock itself is the kernel's.
    let written = file
        .set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| write!(file, "{}", std::process::id()));
    written.map_err(failed())?;
    Ok(file)
}

async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> StoreResult<T> + Send + 'static,
) -> StoreResult<T> {
    blocking(work).await.map_err(StoreError::io("work on the data folder"))?
}
