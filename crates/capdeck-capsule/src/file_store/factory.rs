//! The capsules of a data folder: each in a folder below `boxes/`, removed ones in `deleted/`.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use capdeck_storage::{list_folder, make_private_folder};
use jiff::Timestamp;
use parking_lot::Mutex;

use super::{FileStore, StoreDisk, layout::CapsuleLayout};
use crate::{Store, StoreError, StoreFactory, StoreMode, StoreOptions, StoreResult};

const REMOVE_DELETED: &str = "remove what was kept of the capsule";

/// Opens a [`FileStore`] for each capsule.
#[derive(Debug)]
pub struct FileStoreFactory {
    folder: PathBuf,
    options: StoreOptions,
    disk: Arc<StoreDisk>,
    /// The data folder's lock, which every store holds as long as it writes.
    lock: Arc<Mutex<Option<Arc<File>>>>,
}

impl FileStoreFactory {
    pub(crate) fn new(
        folder: &Path,
        options: StoreOptions,
        disk: Arc<StoreDisk>,
        lock: Arc<Mutex<Option<Arc<File>>>>,
    ) -> Self {
        Self { folder: folder.to_owned(), options, disk, lock }
    }

    /// The folder of a capsule.
    fn place(&self, id: &str) -> PathBuf {
        self.folder.join("boxes").join(id)
    }

    /// The folder of a capsule's files, below a data folder.
    pub(crate) fn root(folder: &Path, id: &str) -> PathBuf {
        folder.join("boxes").join(id).join(".capsol")
    }

    /// The folder of a capsule's audit, below a data folder.
    pub(crate) fn logs(folder: &Path, id: &str) -> PathBuf {
        CapsuleLayout::new(Self::root(folder, id)).folder("logs")
    }

    /// The capsules that have a folder.
    pub(crate) fn ids(folder: &Path) -> io::Result<Vec<String>> {
        let listed = list_folder(&folder.join("boxes"))?.into_iter();
        Ok(listed.filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }

    /// Moves the folder of a capsule to `deleted/`, from where it can be put back by hand.
    fn move_aside(&self, id: &str, now: Timestamp) -> io::Result<()> {
        let deleted = self.folder.join("deleted");
        make_private_folder(&deleted)?;
        let to = deleted.join(format!("{id}-{}", now.as_millisecond()));
        self.disk.rename(&self.place(id), &to)
    }

    /// The folders in `deleted/` of capsules that had this id, whose names end with when that was.
    fn deleted_folders(&self, id: &str) -> StoreResult<Vec<PathBuf>> {
        let is_time = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let mut kept = Vec::new();
        let listed = list_folder(&self.folder.join("deleted"));
        for entry in listed.map_err(StoreError::io(REMOVE_DELETED))? {
            let name = entry.file_name();
            let name = name.to_str().and_then(|name| name.rsplit_once('-'));
            if name.is_some_and(|(of, when)| of == id && is_time(when)) {
                kept.push(entry.path());
            }
        }
        Ok(kept)
    }
}

impl StoreFactory for FileStoreFactory {
    fn create(&self, id: &str, now: Timestamp) -> StoreResult<()> {
        // A deletion that did not end leaves a folder without a record. No other capsule takes it over.
        if self.place(id).exists() {
            self.move_aside(id, now).map_err(StoreError::io("set an earlier folder aside"))?;
        }
        make_private_folder(&Self::root(&self.folder, id))
            .map_err(StoreError::io("make the capsule's folder"))
    }

    fn discard(&self, id: &str) {
        for folder in [Self::root(&self.folder, id), self.place(id)] {
            fs::remove_dir(folder).ok();
        }
    }

    fn open(&self, id: &str) -> StoreResult<Arc<dyn Store>> {
        let folder = Self::root(&self.folder, id);
        if !folder.is_dir() {
            return Err(StoreError::FolderMissing { id: id.to_owned(), folder });
        }
        let lock = self.lock.lock().clone();
        // The folder may have been left to the next process since the caller looked.
        if lock.is_none() && self.options.mode == StoreMode::ReadWrite {
            return Err(StoreError::Closed);
        }
        Ok(Arc::new(FileStore::open(&folder, self.options.clone(), lock)?))
    }

    fn set_aside(&self, id: &str, now: Timestamp) -> StoreResult<()> {
        removed(self.move_aside(id, now))
    }

    fn purge(&self, id: &str) -> StoreResult<()> {
        removed(self.disk.erase(&self.place(id)))
    }

    fn count_set_aside(&self, id: &str) -> StoreResult<usize> {
        self.deleted_folders(id).map(|kept| kept.len())
    }

    fn purge_set_aside(&self, id: &str) -> StoreResult<usize> {
        let kept = self.deleted_folders(id)?;
        for folder in &kept {
            self.disk.erase(folder).map_err(StoreError::io(REMOVE_DELETED))?;
        }
        Ok(kept.len())
    }
}

/// The folder may have been removed by hand before.
fn removed(result: io::Result<()>) -> StoreResult<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result.map_err(StoreError::io("remove the folder of the capsule")),
    }
}
