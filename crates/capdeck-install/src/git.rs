//! Sources in git repositories: which commit is meant, and its files as a folder that never changes.
//!
//! The system's `git` talks to the repository. Only finished snapshots are kept, one folder per commit; what git needs to
//! make one lives beside it for as long as that takes. So a killed run leaves nothing that a later one could trip over.

mod address;
mod command;
mod revision;
#[cfg(test)]
mod tests;
mod tree;

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use capdeck_storage::FileLock;
use command::GitCommand;
use revision::{RemoteRefs, ResolvedRevision};
use tree::CommitTree;

pub use address::RepoAddress;
pub use revision::GitRevision;

pub(crate) use revision::is_full_hash;

const COMMAND_TIMEOUT: Duration = Duration::from_secs(120);

/// The system's git and the folder where snapshots are kept.
#[derive(Debug, Clone)]
pub struct GitClient {
    /// The `git` on the PATH, unless another is named.
    pub program: OsString,
    cache_dir: PathBuf,
    /// How long one command may take.
    pub deadline: Duration,
    /// Addresses that begin with the first, such as `https://github.com/`, are fetched from the second instead.
    pub bases: Vec<(String, String)>,
}

/// The files of one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitSnapshot {
    /// The whole hash of the commit.
    pub commit: String,
    /// The tag or branch it was found under.
    pub version: Option<String>,
    /// The folder that holds its files. It is never written to.
    pub path: PathBuf,
}

impl GitClient {
    /// Keeps snapshots below `cache_dir`.
    pub fn new(cache_dir: &Path) -> Self {
        Self {
            program: OsString::from("git"),
            cache_dir: cache_dir.join("git"),
            deadline: COMMAND_TIMEOUT,
            bases: Vec::new(),
        }
    }

    /// The files of the commit that `revision` means now. The repository is asked each time, unless a whole hash is given
    /// whose snapshot is there.
    pub fn snapshot(
        &self,
        repo: &RepoAddress,
        revision: &GitRevision,
    ) -> Result<CommitSnapshot, GitError> {
        if let GitRevision::Commit(commit) = revision
            && is_full_hash(commit)
        {
            let resolved = ResolvedRevision { commit: commit.to_ascii_lowercase(), version: None };
            return self.fetched(repo, resolved);
        }
        self.fetched(repo, self.resolve(repo, revision)?)
    }

    /// The snapshot of a commit, if an earlier run left it. Nothing is contacted.
    pub fn cached(&self, repo: &RepoAddress, commit: &str) -> Option<PathBuf> {
        let path = self.snapshots(repo).join(commit);
        (is_full_hash(commit) && path.is_dir()).then_some(path)
    }

    fn resolve(
        &self,
        repo: &RepoAddress,
        revision: &GitRevision,
    ) -> Result<ResolvedRevision, GitError> {
        let missing = |name: &str, refs: &RemoteRefs| GitError::NoSuchRevision {
            repo: repo.to_string(),
            revision: name.to_owned(),
            known: refs.some_names(),
        };
        let arguments = ["ls-remote", "--", &repo.url, "HEAD", "refs/tags/*", "refs/heads/*"];
        let output = self.command(repo)?.run(&arguments)?;
        let refs = RemoteRefs::parse(&String::from_utf8_lossy(&output));
        match revision {
            GitRevision::Newest => {
                refs.newest().ok_or_else(|| GitError::Empty { repo: repo.to_string() })
            }
            GitRevision::Version(name) => {
                refs.resolve_name(name).ok_or_else(|| missing(name, &refs))
            }
            GitRevision::Commit(hash) => match refs.beginning_with(hash) {
                Some(resolved) => Ok(resolved),
                None => self.expand_hash(repo, hash)?.ok_or_else(|| missing(hash, &refs)),
            },
        }
    }

    /// The whole hash of a commit that no name leads to. Only the history itself knows it.
    fn expand_hash(
        &self,
        repo: &RepoAddress,
        hash: &str,
    ) -> Result<Option<ResolvedRevision>, GitError> {
        let _lock = self.lock(repo)?;
        let (_stage, git_dir) = self.new_staging_repository(repo)?;
        let mut command = self.command(repo)?;
        command.git_dir = Some(&git_dir);
        let (heads, tags) = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*");
        command.run(&["fetch", "--quiet", "--filter=tree:0", "--", &repo.url, heads, tags])?;
        let name = format!("{hash}^{{commit}}");
        let found = command.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name]);
        let commit = match found {
            Ok(output) => String::from_utf8_lossy(&output).trim().to_owned(),
            Err(GitError::Failed { .. }) => return Ok(None),
            Err(other) => return Err(other),
        };
        Ok(is_full_hash(&commit).then_some(ResolvedRevision { commit, version: None }))
    }

    fn fetched(
        &self,
        repo: &RepoAddress,
        resolved: ResolvedRevision,
    ) -> Result<CommitSnapshot, GitError> {
        let ResolvedRevision { commit, version } = resolved;
        if let Some(path) = self.cached(repo, &commit) {
            return Ok(CommitSnapshot { commit, version, path });
        }
        let _lock = self.lock(repo)?;
        // Another run may have made it while this one waited.
        let path = match self.cached(repo, &commit) {
            Some(path) => path,
            None => self.fetch(repo, &commit)?,
        };
        Ok(CommitSnapshot { commit, version, path })
    }

    fn fetch(&self, repo: &RepoAddress, commit: &str) -> Result<PathBuf, GitError> {
        let (stage, git_dir) = self.new_staging_repository(repo)?;
        let mut command = self.command(repo)?;
        command.git_dir = Some(&git_dir);
        let fetched =
            command.run(&["fetch", "--quiet", "--depth=1", "--no-tags", "--", &repo.url, commit]);
        fetched.map_err(|error| match error {
            GitError::Failed { detail, .. }
                if detail.contains("not our ref")
                    || detail.contains("couldn't find remote ref") =>
            {
                GitError::NoSuchRevision {
                    repo: repo.to_string(),
                    revision: commit.to_owned(),
                    known: Vec::new(),
                }
            }
            other => other,
        })?;
        let listing = command.run(&["ls-tree", "-r", "-z", "-l", "--full-tree", commit])?;
        let tree = CommitTree::parse(&listing, repo)?;
        let files = stage.path().join("files");
        let failed = |path: &Path, source| GitError::Cache { path: path.to_owned(), source };
        fs::create_dir(&files).map_err(|source| failed(&files, source))?;
        let write = |answer: &mut dyn io::Read| tree.write(&files, answer);
        command.run_with_input(&["cat-file", "--batch"], tree.batch_input(), write)?;
        let path = self.snapshots(repo).join(commit);
        fs::rename(&files, &path).map_err(|source| failed(&path, source))?;
        Ok(path)
    }

    fn command<'a>(&'a self, repo: &'a RepoAddress) -> Result<GitCommand<'a>, GitError> {
        let mut command = GitCommand::new(&self.program, repo, self.deadline);
        let bases = self.bases.iter().map(|(from, to)| format!("url.{to}.insteadOf={from}"));
        command.settings.extend(bases.map(OsString::from));
        if repo.is_ssh() {
            let own = GitCommand::new(&self.program, repo, self.deadline);
            let own = match own.run(&["config", "--get", "core.sshCommand"]) {
                Ok(output) => String::from_utf8_lossy(&output).trim().to_owned(),
                Err(GitError::Failed { .. }) => "ssh".to_owned(),
                Err(other) => return Err(other),
            };
            // A question would wait without being seen.
            command.settings.push(format!("core.sshCommand={own} -oBatchMode=yes").into());
        }
        Ok(command)
    }

    fn folder(&self, repo: &RepoAddress) -> PathBuf {
        self.cache_dir.join(&repo.cache_key)
    }

    fn snapshots(&self, repo: &RepoAddress) -> PathBuf {
        self.folder(repo).join("snapshots")
    }

    /// Held while a repository's folder is written. It ends with the process that holds it.
    fn lock(&self, repo: &RepoAddress) -> Result<FileLock, GitError> {
        let folder = self.snapshots(repo);
        let failed = |source| GitError::Cache { path: folder.clone(), source };
        fs::create_dir_all(&folder).map_err(failed)?;
        FileLock::wait(&self.folder(repo).join("lock")).map_err(failed)
    }

    /// An empty folder, and in it an empty repository. What killed runs left there is removed first; the caller holds the lock.
    fn new_staging_repository(
        &self,
        repo: &RepoAddress,
    ) -> Result<(tempfile::TempDir, PathBuf), GitError> {
        let parent = self.folder(repo).join("stage");
        let failed = |source| GitError::Cache { path: parent.clone(), source };
        match fs::remove_dir_all(&parent) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => fs::create_dir_all(&parent).map_err(failed)?,
        }
        let stage = tempfile::Builder::new().tempdir_in(&parent).map_err(failed)?;
        let git_dir = stage.path().join("repository");
        let init = ["init", "--quiet", "--bare", "--template=", "--"].map(OsStr::new);
        self.command(repo)?.run(&[&init[..], &[git_dir.as_os_str()]].concat())?;
        Ok((stage, git_dir))
    }
}

/// A repository, or a commit of it, could not be had. Nothing half-made is left behind.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("`git` is not installed or not on the PATH")]
    NoGit,
    #[error("`{address}` is not a repository that can be used: {reason}")]
    BadAddress { address: String, reason: &'static str },
    #[error("`{revision}` is not a version or commit: {reason}")]
    BadRevision { revision: String, reason: &'static str },
    #[error("there is no repository `{repo}`, or it is private: {detail}")]
    NoSuchRepository { repo: String, detail: String },
    #[error("`{repo}` has no tag, branch or commit `{revision}`{}", known_names(known))]
    NoSuchRevision { repo: String, revision: String, known: Vec<String> },
    #[error("`{repo}` has no commits yet")]
    Empty { repo: String },
    #[error("`{repo}` cannot be reached: {detail}")]
    Unreachable { repo: String, detail: String },
    #[error("`{repo}` did not answer within {} s", after.as_secs())]
    TimedOut { repo: String, after: Duration },
    #[error("`{repo}` holds a path that must not be written: `{path}`")]
    BadPath { repo: String, path: String },
    #[error("`{repo}` is larger than is taken: {what}")]
    TooLarge { repo: String, what: String },
    #[error("git failed on `{repo}`: {detail}")]
    Failed { repo: String, detail: String },
    #[error("cannot use `{}`", path.display())]
    Cache {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl GitError {
    /// What to do about it, where there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoGit => Some("install git, or take the source from a local folder"),
            Self::NoSuchRepository { .. } => Some(
                "check the name; for a private repository set up git's credential helper, or use its ssh address",
            ),
            Self::Unreachable { .. } | Self::TimedOut { .. } => {
                Some("check the network; what the lock pins and was fetched before works offline")
            }
            _ => None,
        }
    }
}

fn known_names(known: &[String]) -> String {
    match known {
        [] => String::new(),
        names => format!("; it has: {}", names.join(", ")),
    }
}
