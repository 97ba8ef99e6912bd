//! Where a client may send people back to.

use std::net::{Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Which redirects clients may register. Empty lists mean every safe one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RedirectPolicy {
    /// Hosts that `https` redirects may name; a leading `*.` matches every name below.
    pub hosts: Vec<String>,
    /// Schemes of programs on a person's machine, such as `cursor`.
    pub native_schemes: Vec<String>,
}

/// Schemes that a browser acts upon itself, or that lead into a machine.
const FORBIDDEN_SCHEMES: [&str; 14] = [
    "javascript",
    "data",
    "file",
    "vbscript",
    "about",
    "blob",
    "filesystem",
    "ftp",
    "ws",
    "wss",
    "view-source",
    "chrome",
    "jar",
    "intent",
];

impl RedirectPolicy {
    /// Refuses what a client may not register, with the reason.
    pub fn check(&self, text: &str) -> Result<(), &'static str> {
        if text.len() > 2000 || text.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return Err("a redirect is an address of at most 2000 characters");
        }
        let url = Url::parse(text).map_err(|_| "a redirect is an absolute address")?;
        if text.contains('#') {
            return Err("a redirect has no fragment");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("a redirect names no user");
        }
        match url.scheme() {
            "https" => {
                let host = url.host_str().ok_or("a redirect names a host")?;
                if !self.hosts.is_empty() && !is_loopback(&url) && !self.has_host(host) {
                    return Err("redirects to this host are not allowed here");
                }
                Ok(())
            }
            "http" if is_loopback(&url) => Ok(()),
            "http" => Err("a redirect over `http` leads to this machine only"),
            scheme if FORBIDDEN_SCHEMES.contains(&scheme) => {
                Err("a redirect leads to a program or a site")
            }
            _ if self.native_schemes.is_empty() => Ok(()),
            scheme if self.native_schemes.iter().any(|one| one == scheme) => Ok(()),
            _ => Err("redirects to this scheme are not allowed here"),
        }
    }

    fn has_host(&self, host: &str) -> bool {
        self.hosts.iter().any(|allowed| match allowed.strip_prefix("*.") {
            Some(parent) => host.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.')),
            None => allowed.eq_ignore_ascii_case(host),
        })
    }
}

/// Returns whether a redirect is the registered one: the same text, except the port of a loopback address, which varies.
pub(super) fn is_registered(registered: &str, given: &str) -> bool {
    if registered == given {
        return true;
    }
    let (Ok(registered_url), Ok(given_url)) = (Url::parse(registered), Url::parse(given)) else {
        return false;
    };
    if registered_url.scheme() != "http" || !is_loopback(&registered_url) {
        return false;
    }
    // Everything but the port is compared as it is written, so nothing is made equal by reading it.
    without_port(registered).zip(without_port(given)).is_some_and(|(one, other)| one == other)
        && given_url.port() != Some(0)
}

/// Whether an address leads to this machine. `localhost` counts: programs register it, and browsers resolve it here.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address == Ipv4Addr::LOCALHOST,
        Some(Host::Ipv6(address)) => address == Ipv6Addr::LOCALHOST,
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        None => false,
    }
}

/// The parts of an address before and after the port.
fn without_port(text: &str) -> Option<(String, String)> {
    let rest = text.strip_prefix("http://")?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => authority,
    };
    Some((host.to_owned(), path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn security_09_only_safe_redirects_are_registered() {
        let any = RedirectPolicy::default();
        for good in [
            "https://app.example.com/cb",
            "https://app.example.com/cb?x=1",
            "http://127.0.0.1/cb",
            "http://127.0.0.1:8080/cb",
            "http://[::1]:9/cb",
            "http://localhost:3000/cb",
            "cursor://anysphere.cursor-retrieval/oauth/callback",
            "com.example.app:/cb",
        ] {
            assert_eq!(any.check(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "/cb",
            "app.example.com/cb",
            "http://app.example.com/cb",
            "http://127.0.0.1.evil.com/cb",
            "http://localhost.evil.com/cb",
            "http://127.0.0.2/cb",
            "https://a@b.example/cb",
            "https://a:b@b.example/cb",
            "https://app.example.com/cb#x",
            "https://app.example.com/cb#",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "vbscript:x",
            "https://a b/",
            "https://a.example/\n",
            "blob:https://a.example/x",
        ] {
            assert!(any.check(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lists_narrow_what_is_allowed() {
        let policy = RedirectPolicy {
            hosts: vec!["claude.ai".to_owned(), "*.example.com".to_owned()],
            native_schemes: vec!["cursor".to_owned()],
        };
        for good in [
            "https://claude.ai/cb",
            "https://a.example.com/cb",
            "cursor://x/cb",
            "http://127.0.0.1/cb",
        ] {
            assert_eq!(policy.check(good), Ok(()), "{good}");
        }
        for bad in [
            "https://claude.ai.evil/cb",
            "https://example.com/cb",
            "https://xexample.com/cb",
            "vscode://x",
        ] {
            assert!(policy.check(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn item_15_security_04_a_redirect_is_the_same_text() {
        for (registered, given, same) in [
            ("https://a.example/cb", "https://a.example/cb", true),
            ("https://a.example/cb", "https://a.example/cb/", false),
            ("https://a.example/cb", "https://a.example/cb?x=1", false),
            ("https://a.example/cb", "https://A.example/cb", false),
            ("https://a.example/cb", "https://a.example:443/cb", false),
            ("https://a.example/cb", "https://a.example/x/../cb", false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:5123/cb", true),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:5123/cb", true),
            ("http://[::1]/cb", "http://[::1]:5123/cb", true),
            ("http://localhost/cb", "http://localhost:5123/cb", true),
            ("http://127.0.0.1/cb", "http://127.0.0.1:5123/other", false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:5123/cb?x=1", false),
            ("http://127.0.0.1/cb", "http://localhost:5123/cb", false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:0/cb", false),
            ("http://127.0.0.1/cb", "http://127.0.0.1@evil.example/cb", false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:80@evil.example/cb", false),
            ("http://127.0.0.1/cb", "https://127.0.0.1:5123/cb", false),
            ("https://127.0.0.1/cb", "https://127.0.0.1:5123/cb", false),
            ("cursor://x/cb", "cursor://x/cb2", false),
        ] {
            assert_eq!(is_registered(registered, given), same, "{registered} {given}");
        }
    }
}
