//! A temporary folder written from a list of files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use capdeck_definition::{Deck, DeckRoot, RootOwner};

/// A folder that is deleted with the value.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    /// Writes the files, with their folders.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        // The real path, because the system's temporary folder may itself be a link.
        let folder = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            folder.write(path, text);
        }
        folder
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.dir().join(below)
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    /// Reads the folder as the user's only root.
    pub(crate) fn deck(&self) -> Deck {
        Deck::read(&[user(&self.dir())])
    }
}

pub(crate) fn user(dir: &Path) -> DeckRoot {
    DeckRoot { dir: dir.to_owned(), owner: RootOwner::User }
}

pub(crate) fn project(dir: &Path) -> DeckRoot {
    DeckRoot { dir: dir.to_owned(), owner: RootOwner::Project }
}

/// A small correct Caplet file.
pub(crate) fn caplet(command: &str) -> String {
    format!(
        "---\nname: Example\ndescription: An example for the tests.\nmcpServer:\n  command: {command}\n---\n"
    )
}

/// A Caplet file that nests a folder.
pub(crate) fn set(root: &str) -> String {
    format!(
        "---\nname: Set\ndescription: A nested collection.\ncapletSet:\n  capletsRoot: {root}\n---\n"
    )
}

/// The ids of a deck, in order.
pub(crate) fn ids(deck: &Deck) -> Vec<&str> {
    deck.definitions.iter().map(|definition| definition.id.as_str()).collect()
}

/// The codes of a deck's diagnostics, in order.
pub(crate) fn codes(deck: &Deck) -> Vec<&str> {
    deck.diagnostics.iter().map(|diagnostic| diagnostic.code.as_str()).collect()
}

/// The quarantined ids of a deck, in order.
pub(crate) fn quarantined(deck: &Deck) -> Vec<&str> {
    deck.quarantined.iter().map(|entry| entry.id.as_str()).collect()
}
