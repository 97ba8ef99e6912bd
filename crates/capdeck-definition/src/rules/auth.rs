//! Rules of `auth` blocks.

use super::{Declaration, SharedAuth, header, url};
use crate::{
    Auth, OAuth,
    diagnostic::{Diagnostic, Findings},
    document::Node,
};

/// Checks an `auth` block that stands under `auth` of `owner`.
///
/// `Authorization` may stand among other headers: servers want both, and the entries of other clients have both.
pub(crate) fn check(auth: &Auth, owner: &Node, findings: &mut Findings) {
    // An inherited block was checked where it is written.
    let Some(node) = owner.get("auth") else { return };
    match auth {
        Auth::None {} | Auth::Bearer { .. } => {}
        Auth::Headers { headers } => {
            let names = node.child("headers");
            for name in headers.keys() {
                if !header::is_authorization(name) {
                    header::check_name(name, names.key_place(name), findings);
                }
            }
        }
        Auth::OAuth2(oauth) | Auth::Oidc(oauth) => check_urls(oauth, node, findings),
    }
}

/// Warns when an API says nothing about sign-in: it is then taken as public.
pub(super) fn check_present(declaration: &Declaration<'_>, findings: &mut Findings) {
    let node = declaration.node;
    if node.get("auth").is_none() && declaration.shared_auth == SharedAuth::Absent {
        findings.add(
            Diagnostic::warning(
                "missing-auth",
                "no `auth` is given, so requests carry no credentials",
            )
            .with_fix("add `auth: { type: none }` if the API is public")
            .at(node.place),
        );
    }
}

fn check_urls(oauth: &OAuth, node: &Node, findings: &mut Findings) {
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
            url::check_absolute(value, key, node, findings);
        }
    }
}
