//! Which commit is meant: a version, a commit, or the newest release.

use super::GitError;

/// What is wanted of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitRevision {
    /// The tag with the highest version, or else what the default branch holds.
    Newest,
    /// A tag or a branch.
    Version(String),
    /// A commit, by its full or shortened hash.
    Commit(String),
}

/// The commit a revision led to, and the name it was found under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResolvedRevision {
    pub(super) commit: String,
    pub(super) version: Option<String>,
}

/// The names a repository has, each with its commit.
#[derive(Debug, Default)]
pub(super) struct RemoteRefs {
    head: Option<String>,
    tags: Vec<(String, String)>,
    branches: Vec<(String, String)>,
}

impl GitRevision {
    /// The version and the commit that a file asks for, as two optional texts; the commit is the narrower wish. A commit
    /// that is no hash is taken for the name of a tag or branch.
    pub fn from_request(version: Option<&str>, commit: Option<&str>) -> Result<Self, GitError> {
        match (commit, version) {
            (Some(text), _) if is_hash(text) => Ok(Self::Commit(text.to_ascii_lowercase())),
            (Some(text), _) | (None, Some(text)) => {
                check_name(text)?;
                Ok(Self::Version(text.to_owned()))
            }
            (None, None) => Ok(Self::Newest),
        }
    }
}

impl RemoteRefs {
    /// Reads what `git ls-remote` prints.
    pub(super) fn parse(output: &str) -> Self {
        let mut refs = Self::default();
        for line in output.lines() {
            let Some((commit, name)) = line.split_once('\t') else { continue };
            if !is_full_hash(commit) {
                continue;
            }
            if name == "HEAD" {
                refs.head = Some(commit.to_owned());
            } else if let Some(branch) = name.strip_prefix("refs/heads/") {
                refs.branches.push((branch.to_owned(), commit.to_owned()));
            } else if let Some(tag) = name.strip_prefix("refs/tags/") {
                // The second line of an annotated tag leads on to the commit.
                let (tag, is_peeled) = match tag.strip_suffix("^{}") {
                    Some(tag) => (tag, true),
                    None => (tag, false),
                };
                match refs.tags.iter_mut().find(|(known, _)| known == tag) {
                    Some(known) if is_peeled => commit.clone_into(&mut known.1),
                    Some(_) => {}
                    None => refs.tags.push((tag.to_owned(), commit.to_owned())),
                }
            }
        }
        refs
    }

    pub(super) fn newest(&self) -> Option<ResolvedRevision> {
        let released =
            self.tags.iter().filter_map(|(tag, commit)| Some((release(tag)?, tag, commit)));
        match released.max_by(|one, other| one.0.cmp(&other.0)) {
            Some((_, tag, commit)) => {
                Some(ResolvedRevision { commit: commit.clone(), version: Some(tag.clone()) })
            }
            None => self.head.clone().map(|commit| ResolvedRevision { commit, version: None }),
        }
    }

    /// A tag, a tag with or without its `v`, or a branch.
    pub(super) fn resolve_name(&self, name: &str) -> Option<ResolvedRevision> {
        let other = match name.strip_prefix('v') {
            Some(bare) => bare.to_owned(),
            None => format!("v{name}"),
        };
        let find = |list: &[(String, String)], name: &str| {
            let (name, commit) = list.iter().find(|(known, _)| known == name)?;
            Some(ResolvedRevision { commit: commit.clone(), version: Some(name.clone()) })
        };
        find(&self.tags, name)
            .or_else(|| find(&self.branches, name))
            .or_else(|| find(&self.tags, &other))
    }

    /// The one commit among those named that begins so.
    pub(super) fn beginning_with(&self, hash: &str) -> Option<ResolvedRevision> {
        let all = self.tags.iter().chain(&self.branches).map(|(_, commit)| commit);
        let mut found: Vec<&String> =
            all.chain(&self.head).filter(|commit| commit.starts_with(hash)).collect();
        found.sort_unstable();
        found.dedup();
        match found[..] {
            [commit] => Some(ResolvedRevision { commit: commit.clone(), version: None }),
            _ => None,
        }
    }

    /// Some names, to help after a wrong one.
    pub(super) fn some_names(&self) -> Vec<String> {
        let names = self.tags.iter().rev().chain(&self.branches);
        names.take(8).map(|(name, _)| name.clone()).collect()
    }
}

pub(crate) fn is_full_hash(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_hash(text: &str) -> bool {
    (7..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn check_name(name: &str) -> Result<(), GitError> {
    let refused = |reason| Err(GitError::BadRevision { revision: name.to_owned(), reason });
    if name.is_empty() {
        return refused("it is empty");
    }
    if name.starts_with('-') {
        return refused("it looks like an option");
    }
    let is_bad = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    if name.contains("..") || name.contains("@{") || name.chars().any(is_bad) {
        return refused("no tag or branch can be named so");
    }
    Ok(())
}

/// The numbers of a tag such as `v1.2.3`. Longer numbers than fit are no version.
fn release(tag: &str) -> Option<[u64; 3]> {
    let mut parts = tag.strip_prefix('v').unwrap_or(tag).split('.');
    let mut next = || {
        let part = parts.next().filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))?;
        part.parse().ok()
    };
    let version = [next()?, next()?, next()?];
    parts.next().is_none().then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(digit: char) -> String {
        String::from(digit).repeat(40)
    }

    #[test]
    fn the_newest_release_counts_numbers_and_leaves_out_what_is_no_release() {
        let tags = ["v1.9.0", "v1.10.0", "2.0.0-rc.1", "v3", "nightly", "1.2.3.4", "v9.9.x"];
        let lines: Vec<String> = tags
            .iter()
            .enumerate()
            .map(|(n, tag)| format!("{}\trefs/tags/{tag}", hash(char::from(b'a' + n as u8 % 6))))
            .collect();
        let refs = RemoteRefs::parse(&format!("{}\tHEAD\n{}", hash('0'), lines.join("\n")));
        assert_eq!(refs.newest().unwrap().version.as_deref(), Some("v1.10.0"));
        let no_release = RemoteRefs::parse(&format!("{}\tHEAD\n", hash('0')));
        assert_eq!(
            no_release.newest().unwrap(),
            ResolvedRevision { commit: hash('0'), version: None }
        );
        assert_eq!(RemoteRefs::parse("").newest(), None);
    }

    #[test]
    fn annotated_tags_lead_to_their_commit_and_names_forgive_the_v() {
        let text = format!(
            "{}\trefs/tags/v1.0.0\n{}\trefs/tags/v1.0.0^{{}}\n{}\trefs/heads/main\n",
            hash('a'),
            hash('b'),
            hash('c')
        );
        let refs = RemoteRefs::parse(&text);
        assert_eq!(refs.resolve_name("1.0.0").unwrap().commit, hash('b'));
        assert_eq!(refs.resolve_name("main").unwrap().commit, hash('c'));
        assert_eq!(refs.resolve_name("other"), None);
        assert_eq!(refs.beginning_with("bbbbbbb").unwrap().commit, hash('b'));
    }

    #[test]
    fn names_that_are_options_or_no_names_are_refused() {
        for bad in ["--upload-pack=x", "-x", "", "a..b", "a b", "a:b", "main@{1}", "a\nb"] {
            assert!(GitRevision::from_request(Some(bad), None).is_err(), "{bad}");
            assert!(GitRevision::from_request(None, Some(bad)).is_err(), "{bad}");
        }
        let commit = GitRevision::from_request(Some("v1"), Some("ABCDEF1")).unwrap();
        assert_eq!(commit, GitRevision::Commit("abcdef1".to_owned()));
    }
}
