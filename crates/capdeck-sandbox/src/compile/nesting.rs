//! Rejects code nested so deeply that a recursive parser would overflow the stack.

/// Levels of brackets, blocks and templates. Code stays below twenty, generated data below a hundred.
pub(super) const MAX_DEPTH: usize = 400;

/// Consecutive operators that each open a level without a bracket, such as `!` and `-`.
const MAX_SIGNS: usize = 2_000;

/// Returns the position where the nesting exceeds the limit. Strings and comments count as code: the limit is high
/// enough.
pub(super) fn too_deep(code: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut signs = 0_usize;
    for (offset, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        signs = match byte {
            b'!' | b'~' | b'+' | b'-' | b'?' | b':' | b'=' | b'>' | b'*' => signs + 1,
            b' ' | b'\t' | b'\n' | b'\r' => signs,
            _ => 0,
        };
        if depth > MAX_DEPTH || signs > MAX_SIGNS {
            return Some(offset);
        }
    }
    None
}
