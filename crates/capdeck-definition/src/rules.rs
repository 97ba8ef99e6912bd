//! What a schema cannot say: rules between fields, URLs, headers and paths. One file per backend kind.

mod api;
mod auth;
mod chaos;
mod cli;
mod header;
mod icon;
mod mcp;
mod path;
mod set;
mod shared;
mod url;

use std::path::Path;

pub(crate) use auth::check as check_auth;
pub use header::FORBIDDEN_HEADERS;
pub(crate) use header::{bearer_token, is_authorization};
pub(crate) use icon::check_icon;
use shared::check_input_schema;
pub(crate) use shared::{check_hint, check_shared};

use crate::{
    Backend,
    diagnostic::{Diagnostic, FileFindings},
    document::ValueNode,
};

/// The kind of file a backend is declared in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeclarationFile {
    Caplet,
    /// Config files may not point above their own folder.
    Config,
}

/// Whether the file's own `auth` stands in for a missing one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SharedAuth {
    Present,
    Absent,
}

/// One declared backend: where it is written and where its paths start.
pub(crate) struct BackendDeclaration<'a> {
    pub(crate) node: &'a ValueNode,
    pub(crate) base_dir: &'a Path,
    pub(crate) declared_in: DeclarationFile,
    pub(crate) shared_auth: SharedAuth,
}

/// Checks a backend and resolves its relative paths.
pub(crate) fn check_backend(
    backend: &mut Backend,
    declaration: &BackendDeclaration<'_>,
    findings: &mut FileFindings,
) {
    match backend {
        Backend::Mcp(server) => mcp::check(server, declaration, findings),
        Backend::OpenApi(api) => api::check_openapi(api, declaration, findings),
        Backend::GoogleDiscovery(api) => api::check_google(api, declaration, findings),
        Backend::GraphQl(api) => api::check_graphql(api, declaration, findings),
        Backend::Http(api) => api::check_actions(api, declaration, findings),
        Backend::Cli(tools) => cli::check(tools, declaration, findings),
        // Checked as a whole where its files are read, or in no file at all.
        Backend::Cmp(_) | Backend::Capsules => {}
        Backend::Caplets(set) => set::check(set, declaration, findings),
    }
}

/// Requires exactly one of several keys. `present` pairs each key with whether it is there.
pub(crate) fn exactly_one(present: &[(&str, bool)], node: &ValueNode, findings: &mut FileFindings) {
    let given: Vec<&str> =
        present.iter().filter(|(_, there)| *there).map(|(key, _)| *key).collect();
    let all = present.iter().map(|(key, _)| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    match given.as_slice() {
        [_] => {}
        [] => findings.add(
            Diagnostic::error("missing-key", format!("one of {all} is needed"))
                .with_fix(format!("add one of {all}"))
                .at(node.place),
        ),
        [first, rest @ ..] => {
            let last = rest.last().unwrap_or(first);
            let given =
                given.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" and ");
            findings.add(
                Diagnostic::error("conflicting-keys", format!("{given} cannot stand together"))
                    .with_fix(format!("keep one of {all}"))
                    .at(node.key_place(last)),
            );
        }
    }
}
