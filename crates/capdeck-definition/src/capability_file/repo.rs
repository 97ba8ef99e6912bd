//! Places in repositories: `owner/repo@name` is looked for, `owner/repo::path` is exact; `#commit` or `:version` may
//! follow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

// Where a repository is hosted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum GitHost {
    GitHub,
    GitLab,
}

/// A repository, what in it is meant, and which state of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoReference {
    pub host: GitHost,
    /// `owner/repo`; GitLab's may be nested deeper.
    pub name: String,
    pub target: RepoTarget,
    /// A tag or branch.
    pub version: Option<String>,
    pub commit: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepoTarget {
    Root,
    /// Anything with this name, in any folder.
    Named(String),
    /// Exactly this path, with `/` between its parts.
    Path(String),
}

/// Why a text is no place in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RepoReferenceError {
    #[error("names no repository")]
    NoRepository,
    #[error("must name a GitHub repository as `owner/repo`")]
    NotTwoParts,
    #[error("says nothing after `@` or `::`")]
    EmptyTarget,
    #[error("says not what in the repository is meant")]
    NoTarget,
    #[error("has a `/` after `@`")]
    NestedName,
    #[error("has an empty commit after `#`")]
    EmptyCommit,
    #[error("has an empty version after `:`")]
    EmptyVersion,
    #[error("has a path that leaves the repository")]
    UnsafePath,
}

impl GitHost {
    /// The name as files write it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl RepoReferenceError {
    pub(super) fn fix(self) -> &'static str {
        match self {
            Self::NoRepository | Self::NotTwoParts => {
                "write `owner/repo@name`, or `owner/repo::path/in/it`"
            }
            Self::EmptyTarget | Self::NoTarget => {
                "add `@name` to look for a name, or `::path` for an exact path"
            }
            Self::NestedName => "use `::` for a path; `@` takes a name alone",
            Self::EmptyCommit | Self::EmptyVersion => "add it, or remove the sign before it",
            Self::UnsafePath => "use a relative path without `..`",
        }
    }
}

impl RepoReference {
    /// Reads a place with a target, and a commit or version if one follows.
    pub fn parse(host: GitHost, text: &str) -> Result<Self, RepoReferenceError> {
        let (name, target, is_path) = split_target(text).ok_or(RepoReferenceError::NoTarget)?;
        check_name(host, name)?;
        let (target, commit, version) = match (target.rsplit_once('#'), target.rsplit_once(':')) {
            (Some((_, "")), _) => return Err(RepoReferenceError::EmptyCommit),
            (Some((target, commit)), _) => (target, Some(commit.to_owned()), None),
            (None, Some((_, ""))) => return Err(RepoReferenceError::EmptyVersion),
            (None, Some((target, version))) => (target, None, Some(version.to_owned())),
            (None, None) => (target, None, None),
        };
        let target = check_target(target, is_path)?;
        Ok(Self { host, name: name.to_owned(), target, version, commit })
    }

    /// Reads a repository whose target may be left out and whose version is given elsewhere.
    pub fn parse_whole(host: GitHost, text: &str) -> Result<Self, RepoReferenceError> {
        let (name, target) = match split_target(text) {
            Some((name, target, is_path)) => (name, check_target(target, is_path)?),
            None => (text, RepoTarget::Root),
        };
        check_name(host, name)?;
        Ok(Self { host, name: name.to_owned(), target, version: None, commit: None })
    }
}

impl RepoReference {
    /// The file that an address of GitHub or GitLab answers with as it is, so that it can be pinned by its commit. A name
    /// with `/` in it cannot be distinguished from the path; the first part is taken as the tag, branch or commit.
    pub fn from_raw_url(address: &str) -> Option<Self> {
        let url = url::Url::parse(address).ok()?;
        let is_plain = url.scheme() == "https" && url.port().is_none() && url.username().is_empty();
        if !is_plain || url.query().is_some() || url.fragment().is_some() {
            return None;
        }
        let path = url.path().trim_start_matches('/');
        let (host, name, rest) = match url.host_str()? {
            "raw.githubusercontent.com" => {
                let (owner, rest) = path.split_once('/')?;
                let (repo, rest) = rest.split_once('/')?;
                (GitHost::GitHub, format!("{owner}/{repo}"), rest)
            }
            "github.com" => {
                let (name, rest) = path.split_once("/raw/")?;
                (GitHost::GitHub, name.to_owned(), rest)
            }
            "gitlab.com" => {
                let (name, rest) = path.split_once("/-/raw/")?;
                (GitHost::GitLab, name.to_owned(), rest)
            }
            _ => return None,
        };
        let named = ["refs/heads/", "refs/tags/"].iter().find_map(|lead| rest.strip_prefix(lead));
        let (state, file) = named.unwrap_or(rest).split_once('/')?;
        // A character that is escaped in an address is not escaped in a repository.
        let is_usable = check_name(host, &name).is_ok() && is_safe_path(file);
        if !is_usable || state.is_empty() || rest.contains('%') {
            return None;
        }
        let is_commit = state.len() == 40 && state.chars().all(|c| c.is_ascii_hexdigit());
        let state = Some(state.to_owned());
        let (commit, version) = if is_commit { (state, None) } else { (None, state) };
        Some(Self { host, name, target: RepoTarget::Path(file.to_owned()), version, commit })
    }
}

/// Whether a path stays below where it starts: relative, without `..`, without a drive.
pub fn is_safe_path(path: &str) -> bool {
    let drive = path.as_bytes().get(1) == Some(&b':');
    !path.is_empty()
        && !drive
        && !path.starts_with(['/', '\\'])
        && !path.contains('\0')
        && path.split(['/', '\\']).all(|part| part != "..")
}

/// The repository, what follows, and whether that is a path.
fn split_target(text: &str) -> Option<(&str, &str, bool)> {
    if let Some((name, target)) = text.split_once("::") {
        return Some((name, target, true));
    }
    text.split_once('@').map(|(name, target)| (name, target, false))
}

fn check_target(target: &str, is_path: bool) -> Result<RepoTarget, RepoReferenceError> {
    match (target, is_path) {
        ("", _) => Err(RepoReferenceError::EmptyTarget),
        (path, true) if is_safe_path(path) => Ok(RepoTarget::Path(path.to_owned())),
        (_, true) => Err(RepoReferenceError::UnsafePath),
        (name, false) if name.contains(['/', '\\']) => Err(RepoReferenceError::NestedName),
        (".." | ".", false) => Err(RepoReferenceError::UnsafePath),
        (name, false) => Ok(RepoTarget::Named(name.to_owned())),
    }
}

fn check_name(host: GitHost, name: &str) -> Result<(), RepoReferenceError> {
    let legal = |part: &str| {
        !part.is_empty()
            && part != ".."
            && part != "."
            && !part.starts_with('-')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
    };
    let parts: Vec<&str> = name.split('/').collect();
    match host {
        _ if !parts.iter().all(|part| legal(part)) => Err(RepoReferenceError::NoRepository),
        GitHost::GitHub if parts.len() != 2 => Err(RepoReferenceError::NotTwoParts),
        GitHost::GitLab if parts.len() < 2 => Err(RepoReferenceError::NoRepository),
        GitHost::GitHub | GitHost::GitLab => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{GitHost, RepoReference, RepoReferenceError, RepoTarget};

    fn parse(
        text: &str,
    ) -> Result<(String, RepoTarget, Option<String>, Option<String>), RepoReferenceError> {
        RepoReference::parse(GitHost::GitHub, text)
            .map(|repo| (repo.name, repo.target, repo.version, repo.commit))
    }

    #[test]
    fn targets_and_states() {
        let named = |name: &str| RepoTarget::Named(name.to_owned());
        let path = |path: &str| RepoTarget::Path(path.to_owned());
        let some = |text: &str| Some(text.to_owned());
        let name = "o/r".to_owned();
        let table = [
            ("o/r@web", (name.clone(), named("web"), None, None)),
            ("o/r@web:v1.2", (name.clone(), named("web"), some("v1.2"), None)),
            ("o/r@web#abc", (name.clone(), named("web"), None, some("abc"))),
            ("o/r@web:v1#abc", (name.clone(), named("web:v1"), None, some("abc"))),
            ("o/r::a/b.md", (name.clone(), path("a/b.md"), None, None)),
            ("o/r::a@b:v2", (name.clone(), path("a@b"), some("v2"), None)),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_place() {
        let table = [
            ("", RepoReferenceError::NoTarget),
            ("o/r", RepoReferenceError::NoTarget),
            ("o/r@", RepoReferenceError::EmptyTarget),
            ("o/r::", RepoReferenceError::EmptyTarget),
            ("o/r@a/b", RepoReferenceError::NestedName),
            ("o/r@a#", RepoReferenceError::EmptyCommit),
            ("o/r@a:", RepoReferenceError::EmptyVersion),
            ("o/r::../x", RepoReferenceError::UnsafePath),
            ("o/r::/x", RepoReferenceError::UnsafePath),
            ("o/r::c:x/y#1", RepoReferenceError::UnsafePath),
            ("r@a", RepoReferenceError::NotTwoParts),
            ("a/b/c@a", RepoReferenceError::NotTwoParts),
            ("a//c@a", RepoReferenceError::NoRepository),
            ("a/..@a", RepoReferenceError::NoRepository),
            ("-x/y@a", RepoReferenceError::NoRepository),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), Err(expected), "{text}");
        }
        assert!(RepoReference::parse(GitHost::GitLab, "a/b/c@d").is_ok());
        assert_eq!(
            RepoReference::parse_whole(GitHost::GitHub, "o/r").map(|repo| repo.target),
            Ok(RepoTarget::Root)
        );
    }

    #[test]
    fn raw_addresses_are_places_in_repositories() {
        let path = |path: &str| RepoTarget::Path(path.to_owned());
        let hash = "0123456789abcdef0123456789abcdef01234567";
        let table = [
            ("https://raw.githubusercontent.com/o/r/main/a/b.md", "main", "a/b.md"),
            ("https://raw.githubusercontent.com/o/r/refs/heads/main/b.md", "main", "b.md"),
            ("https://github.com/o/r/raw/refs/tags/v1.0.0/b.md", "v1.0.0", "b.md"),
            ("https://gitlab.com/g/s/r/-/raw/v2/x.md", "v2", "x.md"),
        ];
        for (address, version, file) in table {
            let repo = RepoReference::from_raw_url(address).unwrap();
            assert_eq!((repo.version.as_deref(), &repo.target), (Some(version), &path(file)));
        }
        let address = format!("https://raw.githubusercontent.com/o/r/{hash}/b.md");
        assert_eq!(RepoReference::from_raw_url(&address).unwrap().commit.as_deref(), Some(hash));
        for other in [
            "https://raw.githubusercontent.com/o/r/main",
            "https://raw.githubusercontent.com/o/r/main/",
            "https://raw.githubusercontent.com/o/r/main/a%20b.md",
            "https://raw.githubusercontent.com/o/r/main/b.md?token=x",
            "http://raw.githubusercontent.com/o/r/main/b.md",
            "https://github.com/o/r/blob/main/b.md",
            "https://example.com/o/r/raw/main/b.md",
        ] {
            assert_eq!(RepoReference::from_raw_url(other), None, "{other}");
        }
    }
}
