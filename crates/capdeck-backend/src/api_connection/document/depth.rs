//! Refuses JSON that is nested too deep before anything tries to read it.

use crate::{CallError, ErrorCode};

/// The deepest nesting of a description. Readers go down once for each level, and the stack is not endless.
const MAX_DEPTH: usize = 128;

/// Looks at brackets only, and only at what begins as JSON does. Readers of other formats have limits of their own.
pub(super) fn check_depth(document: &[u8]) -> Result<(), CallError> {
    if !matches!(document.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return Ok(());
    }
    let mut depth = 0_usize;
    let mut bytes = document.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                while let Some(inner) = bytes.next() {
                    match inner {
                        b'"' => break,
                        b'\\' => {
                            bytes.next();
                        }
                        _ => {}
                    }
                }
            }
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(too_deep());
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

fn too_deep() -> CallError {
    CallError::new(
        ErrorCode::ContentTooLarge,
        format!("the description is nested deeper than {MAX_DEPTH} levels"),
    )
    .hint("this is not what descriptions look like; check where it comes from")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nesting_counts() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for fine in [
            nested(128),
            format!("[{}]", "[],".repeat(5_000)),
            format!("{{\"a\": \"{}\\\"{}\"}}", "[".repeat(500), "{".repeat(500)),
            format!("type: {}", nested(500)),
            String::new(),
        ] {
            assert!(check_depth(fine.as_bytes()).is_ok(), "{fine}");
        }
        for deep in [nested(129), format!("  {{\"a\": {}}}", nested(128)), "[".repeat(1_000_000)] {
            let error = check_depth(deep.as_bytes()).unwrap_err();
            assert_eq!(error.message, "the description is nested deeper than 128 levels");
        }
    }
}
