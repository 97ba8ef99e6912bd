//! The question a person is asked through the client that called.

use std::time::{Duration, Instant};

use capdeck_backend::{CallContext, CallError, ErrorCode, ErrorKind};
use capdeck_catalog::RawMembers;
use capdeck_definition::reveal;
use serde::Deserialize;
use serde_json::json;

use crate::{Session, approvals::ApprovalRequest, raw};

/// A refusal that comes sooner was sent by a program: clients without a terminal refuse at once.
const MIN_READING_TIME: Duration = Duration::from_secs(1);

/// The answer of the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApprovalAnswer {
    Once,
    Always,
    No,
    /// The person was not reached, or dismissed the question without an answer.
    None,
}

/// True when the client declares that it can show a form to its person. A client that names modes has
/// only those; an empty object means forms.
pub(super) fn can_be_asked(session: &Session) -> bool {
    let client = session.connections.audience().client();
    let modes: Option<RawMembers> = raw::get(&client.capabilities, "elicitation");
    modes.is_some_and(|modes| modes.contains_key("form") || !modes.contains_key("url"))
}

/// Asks, and waits for the answer or the end of the call.
pub(super) async fn put(
    call: &ApprovalRequest,
    context: &CallContext,
) -> Result<ApprovalAnswer, CallError> {
    let began = Instant::now();
    let asked = tokio::select! {
        answer = context.caller.request("elicitation/create", Some(form(call))) => answer,
        () = context.cancel.cancelled() => {
            return Err(CallError::new(ErrorCode::Cancelled, "the call was cancelled before it was approved"));
        }
    };
    match asked {
        Ok(text) => Ok(serde_json::from_str::<ElicitationResult>(text.get())
            .map_or(ApprovalAnswer::No, |result| result.answer(began.elapsed()))),
        Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
        Err(error) => {
            tracing::debug!(%error, "the client could not ask its person");
            Ok(ApprovalAnswer::None)
        }
    }
}

/// An answer to `elicitation/create`.
#[derive(Deserialize)]
struct ElicitationResult {
    action: String,
    #[serde(default)]
    content: Option<ElicitationContent>,
}

#[derive(Deserialize)]
struct ElicitationContent {
    #[serde(default)]
    decision: Option<String>,
}

impl ElicitationResult {
    /// Only a clear yes is one, and only a person's no is one.
    fn answer(self, after: Duration) -> ApprovalAnswer {
        let decision = self.content.and_then(|content| content.decision);
        match (self.action.as_str(), decision.as_deref()) {
            ("accept", Some("once")) => ApprovalAnswer::Once,
            ("accept", Some("always")) => ApprovalAnswer::Always,
            // No program fills in the form to refuse.
            ("accept", Some("no")) => ApprovalAnswer::No,
            ("cancel", _) => ApprovalAnswer::None,
            _ if after < MIN_READING_TIME => ApprovalAnswer::None,
            _ => ApprovalAnswer::No,
        }
    }
}

fn form(call: &ApprovalRequest) -> RawMembers {
    // A tool without a known definition cannot be approved permanently.
    let (choices, meaning) = match call.definition {
        Some(_) => (
            json!(["once", "always", "no"]),
            "once: this call; always: this tool, until its definition changes; no: do not run it",
        ),
        None => (json!(["once", "no"]), "once: this call; no: do not run it"),
    };
    let message = format!(
        "Run `{}` of `{}`?{}\nArguments: {}",
        reveal(&call.tool),
        call.capability,
        call.carries
            .as_ref()
            .map(|from| format!("\nIt carries data from {from}"))
            .unwrap_or_default(),
        call.arguments
    );
    raw::object([
        ("message", json!(message)),
        (
            "requestedSchema",
            json!({
                "type": "object",
                "properties": {
                    "decision": {
                        "type": "string",
                        "title": "Decision",
                        "description": meaning,
                        "enum": choices,
                    },
                },
                "required": ["decision"],
            }),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_counts_when_a_person_can_have_read_the_question() {
        let quick = Duration::from_millis(999);
        for (answer, after, expected) in [
            (r#"{"action":"decline"}"#, MIN_READING_TIME, ApprovalAnswer::No),
            (r#"{"action":"decline"}"#, quick, ApprovalAnswer::None),
            (r#"{"action":"cancel"}"#, MIN_READING_TIME, ApprovalAnswer::None),
            (
                r#"{"action":"accept","content":{"decision":"no"}}"#,
                MIN_READING_TIME,
                ApprovalAnswer::No,
            ),
            (r#"{"action":"accept"}"#, MIN_READING_TIME, ApprovalAnswer::No),
            (r#"{"action":"accept","content":{"decision":"once"}}"#, quick, ApprovalAnswer::Once),
            (
                r#"{"action":"decline","content":{"decision":"once"}}"#,
                MIN_READING_TIME,
                ApprovalAnswer::No,
            ),
        ] {
            let result: ElicitationResult = serde_json::from_str(answer).unwrap();
            assert_eq!(result.answer(after), expected, "{answer} after {after:?}");
        }
    }
}
