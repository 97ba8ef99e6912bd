//! A project that is a git checkout.

use std::{
    path::{Component, Path, PathBuf},
    process::{Command, Stdio},
};

use super::anchors::Project;
use crate::Commit;

/// A working tree with the commits behind it, asked through the `git` program.
#[derive(Debug, Clone)]
pub struct GitProject {
    root: PathBuf,
}

impl GitProject {
    /// The checkout at a folder.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The commit that is checked out, as the host sees it.
    pub fn head(&self) -> Option<Commit> {
        let output = self.git(&["rev-parse", "--verify", "--short=12", "HEAD"]).output().ok()?;
        Commit::observed(std::str::from_utf8(&output.stdout).ok()?).ok()
    }

    fn git(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.root).arg("--no-optional-locks").arg("--literal-pathspecs");
        command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
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

impl Project for GitProject {
    fn exists(&self, anchor: &str) -> bool {
        Self::inside(anchor).is_some_and(|path| self.root.join(path).is_file())
    }

    fn changed_since(&self, anchor: &str, commit: &str) -> Option<bool> {
        // A stored commit is the word of a stranger: digits only, so that it is never an option or a branch.
        let commit = Commit::claimed(commit).ok()?.hash;
        let path = Self::inside(anchor)?;
        let known = self.git(&["cat-file", "-e", &format!("{commit}^{{commit}}")]).status().ok()?;
        if !known.success() {
            return None;
        }
        let mut diff =
            self.git(&["diff", "--quiet", "--no-ext-diff", "--no-textconv", &commit, "--"]);
        let status = diff.arg(path).stdout(Stdio::null()).status().ok()?;
        status.code().map(|code| code != 0)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_checkout_tells_what_was_changed() {
        let folder = tempfile::tempdir().unwrap();
        let project = GitProject::at(folder.path());
        let git = |arguments: &[&str]| {
            let name = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
            let status =
                project.git(&[&name[..], arguments].concat()).stdout(Stdio::null()).status();
            assert!(status.unwrap().success(), "{arguments:?}");
        };
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
        assert_eq!(project.changed_since("a.rs", "0123456789"), None);
        assert_eq!(project.changed_since("a.rs", "HEAD"), None);
        assert!(project.exists("a.rs"));
        for outside in ["../a.rs", "/etc/hostname", "c.rs"] {
            assert!(!project.exists(outside), "{outside}");
        }
    }
}
