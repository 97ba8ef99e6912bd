//! Rules of `capletSet`.

use super::{BackendDeclaration, path};
use crate::{
    CapletSet,
    diagnostic::{Diagnostic, FileFindings},
};

pub(super) fn check(
    set: &mut CapletSet,
    declaration: &BackendDeclaration<'_>,
    findings: &mut FileFindings,
) {
    let node = declaration.node;
    if set.config_path.is_none() && set.caplets_root.is_none() {
        findings.add(
            Diagnostic::error("missing-key", "one of `configPath`, `capletsRoot` is needed")
                .with_fix("add `capletsRoot` with a folder of Caplet files, `configPath` with a config file, or both")
                .at(node.place),
        );
    }
    path::resolve_input(&mut set.config_path, "configPath", node, declaration, findings);
    path::resolve_input(&mut set.caplets_root, "capletsRoot", node, declaration, findings);
    if set.default_search_limit > set.max_search_limit {
        findings.add(
            Diagnostic::error(
                "out-of-range",
                "`defaultSearchLimit` is larger than `maxSearchLimit`",
            )
            .with_fix(format!("use at most {}", set.max_search_limit))
            .at(node.child("defaultSearchLimit").place),
        );
    }
}
