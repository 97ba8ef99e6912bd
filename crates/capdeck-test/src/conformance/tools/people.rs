//! Tools that cannot answer without the client's person or model.

use capdeck_mcp::RpcError;
use serde_json::{Value, json};

use crate::conformance::{
    call::{FixtureCall, FixtureResult, raw_object, says},
    questions::{FixtureQuestion, FixtureQuestionOutcome, QuestionRounds},
};

pub(super) async fn sampling(call: &FixtureCall<'_>) -> FixtureResult {
    let question = FixtureQuestion::sampling("completion", call.text_argument("prompt")?, 100);
    one(call, question, |answer| {
        format!("LLM response: {}", answer["content"]["text"].as_str().unwrap_or("No response"))
    })
    .await
}

pub(super) async fn elicitation(call: &FixtureCall<'_>) -> FixtureResult {
    let properties = json!({
        "username": { "type": "string", "description": "User's response" },
        "email": { "type": "string", "description": "User's email address" },
    });
    let message = call.text_argument("message")?;
    let question = FixtureQuestion::form("person", message, &properties, &["username", "email"]);
    one(call, question, |answer| format!("User response: {}", outcome(answer))).await
}

/// A default for every kind of value.
pub(super) async fn defaults(call: &FixtureCall<'_>) -> FixtureResult {
    let properties = json!({
        "name": { "type": "string", "description": "User name", "default": "John Doe" },
        "age": { "type": "integer", "description": "User age", "default": 30 },
        "score": { "type": "number", "description": "User score", "default": 95.5 },
        "status": {
            "type": "string",
            "description": "User status",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": { "type": "boolean", "description": "Verification status", "default": true },
    });
    let question =
        FixtureQuestion::form("defaults", "Please review the defaults", &properties, &[]);
    one(call, question, |answer| format!("Elicitation completed: {}", outcome(answer))).await
}

/// Every form of enumeration.
pub(super) async fn enumerations(call: &FixtureCall<'_>) -> FixtureResult {
    let plain = json!(["option1", "option2", "option3"]);
    let titled = json!([
        { "const": "value1", "title": "Option 1" },
        { "const": "value2", "title": "Option 2" },
        { "const": "value3", "title": "Option 3" },
    ]);
    let properties = json!({
        "untitledSingle": { "type": "string", "enum": plain },
        "titledSingle": { "type": "string", "oneOf": titled },
        "legacyEnum": { "type": "string", "enum": plain, "enumNames": ["One", "Two", "Three"] },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled } },
    });
    let question = FixtureQuestion::form("choices", "Please choose", &properties, &[]);
    one(call, question, |answer| format!("Elicitation completed: {}", outcome(answer))).await
}

/// Asks on a stream that has carried something already.
pub(super) async fn streaming(call: &FixtureCall<'_>) -> FixtureResult {
    call.log("About to ask");
    let question = FixtureQuestion::confirmation("go_on", "Shall the stream go on?", "ok");
    one(call, question, |answer| format!("The stream went on: {}", outcome(answer))).await
}

/// Needs a model. A modern client that has none is refused; a legacy one is asked nevertheless, because a proxy
/// in between has to refuse for it.
pub(super) async fn missing_capability(call: &FixtureCall<'_>) -> FixtureResult {
    if call.is_modern && call.capabilities.get("sampling").is_none() {
        let required = raw_object(&json!({ "sampling": {} }));
        return Err(RpcError::missing_capability("this tool needs `sampling`", &required));
    }
    let question = FixtureQuestion::sampling("opinion", "Is this enough?", 20);
    one(call, question, |_| "The client has a model".to_owned()).await
}

/// Asks one thing and answers with what is made of it.
async fn one(
    call: &FixtureCall<'_>,
    question: FixtureQuestion,
    then: impl Fn(&Value) -> String,
) -> FixtureResult {
    let key = question.key;
    match call.gather(&QuestionRounds::stateless(vec![question])).await? {
        FixtureQuestionOutcome::Answers(answers) => Ok(says(then(&answers[key]))),
        FixtureQuestionOutcome::Needed(result) => Ok(result),
    }
}

fn outcome(answer: &Value) -> String {
    let content = answer.get("content").cloned().unwrap_or_else(|| json!({}));
    format!("action={}, content={content}", answer["action"].as_str().unwrap_or("none"))
}
