//! Rules of `auth` blocks.

use super::{BackendDeclaration, SharedAuth, header, url};
use crate::{
    BackendAuth, OAuthConfig,
    diagnostic::{Diagnostic, FileFindings},
    document::ValueNode,
};

/// Checks an `auth` block that stands under `auth` of `owner`.
///
/// `Authorization` may stand among other headers: servers want both, and the entries of other clients have both.
pub(crate) fn check(auth: &BackendAuth, owner: &ValueNode, findings: &mut FileFindings) {
    // An inherited block was checked where it is written.
    let Some(node) = owner.get("auth") else { return };
    match auth {
        BackendAuth::None {} | BackendAuth::Bearer { .. } => {}
        BackendAuth::Headers { headers } => {
            let names = node.child("headers");
            for name in headers.keys() {
                if !header::is_authorization(name) {
                    header::check_name(name, names.key_place(name), findings);
                }
            }
        }
        BackendAuth::OAuth2(oauth) | BackendAuth::Oidc(oauth) => check_urls(oauth, node, findings),
    }
}

/// Warns when an API says nothing about sign-in: it is then taken as public.
pub(super) fn check_present(declaration: &BackendDeclaration<'_>, findings: &mut FileFindings) {
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
            url::check_absolute(value, key, node, findings);
        }
    }
}
