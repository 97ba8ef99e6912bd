//! The few things the store does to a disk, each one whole or not at all.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use capdeck_storage::{private_options, remove_if_exists, sync_folder};

/// How far a write goes before it counts as done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WriteDurability {
    /// To the disk: it survives a power cut.
    #[default]
    Synced,
    /// To the operating system: it survives the process. For tests and throw-away stores.
    Cached,
}

/// Writes below one folder, through temporary files in one place.
#[derive(Debug)]
pub(crate) struct StoreDisk {
    durability: WriteDurability,
    temp: PathBuf,
    next: AtomicU64,
    #[cfg(test)]
    pub(crate) crash: CrashPoint,
}

/// Stops everything after a number of steps, as a killed process would.
#[cfg(test)]
#[derive(Debug, Default)]
pub(crate) struct CrashPoint {
    /// Steps left plus one; 0 means that no crash is planned.
    left: AtomicU64,
}

#[cfg(test)]
impl CrashPoint {
    pub(crate) fn after(&self, steps: u64) {
        self.left.store(steps + 1, Ordering::SeqCst);
    }

    pub(crate) fn cancel(&self) {
        self.left.store(0, Ordering::SeqCst);
    }

    pub(crate) fn happened(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 1
    }

    fn step(&self) -> io::Result<()> {
        let next = |left: u64| (left != 1).then(|| left.saturating_sub(1));
        let taken = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next);
        taken.map(drop).map_err(|_| io::Error::other("crashed"))
    }
}

impl StoreDisk {
    /// Uses `temp` for unfinished files; the folder is made.
    pub(crate) fn new(temp: PathBuf, durability: WriteDurability) -> Self {
        Self {
            durability,
            temp,
            next: AtomicU64::new(0),
            #[cfg(test)]
            crash: CrashPoint::default(),
        }
    }

    /// Removes what unfinished writes left.
    pub(crate) fn sweep(&self) -> io::Result<usize> {
        let mut removed = 0;
        for entry in fs::read_dir(&self.temp)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
            removed += 1;
        }
        Ok(removed)
    }

    /// Removes a folder with all that is in it. It is out of the way at once; what a kill leaves of it is swept away later.
    pub(crate) fn erase(&self, folder: &Path) -> io::Result<()> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let doomed = self.temp.join(format!(".erased-{}-{number}", std::process::id()));
        self.rename(folder, &doomed)?;
        self.step()?;
        fs::remove_dir_all(doomed)
    }

    /// A file that is not yet at its place. It is not synced: the journal has what is in it.
    pub(crate) fn stage(&self, bytes: &[u8]) -> io::Result<StagedPath> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.temp.join(format!(".tmp-{}-{number}", std::process::id()));
        self.step()?;
        let mut file = private_options().write(true).create_new(true).open(&path)?;
        let staged = StagedPath { path, is_placed: false };
        #[cfg(test)]
        if self.step().is_err() {
            // A kill in the middle of a write leaves a part of it.
            file.write_all(bytes.split_at(bytes.len() / 2).0)?;
            staged.placed();
            return Err(io::Error::other("crashed"));
        }
        file.write_all(bytes)?;
        Ok(staged)
    }

    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        fs::rename(from, to)
    }

    /// A second name for a file; a copy where the disk knows no second names. What stood there is replaced.
    pub(crate) fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        match fs::hard_link(from, to) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // Left by a write that did not get further.
                fs::remove_file(to)?;
                fs::hard_link(from, to)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
            Err(_) => {
                let staged = self.stage(&fs::read(from)?)?;
                fs::rename(&staged.path, to)
            }
        }
    }

    /// Removes a file; one that is not there is fine.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        remove_if_exists(path).map(drop)
    }

    /// Adds to the end of a file in one call.
    pub(crate) fn append(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        self.step()?;
        file.write_all(bytes)
    }

    pub(crate) fn sync_file(&self, file: &File) -> io::Result<()> {
        self.step()?;
        if self.durability == WriteDurability::Synced { file.sync_data() } else { Ok(()) }
    }

    /// Makes the names in a folder last.
    pub(crate) fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.step()?;
        if self.durability == WriteDurability::Cached {
            return Ok(());
        }
        sync_folder(folder)
    }

    /// Replaces a whole file that is in no journal, and makes it last.
    pub(crate) fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let staged = self.stage(bytes)?;
        if self.durability == WriteDurability::Synced {
            File::open(&staged.path)?.sync_all()?;
        }
        self.rename(&staged.path, path)?;
        staged.placed();
        self.sync_folder(path.parent().unwrap_or(path))
    }

    fn step(&self) -> io::Result<()> {
        #[cfg(test)]
        self.crash.step()?;
        Ok(())
    }
}

/// A file waiting to be moved to its place; removed when it is not.
#[derive(Debug)]
pub(crate) struct StagedPath {
    pub(crate) path: PathBuf,
    is_placed: bool,
}

impl StagedPath {
    /// It has been moved.
    pub(crate) fn placed(mut self) {
        self.is_placed = true;
    }
}

impl Drop for StagedPath {
    fn drop(&mut self) {
        if !self.is_placed {
            // Best effort: the sweep at the next start removes what stays.
            fs::remove_file(&self.path).ok();
        }
    }
}
