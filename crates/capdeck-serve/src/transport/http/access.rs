//! Who may talk to the host: names against DNS rebinding, origins against web pages, a key off loopback, and the tokens of
//! shares, each of which opens its capsule and nothing else.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use capdeck_auth::Secret;
use capdeck_host::{Author, CapsuleCaller, CapsuleDesk, CapsuleOperation};
use capdeck_mcp::server::Principal;
use http::{HeaderMap, StatusCode, header};

use super::HttpSettings;
use crate::mcp::ViaShare;

pub(super) struct Access {
    /// Names a request may be addressed to, without port. `None` when the key alone decides.
    hosts: Option<Vec<String>>,
    origins: Vec<String>,
    key: Option<Secret>,
    /// Knows the tokens of shares.
    capsules: Option<Arc<dyn CapsuleDesk>>,
}

/// As whom a request is let in.
enum Admitted {
    /// With the key, or from this machine where there is none.
    Owner,
    Share {
        principal: Principal,
        via: ViaShare,
    },
    Nobody,
}

impl Access {
    pub(super) fn new(
        address: IpAddr,
        settings: &HttpSettings,
        capsules: Option<Arc<dyn CapsuleDesk>>,
    ) -> Self {
        let mut names: Vec<String> = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).into();
        names.push(address.to_string());
        names.push(settings.host.clone());
        names.extend(settings.allowed_hosts.iter().cloned());
        let names: Vec<String> = names.into_iter().map(|name| name.to_lowercase()).collect();
        // Off loopback the host has names it cannot know; every request carries the key instead.
        let hosts = address.is_loopback().then(|| names.clone());
        Self { hosts, origins: names, key: settings.key.clone(), capsules }
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

    /// A token that opens nothing is refused even where none is needed: whoever sends one does not mean to be the owner.
    async fn admit(&self, headers: &HeaderMap) -> Admitted {
        let sent = bearer(headers);
        let is_owner = match &self.key {
            Some(key) => {
                sent.is_some_and(|sent| same_bytes(sent.as_bytes(), key.expose().as_bytes()))
            }
            None => sent.is_none(),
        };
        if is_owner {
            return Admitted::Owner;
        }
        match sent {
            Some(token) => self.open_share(token).await.unwrap_or(Admitted::Nobody),
            None => Admitted::Nobody,
        }
    }

    /// The share that a token opens now; it may have been taken back since the last request.
    async fn open_share(&self, token: &str) -> Option<Admitted> {
        let desk = self.capsules.as_ref().filter(|desk| desk.may_have_capsules())?;
        let open = CapsuleOperation::OpenShare { token: token.to_owned() };
        let caller = CapsuleCaller::local(Author::client("capdeck"));
        let share = desk.ask(caller.request(None, open)).await.ok()?;
        let text = |key: &str| Some(share.get(key)?.as_str()?.to_owned());
        let principal = Principal(text("principal")?.into());
        Some(Admitted::Share { principal, via: ViaShare { share: text("id")? } })
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
    if has_token(request.uri()) {
        let advice = "no token is taken from an address, where logs keep it; send Authorization: Bearer <token>\n";
        return (StatusCode::GONE, advice).into_response();
    }
    next.run(request).await
}

/// Refuses requests without the key, when there is one, and marks the others with who sends them.
pub(super) async fn check_key(
    State(access): State<Arc<Access>>,
    mut request: Request,
    next: Next,
) -> Response {
    match access.admit(request.headers()).await {
        Admitted::Owner => {
            request.extensions_mut().insert(access.principal());
        }
        Admitted::Share { principal, via } => {
            if !is_for_shares(request.uri().path()) {
                let advice = "this token opens a capsule, at /mcp or /mcp/<capsule>\n";
                return (StatusCode::FORBIDDEN, advice).into_response();
            }
            request.extensions_mut().insert(principal);
            request.extensions_mut().insert(via);
        }
        Admitted::Nobody => {
            let challenge = [(header::WWW_AUTHENTICATE, "Bearer realm=\"capdeck\"")];
            let advice =
                "send the host's key or the token of a share: Authorization: Bearer <key>\n";
            return (StatusCode::UNAUTHORIZED, challenge, advice).into_response();
        }
    }
    next.run(request).await
}

/// Where shares have something to look for.
fn is_for_shares(path: &str) -> bool {
    match path.strip_prefix("/mcp") {
        Some("") => true,
        Some(rest) => {
            rest.strip_prefix('/').is_some_and(|id| !id.contains('/')) && rest != "/server-card"
        }
        None => false,
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

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let sent = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    // A scheme without anything behind it is a bearer of nothing, not nobody.
    let (scheme, token) = sent.trim().split_once(' ').unwrap_or((sent.trim(), ""));
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
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
        Access::new(host.parse().unwrap(), &settings, None)
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

    #[tokio::test]
    async fn the_key_is_needed_whole() {
        let with_key = access("127.0.0.1", Some("open-sesame"));
        let is_owner = async |access: &Access, text: &str| {
            let admitted = access.admit(&headers(header::AUTHORIZATION, text)).await;
            matches!(admitted, Admitted::Owner)
        };
        assert!(is_owner(&with_key, "Bearer open-sesame").await);
        assert!(is_owner(&with_key, "bearer open-sesame").await);
        for bad in ["Bearer open-sesam", "Bearer open-sesame2", "Basic open-sesame", "Bearer"] {
            assert!(!is_owner(&with_key, bad).await, "{bad}");
        }
        assert!(!matches!(with_key.admit(&HeaderMap::new()).await, Admitted::Owner));
        let open = access("127.0.0.1", None);
        assert!(matches!(open.admit(&HeaderMap::new()).await, Admitted::Owner));
        for wrong in ["Bearer nonsense", "Bearer cap_sh_x", "bearer"] {
            assert!(!is_owner(&open, wrong).await, "{wrong}");
        }
    }

    #[test]
    fn shares_and_tokens_have_their_places() {
        for good in ["/mcp", "/mcp/team", "/mcp/a-b"] {
            assert!(is_for_shares(good), "{good}");
        }
        for bad in
            ["/", "/mcp/server-card", "/mcp/a/server-card", "/mcpx", "/servers/a/mcp", "/metrics"]
        {
            assert!(!is_for_shares(bad), "{bad}");
        }
        let has = |uri: &str| has_token(&uri.parse().unwrap());
        assert!(has("/mcp?token=x") && has("/mcp?a=1&Token") && has("http://h/x?access_token=1"));
        assert!(!has("/mcp") && !has("/mcp?tokens=1") && !has("/token?a=token"));
    }
}
