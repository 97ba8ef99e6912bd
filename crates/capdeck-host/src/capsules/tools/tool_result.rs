//! Tool results: a text for the model, the facts beside it, failures with what to do next.

use capdeck_capsule::{WriteConflict, neutralise, one_line, service::CapsuleSummary};
use serde::Serialize;
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};

use crate::{
    capsules::{CapsuleError, ErrorDetails},
    raw,
};

/// What a successful call says.
pub(super) struct ToolAnswer {
    text: String,
    /// An object.
    facts: Box<RawValue>,
}

impl ToolAnswer {
    pub(super) fn new(text: String, facts: &impl Serialize) -> Self {
        Self { text, facts: to_raw_value(facts).unwrap_or_default() }
    }
}

/// An answer or a failure as the result of a tool call.
pub(super) fn tool_result(outcome: Result<ToolAnswer, CapsuleError>) -> Box<RawValue> {
    let is_error = outcome.is_err();
    let ToolAnswer { text, facts } = outcome.unwrap_or_else(|error| {
        ToolAnswer::new(error_text(&error), &json!({ "error": error_facts(&error) }))
    });
    let mut result = raw::object([("content", json!([{ "type": "text", "text": text }]))]);
    result.insert("structuredContent".to_owned(), facts);
    if is_error {
        raw::set(&mut result, "isError", &true);
    }
    raw::text(&result).unwrap_or_default()
}

fn error_text(error: &CapsuleError) -> String {
    let mut text = format!("{}: {}", error.code, error.message);
    if let Some(hint) = &error.hint {
        text.push_str(&format!("\n{hint}"));
    }
    match &error.details {
        Some(ErrorDetails::Conflict(conflict)) => text.push_str(&proposal(conflict)),
        Some(ErrorDetails::Choices(capsules)) => {
            for one in capsules {
                let line = capsule_line(Some(&one.id), &one.name, &one.description, String::new());
                text.push_str(&format!("\n- {line}"));
            }
        }
        Some(ErrorDetails::Existing { .. } | ErrorDetails::Schemes(_) | ErrorDetails::Ids(_))
        | None => {}
    }
    text
}

fn proposal(conflict: &WriteConflict) -> String {
    let Some(proposal) = &conflict.proposal else { return String::new() };
    let advice = match proposal.conflicts {
        0 => "both changes fit together; check it and write it".to_owned(),
        1 => "1 place to decide, marked `<<<<<<<` to `>>>>>>>`".to_owned(),
        count => format!("{count} places to decide, marked `<<<<<<<` to `>>>>>>>`"),
    };
    // It holds what another client wrote, so it is between fences that it cannot imitate.
    let body = neutralise(&proposal.text);
    let joint = if body.ends_with('\n') || body.is_empty() { "" } else { "\n" };
    format!(
        "\n━━━ MERGE PROPOSAL ━━━\n{advice}\n━━━━━━━━━━━━━━━━━━━━━━\n{body}{joint}━━━ END OF PROPOSAL ━━━"
    )
}

fn error_facts(error: &CapsuleError) -> Value {
    let mut facts = json!({ "code": error.code.as_str(), "message": error.message });
    raw::put_some(&mut facts, "hint", error.hint.as_ref());
    raw::put_some(&mut facts, "details", error.data());
    facts
}

/// A capsule on one line, with what the caller may do there.
pub(super) fn summary_line(capsule: &CapsuleSummary) -> String {
    let mut facts = format!(", {}", capsule.access.role.as_str());
    if let Some(entries) = capsule.entries {
        facts.push_str(&format!(", {entries} entries"));
    }
    if let Some(problem) = &capsule.problem {
        facts.push_str(&format!(", cannot be used: {}", one_line(problem)));
    }
    let info = &capsule.info;
    capsule_line(Some(&info.id), &info.name, &info.description, facts)
}

/// A capsule on one line.
pub(super) fn capsule_line(
    id: Option<&str>,
    name: &str,
    description: &str,
    facts: String,
) -> String {
    let (name, description) = (one_line(name), one_line(description));
    let mut line = match id {
        Some(id) if name == id => format!("`{id}`"),
        Some(id) => format!("`{id}` ({name})"),
        None => name,
    };
    line.push_str(&facts);
    if !description.is_empty() {
        line.push_str(&format!(": {description}"));
    }
    line
}
