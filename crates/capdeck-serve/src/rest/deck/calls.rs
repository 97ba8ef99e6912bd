//! Tool calls.

use std::time::Duration;

use capdeck_host::{CallConsent, ErrorCode, ToolRequest, calls};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, value::to_raw_value};

use super::session::context;
use crate::rest::{
    call::RestCall,
    input::{NoQuery, OptionalJsonBody},
    operation::{RestOperation, post},
    problem::ApiError,
    required_access::RequiredAccess,
    response::RestResponse,
    shapes::RawToolResult,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        post("/v1/deck/capabilities/{capability}/tools/{tool}/call", "callTool", "Call a tool")
            .about("The response is the tool's result, an MCP `CallToolResult`; a failed tool sets `isError`. Arguments are checked against the tool's input schema first. A tool that requires approval returns 409 `approval_required`: repeat the same call after a person has approved it.")
            .who(RequiredAccess::DeckCall)
            .problems(&[424, 502, 504])
            .handled_by(call_tool),
    ]
}

/// Options of a tool call.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ToolCall")]
struct ToolCallBody {
    /// Arguments that match the tool's `inputSchema`.
    #[serde(default)]
    arguments: Map<String, Value>,
    /// Return only these parts of a structured result, as dotted paths.
    #[serde(default)]
    fields: Vec<String>,
    /// Idle timeout in milliseconds.
    #[schemars(range(min = 1, max = 3_600_000))]
    timeout_ms: Option<u64>,
    /// Approve this call, where the policy requires approval. For the owner and admins.
    #[serde(default)]
    approved: bool,
}

async fn call_tool(
    call: RestCall,
    _: NoQuery,
    body: OptionalJsonBody<ToolCallBody>,
) -> Result<RestResponse<RawToolResult>, ApiError> {
    let OptionalJsonBody(ToolCallBody { arguments, fields, timeout_ms, approved }) = body;
    if approved {
        RequiredAccess::Admin.admit_call(&call)?;
    }
    let arguments = to_raw_value(&arguments)
        .map_err(|error| ApiError::internal("cannot serialize the arguments", &error))?;
    let request = ToolRequest {
        capability: call.path_parameter("capability").to_owned(),
        tool: call.path_parameter("tool").to_owned(),
        arguments: Some(arguments),
        fields,
        consent: if approved { CallConsent::Given } else { CallConsent::AskedLater },
        ..ToolRequest::default()
    };
    let session = call.session();
    let outcome =
        calls::call(session.request(&context(timeout_ms.map(Duration::from_millis))), &request)
            .await;
    session.close().await;
    outcome.map(|result| RestResponse::new(RawToolResult(result))).map_err(|error| {
        let is_own = error.code == ErrorCode::ApprovalRequired && error.data.is_none();
        let error = ApiError::from(error);
        if is_own {
            error.hint(
                "ask a person to approve it in the dashboard, or to call it with `approved: true`",
            )
        } else {
            error
        }
    })
}
