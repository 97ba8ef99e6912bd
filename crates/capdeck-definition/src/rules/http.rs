//! Rules of `httpApi` and its actions.

use super::{Declaration, auth, check_hint, header, input_schema, url};
use crate::{
    HttpAction, HttpApi, HttpMethod,
    diagnostic::{Diagnostic, Findings},
    document::Node,
};

pub(super) fn check(api: &mut HttpApi, declaration: &Declaration<'_>, findings: &mut Findings) {
    let node = declaration.node;
    url::check_base(&api.base_url, "baseUrl", node, findings);
    let actions = node.child("actions");
    for (name, action) in &mut api.actions {
        check_action(action, actions.child(name), findings);
    }
    url::check_network(api, node, findings);
    auth::check_present(declaration, findings);
    auth::check(&api.auth, node, findings);
}

fn check_action(action: &mut HttpAction, node: &Node, findings: &mut Findings) {
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
    input_schema::check(action.input_schema.as_ref(), node, findings);
    check_hint(&mut action.use_when, "useWhen", node, findings);
    check_hint(&mut action.avoid_when, "avoidWhen", node, findings);
}
