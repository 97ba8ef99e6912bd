//! Who may talk to the host: names against DNS rebinding, origins against web pages, a key off loopback.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use capdeck_auth::Secret;
use capdeck_mcp::server::Principal;
use http::{HeaderMap, StatusCode, header};

use super::HttpSettings;

pub(super) struct Access {
    /// Names a request may be addressed to, without port. `None` when the key alone decides.
    hosts: Option<Vec<String>>,
    origins: Vec<String>,
    key: Option<Secret>,
}

impl Access {
    pub(super) fn new(address: IpAddr, settings: &HttpSettings) -> Self {
        let mut names: Vec<String> = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).into();
        names.push(address.to_string());
        names.push(settings.host.clone());
        names.extend(settings.allowed_hosts.iter().cloned());
        let names: Vec<String> = names.into_iter().map(|name| name.to_lowercase()).collect();
        // Off loopback the host has names it cannot know; every request carries the key instead.
        let hosts = address.is_loopback().then(|| names.clone());
        Self { hosts, origins: names, key: settings.key.clone() }
    }

    fn allows_host(&self, headers: &HeaderMap, uri_host: Option<&str>) -> bool {
        let Some(allowed) = &self.hosts else { return true };
        let named = headers.get(header::HOST).and_then(|host| host.to_str().ok()).or(uri_host);
        named.is_some_and(|host| allowed.contains(&without_port(host).to_lowercase()))
    }

    fn allows_origin(&self, headers: &HeaderMap) -> bool {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        origins.all(|origin| {
            let name = origin
                .to_str()
                .ok()
                .and_then(|origin| origin.split_once("://"))
                .map(|(_, host)| without_port(host).to_lowercase());
            name.is_some_and(|name| self.origins.contains(&name))
        })
    }

    /// Whoever was let in: everyone who has the key, or everyone on this machine.
    fn principal(&self) -> Principal {
        Principal(if self.key.is_some() { "key" } else { "local" }.into())
    }

    fn allows_key(&self, headers: &HeaderMap) -> bool {
        let Some(key) = &self.key else { return true };
        let sent = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim());
        sent.is_some_and(|sent| same_bytes(sent.as_bytes(), key.expose().as_bytes()))
    }
}

/// Refuses requests addressed to a foreign name or sent by a foreign web page.
pub(super) async fn check_names(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    let refuse = |reason: &'static str| (StatusCode::FORBIDDEN, reason).into_response();
    if !access.allows_host(request.headers(), request.uri().host()) {
        return refuse("this host is not reached by that name\n");
    }
    if !access.allows_origin(request.headers()) {
        return refuse("requests from that origin are not allowed\n");
    }
    next.run(request).await
}

/// Refuses requests without the key, when there is one, and marks the others with who sends them.
pub(super) async fn check_key(
    State(access): State<Arc<Access>>,
    mut request: Request,
    next: Next,
) -> Response {
    if access.allows_key(request.headers()) {
        request.extensions_mut().insert(access.principal());
        return next.run(request).await;
    }
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer realm=\"capdeck\"")];
    let advice = "send the host's key: Authorization: Bearer <key>\n";
    (StatusCode::UNAUTHORIZED, challenge, advice).into_response()
}

/// Compares in time that depends on the lengths only.
fn same_bytes(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |seen, (left, right)| seen | (left ^ right));
    one.len() == other.len() && differences == 0
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

    use super::{super::HttpLimits, *};
    use capdeck_host::ViewPolicy;

    fn access(host: &str, key: Option<&str>) -> Access {
        let settings = HttpSettings {
            host: host.to_owned(),
            port: 0,
            key: key.map(|key| Secret::new(key.to_owned())),
            allowed_hosts: vec!["deck.example".to_owned()],
            policy: ViewPolicy::default(),
            limits: HttpLimits::default(),
        };
        Access::new(host.parse().unwrap(), &settings)
    }

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn names_and_origins_on_loopback() {
        let access = access("127.0.0.1", None);
        for good in ["localhost", "localhost:7717", "127.0.0.1:1", "[::1]:7717", "DECK.example"] {
            assert!(access.allows_host(&headers(header::HOST, good), None), "{good}");
            let origin = format!("http://{good}");
            assert!(access.allows_origin(&headers(header::ORIGIN, &origin)), "{good}");
        }
        for bad in ["evil.example", "localhost.evil.example", "127.0.0.1.evil:80", ""] {
            assert!(!access.allows_host(&headers(header::HOST, bad), None), "{bad}");
        }
        for bad in ["http://evil.example", "null", "https://localhost.evil.example:443"] {
            assert!(!access.allows_origin(&headers(header::ORIGIN, bad)), "{bad}");
        }
        assert!(!access.allows_host(&HeaderMap::new(), None));
        assert!(access.allows_origin(&HeaderMap::new()));
    }

    #[test]
    fn the_key_is_needed_whole() {
        let access = access("127.0.0.1", Some("open-sesame"));
        let sent = |text: &str| access.allows_key(&headers(header::AUTHORIZATION, text));
        assert!(sent("Bearer open-sesame"));
        assert!(sent("bearer open-sesame"));
        for bad in ["Bearer open-sesam", "Bearer open-sesame2", "Basic open-sesame", "Bearer"] {
            assert!(!sent(bad), "{bad}");
        }
        assert!(!access.allows_key(&HeaderMap::new()));
    }
}
