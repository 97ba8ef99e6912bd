//! How tools are named and referred to: `server.tool`, `group.tool` or the bare id, with or without `@` before it.

/// Whether two names mean the same tool. Some clients can send only letters, digits, `_` and `-`, so `_` stands for
/// everything else.
pub fn same_tool_name(left: &str, right: &str) -> bool {
    left == right || left.chars().map(plain).eq(right.chars().map(plain))
}

/// A name with `_` for everything that some clients cannot send.
pub fn plain_tool_name(name: &str) -> String {
    name.chars().map(plain).collect()
}

fn plain(c: char) -> char {
    if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }
}

/// A reference without its one leading `@`.
pub fn without_at(reference: &str) -> &str {
    reference.strip_prefix('@').unwrap_or(reference)
}

/// What a reference means: the exact qualified name first, then the bare id, then either with `_` for a dot.
pub fn find_tool<'a, T>(
    tools: &'a [T],
    qualified: impl Fn(&T) -> String,
    id: impl Fn(&T) -> &str,
    reference: &str,
) -> Option<&'a T> {
    let wanted = without_at(reference);
    let first = |fits: &dyn Fn(&T) -> bool| tools.iter().find(|tool| fits(tool));
    first(&|tool| qualified(tool) == wanted)
        .or_else(|| first(&|tool| id(tool) == wanted))
        .or_else(|| first(&|tool| same_tool_name(&qualified(tool), wanted)))
        .or_else(|| first(&|tool| same_tool_name(id(tool), wanted)))
}

#[cfg(test)]
mod tests {
    use super::{find_tool, same_tool_name};

    #[test]
    fn dots_and_underscores_are_one() {
        assert!(same_tool_name("brave.search", "brave_search"));
        assert!(same_tool_name("a.b_c", "a_b.c"));
        assert!(!same_tool_name("brave.search", "brave-search"));
        assert!(!same_tool_name("a.b", "a.b.c"));
        assert!(same_tool_name("files.get/info v2", "files_get_info_v2"));
    }

    #[test]
    fn a_reference_is_a_qualified_name_or_a_bare_id() {
        let tools = [("x", "search"), ("brave", "search"), ("", "deploy"), ("git", "log.all")];
        let find = |reference: &str| {
            let qualified = |tool: &(&str, &str)| match tool.0 {
                "" => tool.1.to_owned(),
                group => format!("{group}.{}", tool.1),
            };
            find_tool(&tools, qualified, |tool| tool.1, reference).copied()
        };
        for reference in ["@brave.search", "brave.search", "brave_search", "@brave_search"] {
            assert_eq!(find(reference), Some(("brave", "search")), "{reference}");
        }
        assert_eq!(find("search"), Some(("x", "search")));
        assert_eq!(find("@deploy"), Some(("", "deploy")));
        assert_eq!(find("git.log.all"), Some(("git", "log.all")));
        assert_eq!(find("log_all"), Some(("git", "log.all")));
        for reference in ["@@deploy", "brave", "", "@", "brave.", "Deploy"] {
            assert_eq!(find(reference), None, "{reference}");
        }
    }
}
