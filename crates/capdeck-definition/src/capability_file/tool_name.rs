//! How tools are named and referred to: `server.tool`, `group.tool` or the bare id, with or without `@` before it.

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
    use super::plain_tool_name;

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
