//! Rules of `cliTools` and its actions.

use super::{Declaration, check_hint, path};
use crate::{CliTools, diagnostic::Findings};

pub(super) fn check(tools: &mut CliTools, declaration: &Declaration<'_>, findings: &mut Findings) {
    path::resolve(&mut tools.cwd, declaration);
    let actions = declaration.node.child("actions");
    for (name, action) in &mut tools.actions {
        let node = actions.child(name);
        path::resolve(&mut action.cwd, declaration);
        check_hint(&mut action.use_when, "useWhen", node, findings);
        check_hint(&mut action.avoid_when, "avoidWhen", node, findings);
    }
}
