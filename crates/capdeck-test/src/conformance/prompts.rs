//! The prompts the conformance suite asks for, and completions of their arguments.

use capdeck_mcp::RpcError;
use serde_json::{Value, json};

use super::{
    call::{FixtureCall, FixtureResult},
    media::RED_PIXEL,
    questions::{FixtureQuestion, FixtureQuestionOutcome, QuestionRounds},
};

const WORDS: [&str; 4] = ["paris", "park", "party", "query"];

/// Every prompt, in the order they are listed.
pub(super) fn list(has_extra: bool) -> Vec<Value> {
    let argument = |name: &str, description: &str| json!({ "name": name, "description": description, "required": true });
    let mut prompts = vec![
        json!({ "name": "test_simple_prompt", "description": "A prompt without arguments" }),
        json!({
            "name": "test_prompt_with_arguments",
            "description": "A prompt that repeats its arguments",
            "arguments": [argument("arg1", "First argument"), argument("arg2", "Second argument")],
        }),
        json!({
            "name": "test_prompt_with_embedded_resource",
            "description": "A prompt that carries a resource",
            "arguments": [argument("resourceUri", "The resource to carry")],
        }),
        json!({ "name": "test_prompt_with_image", "description": "A prompt that carries a picture" }),
        json!({
            "name": "test_input_required_result_prompt",
            "description": "A prompt that needs the person's context first",
        }),
    ];
    if has_extra {
        prompts.push(
            json!({ "name": "test_extra_prompt", "description": "A prompt that comes and goes" }),
        );
    }
    prompts
}

/// `prompts/get`.
pub(super) async fn get(call: &FixtureCall<'_>) -> FixtureResult {
    let said = |content: Value| json!({ "role": "user", "content": content });
    let text = |words: String| said(json!({ "type": "text", "text": words }));
    let messages = match call.params["name"].as_str().unwrap_or_default() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.".to_owned())],
        "test_prompt_with_arguments" => {
            let (first, second) = (call.text_argument("arg1")?, call.text_argument("arg2")?);
            vec![text(format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let resource = json!({
                "uri": call.text_argument("resourceUri")?,
                "mimeType": "text/plain",
                "text": "Embedded resource content for testing.",
            });
            vec![
                said(json!({ "type": "resource", "resource": resource })),
                text("Please process the embedded resource above.".to_owned()),
            ]
        }
        "test_prompt_with_image" => vec![
            said(json!({ "type": "image", "data": RED_PIXEL, "mimeType": "image/png" })),
            text("Please analyze the image above.".to_owned()),
        ],
        "test_input_required_result_prompt" => {
            let question = FixtureQuestion::text(
                "user_context",
                "What context should the prompt use?",
                "context",
            );
            match call.gather(&QuestionRounds::stateless(vec![question])).await? {
                FixtureQuestionOutcome::Answers(answers) => {
                    let context = &answers["user_context"]["content"]["context"];
                    vec![text(format!("Answer in the context of {context}."))]
                }
                FixtureQuestionOutcome::Needed(result) => return Ok(result),
            }
        }
        "test_extra_prompt" if call.fixture.has_extra_prompt() => {
            vec![text("This prompt may be gone soon.".to_owned())]
        }
        name => return Err(RpcError::invalid_params(format!("unknown prompt: `{name}`"))),
    };
    Ok(json!({ "messages": messages }))
}

/// `completion/complete`.
pub(super) fn complete(call: &FixtureCall<'_>) -> Value {
    let start = call.params["argument"]["value"].as_str().unwrap_or_default();
    let values: Vec<&str> = WORDS.into_iter().filter(|word| word.starts_with(start)).collect();
    json!({ "completion": { "values": values, "total": values.len(), "hasMore": false } })
}
