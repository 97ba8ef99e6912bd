//! Parses request parameters and passes the rest through unchanged; JSON of responses.

use capdeck_host::{RawMembers, ToolRequest};
use capdeck_mcp::{HeaderParams, RpcError};
use serde::{Deserialize, Serialize};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

/// The result of a request.
pub(super) type MethodResult = Result<Box<RawValue>, RpcError>;

pub(super) fn text(params: &RawMembers, key: &str) -> Result<String, RpcError> {
    params
        .get(key)
        .and_then(|value| serde_json::from_str(value.get()).ok())
        .ok_or_else(|| RpcError::invalid_params(format!("`{key}` must be a string")))
}

pub(super) fn cursor(params: &RawMembers) -> Result<Option<String>, RpcError> {
    let Some(cursor) = params.get("cursor").filter(|cursor| cursor.get() != "null") else {
        return Ok(None);
    };
    serde_json::from_str(cursor.get())
        .map_err(|_| RpcError::invalid_params("`cursor` must be a cursor of this list"))
}

/// The listed name and the remaining parameters of a `tools/call`.
pub(super) fn tool_call(mut params: RawMembers) -> Result<(String, ToolRequest), RpcError> {
    let name = text(&params, "name")?;
    params.shift_remove("name");
    let arguments = params.shift_remove("arguments").filter(|value| value.get() != "null");
    let meta = params.shift_remove("_meta").and_then(|meta| without_progress_token(&meta));
    Ok((name, ToolRequest { arguments, meta, rest: params, ..ToolRequest::default() }))
}

/// The name and the arguments of a `tools/call`; `None` for other requests, and for those that cannot be read.
pub(super) fn called_tool(
    method: &str,
    params: Option<&RawValue>,
) -> Option<(String, Option<Box<RawValue>>)> {
    #[derive(Deserialize)]
    struct CalledTool {
        name: String,
        arguments: Option<Box<RawValue>>,
    }
    if method != "tools/call" {
        return None;
    }
    let CalledTool { name, arguments } = serde_json::from_str(params?.get()).ok()?;
    Some((name, arguments))
}

/// The parameters that a tool's input schema repeats as headers. An invalid schema has none: servers need not follow the rules.
pub(super) fn header_params(schema: Option<&RawValue>) -> HeaderParams {
    schema.and_then(|schema| HeaderParams::from_schema(schema).ok()).unwrap_or_default()
}

/// `_meta` without the progress token: tokens are per hop.
fn without_progress_token(meta: &RawValue) -> Option<RawMembers> {
    let mut meta: RawMembers = serde_json::from_str(meta.get()).ok()?;
    meta.shift_remove("progressToken");
    (!meta.is_empty()).then_some(meta)
}

pub(super) fn strip_progress_token(params: &mut RawMembers) {
    let Some(meta) = params.shift_remove("_meta") else { return };
    if let Some(meta) = without_progress_token(&meta)
        && let Ok(meta) = to_raw_value(&meta)
    {
        params.insert("_meta".to_owned(), meta);
    }
}

pub(super) fn raw(value: &impl Serialize) -> MethodResult {
    to_raw_value(value).map_err(|error| RpcError::internal(error.to_string()))
}

/// The result of a request that is only acknowledged.
pub(super) fn empty() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_default()
}

pub(super) fn raw_members(value: Value) -> Result<RawMembers, RpcError> {
    let Value::Object(members) = value else { return Ok(RawMembers::new()) };
    members.into_iter().map(|(key, value)| Ok((key, raw(&value)?))).collect()
}
