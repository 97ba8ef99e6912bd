//! The data folder: all capsules, who may open them, and the lock that keeps a second process out.

mod health;
mod removal;

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions, TryLockError},
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;

pub use health::probe_folder;

use crate::{
    Access, Author, CapsuleInfo, CapsuleSession, CapsuleUpdate, FileStore, FilteredStore, Mode,
    NewShare, RegistryError, Share, ShareToken, StoreError, StoreOptions,
    audit::AuditLog,
    file_store::{Disk, make_private_folder},
    registry::{self, RecordFile},
    registry_audit::{AccessEvent, RegistryAudit, Subject},
    share,
};

/// All capsules of a data folder. Cheap to clone; the folder is free again when the last clone is gone.
///
/// What is done to capsules and shares as a whole is recorded in the data folder's own audit, as done by whom
/// [`Self::acting_for`] names.
#[derive(Debug, Clone)]
pub struct Capsules {
    inner: Arc<Inner>,
    author: Arc<Author>,
}

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    options: StoreOptions,
    disk: Disk,
    boxes: RecordFile<CapsuleInfo>,
    shares: RecordFile<Share>,
    audit: RegistryAudit,
    open: Mutex<HashMap<String, Arc<tokio::sync::OnceCell<OpenCapsule>>>>,
    /// Locked as long as it is open.
    lock: Mutex<Option<Arc<File>>>,
}

#[derive(Debug, Clone)]
struct OpenCapsule {
    store: FileStore,
    audit: Option<Arc<AuditLog>>,
}

impl Capsules {
    /// Opens a data folder, which is made when it is not there. Fails when another process writes to it.
    pub async fn open(folder: &Path, options: StoreOptions) -> Result<Self, RegistryError> {
        let folder = folder.to_owned();
        blocking(move || Self::open_blocking(&folder, options)).await
    }

    fn open_blocking(folder: &Path, options: StoreOptions) -> Result<Self, RegistryError> {
        let temp = folder.join("tmp");
        let mut lock = None;
        if options.mode == Mode::ReadWrite {
            make_private_folder(&temp)
                .map_err(RegistryError::io(format!("make `{}`", folder.display())))?;
            lock = Some(take_lock(folder)?);
        }
        let disk = Disk::new(temp, options.durability);
        if lock.is_some() {
            disk.sweep().map_err(RegistryError::io("remove unfinished files"))?;
        }
        let inner = Inner {
            audit: RegistryAudit::open(&folder.join("logs"), &options)?,
            boxes: RecordFile::load(&folder.join("boxes.json"))?,
            shares: RecordFile::load(&folder.join("shares.json"))?,
            folder: folder.to_owned(),
            options,
            disk,
            open: Mutex::default(),
            lock: Mutex::new(lock.map(Arc::new)),
        };
        Ok(Self { inner: Arc::new(inner), author: Arc::new(Author::client("capdeck")) })
    }

    /// The same capsules, with somebody else to be named for what is done through this clone.
    pub fn acting_for(&self, author: Author) -> Self {
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
    pub fn find(&self, name: &str) -> Result<CapsuleInfo, RegistryError> {
        let all = self.inner.boxes.all();
        let not_found = || RegistryError::NotFound { name: name.to_owned() };
        registry::find(&all, name).cloned().ok_or_else(not_found)
    }

    /// Makes a new capsule; its name must be given.
    pub async fn create(&self, new: CapsuleUpdate) -> Result<CapsuleInfo, RegistryError> {
        let now = self.inner.options.clock.now();
        let change = move |inner: &Inner| {
            let mut made = None;
            let created = inner.boxes.change(&inner.disk, |capsules| {
                let name = new.name.clone().unwrap_or_default();
                registry::check_text(
                    &CapsuleUpdate { name: Some(name.clone()), ..new.clone() },
                    None,
                    capsules,
                )?;
                let info = CapsuleInfo {
                    id: registry::new_id(&name, capsules),
                    name,
                    description: new.description.unwrap_or_default(),
                    visibility: new.visibility.unwrap_or_default(),
                    created_at: now,
                };
                // A folder that a lost record left behind is not taken over by somebody else's capsule.
                if inner.box_folder(&info.id).exists() {
                    let reason =
                        format!("a folder for `{}` is there already; move it away", info.id);
                    return Err(RegistryError::InvalidInput { what: "name", reason });
                }
                made = Some(info.id.clone());
                make_private_folder(&inner.root(&info.id))
                    .map_err(RegistryError::io("make the capsule's folder"))?;
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
        let named = |info: &CapsuleInfo| Subject::capsule(&info.id);
        self.change("capsule.create", Subject::default(), change, named).await
    }

    /// Changes what a capsule is called, says or shows. Its id stays.
    pub async fn update(
        &self,
        id: &str,
        update: CapsuleUpdate,
    ) -> Result<CapsuleInfo, RegistryError> {
        let id = self.find(id)?.id;
        let subject = Subject::capsule(&id);
        let change = move |inner: &Inner| {
            inner.boxes.change(&inner.disk, |capsules| {
                registry::check_text(&update, Some(&id), capsules)?;
                let found = capsules.iter_mut().find(|capsule| capsule.id == id);
                let capsule = found.ok_or(RegistryError::NotFound { name: id })?;
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
    pub async fn store(&self, id: &str) -> Result<FileStore, RegistryError> {
        Ok(self.opened(&self.find(id)?.id).await?.store)
    }

    /// A capsule for one caller: filtered by its access, recorded in the audit.
    pub async fn session(
        &self,
        id: &str,
        author: Author,
        access: Access,
    ) -> Result<CapsuleSession, RegistryError> {
        let info = self.find(id)?;
        let OpenCapsule { store, audit } = self.opened(&info.id).await?;
        let store = store.recorded_as(author.clone(), access.role);
        let store = FilteredStore::new(Arc::new(store), access);
        Ok(CapsuleSession::new(info, store, audit, author, self.inner.options.clock.clone()))
    }

    /// Makes a share. The token is returned here and nowhere else.
    pub async fn add_share(
        &self,
        id: &str,
        new: NewShare,
    ) -> Result<(Share, ShareToken), RegistryError> {
        let capsule = self.find(id)?.id;
        let now = self.inner.options.clock.now();
        let (share, token) = Share::create(&capsule, new, now)?;
        let kept = share.clone();
        let subject = Subject { capsule: Some(capsule), share: Some(share.id.clone()) };
        let change = move |inner: &Inner| {
            inner.shares.change(&inner.disk, |shares| {
                shares.push(kept);
                Ok(())
            })
        };
        self.change("share.add", subject.clone(), change, |()| subject).await?;
        Ok((share, token))
    }

    /// The shares of a capsule.
    pub fn shares(&self, id: &str) -> Result<Vec<Share>, RegistryError> {
        let id = self.find(id)?.id;
        Ok(self.inner.shares.all().into_iter().filter(|share| share.capsule == id).collect())
    }

    /// Takes a share back; its token opens nothing from now on.
    pub async fn revoke_share(&self, share: &str) -> Result<(), RegistryError> {
        let id = share.to_owned();
        // What somebody calls a share is no name for the trail until there is such a share.
        let change = move |inner: &Inner| {
            inner.shares.change(&inner.disk, |shares| {
                let place = shares.iter().position(|share| share.id == id);
                place.map(|place| shares.remove(place)).ok_or(RegistryError::NoSuchShare { id })
            })
        };
        let named = |share: &Share| Subject {
            capsule: Some(share.capsule.clone()),
            share: Some(share.id.clone()),
        };
        self.change("share.revoke", Subject::default(), change, named).await.map(drop)
    }

    /// The share that a token opens, if it opens one. A token that opens none is recorded.
    pub fn share_by_token(&self, token: &str) -> Option<Share> {
        let shares = self.inner.shares.all();
        let found = share::opened_by(&shares, token, self.inner.options.clock.now()).cloned();
        if found.is_none() {
            self.inner.audit.refused(&self.author);
        }
        found
    }

    /// Writes down that somebody named a capsule that they do not reach, or that does not exist.
    pub fn note_out_of_reach(&self) {
        self.inner.audit.out_of_reach(&self.author);
    }

    /// The share with this id, while it opens something.
    pub fn share(&self, id: &str) -> Option<Share> {
        let now = self.inner.options.clock.now();
        self.inner.shares.all().into_iter().find(|share| share.id == id && share.is_live(now))
    }

    /// Writes down what was decided about access, in the data folder's own audit.
    pub async fn note_access(&self, event: AccessEvent) -> Result<(), RegistryError> {
        if self.inner.options.mode == Mode::ReadWrite && self.inner.lock.lock().is_none() {
            return Err(StoreError::Closed.into());
        }
        let (inner, author) = (Arc::clone(&self.inner), Arc::clone(&self.author));
        blocking(move || inner.audit.note(&author, event)).await
    }

    /// The folder of a capsule's files, for tools that read them: export, verification, the audit.
    pub fn root(&self, id: &str) -> Result<PathBuf, RegistryError> {
        Ok(self.inner.root(&self.find(id)?.id))
    }

    async fn opened(&self, id: &str) -> Result<OpenCapsule, RegistryError> {
        if self.inner.options.mode == Mode::ReadWrite && self.inner.lock.lock().is_none() {
            return Err(StoreError::Closed.into());
        }
        let cell = Arc::clone(self.inner.open.lock().entry(id.to_owned()).or_default());
        let (root, options, lock) =
            (self.inner.root(id), self.inner.options.clone(), self.inner.lock.lock().clone());
        let open = || blocking(move || open_capsule(&root, options, lock));
        cell.get_or_try_init(open).await.cloned()
    }

    /// Changes the records and writes the line of it, whether or not somebody waits. `subject` is what a line about a
    /// failure speaks of, `named` what one about a success does.
    async fn change<T: Send + 'static>(
        &self,
        action: &'static str,
        subject: Subject,
        change: impl FnOnce(&Inner) -> Result<T, RegistryError> + Send + 'static,
        named: impl FnOnce(&T) -> Subject + Send + 'static,
    ) -> Result<T, RegistryError> {
        if self.inner.options.mode == Mode::ReadOnly {
            return Err(RegistryError::ReadOnly);
        }
        if self.inner.lock.lock().is_none() {
            return Err(StoreError::Closed.into());
        }
        let (inner, author) = (Arc::clone(&self.inner), Arc::clone(&self.author));
        blocking(move || {
            inner.audit.settle()?;
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

impl Inner {
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
) -> Result<OpenCapsule, RegistryError> {
    let store = FileStore::open(root, options, lock)?;
    let audit = store.audit();
    Ok(OpenCapsule { store, audit })
}

/// Takes the lock of a data folder, or tells who has it.
fn take_lock(folder: &Path) -> Result<File, RegistryError> {
    let failed = || RegistryError::io(format!("lock `{}`", folder.display()));
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
            return Err(RegistryError::InUse { folder: folder.to_owned(), holder });
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
    work: impl FnOnce() -> Result<T, RegistryError> + Send + 'static,
) -> Result<T, RegistryError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => {
            Err(RegistryError::io("work on the data folder")(std::io::Error::other(error)))
        }
    }
}
