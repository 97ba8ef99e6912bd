//! The names a host is reached by and the pages that may ask it: against DNS rebinding and foreign web pages.

use std::net::IpAddr;

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, Version, header, request::Parts, uri::Authority};

/// Which names and origins a request may carry.
#[derive(Debug)]
pub(crate) struct AllowedNames {
    /// Names a request may be addressed to, without port. `None` when tokens alone decide.
    hosts: Option<Vec<String>>,
    origins: Vec<String>,
}

/// Why a request is not addressed to this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WrongHost {
    /// No `Host` header, or several.
    NotOne,
    /// A target in absolute form that names another host.
    OtherTarget,
    /// A name that this host does not have.
    Foreign,
}

impl AllowedNames {
    /// The names of a host that listens at `address`, which was asked for as `named`.
    pub(crate) fn new(address: IpAddr, named: &str, further: &[String]) -> Self {
        let mut names: Vec<String> = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).into();
        names.push(address.to_string());
        names.push(named.to_owned());
        names.extend(further.iter().cloned());
        let names: Vec<String> = names.into_iter().map(|name| name.to_lowercase()).collect();
        // Off loopback the host has names it cannot know; every request carries a token instead.
        let hosts = address.is_loopback().then(|| names.clone());
        Self { hosts, origins: names }
    }

    /// Refuses requests addressed to a foreign name or to two, sent by a foreign web page, or with a secret in their address.
    pub(crate) fn check(&self, request: &Parts) -> Result<(), Response> {
        let refuse =
            |status: StatusCode, reason: &'static str| Err((status, reason).into_response());
        match self.check_host(request.version, &request.headers, request.uri.authority()) {
            Ok(()) => {}
            Err(WrongHost::NotOne) => {
                return refuse(StatusCode::BAD_REQUEST, "send exactly one Host header\n");
            }
            Err(WrongHost::OtherTarget) => {
                let reason = "the request is addressed to another host\n";
                return refuse(StatusCode::MISDIRECTED_REQUEST, reason);
            }
            Err(WrongHost::Foreign) => {
                return refuse(StatusCode::FORBIDDEN, "this host is not reached by that name\n");
            }
        }
        if !self.allow_origin(&request.headers) {
            let reason = "requests from that origin are not allowed\n";
            return refuse(StatusCode::FORBIDDEN, reason);
        }
        if has_token(&request.uri) {
            let advice = "no token is taken from an address, where logs keep it; send Authorization: Bearer <token>\n";
            return Err((StatusCode::GONE, advice).into_response());
        }
        Ok(())
    }

    /// A request names its host once, or twice the same: in the `Host` header and in a target in absolute form. Otherwise one
    /// part of the host, or a proxy before it, would decide by one name and another part by the other.
    fn check_host(
        &self,
        version: Version,
        headers: &HeaderMap,
        target: Option<&Authority>,
    ) -> Result<(), WrongHost> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (named, more) = (hosts.next(), hosts.next());
        if more.is_some() || (named.is_none() && version >= Version::HTTP_11) {
            return Err(WrongHost::NotOne);
        }
        let named = named.map(|name| name.to_str().unwrap_or_default());
        if let (Some(target), Some(named)) = (target, named)
            && !target.as_str().eq_ignore_ascii_case(named)
        {
            return Err(WrongHost::OtherTarget);
        }
        let Some(allowed) = &self.hosts else { return Ok(()) };
        let name = named.or(target.map(Authority::as_str));
        if name.is_some_and(|name| is_among(allowed, without_port(name))) {
            return Ok(());
        }
        Err(if target.is_some() { WrongHost::OtherTarget } else { WrongHost::Foreign })
    }

    fn allow_origin(&self, headers: &HeaderMap) -> bool {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        origins.all(|origin| {
            let name = origin
                .to_str()
                .ok()
                .and_then(|origin| origin.split_once("://"))
                .map(|(_, host)| without_port(host));
            name.is_some_and(|name| is_among(&self.origins, name))
        })
    }
}

/// True when an address carries a secret, which belongs into a header: addresses are kept in logs and histories.
fn has_token(uri: &http::Uri) -> bool {
    let names =
        uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split('=').next());
    names
        .into_iter()
        .any(|name| name.eq_ignore_ascii_case("token") || name.eq_ignore_ascii_case("access_token"))
}

fn is_among(names: &[String], name: &str) -> bool {
    names.iter().any(|one| one.eq_ignore_ascii_case(name))
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    fn checked(
        names: &AllowedNames,
        hosts: &[&str],
        target: Option<&str>,
    ) -> Result<(), WrongHost> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, HeaderValue::from_str(host).unwrap());
        }
        let target = target.map(|target| target.parse().unwrap());
        names.check_host(Version::HTTP_11, &headers, target.as_ref())
    }

    #[test]
    fn names_and_origins_on_loopback() {
        let further = ["deck.example".to_owned()];
        let names = AllowedNames::new("127.0.0.1".parse().unwrap(), "127.0.0.1", &further);
        for good in ["localhost", "localhost:7717", "127.0.0.1:1", "[::1]:7717", "DECK.example"] {
            assert_eq!(checked(&names, &[good], None), Ok(()), "{good}");
            let origin = format!("http://{good}");
            assert!(names.allow_origin(&headers(header::ORIGIN, &origin)), "{good}");
        }
        for bad in ["evil.example", "localhost.evil.example", "127.0.0.1.evil:80", ""] {
            assert_eq!(checked(&names, &[bad], None), Err(WrongHost::Foreign), "{bad}");
        }
        for bad in ["http://evil.example", "null", "https://localhost.evil.example:443"] {
            assert!(!names.allow_origin(&headers(header::ORIGIN, bad)), "{bad}");
        }
        assert!(names.allow_origin(&HeaderMap::new()));
    }

    #[test]
    fn a_request_names_one_host() {
        let local = AllowedNames::new("127.0.0.1".parse().unwrap(), "127.0.0.1", &[]);
        let open = AllowedNames::new("0.0.0.0".parse().unwrap(), "0.0.0.0", &[]);
        for names in [&local, &open] {
            let check = |hosts: &[&str], target| checked(names, hosts, target);
            assert_eq!(check(&["localhost", "evil.example"], None), Err(WrongHost::NotOne));
            assert_eq!(check(&["localhost", "localhost"], None), Err(WrongHost::NotOne));
            assert_eq!(check(&[], None), Err(WrongHost::NotOne));
            assert_eq!(check(&["localhost"], Some("LocalHost")), Ok(()));
            for other in ["evil.example", "localhost:1", "127.0.0.1", "user@localhost"] {
                let checked = check(&["localhost"], Some(other));
                assert_eq!(checked, Err(WrongHost::OtherTarget), "{other}");
            }
        }
        let foreign = Some("evil.example");
        assert_eq!(checked(&local, &["evil.example"], foreign), Err(WrongHost::OtherTarget));
        // Older clients name none, or only in the target.
        let old = |target: Option<&str>| {
            let target = target.map(|target| target.parse().unwrap());
            local.check_host(Version::HTTP_10, &HeaderMap::new(), target.as_ref())
        };
        assert_eq!(old(None), Err(WrongHost::Foreign));
        assert_eq!(old(Some("localhost")), Ok(()));
        assert_eq!(old(foreign), Err(WrongHost::OtherTarget));
    }

    #[test]
    fn tokens_are_seen_in_addresses() {
        let has = |uri: &str| has_token(&uri.parse().unwrap());
        assert!(has("/mcp?token=x") && has("/mcp?a=1&Token") && has("http://h/x?access_token=1"));
        assert!(!has("/mcp") && !has("/mcp?tokens=1") && !has("/token?a=token"));
    }
}
