//! Rules of `graphqlEndpoint`.

use super::{Declaration, auth, check_hint, exactly_one, path, url};
use crate::{GraphQlEndpoint, diagnostic::Findings};

pub(super) fn check(
    api: &mut GraphQlEndpoint,
    declaration: &Declaration<'_>,
    findings: &mut Findings,
) {
    let node = declaration.node;
    url::check_remote(&api.endpoint_url, "endpointUrl", node, findings);
    let keys = [
        ("schemaPath", api.schema_path.is_some()),
        ("schemaUrl", api.schema_url.is_some()),
        ("introspection", api.introspection.is_some()),
    ];
    exactly_one(&keys, node, findings);
    path::resolve_input(&mut api.schema_path, "schemaPath", node, declaration, findings);
    if let Some(address) = &api.schema_url {
        url::check_remote(address, "schemaUrl", node, findings);
    }
    let operations = node.child("operations");
    for (name, operation) in &mut api.operations {
        let node = operations.child(name);
        let keys = [
            ("document", operation.document.is_some()),
            ("documentPath", operation.document_path.is_some()),
        ];
        exactly_one(&keys, node, findings);
        path::resolve_input(
            &mut operation.document_path,
            "documentPath",
            node,
            declaration,
            findings,
        );
        check_hint(&mut operation.use_when, "useWhen", node, findings);
        check_hint(&mut operation.avoid_when, "avoidWhen", node, findings);
    }
    url::check_network(api, node, findings);
    auth::check_present(declaration, findings);
    auth::check(&api.auth, node, findings);
}
