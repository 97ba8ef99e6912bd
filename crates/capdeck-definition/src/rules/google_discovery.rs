//! Rules of `googleDiscoveryApi`.

use super::{Declaration, auth, exactly_one, path, url};
use crate::{GoogleDiscoveryApi, diagnostic::Findings};

pub(super) fn check(
    api: &mut GoogleDiscoveryApi,
    declaration: &Declaration<'_>,
    findings: &mut Findings,
) {
    let node = declaration.node;
    let keys = [
        ("discoveryPath", api.discovery_path.is_some()),
        ("discoveryUrl", api.discovery_url.is_some()),
    ];
    exactly_one(&keys, node, findings);
    path::resolve_input(&mut api.discovery_path, "discoveryPath", node, declaration, findings);
    if let Some(address) = &api.discovery_url {
        url::check_remote(address, "discoveryUrl", node, findings);
    }
    if let Some(address) = &api.base_url {
        url::check_base(address, "baseUrl", node, findings);
    }
    url::check_network(api, node, findings);
    auth::check_present(declaration, findings);
    auth::check(&api.auth, node, findings);
}
