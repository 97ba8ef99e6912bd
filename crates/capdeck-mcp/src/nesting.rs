//! Limits the nesting depth of messages.

use crate::{MalformedMessage, RpcError};

/// Values deeper than this cannot be parsed later, so the message is rejected early.
const MAX_DEPTH: usize = 127;

pub(crate) fn check(text: &[u8]) -> Result<(), MalformedMessage> {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for byte in text {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            let error = RpcError::parse_error(format!(
                "the message is nested deeper than {MAX_DEPTH} levels"
            ));
            return Err(MalformedMessage::of_nobody(error));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_count_outside_of_strings_only() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(check(nested(MAX_DEPTH).as_bytes()).is_ok());
        let error = check(nested(MAX_DEPTH + 1).as_bytes()).unwrap_err().error;
        assert_eq!(error.code, RpcError::PARSE_ERROR);
        let text = format!(r#"{{"a":"\"{}\\"}}"#, "[".repeat(1000));
        assert!(check(text.as_bytes()).is_ok());
    }
}
