//! A deck's folder as a place for packages: what is installed there, and changing it whole or not at all.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

use capdeck_storage::sync_folder;

use super::{
    CapabilityPackage, LockedPackage, LockedSource, PackageAction, PackageChange, PackageError,
    PackageKind, PackageLock, PackageObstacle, PackageRemoval, PackageRisk,
    contents::{MAIN_FILE, PackageFile, PackageFiles, diff, hash, read_files},
    lock::load_caplets_lock,
};

struct PresentPackage {
    kind: PackageKind,
    files: PackageFiles,
    hash: String,
}

/// The folder of a deck.
#[derive(Debug, Clone)]
pub struct PackageDeck {
    dir: PathBuf,
}

impl PackageDeck {
    /// The deck in this folder, which need not exist yet.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// What is installed, also by a program whose lock is understood.
    pub fn lock(&self) -> Result<PackageLock, PackageError> {
        let mut lock = PackageLock::load(&self.dir)?;
        for package in load_caplets_lock(&self.dir)? {
            if lock.get(&package.id).is_none() && self.place(&package.id, package.kind).exists() {
                lock.put(package);
            }
        }
        Ok(lock)
    }

    /// What getting a package would change.
    pub fn change(
        &self,
        package: CapabilityPackage,
        source: &LockedSource,
    ) -> Result<PackageChange, PackageError> {
        let lock = self.lock()?;
        let known = lock.get(&package.id);
        let present = self.present(&package.id)?;
        let path = self.place(&package.id, package.kind);
        let is_there = present
            .as_ref()
            .is_some_and(|there| there.kind == package.kind && there.hash == package.hash);
        let is_recorded =
            known.is_some_and(|known| known.hash == package.hash && known.source == *source);
        let action = match known {
            _ if is_there && is_recorded => PackageAction::Nothing,
            Some(_) => PackageAction::Update,
            None => PackageAction::Install,
        };
        let obstacle = match (known, &present) {
            _ if !package.is_valid() => Some(PackageObstacle::Broken),
            (_, None) => None,
            _ if is_there => None,
            (None, Some(_)) => Some(PackageObstacle::Foreign),
            (Some(known), Some(there)) => edit_of(known, &there.hash),
        };
        let before = known.map_or_else(PackageRisk::default, |known| known.risk.clone());
        let text = match (&present, action) {
            (Some(there), PackageAction::Update) => diff(&there.files, &package.files),
            _ => String::new(),
        };
        Ok(PackageChange {
            risk_changes: before.changes(&package.risk),
            source: source.clone(),
            diff: text,
            has_news: known.is_none_or(|known| known.hash != package.hash),
            action,
            path,
            is_there,
            obstacle,
            package,
        })
    }

    /// Writes a package and its record. The package appears whole; what it replaces goes only then.
    pub fn apply(&self, change: &PackageChange) -> Result<(), PackageError> {
        let package = &change.package;
        let _held = self.hold()?;
        if !change.is_there {
            self.put(package)?;
        }
        let mut lock = PackageLock::load(&self.dir)?;
        lock.put(LockedPackage {
            id: package.id.clone(),
            kind: package.kind,
            source: change.source.clone(),
            hash: package.hash.clone(),
            risk: package.risk.clone(),
        });
        lock.save(&self.dir)
    }

    /// Records that a folder of the deck is a package of this source, as it is now.
    pub fn adopt(&self, id: &str, source: LockedSource) -> Result<(), PackageError> {
        let kind = PackageKind::Directory;
        let package = CapabilityPackage::read(id, kind, &self.place(id, kind), &self.dir)?;
        let mut lock = PackageLock::load(&self.dir)?;
        let (hash, risk) = (package.hash, package.risk);
        lock.put(LockedPackage { id: id.to_owned(), kind, source, hash, risk });
        lock.save(&self.dir)
    }

    /// What removing a package would do.
    pub fn removal(&self, id: &str) -> Result<PackageRemoval, PackageError> {
        let lock = self.lock()?;
        let known = lock.get(id).ok_or_else(|| PackageError::NotInstalled { id: id.to_owned() })?;
        let path = self.place(id, known.kind);
        // Another form of it was not installed from here.
        let present = self.present(id)?.filter(|there| there.kind == known.kind);
        let current = present.map(|there| there.hash);
        let obstacle = current.as_deref().and_then(|current| edit_of(known, current));
        Ok(PackageRemoval { id: id.to_owned(), path, is_there: current.is_some(), obstacle })
    }

    /// Removes a package and its record.
    pub fn remove(&self, removal: &PackageRemoval) -> Result<(), PackageError> {
        let _held = self.hold()?;
        if removal.is_there {
            // One step takes it out of sight; a crash later leaves only a hidden folder.
            let stage = self.stage()?;
            let aside = stage.path().join("old");
            fs::rename(&removal.path, &aside)
                .map_err(|source| PackageError::file("remove", &removal.path, source))?;
        }
        let mut lock = PackageLock::load(&self.dir)?;
        lock.take(&removal.id);
        lock.save(&self.dir)
    }

    fn place(&self, id: &str, kind: PackageKind) -> PathBuf {
        match kind {
            PackageKind::File => self.dir.join(format!("{id}.md")),
            PackageKind::Directory => self.dir.join(id),
        }
    }

    /// The package of an id that is in the deck now, in the form that is in force.
    fn present(&self, id: &str) -> Result<Option<PresentPackage>, PackageError> {
        for kind in [PackageKind::Directory, PackageKind::File] {
            let place = self.place(id, kind);
            let main = match kind {
                PackageKind::Directory => place.join(MAIN_FILE),
                PackageKind::File => place.clone(),
            };
            if fs::symlink_metadata(&main).is_err() {
                continue;
            }
            return match read_files(id, kind, &place) {
                Ok(files) => Ok(Some(PresentPackage { kind, hash: hash(&files), files })),
                // A link or a huge file was put there by hand: no package has one.
                Err(PackageError::BadContents { .. }) => Ok(Some(PresentPackage {
                    kind,
                    hash: "edited".to_owned(),
                    files: PackageFiles::new(),
                })),
                Err(other) => Err(other),
            };
        }
        Ok(None)
    }

    fn put(&self, package: &CapabilityPackage) -> Result<(), PackageError> {
        let stage = self.stage()?;
        let (new, old) = (stage.path().join("new"), stage.path().join("old"));
        for (name, file) in &package.files {
            match package.kind {
                PackageKind::File => write(&new, file)?,
                PackageKind::Directory => write(&new.join(name), file)?,
            }
        }
        let place = self.place(&package.id, package.kind);
        let failed = |source| PackageError::file("write", &place, source);
        // A folder cannot replace another in one step; the old one is kept until the new one is there.
        if fs::symlink_metadata(&place).is_ok() {
            fs::rename(&place, &old).map_err(failed)?;
        }
        if let Err(error) = fs::rename(&new, &place) {
            // The old one goes back; if that fails too, the first failure says more.
            drop(fs::rename(&old, &place));
            return Err(failed(error));
        }
        let other = match package.kind {
            PackageKind::File => self.place(&package.id, PackageKind::Directory),
            PackageKind::Directory => self.place(&package.id, PackageKind::File),
        };
        if PackageLock::load(&self.dir)?
            .get(&package.id)
            .is_some_and(|known| known.kind != package.kind)
            && fs::symlink_metadata(&other).is_ok()
        {
            fs::rename(&other, stage.path().join("other"))
                .map_err(|source| PackageError::file("remove", &other, source))?;
        }
        sync_folder(&self.dir).map_err(|source| PackageError::file("write", &self.dir, source))
    }

    /// One writer at a time among all processes, so that no record is lost.
    fn hold(&self) -> Result<File, PackageError> {
        let failed = |source| PackageError::file("write", &self.dir, source);
        fs::create_dir_all(&self.dir).map_err(failed)?;
        let folder = File::open(&self.dir).map_err(failed)?;
        folder.lock().map_err(failed)?;
        Ok(folder)
    }

    /// A hidden folder in the deck, which readers of the deck pass over; gone when dropped.
    fn stage(&self) -> Result<tempfile::TempDir, PackageError> {
        let failed = |source| PackageError::file("write", &self.dir, source);
        tempfile::Builder::new().prefix(".capdeck-").tempdir_in(&self.dir).map_err(failed)
    }
}

/// Whether what is there is still what was installed.
fn edit_of(known: &LockedPackage, current: &str) -> Option<PackageObstacle> {
    match known.hash.as_str() {
        "" => Some(PackageObstacle::Unknown),
        hash => (hash != current).then_some(PackageObstacle::Edited),
    }
}

fn write(path: &Path, file: &PackageFile) -> Result<(), PackageError> {
    let failed = |source| PackageError::file("write", path, source);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut written = File::create_new(path).map_err(failed)?;
    written.write_all(&file.content).map_err(failed)?;
    #[cfg(unix)]
    if file.is_program {
        use std::os::unix::fs::PermissionsExt as _;
        written.set_permissions(fs::Permissions::from_mode(0o755)).map_err(failed)?;
    }
    written.sync_all().map_err(failed)
}
