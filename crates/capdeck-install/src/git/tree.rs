//! The files of a commit, written out by us: no filter, hook, attribute or submodule of the repository has a say.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, BufRead as _, BufReader, BufWriter, Read},
    path::{Component, Path, PathBuf},
};

use super::{GitError, RepoAddress};

const MAX_TREE_FILES: usize = 200_000;
const MAX_TREE_BYTES: u64 = 2 << 30;
/// A symbolic link longer than this leads nowhere.
const MAX_LINK_BYTES: u64 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TreeEntryKind {
    File,
    Program,
    Link,
}

#[derive(Debug)]
struct TreeEntry {
    path: PathBuf,
    kind: TreeEntryKind,
    object: String,
}

/// The files of a commit, known but not yet read.
#[derive(Debug)]
pub(super) struct CommitTree {
    entries: Vec<TreeEntry>,
}

impl CommitTree {
    /// Reads what `git ls-tree -r -z -l` prints.
    pub(super) fn parse(output: &[u8], repo: &RepoAddress) -> Result<Self, GitError> {
        let mut entries = Vec::new();
        let mut bytes = 0_u64;
        for line in output.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let bad = || GitError::BadPath {
                repo: repo.to_string(),
                path: String::from_utf8_lossy(line).chars().filter(|c| !c.is_control()).collect(),
            };
            let tab = line.iter().position(|byte| *byte == b'\t').ok_or_else(bad)?;
            let (head, path) = line.split_at(tab);
            let head = String::from_utf8_lossy(head);
            let fields: Vec<&str> = head.split_ascii_whitespace().collect();
            let [mode, _, object, size] = fields[..] else { return Err(bad()) };
            let kind = match mode {
                "100755" => TreeEntryKind::Program,
                "120000" => TreeEntryKind::Link,
                // A submodule is another repository; nothing of it is here.
                "160000" => continue,
                _ => TreeEntryKind::File,
            };
            let size: u64 = size.parse().map_err(|_| bad())?;
            bytes = bytes.saturating_add(size);
            let is_long = kind == TreeEntryKind::Link && size > MAX_LINK_BYTES;
            let path = safe_path(path.get(1..).unwrap_or_default());
            let path = path.filter(|_| !is_long).ok_or_else(bad)?;
            entries.push(TreeEntry { path, kind, object: object.to_owned() });
        }
        let too_large = |what| GitError::TooLarge { repo: repo.to_string(), what };
        if entries.len() > MAX_TREE_FILES {
            return Err(too_large(format!("{} files", entries.len())));
        }
        if bytes > MAX_TREE_BYTES {
            return Err(too_large(format!("{} MB", bytes >> 20)));
        }
        // Links come last: while files are written there is none that could lead them elsewhere.
        entries.sort_by_key(|entry| entry.kind == TreeEntryKind::Link);
        Ok(Self { entries })
    }

    /// The question to `git cat-file --batch` whose answer [`Self::write`] takes.
    pub(super) fn batch_input(&self) -> Vec<u8> {
        self.entries.iter().flat_map(|entry| format!("{}\n", entry.object).into_bytes()).collect()
    }

    /// Writes the answer's files below `folder`, which is empty.
    pub(super) fn write(&self, folder: &Path, answer: &mut dyn Read) -> io::Result<()> {
        let mut answer = BufReader::new(answer);
        let mut folders = BTreeSet::new();
        for entry in &self.entries {
            let mut head = String::new();
            answer.by_ref().take(256).read_line(&mut head)?;
            let size = match head.split_ascii_whitespace().collect::<Vec<_>>()[..] {
                [_, "blob", size] => size.parse::<u64>().ok(),
                _ => None,
            };
            let size =
                size.ok_or_else(|| io::Error::other(format!("git said `{}`", head.trim())))?;
            let path = folder.join(&entry.path);
            if let Some(parent) = path.parent()
                && folders.insert(parent.to_owned())
            {
                fs::create_dir_all(parent)?;
            }
            let mut content = answer.by_ref().take(size);
            match entry.kind {
                TreeEntryKind::Link => write_link(&path, &mut content)?,
                TreeEntryKind::File => write_file(&path, &mut content, 0o666)?,
                TreeEntryKind::Program => write_file(&path, &mut content, 0o777)?,
            }
            let mut newline = [0];
            answer.read_exact(&mut newline)?;
        }
        Ok(())
    }
}

fn write_file(path: &Path, content: &mut dyn Read, mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    // Two entries that are one file here, as in a tree with `a` and `A`, must not overwrite each other.
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(mode);
    }
    #[cfg(not(unix))]
    let _same_everywhere = mode;
    let mut file = BufWriter::new(options.open(path)?);
    io::copy(content, &mut file)?;
    file.into_inner().map(|_: File| ()).map_err(io::IntoInnerError::into_error)
}

#[cfg(unix)]
fn write_link(path: &Path, content: &mut dyn Read) -> io::Result<()> {
    use std::{ffi::OsString, os::unix::ffi::OsStringExt as _};
    let mut target = Vec::new();
    content.read_to_end(&mut target)?;
    std::os::unix::fs::symlink(OsString::from_vec(target), path)
}

/// Without links, git leaves a file that holds where the link leads.
#[cfg(not(unix))]
fn write_link(path: &Path, content: &mut dyn Read) -> io::Result<()> {
    write_file(path, content, 0o666)
}

/// The path below the root, if it stays there on every system and is no part of a repository's own data.
fn safe_path(bytes: &[u8]) -> Option<PathBuf> {
    let text = std::str::from_utf8(bytes).ok()?;
    let path = PathBuf::from(text);
    let is_plain = |part: &str| {
        let lower = part.to_ascii_lowercase();
        !part.is_empty()
            && !matches!(lower.as_str(), "." | ".." | ".git" | "git~1")
            && !part.contains(['\\', ':', '\0'])
    };
    let is_normal = path.components().all(|part| matches!(part, Component::Normal(_)));
    (is_normal && text.split('/').all(is_plain)).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(lines: &[&str]) -> Result<CommitTree, GitError> {
        let output: Vec<u8> =
            lines.iter().flat_map(|line| format!("{line}\0").into_bytes()).collect();
        CommitTree::parse(&output, &RepoAddress::parse("owner/repo").unwrap())
    }

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        for bad in [
            "../x",
            "/etc/passwd",
            "a/../../x",
            ".git/config",
            "a/.GIT/hooks/x",
            "c:x",
            "a\\b",
            "a//b",
        ] {
            let line = format!("100644 blob {} 1\t{bad}", "a".repeat(40));
            assert!(matches!(parse(&[&line]), Err(GitError::BadPath { .. })), "{bad}");
        }
    }

    #[test]
    fn sizes_are_known_before_anything_is_written() {
        let line = format!("100644 blob {} {}\tbig", "a".repeat(40), 3_u64 << 30);
        assert!(matches!(parse(&[&line]), Err(GitError::TooLarge { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn a_tree_whose_link_and_folder_have_one_name_writes_nothing_outside() {
        let dir = tempfile::tempdir().unwrap();
        let (outside, inside) = (dir.path().join("outside"), dir.path().join("inside"));
        fs::create_dir(&outside).unwrap();
        fs::create_dir(&inside).unwrap();
        let (link, file) = ("a".repeat(40), "b".repeat(40));
        let tree = parse(&[
            &format!("120000 blob {link} 10\tdocs"),
            &format!("100644 blob {file} 3\tdocs/x"),
        ])
        .unwrap();
        let target = outside.to_str().unwrap();
        let answer =
            format!("{file} blob 3\nabc\n{link} blob {}\n{target}\n", target.len()).into_bytes();
        assert!(tree.write(&inside, &mut answer.as_slice()).is_err());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}
