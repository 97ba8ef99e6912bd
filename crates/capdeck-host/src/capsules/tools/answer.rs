//! Tool results: a text for the model, the facts beside it, failures with what to do next.

use capdeck_capsule::{neutralise, one_line};
use serde_json::{Map, Value, json, value::RawValue};

use crate::capsules::CapsuleFailure;

/// What a successful call says.
pub(super) struct Answer {
    pub(super) text: String,
    /// An object.
    pub(super) facts: Value,
}

/// An answer or a failure as the result of a tool call.
pub(super) fn tool_result(outcome: Result<Answer, CapsuleFailure>) -> Box<RawValue> {
    let result = match outcome {
        Ok(Answer { text, facts }) => json!({
            "content": [{ "type": "text", "text": text }],
            "structuredContent": facts,
        }),
        Err(failure) => json!({
            "content": [{ "type": "text", "text": failure_text(&failure) }],
            "structuredContent": { "error": failure_facts(&failure) },
            "isError": true,
        }),
    };
    serde_json::value::to_raw_value(&result).unwrap_or_default()
}

fn failure_text(failure: &CapsuleFailure) -> String {
    let mut text = format!("{}: {}", failure.code, failure.message);
    if let Some(hint) = &failure.hint {
        text.push_str(&format!("\n{hint}"));
    }
    let proposal = failure.data.as_ref().and_then(|data| data.get("proposal"));
    if let Some(merged) = proposal.and_then(|proposal| proposal["text"].as_str()) {
        let conflicts = proposal.and_then(|proposal| proposal["conflicts"].as_u64()).unwrap_or(0);
        let advice = match conflicts {
            0 => "both changes fit together; check it and write it".to_owned(),
            1 => "1 place to decide, marked `<<<<<<<` to `>>>>>>>`".to_owned(),
            count => format!("{count} places to decide, marked `<<<<<<<` to `>>>>>>>`"),
        };
        // It holds what somebody else wrote, so it stands between fences that it cannot imitate.
        let body = neutralise(merged);
        let joint = if body.ends_with('\n') || body.is_empty() { "" } else { "\n" };
        text.push_str(&format!(
            "\n━━━ MERGE PROPOSAL ━━━\n{advice}\n━━━━━━━━━━━━━━━━━━━━━━\n{body}{joint}━━━ END OF PROPOSAL ━━━"
        ));
    } else if let Some(capsules) =
        failure.data.as_ref().and_then(|data| data["capsules"].as_array())
    {
        for capsule in capsules {
            text.push_str(&format!("\n- {}", capsule_line(capsule)));
        }
    }
    text
}

fn failure_facts(failure: &CapsuleFailure) -> Value {
    let mut facts = Map::new();
    facts.insert("code".to_owned(), json!(failure.code));
    facts.insert("message".to_owned(), json!(failure.message));
    if let Some(hint) = &failure.hint {
        facts.insert("hint".to_owned(), json!(hint));
    }
    if let Some(data) = &failure.data {
        facts.insert("details".to_owned(), data.clone());
    }
    Value::Object(facts)
}

/// A capsule on one line.
pub(super) fn capsule_line(capsule: &Value) -> String {
    let mut line = match (capsule["id"].as_str(), member(capsule, "name")) {
        (Some(id), name) if name == id => format!("`{id}`"),
        (Some(id), name) => format!("`{id}` ({name})"),
        (None, name) => name,
    };
    if let Some(role) = capsule["role"].as_str() {
        line.push_str(&format!(", {role}"));
    }
    if let Some(entries) = capsule["entries"].as_u64() {
        line.push_str(&format!(", {entries} entries"));
    }
    if let Some(problem) = capsule["problem"].as_str() {
        line.push_str(&format!(", cannot be used: {}", one_line(problem)));
    }
    let description = member(capsule, "description");
    if !description.is_empty() {
        line.push_str(&format!(": {description}"));
    }
    line
}

/// A text member on one line; empty when there is none.
pub(super) fn member(value: &Value, key: &str) -> String {
    value[key].as_str().map(one_line).unwrap_or_default()
}

/// An object with these members of another one, as far as it has them.
pub(super) fn only(value: &Value, keys: &[&str]) -> Value {
    let present = keys.iter().filter_map(|key| Some((*key, value.get(key)?)));
    let members = present.filter(|(_, value)| !value.is_null());
    Value::Object(members.map(|(key, value)| (key.to_owned(), value.clone())).collect())
}
