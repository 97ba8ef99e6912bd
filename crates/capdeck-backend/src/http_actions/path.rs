//! The path of an action with a call's arguments.

use serde_json::{Map, Value};

use crate::{CallError, ErrorCode, arguments::scalar_text, http::encode_segment};

/// Replaces `{name}` by its argument, encoded so that it stays one segment.
pub(super) fn fill_path(path: &str, arguments: &Map<String, Value>) -> Result<String, CallError> {
    let mut filled = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        filled.push_str(before);
        let value = arguments.get(name).and_then(scalar_text).filter(|text| !text.is_empty());
        let value = value.ok_or_else(|| {
            CallError::new(
                ErrorCode::RequestInvalid,
                format!("argument `{name}` is part of the path and must be a non-empty string, number or boolean"),
            )
            .hint(format!("call the tool with a value for `{name}`"))
        })?;
        filled.extend(encode_segment(&value));
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}
