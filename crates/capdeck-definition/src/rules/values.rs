//! Which values a backend may have: addresses, headers and sign-ins.

use url::{Host, Url};

use crate::{
    BackendAuth, HttpBlock, NetworkAccess, OAuthConfig,
    diagnostic::{FileFindings, TextPosition},
    document::ValueNode,
    pattern::holds_reference,
};

/// Headers that belong to the transport or to sign-in. Lower case.
///
/// `capdeck-auth` has the same list for what is sent: neither crate may use the other, because files must not know of
/// requests and secrets not of files. A test of `capdeck-backend`, which uses both, holds them together.
pub const FORBIDDEN_HEADERS: [&str; 15] = [
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "host",
    "keep-alive",
    "mcp-protocol-version",
    "mcp-session-id",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether a header is the one that signs requests in.
pub(crate) fn is_authorization(name: &str) -> bool {
    name.eq_ignore_ascii_case("authorization")
}

/// The token of `Bearer <token>`; the case of the scheme does not matter.
pub(crate) fn bearer_token(value: &str) -> Option<&str> {
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

pub(super) fn check_header_name(name: &str, place: TextPosition, findings: &mut FileFindings) {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        let message = format!("`{name}` is not a header name");
        findings.at(place).error("bad-header", message, "use letters, digits and `-`");
        return;
    }
    let lower = name.to_ascii_lowercase();
    if FORBIDDEN_HEADERS.contains(&lower.as_str()) {
        let fix = if lower == "authorization" {
            "use `auth` with `type: bearer` and `token`"
        } else {
            "remove it; it is set for each request"
        };
        let message = format!("the header `{name}` cannot be set here");
        findings.at(place).error("forbidden-header", message, fix);
    }
}

/// HTTPS anywhere, HTTP only to this machine. A text with a reference is judged at connect time.
pub(super) fn check_remote(
    url: &str,
    key: &str,
    node: &ValueNode,
    findings: &mut FileFindings,
) -> Option<Url> {
    let place = node.child(key).place;
    if holds_reference(url) {
        return None;
    }
    let Ok(parsed) = Url::parse(url) else {
        let message = format!("`{key}` is not a URL");
        let fix = "write a full URL, such as `https://api.example.com`";
        findings.at(place).error("bad-url", message, fix);
        return None;
    };
    let allowed = match parsed.scheme() {
        "https" => parsed.host().is_some(),
        "http" => is_loopback(&parsed),
        _ => false,
    };
    if !allowed {
        let message = format!("`{key}` must be an `https` URL, or `http` on this machine");
        let fix = "use `https://`; plain `http://` is for `localhost`, `127.0.0.1` and `[::1]`";
        findings.at(place).error("insecure-url", message, fix);
    }
    Some(parsed)
}

/// A URL that paths are appended to: no user name, no query, no fragment.
pub(super) fn check_base(url: &str, key: &str, node: &ValueNode, findings: &mut FileFindings) {
    let Some(parsed) = check_remote(url, key, node, findings) else { return };
    let has_user = !parsed.username().is_empty() || parsed.password().is_some();
    if has_user || parsed.query().is_some() || parsed.fragment().is_some() {
        let message = format!("`{key}` must have no user name, no query and no fragment");
        let fix = "keep scheme, host and path; put credentials under `auth`";
        findings.at(node.child(key).place).error("bad-url", message, fix);
    }
}

/// The code of the warning about a private address that is not opened.
pub(crate) const PRIVATE_ADDRESS: &str = "private-address";

/// Warns of an address in a private network that the block does not open: no request to it would be made.
pub(super) fn check_network(api: &impl HttpBlock, node: &ValueNode, findings: &mut FileFindings) {
    if api.outgoing().network == NetworkAccess::Private {
        return;
    }
    for address in api.addresses() {
        let is_private = Url::parse(address).is_ok_and(|url| match url.host() {
            Some(Host::Ipv4(address)) => address.is_private(),
            Some(Host::Ipv6(address)) => address.is_unique_local(),
            Some(Host::Domain(_)) | None => false,
        });
        if is_private {
            findings.at(node.place).warning(
                PRIVATE_ADDRESS,
                format!("`{address}` is in a private network, and `network` is not `private`"),
                "if the service is yours, add `network: private` to this block, or to `options` of the deck's config file",
            );
        }
    }
}

/// Any absolute URL, for endpoints that are discovered or configured for sign-in.
fn check_absolute(url: &str, key: &str, node: &ValueNode, findings: &mut FileFindings) {
    if !holds_reference(url) && Url::parse(url).is_err() {
        let message = format!("`{key}` is not a URL");
        let fix = "write a full URL, such as `https://login.example.com/token`";
        findings.at(node.child(key).place).error("bad-url", message, fix);
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address == std::net::Ipv4Addr::LOCALHOST,
        Some(Host::Ipv6(address)) => address == std::net::Ipv6Addr::LOCALHOST,
        None => false,
    }
}

/// Checks the `auth` block of `owner`.
///
/// `Authorization` may be among other headers: servers want both, and the entries of other clients have both.
pub(crate) fn check_auth(auth: &BackendAuth, owner: &ValueNode, findings: &mut FileFindings) {
    // An inherited block was checked where it is written.
    let Some(node) = owner.get("auth") else { return };
    match auth {
        BackendAuth::None {} | BackendAuth::Bearer { .. } => {}
        BackendAuth::Headers { headers } => {
            let names = node.child("headers");
            for name in headers.keys() {
                if !is_authorization(name) {
                    check_header_name(name, names.key_place(name), findings);
                }
            }
        }
        BackendAuth::OAuth2(oauth) | BackendAuth::Oidc(oauth) => check_urls(oauth, node, findings),
    }
}

fn check_urls(oauth: &OAuthConfig, node: &ValueNode, findings: &mut FileFindings) {
    let urls = [
        ("authorizationUrl", &oauth.authorization_url),
        ("tokenUrl", &oauth.token_url),
        ("issuer", &oauth.issuer),
        ("resourceMetadataUrl", &oauth.resource_metadata_url),
        ("authorizationServerMetadataUrl", &oauth.authorization_server_metadata_url),
        ("openidConfigurationUrl", &oauth.openid_configuration_url),
        ("clientMetadataUrl", &oauth.client_metadata_url),
        ("redirectUri", &oauth.redirect_uri),
    ];
    for (key, value) in urls {
        if let Some(value) = value {
            check_absolute(value, key, node, findings);
        }
    }
}
