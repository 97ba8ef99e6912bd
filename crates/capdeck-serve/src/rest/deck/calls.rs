//! Calls of tools, through the one path of every call.

use std::time::Duration;

use capdeck_host::{Consent, ErrorCode, ToolRequest, calls};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, value::to_raw_value};

use super::session::context;
use crate::rest::{
    call::Call,
    input::{MaybeJson, NoQuery},
    operation::{Operation, post},
    problem::ApiError,
    reply::Reply,
    shapes::Raw,
    who::Who,
};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        post("/v1/deck/capabilities/{capability}/tools/{tool}/call", "callTool", "Call a tool")
            .about("The answer is the result as the tool gave it, an MCP `CallToolResult`; a tool that failed says so in `isError`. Arguments are checked against the tool's own schema first. A tool that runs only with a person's approval is answered 409 `approval_required`: the person approves it, and the same call is made again.")
            .who(Who::DeckCall)
            .problems(&[424, 502, 504])
            .done_by(call_tool),
    ]
}

/// How to call a tool.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolCall {
    /// As the tool's `inputSchema` says.
    #[serde(default)]
    arguments: Map<String, Value>,
    /// Keep only these parts of a structured result, as dotted paths.
    #[serde(default)]
    fields: Vec<String>,
    /// Longest silence of the tool.
    #[schemars(range(min = 1, max = 3_600_000))]
    timeout_ms: Option<u64>,
    /// You approve this very call, where the policy asks for a person. For the host's owner and admins.
    #[serde(default)]
    approved: bool,
}

async fn call_tool(
    call: Call,
    _: NoQuery,
    body: MaybeJson<ToolCall>,
) -> Result<Reply<Raw>, ApiError> {
    let MaybeJson(ToolCall { arguments, fields, timeout_ms, approved }) = body;
    if approved {
        Who::Admin.admit_call(&call)?;
    }
    let arguments = to_raw_value(&arguments)
        .map_err(|error| ApiError::internal("the arguments cannot be written", &error))?;
    let request = ToolRequest {
        capability: call.place("capability").to_owned(),
        tool: call.place("tool").to_owned(),
        arguments: Some(arguments),
        fields,
        consent: if approved { Consent::Given } else { Consent::AskedLater },
        ..ToolRequest::default()
    };
    let session = call.session();
    let outcome =
        calls::call(session.request(&context(timeout_ms.map(Duration::from_millis))), &request)
            .await;
    session.close().await;
    outcome.map(|result| Reply::new(Raw(result))).map_err(|error| {
        let is_own = error.code == ErrorCode::ApprovalRequired && error.data.is_none();
        let error = ApiError::from(error);
        if is_own {
            error.hint("ask the person; they approve it in the dashboard, or in a call of their own with `approved: true`")
        } else {
            error
        }
    })
}
