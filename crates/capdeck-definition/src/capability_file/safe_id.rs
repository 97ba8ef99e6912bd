//! Ids that become names of files and folders.

/// Whether an id may become a file's name: it starts with a letter or digit, has at most 63 letters, digits, `.`, `_`
/// and `-`, and no `..`.
pub fn is_safe_id(id: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    id.len() <= 63
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id.chars().all(legal)
        && !id.contains("..")
}

/// What to do about an id that is not safe.
pub(super) const SAFE_ID_FIX: &str =
    "use at most 63 letters, digits, `.`, `_` and `-`, starting with a letter or digit";

#[cfg(test)]
mod tests {
    use super::is_safe_id;

    #[test]
    fn names_that_leave_their_folder_are_refused() {
        for id in ["a", "A.b_c-d", "9lives", &"x".repeat(63)] {
            assert!(is_safe_id(id), "{id}");
        }
        for id in ["", ".a", "-a", "_a", "a/b", "a\\b", "a..b", "..", "a b", "é", &"x".repeat(64)]
        {
            assert!(!is_safe_id(id), "{id}");
        }
    }
}
