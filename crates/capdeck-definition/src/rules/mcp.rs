//! Rules of `mcpServer`.

use super::{BackendDeclaration, auth, chaos, exactly_one, url};
use crate::{
    McpServer, McpTransport,
    diagnostic::{Diagnostic, FileFindings},
};

pub(super) fn check(
    server: &mut McpServer,
    declaration: &BackendDeclaration<'_>,
    findings: &mut FileFindings,
) {
    let node = declaration.node;
    let keys = [("command", server.command.is_some()), ("url", server.url.is_some())];
    exactly_one(&keys, node, findings);
    if let Some(address) = &server.url {
        url::check_remote(address, "url", node, findings);
    }
    let needed = match server.transport {
        Some(McpTransport::Stdio) => Some(("stdio", "command", server.command.is_none())),
        Some(McpTransport::Http) => Some(("http", "url", server.url.is_none())),
        Some(McpTransport::Sse) => Some(("sse", "url", server.url.is_none())),
        None => None,
    };
    if let Some((transport, key, true)) = needed {
        findings.add(
            Diagnostic::error(
                "conflicting-keys",
                format!("the transport `{transport}` needs `{key}`"),
            )
            .with_fix(format!("add `{key}`, or remove `transport`"))
            .at(node.key_place("transport")),
        );
    }
    if let Some(declared) = &server.auth {
        auth::check(declared, node, findings);
    }
    if let Some(declared) = &server.chaos {
        chaos::check(declared, node, findings);
    }
}
