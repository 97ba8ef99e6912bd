//! A project that is a git checkout.

use std::{
    fs,
    path::{Component, Path, PathBuf},
    process::{Command, Stdio},
};

use super::anchors::AnchorProject;
use crate::CommitRef;

/// A working tree with the commits behind it, asked through the `git` program.
///
/// The maker of the folder wrote its configuration, which may name programs: to compare files (`filter`, `textconv`), to
/// look for changes (`core.fsmonitor`), to fetch what is missing. So git is asked only for what a commit holds, which
/// starts none of them, and the files are compared here.
#[derive(Debug, Clone)]
pub struct GitProject {
    root: PathBuf,
}

impl GitProject {
    /// The checkout at a folder.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    fn git(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.root).arg("--no-optional-locks").arg("--literal-pathspecs");
        command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
        command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "");
        command
    }

    /// The path inside the tree that an anchor names.
    fn inside(anchor: &str) -> Option<PathBuf> {
        let path = Path::new(anchor);
        let plain =
            path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        plain.then(|| path.to_owned())
    }
}

impl AnchorProject for GitProject {
    fn exists(&self, anchor: &str) -> bool {
        Self::inside(anchor).is_some_and(|path| self.root.join(path).is_file())
    }

    fn changed_since(&self, anchor: &str, commit: &str) -> Option<bool> {
        // A stored commit is the word of a stranger: digits only, so that it is never an option or a branch.
        let commit = CommitRef::claimed(commit).ok()?.hash;
        let path = Self::inside(anchor)?;
        let place = format!("{commit}:./{}", path.to_str()?);
        let then = self.git(&["cat-file", "blob", &place]).output().ok()?;
        if !then.status.success() {
            return None;
        }
        let now = fs::read(self.root.join(path)).ok()?;
        Some(now != then.stdout && with_plain_ends(&now) != then.stdout)
    }

    fn head(&self) -> Option<CommitRef> {
        let output = self.git(&["rev-parse", "--verify", "--short=12", "HEAD"]).output().ok()?;
        CommitRef::observed(std::str::from_utf8(&output.stdout).ok()?).ok()
    }
}

/// A text as git keeps it where lines end with `\r\n` in the working tree.
fn with_plain_ends(text: &[u8]) -> Vec<u8> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let plain = lines.flat_map(|line| match line.strip_suffix(b"\r\n") {
        Some(line) => [line, b"\n"],
        None => [line, b""],
    });
    plain.flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(project: &GitProject, arguments: &[&str]) {
        let name = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
        let status = project.git(&[&name[..], arguments].concat()).stdout(Stdio::null()).status();
        assert!(status.unwrap().success(), "{arguments:?}");
    }

    #[test]
    fn a_checkout_tells_what_was_changed() {
        let folder = tempfile::tempdir().unwrap();
        let project = GitProject::at(folder.path());
        let git = |arguments: &[&str]| git(&project, arguments);
        git(&["init", "-q"]);
        fs::write(folder.path().join("a.rs"), "one").unwrap();
        fs::write(folder.path().join("b.rs"), "one").unwrap();
        git(&["add", "."]);
        git(&["commit", "-q", "-m", "first"]);
        let head = project.head().unwrap();
        assert!(!head.is_claimed);
        fs::write(folder.path().join("b.rs"), "two").unwrap();
        assert_eq!(project.changed_since("a.rs", &head.hash), Some(false));
        assert_eq!(project.changed_since("b.rs", &head.hash), Some(true));
        fs::write(folder.path().join("new.rs"), "new").unwrap();
        assert_eq!(project.changed_since("new.rs", &head.hash), None);
        assert_eq!(project.changed_since("a.rs", "0123456789"), None);
        assert_eq!(project.changed_since("a.rs", "HEAD"), None);
        assert!(project.exists("a.rs"));
        for outside in ["../a.rs", "/etc/hostname", "c.rs"] {
            assert!(!project.exists(outside), "{outside}");
        }
    }

    #[test]
    fn lines_that_end_otherwise_are_the_same_lines_and_folders_below_are_found() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        let (top, below) =
            (GitProject::at(folder.path()), GitProject::at(&folder.path().join("below")));
        git(&top, &["init", "-q"]);
        fs::write(folder.path().join("below/a.rs"), "one\ntwo\n").unwrap();
        git(&top, &["add", "."]);
        git(&top, &["commit", "-q", "-m", "first"]);
        let head = top.head().unwrap().hash;
        for text in ["one\ntwo\n", "one\r\ntwo\r\n"] {
            fs::write(folder.path().join("below/a.rs"), text).unwrap();
            assert_eq!(top.changed_since("below/a.rs", &head), Some(false));
            assert_eq!(below.changed_since("a.rs", &head), Some(false));
        }
        fs::write(folder.path().join("below/a.rs"), "one\rtwo\n").unwrap();
        assert_eq!(below.changed_since("a.rs", &head), Some(true));
    }

    /// A folder that came as an archive brings its `.git/config` with it.
    #[test]
    fn programs_that_a_checkout_names_are_not_started() {
        let folder = tempfile::tempdir().unwrap();
        let project = GitProject::at(folder.path());
        git(&project, &["init", "-q"]);
        fs::write(folder.path().join("a.rs"), "one").unwrap();
        fs::write(folder.path().join(".gitattributes"), "*.rs filter=own diff=own\n").unwrap();
        git(&project, &["add", "."]);
        git(&project, &["commit", "-q", "-m", "first"]);
        let started = folder.path().join("started");
        let program = format!("touch '{}'; cat", started.display());
        for key in ["core.fsmonitor", "filter.own.clean", "diff.own.textconv", "diff.own.command"] {
            git(&project, &["config", key, &program]);
        }
        let head = project.head().unwrap().hash;
        fs::write(folder.path().join("a.rs"), "two").unwrap();
        assert!(project.exists("a.rs"));
        assert_eq!(project.changed_since("a.rs", &head), Some(true));
        assert!(!started.exists(), "a program of the project ran");
        // The same question in git's own words does start it, so this test can fail.
        project.git(&["diff", "--quiet", &head, "--", "a.rs"]).status().unwrap();
        assert!(started.exists());
    }
}
