//! Rules of `openapiEndpoint`.

use super::{Declaration, auth, exactly_one, path, url};
use crate::{
    OpenApiEndpoint,
    diagnostic::{Diagnostic, Findings},
};

pub(super) fn check(
    api: &mut OpenApiEndpoint,
    declaration: &Declaration<'_>,
    findings: &mut Findings,
) {
    let node = declaration.node;
    let keys = [("specPath", api.spec_path.is_some()), ("specUrl", api.spec_url.is_some())];
    exactly_one(&keys, node, findings);
    path::resolve_input(&mut api.spec_path, "specPath", node, declaration, findings);
    if let Some(address) = &api.spec_url {
        url::check_remote(address, "specUrl", node, findings);
        if api.base_url.is_none() {
            findings.add(
                Diagnostic::warning(
                    "missing-base-url",
                    "`specUrl` is given without `baseUrl`, so the document alone decides where requests go",
                )
                .with_fix("add `baseUrl` with the address of the API")
                .at(node.key_place("specUrl")),
            );
        }
    }
    if let Some(address) = &api.base_url {
        url::check_remote(address, "baseUrl", node, findings);
    }
    url::check_network(api, node, findings);
    auth::check_present(declaration, findings);
    auth::check(&api.auth, node, findings);
}
