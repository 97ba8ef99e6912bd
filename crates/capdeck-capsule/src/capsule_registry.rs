//! The data folder: all capsules, who may open them, and the lock that keeps a second process out.

mod health;
mod identity;
mod removal;
mod shares;

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions, TryLockError},
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::Timestamp;
use parking_lot::Mutex;

pub use health::probe_folder;

use crate::{
    CapsuleAccess, CapsuleAuthor, CapsuleHandle, CapsuleInfo, CapsuleRegistryError, CapsuleUpdate,
    FileStore, NameScope, StoreError, StoreMode, StoreOptions,
    audit::ChainedAuditLog,
    capsule_info::{self, RecordFile},
    file_store::{StoreDisk, make_private_folder},
    registry_audit::{AccessEvent, AuditSubject, RegistryAudit},
    share::ShareRecord,
};

/// All capsules of a data folder. Cheap to clone; the folder is free again when the last clone is gone.
///
/// What is done to capsules and shares as a whole is recorded in the data folder's own audit, as done by whom
/// [`Self::acting_for`] names.
#[derive(Debug, Clone)]
pub struct CapsuleRegistry {
    inner: Arc<CapsuleRegistryInner>,
    author: Arc<CapsuleAuthor>,
}

#[derive(Debug)]
struct CapsuleRegistryInner {
    folder: PathBuf,
    options: StoreOptions,
    disk: StoreDisk,
    boxes: RecordFile<CapsuleInfo>,
    shares: RecordFile<ShareRecord>,
    /// When shares were used that the file does not know of yet, by their ids.
    share_uses: Mutex<HashMap<String, Timestamp>>,
    audit: RegistryAudit,
    open: Mutex<HashMap<String, Arc<tokio::sync::OnceCell<OpenCapsule>>>>,
    /// Locked as long as it is open.
    lock: Mutex<Option<Arc<File>>>,
}

#[derive(Debug, Clone)]
struct OpenCapsule {
    store: FileStore,
    audit: Option<Arc<ChainedAuditLog>>,
}

impl CapsuleRegistry {
    /// Opens a data folder, which is made when it is not there. Fails when another process writes to it.
    pub async fn open(folder: &Path, options: StoreOptions) -> Result<Self, CapsuleRegistryError> {
        let folder = folder.to_owned();
        blocking(move || Self::open_blocking(&folder, options)).await
    }

    fn open_blocking(folder: &Path, options: StoreOptions) -> Result<Self, CapsuleRegistryError> {
        let temp = folder.join("tmp");
        let mut lock = None;
        if options.mode == StoreMode::ReadWrite {
            make_private_folder(&temp)
                .map_err(CapsuleRegistryError::io(format!("make `{}`", folder.display())))?;
            lock = Some(take_lock(folder)?);
        }
        let disk = StoreDisk::new(temp, options.durability);
        if lock.is_some() {
            disk.sweep().map_err(CapsuleRegistryError::io("remove unfinished files"))?;
        }
        let inner = CapsuleRegistryInner {
            audit: RegistryAudit::open(&folder.join("logs"), &options)?,
            boxes: RecordFile::load(&folder.join("boxes.json"))?,
            shares: RecordFile::load(&folder.join("shares.json"))?,
            share_uses: Mutex::default(),
            folder: folder.to_owned(),
            options,
            disk,
            open: Mutex::default(),
            lock: Mutex::new(lock.map(Arc::new)),
        };
        if inner.options.mode == StoreMode::ReadWrite {
            inner.identify_capsules()?;
        }
        Ok(Self { inner: Arc::new(inner), author: Arc::new(CapsuleAuthor::client("capdeck")) })
    }

    /// The same capsules, with somebody else to be named for what is done through this clone.
    pub fn acting_for(&self, author: CapsuleAuthor) -> Self {
        Self { inner: Arc::clone(&self.inner), author: Arc::new(author) }
    }

    /// The folder of the data folder's own audit; its files start with [`crate::REGISTRY_LOG`].
    pub fn registry_logs(&self) -> PathBuf {
        self.inner.folder.join("logs")
    }

    /// Waits for everything under way and lets the next process in. Sessions that are still held do nothing more.
    pub async fn close(&self) {
        let cells: Vec<_> = self.inner.open.lock().drain().map(|(_, cell)| cell).collect();
        for capsule in cells.iter().filter_map(|cell| cell.get()) {
            capsule.close().await;
        }
        self.save_share_uses().await;
        self.inner.audit.close();
        self.inner.lock.lock().take();
    }

    /// All capsules, by name.
    pub fn list(&self) -> Vec<CapsuleInfo> {
        let mut all = self.inner.boxes.all();
        all.sort_by_key(|capsule| (capsule.name.to_lowercase(), capsule.id.clone()));
        all
    }

    /// The capsule with this id or name.
    pub fn find(&self, name: &str) -> Result<CapsuleInfo, CapsuleRegistryError> {
        let all = self.inner.boxes.all();
        let not_found = || CapsuleRegistryError::NotFound { name: name.to_owned() };
        capsule_info::find(&all, name).cloned().ok_or_else(not_found)
    }

    /// Makes a new capsule; its name must be given.
    pub async fn create(&self, new: CapsuleUpdate) -> Result<CapsuleInfo, CapsuleRegistryError> {
        self.create_among(new, NameScope::All).await
    }

    /// The same for somebody who may know of these capsules only.
    pub async fn create_among(
        &self,
        new: CapsuleUpdate,
        names: NameScope,
    ) -> Result<CapsuleInfo, CapsuleRegistryError> {
        let now = self.inner.options.clock.now();
        let change = move |inner: &CapsuleRegistryInner| {
            let mut made = None;
            let created = inner.boxes.change(&inner.disk, |capsules| {
                let name = new.name.clone().unwrap_or_default();
                capsule_info::check_text(
                    &CapsuleUpdate { name: Some(name.clone()), ..new.clone() },
                    None,
                    capsules,
                    &names,
                )?;
                let info = CapsuleInfo {
                    id: capsule_info::new_id(&name, capsules, &names)?,
                    uid: capsule_info::new_uid(),
                    name,
                    description: new.description.unwrap_or_default(),
                    visibility: new.visibility.unwrap_or_default(),
                    created_at: now,
                };
                // A deletion that did not end leaves a folder without a record. No other capsule takes it over.
                if inner.box_folder(&info.id).exists() {
                    inner
                        .set_aside(&info.id, now)
                        .map_err(CapsuleRegistryError::io("set an earlier folder aside"))?;
                }
                made = Some(info.id.clone());
                make_private_folder(&inner.root(&info.id))
                    .map_err(CapsuleRegistryError::io("make the capsule's folder"))?;
                capsules.push(info.clone());
                Ok(info)
            });
            if let (Err(_), Some(id)) = (&created, made) {
                // Otherwise its name could not be used again. Both are empty.
                for folder in [inner.root(&id), inner.box_folder(&id)] {
                    fs::remove_dir(folder).ok();
                }
            }
            created
        };
        let named = |info: &CapsuleInfo| AuditSubject::capsule(&info.id);
        self.change("capsule.create", AuditSubject::default(), change, named).await
    }

    /// Changes what a capsule is called, says or shows. Its id stays.
    pub async fn update(
        &self,
        id: &str,
        update: CapsuleUpdate,
    ) -> Result<CapsuleInfo, CapsuleRegistryError> {
        self.update_among(id, update, NameScope::All).await
    }

    /// The same for somebody who may know of these capsules only.
    pub async fn update_among(
        &self,
        id: &str,
        update: CapsuleUpdate,
        names: NameScope,
    ) -> Result<CapsuleInfo, CapsuleRegistryError> {
        let id = self.find(id)?.id;
        let subject = AuditSubject::capsule(&id);
        let change = move |inner: &CapsuleRegistryInner| {
            inner.boxes.change(&inner.disk, |capsules| {
                capsule_info::check_text(&update, Some(&id), capsules, &names)?;
                let found = capsules.iter_mut().find(|capsule| capsule.id == id);
                let capsule = found.ok_or(CapsuleRegistryError::NotFound { name: id })?;
                let CapsuleUpdate { name, description, visibility } = update;
                capsule.name = name.unwrap_or_else(|| capsule.name.clone());
                capsule.description = description.unwrap_or_else(|| capsule.description.clone());
                capsule.visibility = visibility.unwrap_or(capsule.visibility);
                Ok(capsule.clone())
            })
        };
        self.change("capsule.update", subject.clone(), change, |_| subject).await
    }

    /// The store of a capsule, unfiltered. It is opened when it is first asked for.
    pub async fn store(&self, id: &str) -> Result<FileStore, CapsuleRegistryError> {
        Ok(self.opened(&self.find(id)?.id).await?.store)
    }

    /// A capsule for one caller: filtered by its access, recorded in the audit.
    pub async fn handle(
        &self,
        id: &str,
        author: CapsuleAuthor,
        access: CapsuleAccess,
    ) -> Result<CapsuleHandle, CapsuleRegistryError> {
        let info = self.find(id)?;
        let OpenCapsule { store, audit } = self.opened(&info.id).await?;
        let store = Arc::new(store.recorded_as(author.clone(), access.role));
        let clock = self.inner.options.clock.clone();
        Ok(CapsuleHandle::new(info, store, access, audit, author, clock))
    }

    /// Writes down that somebody named a capsule that they do not reach, or that does not exist.
    pub fn record_unreachable_capsule(&self) {
        self.inner.audit.out_of_reach(&self.author);
    }

    /// Writes down what was decided about access, in the data folder's own audit.
    pub async fn record_access_event(
        &self,
        event: AccessEvent,
    ) -> Result<(), CapsuleRegistryError> {
        if self.inner.options.mode == StoreMode::ReadWrite && self.inner.lock.lock().is_none() {
            return Err(StoreError::Closed.into());
        }
        let (inner, author) = (Arc::clone(&self.inner), Arc::clone(&self.author));
        blocking(move || inner.audit.record_access_event(&author, event)).await
    }

    /// The folder of a capsule's files, for tools that read them: export, verification, the audit.
    pub fn root(&self, id: &str) -> Result<PathBuf, CapsuleRegistryError> {
        Ok(self.inner.root(&self.find(id)?.id))
    }

    async fn opened(&self, id: &str) -> Result<OpenCapsule, CapsuleRegistryError> {
        if self.inner.options.mode == StoreMode::ReadWrite && self.inner.lock.lock().is_none() {
            return Err(StoreError::Closed.into());
        }
        let cell = Arc::clone(self.inner.open.lock().entry(id.to_owned()).or_default());
        let (root, options, lock) =
            (self.inner.root(id), self.inner.options.clone(), self.inner.lock.lock().clone());
        let id = id.to_owned();
        let open = || {
            blocking(move || {
                // Made again it would be an empty capsule, open to everyone who had access to the one that was removed.
                if !root.is_dir() {
                    return Err(CapsuleRegistryError::FolderMissing { id, folder: root });
                }
                open_capsule(&root, options, lock)
            })
        };
        cell.get_or_try_init(open).await.cloned()
    }

    /// Changes the records and writes the line of it, whether or not somebody waits. `subject` is what a line about a
    /// failure speaks of, `named` what one about a success does.
    async fn change<T: Send + 'static>(
        &self,
        action: &'static str,
        subject: AuditSubject,
        change: impl FnOnce(&CapsuleRegistryInner) -> Result<T, CapsuleRegistryError> + Send + 'static,
        named: impl FnOnce(&T) -> AuditSubject + Send + 'static,
    ) -> Result<T, CapsuleRegistryError> {
        if self.inner.options.mode == StoreMode::ReadOnly {
            return Err(CapsuleRegistryError::ReadOnly);
        }
        if self.inner.lock.lock().is_none() {
            return Err(StoreError::Closed.into());
        }
        let (inner, author) = (Arc::clone(&self.inner), Arc::clone(&self.author));
        blocking(move || {
            inner.audit.write_pending()?;
            let result = change(&inner);
            let (subject, outcome) = match &result {
                Ok(done) => (named(done), Ok(())),
                Err(error) => (subject, Err(error)),
            };
            let recorded = inner.audit.record(&author, action, subject, outcome);
            // What failed is told as it is: nothing was done that could be unrecorded.
            result.and_then(|done| recorded.map(|()| done))
        })
        .await
    }
}

impl OpenCapsule {
    async fn close(&self) {
        self.store.close().await;
        if let Some(audit) = &self.audit {
            audit.close();
        }
    }
}

impl CapsuleRegistryInner {
    fn box_folder(&self, id: &str) -> PathBuf {
        self.folder.join("boxes").join(id)
    }

    fn root(&self, id: &str) -> PathBuf {
        self.box_folder(id).join(".capsol")
    }
}

fn open_capsule(
    root: &Path,
    options: StoreOptions,
    lock: Option<Arc<File>>,
) -> Result<OpenCapsule, CapsuleRegistryError> {
    let store = FileStore::open(root, options, lock)?;
    let audit = store.audit();
    Ok(OpenCapsule { store, audit })
}

/// Takes the lock of a data folder, or tells who has it.
fn take_lock(folder: &Path) -> Result<File, CapsuleRegistryError> {
    let failed = || CapsuleRegistryError::io(format!("lock `{}`", folder.display()));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
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
            return Err(CapsuleRegistryError::InUse { folder: folder.to_owned(), holder });
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

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CapsuleRegistryError> + Send + 'static,
) -> Result<T, CapsuleRegistryError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => {
            Err(CapsuleRegistryError::io("work on the data folder")(std::io::Error::other(error)))
        }
    }
}
