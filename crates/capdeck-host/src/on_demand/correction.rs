//! Answers a call with invalid arguments with what is needed to correct them.

use capdeck_backend::{CallError, ErrorKind};
use capdeck_catalog::{RawMembers, Tool, brief_signature};
use serde_json::{Value, json, value::RawValue};

use crate::{calls::is_tool_error, raw};

const INVALID_PARAMS: i64 = -32602;

/// Words that servers use only for invalid arguments. Lower case.
const ARGUMENT_ERROR_WORDS: [&str; 12] = [
    "-32602",
    "invalid arguments",
    "invalid argument",
    "invalid params",
    "invalid parameter",
    "input validation",
    "validation error",
    "validation failed",
    "invalid_type",
    "missing required",
    "unexpected keyword argument",
    "unrecognized key",
];

/// Words that mean the same beside the name of an argument. Lower case.
const WORDS_BESIDE_A_NAME: [&str; 7] =
    ["required", "invalid", "must be", "must not", "expected", "missing", "unknown"];

/// Turns a failure that the arguments caused into `{error, tool, schema, hint}`. Everything else
/// remains unchanged. `name` is the client's name for the tool.
pub(crate) fn correctable(name: &str, tool: &Tool, outcome: raw::Answer) -> raw::Answer {
    match outcome {
        Err(error) if is_about_arguments(&error) => {
            answer(name, tool, &error.message, RawMembers::new()).ok_or(error)
        }
        Ok(result) if is_tool_error(&result) => {
            Ok(corrected(name, tool, &result).unwrap_or(result))
        }
        unchanged => unchanged,
    }
}

fn is_about_arguments(error: &CallError) -> bool {
    let is_wrong = error.rpc.as_ref().is_some_and(|remote| remote.code == INVALID_PARAMS);
    is_wrong || (error.rpc.is_none() && error.kind() == ErrorKind::BadInput)
}

fn corrected(name: &str, tool: &Tool, result: &RawValue) -> Option<Box<RawValue>> {
    let mut members: RawMembers = serde_json::from_str(result.get()).ok()?;
    let content = members.get("content")?;
    let blocks: Vec<RawMembers> = serde_json::from_str(content.get()).ok()?;
    let text_of = |block: &RawMembers| {
        let kind = raw::string(block.get("type")?)?;
        (kind == "text").then(|| raw::string(block.get("text")?))?
    };
    let texts: Vec<String> = blocks.iter().filter_map(text_of).collect();
    let text = texts.join("\n");
    if !says_arguments_are_wrong(&text, tool) {
        return None;
    }
    let others: Vec<&RawMembers> = blocks.iter().filter(|one| text_of(one).is_none()).collect();
    members.insert("content".to_owned(), serde_json::value::to_raw_value(&others).ok()?);
    answer(name, tool, &text, members)
}

fn says_arguments_are_wrong(text: &str, tool: &Tool) -> bool {
    let text = text.to_lowercase();
    if ARGUMENT_ERROR_WORDS.iter().any(|words| text.contains(words)) {
        return true;
    }
    let schema = tool.input_schema().and_then(raw::value).unwrap_or_default();
    let Some(arguments) = schema.get("properties").and_then(Value::as_object) else { return false };
    let words: Vec<&str> =
        text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
    let is_named = arguments.keys().any(|name| words.contains(&name.to_lowercase().as_str()));
    is_named && WORDS_BESIDE_A_NAME.iter().any(|words| text.contains(words))
}

fn answer(name: &str, tool: &Tool, error: &str, mut rest: RawMembers) -> Option<Box<RawValue>> {
    let mut facts = json!({
        "error": error,
        "tool": name,
        "schema": tool.input_schema().and_then(raw::value).unwrap_or_else(|| json!({})),
        "hint": format!("correct `data` and call again: {}", brief_signature(name, tool)),
    });
    if let Some(own) = rest.get("structuredContent").and_then(|own| raw::value(own)) {
        facts["details"] = own;
    }
    let text = json!({ "type": "text", "text": facts.to_string() });
    let mut content = vec![text];
    content.extend(raw::get::<Vec<Value>>(&rest, "content").unwrap_or_default());
    rest.extend(raw::object([
        ("content", json!(content)),
        ("structuredContent", facts),
        ("isError", json!(true)),
    ]));
    serde_json::value::to_raw_value(&rest).ok()
}

#[cfg(test)]
mod tests {
    use capdeck_backend::{ErrorCode, RpcFailure};

    use super::*;

    fn tool() -> Tool {
        let tool = json!({"name": "post", "inputSchema": {"type": "object",
            "properties": {"channel": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["channel"]}});
        serde_json::from_value(tool).unwrap()
    }

    fn result(value: &Value) -> Box<RawValue> {
        RawValue::from_string(value.to_string()).unwrap()
    }

    fn said(text: &str) -> Box<RawValue> {
        result(&json!({"content": [{"type": "text", "text": text}], "isError": true}))
    }

    #[test]
    fn only_errors_about_the_arguments_are_changed() {
        for (text, expected) in [
            ("MCP error -32602: Input validation error: Invalid arguments for tool post", true),
            ("1 validation error for postArguments\nchannel\n  Field required", true),
            ("Error: channel is required", true),
            ("limit must be at most 100", true),
            ("the channel was not there", false),
            ("a login is required", false),
            ("rate limit exceeded", false),
            ("", false),
        ] {
            let answered = correctable("slack.post", &tool(), Ok(said(text))).unwrap();
            assert_eq!(answered.get() != said(text).get(), expected, "{text}");
        }
        let fine = result(&json!({"content": [{"type": "text", "text": "invalid arguments"}]}));
        assert_eq!(correctable("slack.post", &tool(), Ok(fine.clone())).unwrap().get(), fine.get());
    }

    #[test]
    fn the_answer_has_the_schema_and_keeps_the_rest() {
        let own = result(&json!({"content": [
            {"type": "text", "text": "channel is required"},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"}],
            "structuredContent": {"field": "channel"}, "_meta": {"a": 1}, "isError": true}));
        let answered = raw::value(&correctable("slack.post", &tool(), Ok(own)).unwrap()).unwrap();
        let facts: Value =
            serde_json::from_str(answered["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(facts, answered["structuredContent"]);
        assert_eq!(facts["error"], "channel is required");
        assert_eq!(facts["tool"], "slack.post");
        assert_eq!(facts["schema"]["required"], json!(["channel"]));
        assert_eq!(facts["details"], json!({"field": "channel"}));
        assert!(facts["hint"].as_str().unwrap().ends_with("slack.post(channel, limit?: number)"));
        assert_eq!(answered["content"][1]["type"], "image");
        assert_eq!((&answered["_meta"]["a"], &answered["isError"]), (&json!(1), &json!(true)));
    }

    #[test]
    fn errors_of_the_protocol_count_by_their_code() {
        let remote = |code| {
            let mut error = CallError::new(ErrorCode::DownstreamToolError, "no");
            error.rpc = Some(Box::new(RpcFailure { code, message: "no".to_owned(), data: None }));
            error
        };
        assert!(correctable("slack.post", &tool(), Err(remote(INVALID_PARAMS))).is_ok());
        assert!(correctable("slack.post", &tool(), Err(remote(-32603))).is_err());
        let local = CallError::invalid_request("wrong");
        assert!(correctable("slack.post", &tool(), Err(local)).is_ok());
        let denied = CallError::new(ErrorCode::Denied, "no");
        assert!(correctable("slack.post", &tool(), Err(denied)).is_err());
    }
}
