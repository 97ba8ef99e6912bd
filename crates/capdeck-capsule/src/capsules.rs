//! The data folder: all capsules, who may open them, and the lock that keeps a second process out.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions, TryLockError},
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;

use crate::{
    Access, Author, CapsuleInfo, CapsuleSession, CapsuleUpdate, FileStore, FilteredStore, Mode,
    NewShare, RegistryError, Share, ShareToken, StoreError, StoreOptions,
    audit::AuditLog,
    file_store::{Disk, make_private_folder},
    registry::{self, RecordFile},
    share,
};

/// All capsules of a data folder. Cheap to clone; the folder is free again when the last clone is gone.
#[derive(Debug, Clone)]
pub struct Capsules(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    options: StoreOptions,
    disk: Disk,
    boxes: RecordFile<CapsuleInfo>,
    shares: RecordFile<Share>,
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
        Ok(Self(Arc::new(Inner {
            boxes: RecordFile::load(&folder.join("boxes.json"))?,
            shares: RecordFile::load(&folder.join("shares.json"))?,
            folder: folder.to_owned(),
            options,
            disk,
            open: Mutex::default(),
            lock: Mutex::new(lock.map(Arc::new)),
        })))
    }

    /// Waits for everything under way and lets the next process in. Sessions that are still held do nothing more.
    pub async fn close(&self) {
        let cells: Vec<_> = self.0.open.lock().drain().map(|(_, cell)| cell).collect();
        for capsule in cells.iter().filter_map(|cell| cell.get()) {
            capsule.close().await;
        }
        self.0.lock.lock().take();
    }

    /// All capsules, by name.
    pub fn list(&self) -> Vec<CapsuleInfo> {
        let mut all = self.0.boxes.all();
        all.sort_by_key(|capsule| (capsule.name.to_lowercase(), capsule.id.clone()));
        all
    }

    /// The capsule with this id or name.
    pub fn find(&self, name: &str) -> Result<CapsuleInfo, RegistryError> {
        let all = self.0.boxes.all();
        let not_found = || RegistryError::NotFound { name: name.to_owned() };
        registry::find(&all, name).cloned().ok_or_else(not_found)
    }

    /// Makes a new capsule; its name must be given.
    pub async fn create(&self, new: CapsuleUpdate) -> Result<CapsuleInfo, RegistryError> {
        let now = self.0.options.clock.now();
        self.change(move |inner| {
            inner.boxes.change(&inner.disk, |capsules| {
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
                make_private_folder(&inner.root(&info.id))
                    .map_err(RegistryError::io("make the capsule's folder"))?;
                capsules.push(info.clone());
                Ok(info)
            })
        })
        .await
    }

    /// Changes what a capsule is called, says or shows. Its id stays.
    pub async fn update(
        &self,
        id: &str,
        update: CapsuleUpdate,
    ) -> Result<CapsuleInfo, RegistryError> {
        let id = self.find(id)?.id;
        self.change(move |inner| {
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
        })
        .await
    }

    /// Takes a capsule and its shares away. Its folder is moved to `deleted/` and can be put back by hand.
    pub async fn delete(&self, id: &str) -> Result<CapsuleInfo, RegistryError> {
        let info = self.find(id)?;
        let now = self.0.options.clock.now();
        let open = self.0.open.lock().remove(&info.id);
        if let Some(capsule) = open.as_ref().and_then(|cell| cell.get()) {
            capsule.close().await;
        }
        self.change(move |inner| {
            inner.boxes.change(&inner.disk, |capsules| {
                capsules.retain(|capsule| capsule.id != info.id);
                Ok(())
            })?;
            inner.shares.change(&inner.disk, |shares| {
                shares.retain(|share| share.capsule != info.id);
                Ok(())
            })?;
            let failed = || RegistryError::io("move the capsule away");
            let deleted = inner.folder.join("deleted");
            make_private_folder(&deleted).map_err(failed())?;
            let to = deleted.join(format!("{}-{}", info.id, now.as_millisecond()));
            inner.disk.rename(&inner.box_folder(&info.id), &to).map_err(failed())?;
            Ok(info)
        })
        .await
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
        let store = FilteredStore::new(Arc::new(store), access);
        Ok(CapsuleSession::new(info, store, audit, author, self.0.options.clock.clone()))
    }

    /// Makes a share. The token is returned here and nowhere else.
    pub async fn add_share(
        &self,
        id: &str,
        new: NewShare,
    ) -> Result<(Share, ShareToken), RegistryError> {
        let capsule = self.find(id)?.id;
        let now = self.0.options.clock.now();
        let (share, token) = Share::create(&capsule, new, now)?;
        let kept = share.clone();
        self.change(move |inner| {
            inner.shares.change(&inner.disk, |shares| {
                shares.push(kept);
                Ok(())
            })
        })
        .await?;
        Ok((share, token))
    }

    /// The shares of a capsule.
    pub fn shares(&self, id: &str) -> Result<Vec<Share>, RegistryError> {
        let id = self.find(id)?.id;
        Ok(self.0.shares.all().into_iter().filter(|share| share.capsule == id).collect())
    }

    /// Takes a share back; its token opens nothing from now on.
    pub async fn revoke_share(&self, share: &str) -> Result<(), RegistryError> {
        let id = share.to_owned();
        self.change(move |inner| {
            inner.shares.change(&inner.disk, |shares| {
                let before = shares.len();
                shares.retain(|share| share.id != id);
                if shares.len() == before { Err(RegistryError::NoSuchShare { id }) } else { Ok(()) }
            })
        })
        .await
    }

    /// The share that a token opens, if it opens one.
    pub fn share_by_token(&self, token: &str) -> Option<Share> {
        let shares = self.0.shares.all();
        share::opened_by(&shares, token, self.0.options.clock.now()).cloned()
    }

    /// The share with this id, while it opens something.
    pub fn share(&self, id: &str) -> Option<Share> {
        let now = self.0.options.clock.now();
        self.0.shares.all().into_iter().find(|share| share.id == id && share.is_live(now))
    }

    /// The folder of a capsule's files, for tools that read them: export, verification, the audit.
    pub fn root(&self, id: &str) -> Result<PathBuf, RegistryError> {
        Ok(self.0.root(&self.find(id)?.id))
    }

    async fn opened(&self, id: &str) -> Result<OpenCapsule, RegistryError> {
        if self.0.options.mode == Mode::ReadWrite && self.0.lock.lock().is_none() {
            return Err(StoreError::Closed.into());
        }
        let cell = Arc::clone(self.0.open.lock().entry(id.to_owned()).or_default());
        let (root, options, lock) =
            (self.0.root(id), self.0.options.clone(), self.0.lock.lock().clone());
        let open = || blocking(move || open_capsule(&root, options, lock));
        cell.get_or_try_init(open).await.cloned()
    }

    async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Inner) -> Result<T, RegistryError> + Send + 'static,
    ) -> Result<T, RegistryError> {
        if self.0.options.mode == Mode::ReadOnly {
            return Err(RegistryError::ReadOnly);
        }
        if self.0.lock.lock().is_none() {
            return Err(StoreError::Closed.into());
        }
        let inner = Arc::clone(&self.0);
        blocking(move || change(&inner)).await
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
    let (mode, audit, clock) = (options.mode, options.audit, options.clock.clone());
    let store = FileStore::open(root, options, lock)?;
    let audit = match mode {
        Mode::ReadOnly => None,
        Mode::ReadWrite => {
            let log = AuditLog::open(root.join("logs"), "", audit, clock);
            Some(Arc::new(log.map_err(RegistryError::io("open the audit"))?))
        }
    };
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
