//! The names a host is reached by and the pages that may ask it: against DNS rebinding and foreign web pages.

use std::net::IpAddr;

use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header};

/// Which names and origins a request may carry.
#[derive(Debug)]
pub(crate) struct Names {
    /// Names a request may be addressed to, without port. `None` when tokens alone decide.
    hosts: Option<Vec<String>>,
    origins: Vec<String>,
}

impl Names {
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

    /// Refuses requests addressed to a foreign name, sent by a foreign web page, or with a secret in their address.
    pub(crate) fn check(&self, request: &Request) -> Result<(), Response> {
        let refuse = |reason: &'static str| Err((StatusCode::FORBIDDEN, reason).into_response());
        if !self.allow_host(request.headers(), request.uri().host()) {
            return refuse("this host is not reached by that name\n");
        }
        if !self.allow_origin(request.headers()) {
            return refuse("requests from that origin are not allowed\n");
        }
        if has_token(request.uri()) {
            let advice = "no token is taken from an address, where logs keep it; send Authorization: Bearer <token>\n";
            return Err((StatusCode::GONE, advice).into_response());
        }
        Ok(())
    }

    fn allow_host(&self, headers: &HeaderMap, uri_host: Option<&str>) -> bool {
        let Some(allowed) = &self.hosts else { return true };
        let named = headers.get(header::HOST).and_then(|host| host.to_str().ok()).or(uri_host);
        named.is_some_and(|host| is_among(allowed, without_port(host)))
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

    #[test]
    fn names_and_origins_on_loopback() {
        let further = ["deck.example".to_owned()];
        let names = Names::new("127.0.0.1".parse().unwrap(), "127.0.0.1", &further);
        for good in ["localhost", "localhost:7717", "127.0.0.1:1", "[::1]:7717", "DECK.example"] {
            assert!(names.allow_host(&headers(header::HOST, good), None), "{good}");
            let origin = format!("http://{good}");
            assert!(names.allow_origin(&headers(header::ORIGIN, &origin)), "{good}");
        }
        for bad in ["evil.example", "localhost.evil.example", "127.0.0.1.evil:80", ""] {
            assert!(!names.allow_host(&headers(header::HOST, bad), None), "{bad}");
        }
        for bad in ["http://evil.example", "null", "https://localhost.evil.example:443"] {
            assert!(!names.allow_origin(&headers(header::ORIGIN, bad)), "{bad}");
        }
        assert!(!names.allow_host(&HeaderMap::new(), None));
        assert!(names.allow_origin(&HeaderMap::new()));
    }

    #[test]
    fn tokens_are_seen_in_addresses() {
        let has = |uri: &str| has_token(&uri.parse().unwrap());
        assert!(has("/mcp?token=x") && has("/mcp?a=1&Token") && has("http://h/x?access_token=1"));
        assert!(!has("/mcp") && !has("/mcp?tokens=1") && !has("/token?a=token"));
    }
}
