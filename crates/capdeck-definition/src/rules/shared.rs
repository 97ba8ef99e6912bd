//! Rules of the fields every capability has, whatever its backend.

use serde_json::{Map, Value};

use crate::{
    definition_draft::SharedFields,
    diagnostic::{Diagnostic, FileFindings},
    document::ValueNode,
};

/// Hints are for a glance; longer ones are cut.
const MAX_HINT: usize = 500;

/// Checks names, texts, tags and set-up, and trims what is trimmed.
pub(crate) fn check_shared(
    shared: &mut SharedFields,
    node: &ValueNode,
    findings: &mut FileFindings,
) {
    if let Some(name) = &mut shared.name {
        *name = name.trim().to_owned();
        if name.is_empty() {
            findings.add(
                Diagnostic::error("empty-value", "`name` is empty")
                    .with_fix("give it a value")
                    .at(node.child("name").place),
            );
        }
    }
    if shared.description.as_ref().is_some_and(|text| text.trim().chars().count() < 10) {
        findings.add(
            Diagnostic::error("too-short", "`description` is too short")
                .with_fix("write at least 10 characters that tell an agent what this does")
                .at(node.child("description").place),
        );
    }
    for (index, tag) in shared.presentation.tags.iter_mut().enumerate() {
        *tag = tag.trim().to_owned();
        if tag.is_empty() {
            findings.add(
                Diagnostic::error("empty-value", format!("`tags[{index}]` is empty"))
                    .with_fix("give it a value or remove it")
                    .at(node.child("tags").item(index).place),
            );
        }
    }
    check_hint(&mut shared.presentation.use_when, "useWhen", node, findings);
    check_hint(&mut shared.presentation.avoid_when, "avoidWhen", node, findings);
    let setup = &shared.presentation.setup;
    if setup.as_ref().is_some_and(|setup| setup.commands.is_empty() && setup.verify.is_empty()) {
        findings.add(
            Diagnostic::error("empty-value", "`setup` has no steps")
                .with_fix("add a step under `commands` or `verify`, or remove `setup`")
                .at(node.key_place("setup")),
        );
    }
}

/// Trims a hint. Hints never fail a file: an empty one is dropped and a long one is cut, with a warning.
pub(crate) fn check_hint(
    hint: &mut Option<String>,
    key: &str,
    node: &ValueNode,
    findings: &mut FileFindings,
) {
    let Some(text) = hint.take() else { return };
    let text = text.trim();
    let place = node.child(key).place;
    if text.is_empty() {
        findings.add(
            Diagnostic::warning("empty-value", format!("`{key}` is empty and is ignored"))
                .with_fix("give it a value or remove the key")
                .at(place),
        );
        return;
    }
    let length = text.chars().count();
    if length > MAX_HINT {
        findings.add(
            Diagnostic::warning(
                "too-long",
                format!("`{key}` has {length} characters and is cut to {MAX_HINT}"),
            )
            .with_fix(format!("shorten it to at most {MAX_HINT} characters"))
            .at(place),
        );
    }
    *hint = Some(text.chars().take(MAX_HINT).collect());
}

/// Warns of a schema that no call can satisfy. `node` is the action.
pub(super) fn check_input_schema(
    schema: Option<&Map<String, Value>>,
    node: &ValueNode,
    findings: &mut FileFindings,
) {
    let kind = schema.and_then(|schema| schema.get("type"));
    if kind.is_none_or(|kind| kind == "object") {
        return;
    }
    findings.add(
        Diagnostic::warning(
            "wrong-type",
            "`inputSchema` does not describe an object, which arguments are",
        )
        .with_fix("write `type: object` and name the arguments under `properties`")
        .at(node.child("inputSchema").child("type").place),
    );
}
