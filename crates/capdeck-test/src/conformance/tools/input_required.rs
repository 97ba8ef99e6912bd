//! The `test_input_required_result_…` tools: what the modern era asks by a result.

use serde_json::Value;

use super::unknown;
use crate::conformance::{
    call::{Answer, Call, says},
    questions::{Gathered, Question, Rounds},
};

/// Calls the tool with this ending.
pub(super) async fn call(name: &str, call: &Call<'_>) -> Answer {
    let user_name = || Question::text("user_name", "What is your name?", "name");
    let rounds = match name {
        "elicitation" => Rounds::stateless(vec![user_name()]),
        "sampling" => Rounds::stateless(vec![Question::sampling(
            "capital_question",
            "What is the capital of France?",
            100,
        )]),
        "list_roots" => Rounds::stateless(vec![Question::roots("client_roots")]),
        "request_state" | "tampered_state" => {
            Rounds::stateful(vec![vec![Question::confirmation("confirm", "Please confirm", "ok")]])
        }
        "multiple_inputs" => Rounds::stateful(vec![vec![
            user_name(),
            Question::sampling("greeting", "Generate a greeting", 50),
            Question::roots("client_roots"),
        ]]),
        "multi_round" => Rounds::stateful(vec![
            vec![Question::text("step1", "Step 1: What is your name?", "name")],
            vec![Question::text("step2", "Step 2: What is your favorite color?", "color")],
        ]),
        "capabilities" => Rounds::stateless(declared(call.capabilities)),
        _ => return Err(unknown(&format!("test_input_required_result_{name}"))),
    };
    let answers = match call.gather(&rounds).await? {
        Gathered::Answers(answers) => answers,
        Gathered::Needed(result) => return Ok(result),
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
fn declared(capabilities: &Value) -> Vec<Question> {
    let all = [
        ("elicitation", Question::text("user_name", "What is your name?", "name")),
        ("sampling", Question::sampling("greeting", "Generate a greeting", 50)),
        ("roots", Question::roots("client_roots")),
    ];
    all.into_iter()
        .filter(|(capability, _)| capabilities.get(capability).is_some())
        .map(|(_, question)| question)
        .collect()
}
