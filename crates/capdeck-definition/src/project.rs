//! Which project a folder belongs to.

use std::path::{Path, PathBuf};

use crate::{CAPABILITY_FILE_NAMES, DeckRoot, RootOwner};

/// A project that has a deck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeckProject {
    /// The project's folder, with symbolic links resolved.
    pub dir: PathBuf,
    /// Its roots, the lowest precedence first: `.caplets`, then `.capdeck`.
    pub roots: Vec<DeckRoot>,
}

impl DeckProject {
    /// Whether the project defines anything: a deck, or a capability file.
    pub fn has_deck(&self) -> bool {
        !self.roots.is_empty() || has_capability_file(&self.dir)
    }
}

/// The project deck nearest to `start`: the first ancestor, itself included, with `.capdeck/`, `.caplets/`,
/// `capabilities.yaml` or `capabilities.json`. The walk ends before `home` and after a folder that holds `.git`.
pub fn find_project(start: &Path, home: Option<&Path>) -> Option<DeckProject> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let start = real(start);
    let home = home.map(real);
    for dir in start.ancestors() {
        if home.as_deref() == Some(dir) {
            return None;
        }
        let roots = project_roots(dir);
        if !roots.is_empty() || has_capability_file(dir) {
            return Some(DeckProject { dir: dir.to_owned(), roots });
        }
        if dir.join(".git").exists() {
            return None;
        }
    }
    None
}

/// The roots a project's folder has, the lowest precedence first.
pub(crate) fn project_roots(dir: &Path) -> Vec<DeckRoot> {
    [".caplets", ".capdeck"]
        .iter()
        .map(|name| dir.join(name))
        .filter(|root| root.is_dir())
        .map(|root| DeckRoot { dir: root, owner: RootOwner::Project })
        .collect()
}

pub(crate) fn has_capability_file(dir: &Path) -> bool {
    CAPABILITY_FILE_NAMES.iter().any(|name| dir.join(name).is_file())
}
