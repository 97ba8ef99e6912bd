//! Which repository is meant: `owner/repo` on a known site, or a full address.

use capdeck_definition::capability_file::GitHost;
use capdeck_storage::sha256_hex;
use url::Url;

use super::GitError;

/// The machine of a site where a repository is named by its path alone.
fn host_name(host: GitHost) -> &'static str {
    match host {
        GitHost::GitHub => "github.com",
        GitHost::GitLab => "gitlab.com",
    }
}

/// A checked address of a repository. It can be given to `git` as it is: it is no option, names no helper program and
/// holds no password.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RepoAddress {
    shown: String,
    pub(super) url: String,
    /// A relative folder that no other repository has.
    pub(super) cache_key: String,
}

impl RepoAddress {
    /// `owner/repo` on a site. Only GitLab has groups within groups.
    pub fn on(site: GitHost, repo: &str) -> Result<Self, GitError> {
        let refused = |reason| GitError::BadAddress { address: repo.to_owned(), reason };
        let repo = repo.strip_suffix(".git").unwrap_or(repo);
        let segments: Vec<&str> = repo.split('/').collect();
        let is_plain = |segment: &&str| {
            is_name(segment) && !segment.starts_with('.') && !segment.contains("..")
        };
        if segments.len() < 2 || !segments.iter().all(is_plain) {
            return Err(refused("a repository is named `owner/repo`"));
        }
        if site == GitHost::GitHub && segments.len() != 2 {
            return Err(refused("a GitHub repository is exactly `owner/repo`"));
        }
        let host = host_name(site);
        Ok(Self {
            shown: format!("{host}/{repo}"),
            url: format!("https://{host}/{repo}.git"),
            cache_key: format!("{host}/{}", repo.to_ascii_lowercase()),
        })
    }

    /// `owner/repo` on GitHub, or an address with `https://`, `ssh://`, `file://` or in the form `git@host:path`.
    pub fn parse(text: &str) -> Result<Self, GitError> {
        let text = text.trim();
        let refused = |reason| GitError::BadAddress { address: without_password(text), reason };
        if text.starts_with('-') {
            return Err(refused("it looks like an option"));
        }
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(refused("it holds blanks or control characters"));
        }
        if text.contains("::") {
            return Err(refused("`::` would start a helper program of git"));
        }
        if let Some((scheme, _)) = text.split_once("://") {
            return Self::from_url(scheme, text);
        }
        if let Some((login, path)) = text.split_once(':')
            && let Some((user, host)) = login.split_once('@')
        {
            if !is_name(user) || !is_name(host) || path.is_empty() || path.starts_with('-') {
                return Err(refused("it is not of the form `git@host:owner/repo.git`"));
            }
            return Ok(Self::other_host(text, host));
        }
        Self::on(GitHost::GitHub, text)
    }

    pub(super) fn is_ssh(&self) -> bool {
        self.url.starts_with("ssh://") || !self.url.contains("://")
    }

    fn from_url(scheme: &str, text: &str) -> Result<Self, GitError> {
        let refused = |reason| GitError::BadAddress { address: without_password(text), reason };
        let url = Url::parse(text).map_err(|_| refused("it is not a URL"))?;
        if url.password().is_some() || (!url.username().is_empty() && scheme != "ssh") {
            return Err(refused(
                "it holds a user name or a password; leave that to git's own credential helper",
            ));
        }
        if url.username().starts_with('-') || url.host_str().is_some_and(|h| h.starts_with('-')) {
            return Err(refused("a part of it looks like an option"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refused("it has a query or a fragment"));
        }
        match scheme {
            "https" | "ssh" if url.host_str().is_some() => {}
            "http" if is_loopback(&url) => {}
            "http" => return Err(refused("plain `http` can be read and changed on the way")),
            "file" => {}
            _ => return Err(refused("only `https`, `ssh` and `file` addresses are taken")),
        }
        let known = [GitHost::GitHub, GitHost::GitLab]
            .into_iter()
            .find(|site| scheme == "https" && url.host_str() == Some(host_name(*site)));
        match known {
            Some(site) => {
                Self::on(site, url.path().trim_matches('/')).map_err(|error| match error {
                    GitError::BadAddress { reason, .. } => refused(reason),
                    other => other,
                })
            }
            None => Ok(Self::other_host(text, url.host_str().unwrap_or("file"))),
        }
    }

    fn other_host(address: &str, host: &str) -> Self {
        let hash: String = sha256_hex(address.trim_end_matches('/')).chars().take(24).collect();
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        let host: String = host.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
        Self {
            shown: address.to_owned(),
            url: address.to_owned(),
            cache_key: format!("{host}/{hash}"),
        }
    }
}

impl std::fmt::Display for RepoAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

/// Whether a part of an address is plain and no option.
fn is_name(part: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !part.is_empty() && !part.starts_with('-') && part.chars().all(allowed)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// The text without what is between `://` and `@`.
pub(super) fn without_password(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        let end = after.find(|c: char| c == '/' || c.is_whitespace()).unwrap_or(after.len());
        let (authority, path) = after.split_at(end);
        match authority.rsplit_once('@') {
            Some((_, host)) => shown.push_str(&format!("[redacted]@{host}")),
            None => shown.push_str(authority),
        }
        rest = path;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_and_addresses_of_a_site_are_one_repository() {
        let short = RepoAddress::parse("owner/repo").unwrap();
        assert_eq!(short.url, "https://github.com/owner/repo.git");
        assert_eq!(RepoAddress::parse("https://github.com/owner/repo.git").unwrap(), short);
        assert_eq!(RepoAddress::parse("https://github.com/owner/repo/").unwrap(), short);
        let nested = RepoAddress::on(GitHost::GitLab, "group/sub/repo").unwrap();
        assert_eq!(nested.to_string(), "gitlab.com/group/sub/repo");
        assert!(RepoAddress::parse("git@example.com:team/repo.git").unwrap().is_ssh());
    }

    #[test]
    fn what_git_could_take_for_something_else_is_refused() {
        for hostile in [
            "--upload-pack=touch /x",
            "-oProxyCommand=x",
            "ext::sh -c x",
            "ext::sh",
            "https://user:hunter2@example.com/r.git",
            "https://token@example.com/r.git",
            "http://example.com/r.git",
            "ftp://example.com/r",
            "ssh://-oProxyCommand=x/r",
            "git@-host:r",
            "git@host:-r",
            "../../etc",
            "owner",
            "owner/..",
            "owner/-repo",
            "a/b/c",
            "owner/re po",
            "",
        ] {
            let error = RepoAddress::parse(hostile).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn passwords_in_messages_are_taken_out() {
        let text = "fatal: unable to access 'https://x:secret@host/r.git/': no; see ssh://a@b/c";
        let shown = without_password(text);
        assert!(!shown.contains("secret"), "{shown}");
        assert_eq!(without_password("https://host/a@b"), "https://host/a@b");
    }
}
