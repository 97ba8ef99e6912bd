//! The tools the conformance suite calls: their definitions, and which one does what.

mod content;
mod definitions;
mod input_required;
mod jobs;
mod messages;
mod people;

use capdeck_mcp::RpcError;
use serde_json::{Value, json};

use super::call::{FixtureCall, FixtureResult, says};

pub(super) use definitions::list;
pub(super) use jobs::{FixtureJob, JobTaskSupport};

/// `tools/call`.
pub(super) async fn call(call: &FixtureCall<'_>) -> FixtureResult {
    let name = call.params["name"].as_str().unwrap_or_default();
    if let Some(result) = content::of(name) {
        return Ok(result);
    }
    if let Some(job) = FixtureJob::of(name, call)? {
        return super::tasks::run(job, call).await;
    }
    match name {
        "test_tool_with_logging" => messages::log_thrice(call).await,
        "test_logging_tool" => messages::log_once(call),
        "test_tool_with_progress" => messages::progress(call).await,
        "test_reconnection" => messages::reconnection(call).await,
        "test_sampling" => people::sampling(call).await,
        "test_elicitation" => people::elicitation(call).await,
        "test_elicitation_sep1034_defaults" => people::defaults(call).await,
        "test_elicitation_sep1330_enums" => people::enumerations(call).await,
        "test_streaming_elicitation" => people::streaming(call).await,
        "test_missing_capability" => people::missing_capability(call).await,
        "test_trigger_tool_change" => {
            call.fixture.change_tools();
            Ok(says("The list of tools changed"))
        }
        "test_trigger_prompt_change" => {
            call.fixture.change_prompts();
            Ok(says("The list of prompts changed"))
        }
        "test_extra_tool" if call.fixture.has_extra_tool() => {
            Ok(says("This tool may be gone soon"))
        }
        "test_custom_header" => Ok(says(call.text_argument("value")?)),
        "json_schema_2020_12_tool" => Ok(says(format!("Received {}", call.params["arguments"]))),
        "greet" => Ok(says(format!("Hello, {}!", call.text_argument("name")?))),
        _ => match name.strip_prefix("test_input_required_result_") {
            Some(rest) => input_required::call(rest, call).await,
            None => Err(unknown(name)),
        },
    }
}

fn unknown(name: &str) -> RpcError {
    RpcError::invalid_params(format!("unknown tool: `{name}`"))
}

/// A schema without arguments.
fn nothing() -> Value {
    json!({ "type": "object", "properties": {} })
}
