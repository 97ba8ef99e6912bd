//! Which project a folder belongs to, and what its skills and variables contribute to its hash.

use std::{
    fs,
    path::{Path, PathBuf},
};

use capdeck_storage::sha256_hex;

use crate::{CAPABILITY_FILE_NAMES, DeckRoot, RootOwner};

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

// Agents act on skills, and a command may use a variable, so changing one needs trust again.
/// How many files are looked at; a folder with more counts as changed by its number alone.
const MAX_HASHED_FILES: usize = 10_000;

/// One line per file below `<root>/skills`, named by its path below `base`. Links are not followed.
pub(crate) fn skill_lines(root: &Path, base: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut waiting = vec![root.join("skills")];
    while let Some(folder) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let Ok(about) = path.symlink_metadata() else { continue };
            if about.is_dir() {
                waiting.push(path);
            } else if about.is_file() {
                lines.push(line(&path, base));
            }
            if lines.len() + waiting.len() >= MAX_HASHED_FILES {
                lines.push(format!("more than {MAX_HASHED_FILES} files\n"));
                return lines;
            }
        }
    }
    lines
}

/// The line of a project's `.env`, if it has one.
pub(crate) fn variables_line(project: &Path) -> Option<String> {
    let path = project.join(".env");
    path.is_file().then(|| line(&path, project))
}

fn line(path: &Path, base: &Path) -> String {
    let content = match fs::read(path) {
        Ok(bytes) => sha256_hex(&bytes),
        Err(error) => format!("unread {}", error.kind()),
    };
    hash_line(path, base, &content)
}

/// A line of a project's hash. The name is hashed too, so that no name can imitate the line of another file.
pub(crate) fn hash_line(path: &Path, base: &Path, content: &str) -> String {
    let name = path.strip_prefix(base).unwrap_or(path);
    format!("{} {content}\n", sha256_hex(name.to_string_lossy().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Deck, DeckRoot, RootOwner};

    #[test]
    fn a_changed_skill_changes_the_hash_of_its_project() {
        let project = tempfile::tempdir().unwrap();
        let dir = project.path().join(".capdeck");
        let skill = dir.join("skills/notes/scripts");
        fs::create_dir_all(&skill).unwrap();
        fs::write(skill.join("run.sh"), "echo one").unwrap();
        let hash = || {
            let root = DeckRoot { dir: dir.clone(), owner: RootOwner::Project };
            Deck::read(&[root]).project_hash.unwrap()
        };
        let before = hash();
        assert_eq!(before, hash());
        fs::write(skill.join("run.sh"), "echo two").unwrap();
        let changed = hash();
        assert_ne!(before, changed);
        fs::rename(skill.join("run.sh"), skill.join("go.sh")).unwrap();
        assert_ne!(changed, hash());
    }
}
