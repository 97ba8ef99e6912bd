//! Ids that become names of files, and how tools are referred to: `server.tool`, `group.tool` or the bare id, with or
//! without `@` before it.

/// Whether an id may become a file's name: it starts with a letter or digit, has at most 63 letters, digits, `.`, `_`
/// and `-`, and no `..`.
pub fn is_safe_id(id: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    id.len() <= 63
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id.chars().all(legal)
        && !id.contains("..")
}

/// A name with `_` for everything that some clients cannot send. Names mean the same tool when this is the same.
pub fn plain_tool_name(name: &str) -> String {
    let is_sent = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    name.chars().map(|letter| if is_sent(letter) { letter } else { '_' }).collect()
}

/// A reference without its one leading `@`.
pub fn without_at(reference: &str) -> &str {
    reference.strip_prefix('@').unwrap_or(reference)
}

#[cfg(test)]
mod tests {
    use super::{is_safe_id, plain_tool_name};

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

    #[test]
    fn dots_and_underscores_are_one() {
        let is_same = |left: &str, right: &str| plain_tool_name(left) == plain_tool_name(right);
        assert!(is_same("brave.search", "brave_search"));
        assert!(is_same("a.b_c", "a_b.c"));
        assert!(!is_same("brave.search", "brave-search"));
        assert!(!is_same("a.b", "a.b.c"));
        assert!(is_same("files.get/info v2", "files_get_info_v2"));
    }
}
