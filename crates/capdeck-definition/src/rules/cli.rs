//! Rules of `cliTools` and its actions.

use super::{BackendDeclaration, check_hint, check_input_schema, path};
use crate::{
    CliAction, CliTools,
    diagnostic::{Diagnostic, FileFindings, TextPosition},
    document::ValueNode,
};

pub(super) fn check(
    tools: &mut CliTools,
    declaration: &BackendDeclaration<'_>,
    findings: &mut FileFindings,
) {
    let node = declaration.node;
    for (name, value) in &tools.env {
        check_reference(value, node.child("env").child(name).place, findings);
    }
    path::resolve(&mut tools.cwd, declaration);
    let actions = node.child("actions");
    for (name, action) in &mut tools.actions {
        let node = actions.child(name);
        check_references(action, node, findings);
        check_input_schema(action.input_schema.as_ref(), node, findings);
        path::resolve(&mut action.cwd, declaration);
        check_hint(&mut action.use_when, "useWhen", node, findings);
        check_hint(&mut action.avoid_when, "avoidWhen", node, findings);
    }
}

fn check_references(action: &CliAction, node: &ValueNode, findings: &mut FileFindings) {
    check_reference(&action.command, node.child("command").place, findings);
    for (index, arg) in action.args.iter().enumerate() {
        check_reference(arg, node.child("args").item(index).place, findings);
    }
    for (name, value) in &action.env {
        check_reference(value, node.child("env").child(name).place, findings);
    }
    if let Some(cwd) = &action.cwd {
        check_reference(cwd, node.child("cwd").place, findings);
    }
}

/// Warns of `$input` without a name: there is no text for all arguments together, so no call of the action would get through.
fn check_reference(text: &str, place: TextPosition, findings: &mut FileFindings) {
    let is_named = |rest: &str| {
        let first = rest.strip_prefix('.').and_then(|rest| rest.chars().next());
        first.is_some_and(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'))
    };
    if text.split("$input").skip(1).all(is_named) {
        return;
    }
    findings.add(
        Diagnostic::warning("bare-input", "`$input` stands alone, and calls of this action fail")
            .with_fix("name the argument, such as `$input.name`")
            .at(place),
    );
}
