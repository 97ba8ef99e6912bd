//! The `test_input_required_result_…` tools: what the modern era asks by a result.

use serde_json::Value;

use super::unknown;
use crate::conformance::{
    call::{FixtureCall, FixtureResult, says},
    questions::{FixtureQuestion, FixtureQuestionOutcome, QuestionRounds},
};

/// Calls the tool with this ending.
pub(super) async fn call(name: &str, call: &FixtureCall<'_>) -> FixtureResult {
    let user_name = || FixtureQuestion::text("user_name", "What is your name?", "name");
    let rounds = match name {
        "elicitation" => QuestionRounds::stateless(vec![user_name()]),
        "sampling" => QuestionRounds::stateless(vec![FixtureQuestion::sampling(
            "capital_question",
            "What is the capital of France?",
            100,
        )]),
        "list_roots" => QuestionRounds::stateless(vec![FixtureQuestion::roots("client_roots")]),
        "request_state" | "tampered_state" => {
            QuestionRounds::stateful(vec![vec![FixtureQuestion::confirmation(
                "confirm",
                "Please confirm",
                "ok",
            )]])
        }
        "multiple_inputs" => QuestionRounds::stateful(vec![vec![
            user_name(),
            FixtureQuestion::sampling("greeting", "Generate a greeting", 50),
            FixtureQuestion::roots("client_roots"),
        ]]),
        "multi_round" => QuestionRounds::stateful(vec![
            vec![FixtureQuestion::text("step1", "Step 1: What is your name?", "name")],
            vec![FixtureQuestion::text("step2", "Step 2: What is your favorite color?", "color")],
        ]),
        "capabilities" => QuestionRounds::stateless(declared(call.capabilities)),
        _ => return Err(unknown(&format!("test_input_required_result_{name}"))),
    };
    let answers = match call.gather(&rounds).await? {
        FixtureQuestionOutcome::Answers(answers) => answers,
        FixtureQuestionOutcome::Needed(result) => return Ok(result),
    };
    Ok(says(match name {
        "elicitation" => {
            let name = &answers["user_name"]["content"]["name"];
            format!("Hello, {}!", name.as_str().unwrap_or("stranger"))
        }
        "request_state" => "state-ok".to_owned(),
        _ => format!("Answers: {answers}"),
    }))
}

/// One question for each thing the client said it can be asked for.
fn declared(capabilities: &Value) -> Vec<FixtureQuestion> {
    let all = [
        ("elicitation", FixtureQuestion::text("user_name", "What is your name?", "name")),
        ("sampling", FixtureQuestion::sampling("greeting", "Generate a greeting", 50)),
        ("roots", FixtureQuestion::roots("client_roots")),
    ];
    all.into_iter()
        .filter(|(capability, _)| capabilities.get(capability).is_some())
        .map(|(_, question)| question)
        .collect()
}
