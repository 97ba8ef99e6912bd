//! Rules of the blocks that make HTTP requests.

use super::{
    BackendDeclaration, auth, check_hint, check_input_schema, exactly_one, header, path, url,
};
use crate::{
    GoogleDiscoveryApi, GraphQlEndpoint, HttpAction, HttpApi, HttpBlock, HttpMethod,
    OpenApiEndpoint,
    diagnostic::{Diagnostic, FileFindings},
    document::ValueNode,
};

pub(super) fn check_openapi(
    api: &mut OpenApiEndpoint,
    declaration: &BackendDeclaration<'_>,
    findings: &mut FileFindings,
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
    check_requests(api, declaration, findings);
}

pub(super) fn check_google(
    api: &mut GoogleDiscoveryApi,
    declaration: &BackendDeclaration<'_>,
    findings: &mut FileFindings,
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
    check_requests(api, declaration, findings);
}

pub(super) fn check_graphql(
    api: &mut GraphQlEndpoint,
    declaration: &BackendDeclaration<'_>,
    findings: &mut FileFindings,
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
    check_requests(api, declaration, findings);
}

pub(super) fn check_actions(
    api: &mut HttpApi,
    declaration: &BackendDeclaration<'_>,
    findings: &mut FileFindings,
) {
    let node = declaration.node;
    url::check_base(&api.base_url, "baseUrl", node, findings);
    let actions = node.child("actions");
    for (name, action) in &mut api.actions {
        check_action(action, actions.child(name), findings);
    }
    check_requests(api, declaration, findings);
}

fn check_action(action: &mut HttpAction, node: &ValueNode, findings: &mut FileFindings) {
    // A second slash, or a scheme, would let an action leave the base URL's host.
    if action.path.starts_with("//") || action.path.contains("://") {
        findings.add(
            Diagnostic::error("bad-path", "`path` must be a path below `baseUrl`, not a URL")
                .with_fix("start it with a single `/` and leave scheme and host to `baseUrl`")
                .at(node.child("path").place),
        );
    }
    if action.method == HttpMethod::Get && action.json_body.is_some() {
        findings.add(
            Diagnostic::error("conflicting-keys", "a `GET` action cannot have a `jsonBody`")
                .with_fix("send the values as `query`, or use another method")
                .at(node.key_place("jsonBody")),
        );
    }
    let headers = node.child("headers");
    for name in action.headers.keys() {
        header::check_name(name, headers.key_place(name), findings);
    }
    check_input_schema(action.input_schema.as_ref(), node, findings);
    check_hint(&mut action.use_when, "useWhen", node, findings);
    check_hint(&mut action.avoid_when, "avoidWhen", node, findings);
}

fn check_requests(
    api: &impl HttpBlock,
    declaration: &BackendDeclaration<'_>,
    findings: &mut FileFindings,
) {
    url::check_network(api, declaration.node, findings);
    auth::check_present(declaration, findings);
    auth::check(&api.requests().auth, declaration.node, findings);
}
