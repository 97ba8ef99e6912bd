//! The text of a tool result, for people and pipes.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

/// What a result says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ResultText {
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'a> {
    #[serde(default)]
    content: Vec<Value>,
    #[serde(default, borrow)]
    structured_content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: bool,
}

/// Texts and links of a result; its structured content when there is no text.
pub(crate) fn render(result: &RawValue) -> ResultText {
    let Ok(parsed) = serde_json::from_str::<CallResult<'_>>(result.get()) else {
        // A server's result of another shape is still shown, as it is.
        return ResultText { text: result.get().to_owned(), is_error: false };
    };
    let mut text = String::new();
    let mut has_text = false;
    for part in &parsed.content {
        has_text |= part.get("text").is_some() || part.pointer("/resource/text").is_some();
        let shown = content_text(part);
        text.push_str(&shown);
        if !shown.is_empty() && !shown.ends_with('\n') {
            text.push('\n');
        }
    }
    if let (false, Some(structured)) = (has_text, parsed.structured_content) {
        let value: Value = serde_json::from_str(structured.get()).unwrap_or_default();
        text.push_str(&serde_json::to_string_pretty(&value).unwrap_or_default());
        text.push('\n');
    }
    ResultText { text, is_error: parsed.is_error }
}

fn content_text(part: &Value) -> String {
    let text = |pointer: &str| part.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    match text("/type") {
        "text" => text("/text").to_owned(),
        "resource_link" => {
            let size = part.get("size").map(|size| format!(", {size} bytes")).unwrap_or_default();
            format!("{}: {}{size}", text("/name"), text("/uri"))
        }
        "resource" if part.pointer("/resource/text").is_some() => text("/resource/text").to_owned(),
        "resource" => {
            binary(text("/resource/mimeType"), text("/resource/uri"), text("/resource/blob"))
        }
        kind => binary(text("/mimeType"), kind, text("/data")),
    }
}

/// A stand-in for content that is no text.
fn binary(mime_type: &str, name: &str, base64: &str) -> String {
    let bytes = base64.trim_end_matches('=').len() * 3 / 4;
    format!("[{name} {mime_type}, {bytes} bytes; use --json to get it]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(result: Value, text: &str, is_error: bool) {
        let raw = serde_json::value::to_raw_value(&result).unwrap();
        assert_eq!(render(&raw), ResultText { text: text.to_owned(), is_error });
    }

    #[test]
    fn texts_links_and_media() {
        check(
            serde_json::json!({"content": [
                {"type": "text", "text": "one"},
                {"type": "text", "text": "two\n"},
                {"type": "resource_link", "name": "log", "uri": "capdeck://artifacts/1", "size": 7},
                {"type": "image", "mimeType": "image/png", "data": "AAAA"},
                {"type": "resource", "resource": {"uri": "a:b", "text": "inside"}},
            ], "structuredContent": {"a": 1}}),
            "one\ntwo\nlog: capdeck://artifacts/1, 7 bytes\n[image image/png, 3 bytes; use --json to get it]\ninside\n",
            false,
        );
    }

    #[test]
    fn structured_content_stands_in_for_missing_text() {
        check(
            serde_json::json!({"content": [], "structuredContent": {"b": 1, "a": [2]}, "isError": true}),
            "{\n  \"b\": 1,\n  \"a\": [\n    2\n  ]\n}\n",
            true,
        );
        check(serde_json::json!({}), "", false);
        check(serde_json::json!(["odd"]), "[\"odd\"]", false);
    }
}
