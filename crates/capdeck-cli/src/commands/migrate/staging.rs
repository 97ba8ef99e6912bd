//! A deck, a vault and sign-ins beside the real ones: they are filled with the ordinary means, and what differs afterwards is
//! what the migration writes.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use capdeck_auth::Vault;
use capdeck_definition::{CONFIG_NAMES, Deck, DeckRoot, RootOwner};
use capdeck_install::{MigratedFile, real_place};
use tempfile::TempDir;

use super::system::MigrationScene;
use crate::{errors::CommandFailure, settings::CommandSettings};

/// A copy of the person's deck and secrets, gone when dropped. Only its owner can read it.
#[derive(Debug)]
pub(super) struct StagedSetup {
    folder: TempDir,
    /// The real deck.
    deck: PathBuf,
    /// The real state folder.
    state: PathBuf,
    pub(super) vault: Vault,
    /// The settings of a host of the copy.
    pub(super) settings: CommandSettings,
}

/// The parts of the state folder that hold secrets.
const SECRETS: [&str; 3] = ["vault", "vault/values", "auth"];

/// What a deck has besides capabilities.
const LOCK: &str = "capdeck.lock.json";

impl StagedSetup {
    pub(super) fn new(scene: &MigrationScene<'_>) -> Result<Self, CommandFailure> {
        let settings = scene.settings;
        let temporary =
            |error| CommandFailure::file("write", Path::new("temporary folder"), &error);
        let folder = tempfile::tempdir().map_err(temporary)?;
        let (deck, state) = (real_place(&settings.config_dir), real_place(&settings.state_dir));
        let staged = settings.beside(&folder.path().join("deck"), &folder.path().join("state"));
        let setup = Self { folder, deck, state, vault: staged.vault.clone(), settings: staged };
        let known = CONFIG_NAMES.iter().chain([&LOCK]).map(|name| setup.deck.join(name));
        for file in known.filter(|file| file.is_file()) {
            setup.copy(&file, &setup.deck_dir().join(file.file_name().unwrap_or_default()))?;
        }
        for part in SECRETS {
            for file in files_of(&setup.state.join(part))? {
                let name = file.strip_prefix(&setup.state).unwrap_or(&file);
                setup.copy(&file, &setup.state_dir().join(name))?;
            }
        }
        Ok(setup)
    }

    /// The deck to fill.
    pub(super) fn deck_dir(&self) -> PathBuf {
        self.folder.path().join("deck")
    }

    pub(super) fn state_dir(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// A folder for what only this run needs.
    pub(super) fn scratch(&self) -> Result<PathBuf, CommandFailure> {
        let scratch = self.folder.path().join("scratch");
        let failed = |error| CommandFailure::file("write", &scratch, &error);
        fs::create_dir_all(&scratch).map_err(failed)?;
        Ok(scratch)
    }

    /// The real place of a path of the copy.
    pub(super) fn real(&self, staged: &Path) -> PathBuf {
        let places = [(self.deck_dir(), &self.deck), (self.state_dir(), &self.state)];
        let real =
            places.iter().find_map(|(from, to)| Some(to.join(staged.strip_prefix(from).ok()?)));
        real.unwrap_or_else(|| staged.to_owned())
    }

    /// What the person's own deck defines.
    pub(super) fn own_deck(&self) -> Deck {
        Deck::read(&[DeckRoot { dir: self.deck.clone(), owner: RootOwner::User }])
    }

    /// What the copy defines now.
    pub(super) fn staged_deck(&self) -> Deck {
        Deck::read(&[DeckRoot { dir: self.deck_dir(), owner: RootOwner::User }])
    }

    /// Whether the person's own deck has a file or a folder of that name.
    pub(super) fn has_own(&self, name: &str) -> bool {
        fs::symlink_metadata(self.deck.join(name)).is_ok()
    }

    pub(super) fn write(
        &self,
        below: &str,
        content: &[u8],
        is_program: bool,
    ) -> Result<(), CommandFailure> {
        let path = self.deck_dir().join(below);
        let failed = |error: io::Error| CommandFailure::file("write", &path, &error);
        fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(failed)?;
        fs::write(&path, content).map_err(failed)?;
        if is_program {
            make_program(&path).map_err(failed)?;
        }
        Ok(())
    }

    /// Every file of the copy that the real place does not have so.
    pub(super) fn changed_files(&self) -> Result<Vec<MigratedFile>, CommandFailure> {
        let mut staged = tree(&self.deck_dir())?;
        for part in SECRETS {
            staged.extend(files_of(&self.state_dir().join(part))?);
        }
        let mut files = Vec::new();
        for path in staged {
            let content =
                fs::read(&path).map_err(|error| CommandFailure::file("read", &path, &error))?;
            let real = real_place(&self.real(&path));
            if fs::read(&real).is_ok_and(|known| known == content) {
                continue;
            }
            let what =
                if real.starts_with(&self.state) { "a secret" } else { "a file of the deck" };
            let (is_program, what) = (is_program(&path), what.to_owned());
            files.push(MigratedFile { path: real, content, is_program, is_private: true, what });
        }
        Ok(files)
    }

    fn copy(&self, from: &Path, to: &Path) -> Result<(), CommandFailure> {
        let failed = |error| CommandFailure::file("copy", from, &error);
        fs::create_dir_all(to.parent().unwrap_or(to)).map_err(failed)?;
        fs::copy(from, to).map(drop).map_err(failed)
    }
}

/// A file, or the files right in a folder, without locks.
fn files_of(place: &Path) -> Result<Vec<PathBuf>, CommandFailure> {
    if place.is_file() {
        return Ok(vec![place.to_owned()]);
    }
    let failed = |error: io::Error| CommandFailure::file("read", place, &error);
    let listed = match fs::read_dir(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.map_err(failed)?,
    };
    let mut files = Vec::new();
    for entry in listed {
        let path = entry.map_err(failed)?.path();
        let is_lock = path.extension().is_some_and(|extension| extension == "lock");
        if path.is_file() && !is_lock {
            files.push(path);
        }
    }
    files.sort();
    files.dedup();
    Ok(files)
}

fn tree(folder: &Path) -> Result<Vec<PathBuf>, CommandFailure> {
    let mut files = files_of(folder)?;
    let failed = |error: io::Error| CommandFailure::file("read", folder, &error);
    let listed = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
        listed => listed.map_err(failed)?,
    };
    for entry in listed {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            files.extend(tree(&path)?);
        }
    }
    Ok(files)
}

#[cfg(unix)]
fn make_program(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|facts| facts.permissions().mode() & 0o100 != 0)
}

#[cfg(not(unix))]
fn make_program(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn is_program(_: &Path) -> bool {
    false
}
