//! Agents that are known by the name they report: their models read results as text.

use capdeck_backend::CallError;
use capdeck_catalog::RawMembers;
use serde_json::{Value, value::RawValue};

use crate::{Session, raw};

/// What is known of an agent. Measured with the versions in `docs/reference/agents.md`.
#[derive(Debug)]
pub(crate) struct KnownAgent {
    /// How the name that it reports begins.
    name: &'static str,
    /// A result of this size reaches its model whole.
    pub(crate) result_bytes: usize,
}

const KNOWN_AGENTS: [KnownAgent; 6] = [
    KnownAgent { name: "claude-code", result_bytes: 24_000 },
    // It cuts the middle out of longer texts.
    KnownAgent { name: "codex-mcp-client", result_bytes: 9_000 },
    // It writes longer texts into a file, and shows the first 500 characters.
    KnownAgent { name: "copilot-cli", result_bytes: 16_000 },
    KnownAgent { name: "gemini-cli-mcp-client", result_bytes: 24_000 },
    KnownAgent { name: "opencode", result_bytes: 24_000 },
    KnownAgent { name: "qwen-cli-mcp-client", result_bytes: 24_000 },
];

const TRUNCATED: &str = r#""truncated":true"#;

impl Session {
    /// The agent behind this session, if it is a known one.
    pub(crate) fn known_agent(&self) -> Option<&'static KnownAgent> {
        KNOWN_AGENTS.iter().find(|agent| self.client_name.starts_with(agent.name))
    }

    /// True for a client whose model reads the text of a result, so that the same facts beside it
    /// would be read twice, or instead of it.
    pub fn reads_text_alone(&self) -> bool {
        self.known_agent().is_some()
    }

    /// A result that the host itself made, as this client reads it.
    pub(crate) fn as_read(&self, answer: raw::Answer) -> raw::Answer {
        match answer {
            Ok(result) if self.reads_text_alone() => text_alone(result),
            other => other,
        }
    }
}

/// Leaves the structured form out of a result that has a text.
fn text_alone(result: Box<RawValue>) -> Result<Box<RawValue>, CallError> {
    let Some(mut members) = raw::parse::<RawMembers>(&result) else { return Ok(result) };
    // Only the structured form says that there is more.
    if members.get("structuredContent").is_some_and(|one| one.get().contains(TRUNCATED)) {
        return Ok(result);
    }
    let blocks: Vec<Value> = raw::get(&members, "content").unwrap_or_default();
    let is_said = blocks.iter().any(|block| {
        block.get("text").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty())
    });
    match is_said && members.shift_remove("structuredContent").is_some() {
        true => raw::text(&members),
        false => Ok(result),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_text_stands_for_the_structured_form() {
        let read = |text: &str| text_alone(RawValue::from_string(text.to_owned()).unwrap());
        let both =
            r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{"b":1},"_meta":{}}"#;
        let text = r#"{"content":[{"type":"text","text":"a"}],"_meta":{}}"#;
        assert_eq!(read(both).unwrap().get(), text);
        assert_eq!(read(text).unwrap().get(), text);
        for silent in [
            r#"{"content":[],"structuredContent":{"b":1}}"#,
            r#"{"content":[{"type":"text","text":" "}],"structuredContent":{"b":1}}"#,
            r#"{"content":[{"type":"image","data":"aGk="}],"structuredContent":{"b":1}}"#,
        ] {
            assert_eq!(read(silent).unwrap().get(), silent);
        }
    }
}
