//! Which URLs a backend may use.

use url::{Host, Url};

use crate::{
    HttpBlock, NetworkAccess,
    diagnostic::{Diagnostic, FileFindings},
    document::ValueNode,
    reference::holds_reference,
};

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
        findings.add(
            Diagnostic::error("bad-url", format!("`{key}` is not a URL"))
                .with_fix("write a full URL, such as `https://api.example.com`")
                .at(place),
        );
        return None;
    };
    let allowed = match parsed.scheme() {
        "https" => parsed.host().is_some(),
        "http" => is_loopback(&parsed),
        _ => false,
    };
    if !allowed {
        findings.add(
            Diagnostic::error(
                "insecure-url",
                format!("`{key}` must be an `https` URL, or `http` on this machine"),
            )
            .with_fix("use `https://`; plain `http://` is for `localhost`, `127.0.0.1` and `[::1]`")
            .at(place),
        );
    }
    Some(parsed)
}

/// A URL that paths are appended to: no user name, no query, no fragment.
pub(super) fn check_base(url: &str, key: &str, node: &ValueNode, findings: &mut FileFindings) {
    let Some(parsed) = check_remote(url, key, node, findings) else { return };
    let has_user = !parsed.username().is_empty() || parsed.password().is_some();
    if has_user || parsed.query().is_some() || parsed.fragment().is_some() {
        findings.add(
            Diagnostic::error(
                "bad-url",
                format!("`{key}` must have no user name, no query and no fragment"),
            )
            .with_fix("keep scheme, host and path; put credentials under `auth`")
            .at(node.child(key).place),
        );
    }
}

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
            findings.add(
                Diagnostic::warning(
                    "private-address",
                    format!("`{address}` is in a private network, and `network` is not `private`"),
                )
                .with_fix("add `network: private` if this service is meant to be reached")
                .at(node.place),
            );
        }
    }
}

/// Any absolute URL, for endpoints that are discovered or configured for sign-in.
pub(super) fn check_absolute(url: &str, key: &str, node: &ValueNode, findings: &mut FileFindings) {
    if !holds_reference(url) && Url::parse(url).is_err() {
        findings.add(
            Diagnostic::error("bad-url", format!("`{key}` is not a URL"))
                .with_fix("write a full URL, such as `https://login.example.com/token`")
                .at(node.child(key).place),
        );
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
