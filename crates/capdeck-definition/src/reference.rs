//! References to values that are known only at connect time: `${NAME}`, `${NAME:-default}`, `$env:NAME`,
//! `${vault:NAME}` and `$vault:NAME`. Parsing only recognises them; it never resolves one.

/// Whether a text holds a reference, so that it cannot be judged as a URL or a path yet.
pub(crate) fn holds_reference(text: &str) -> bool {
    text.split('$').skip(1).any(starts_reference)
}

/// Judges what follows a `$`.
fn starts_reference(rest: &str) -> bool {
    let name_ahead = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if let Some(inner) = rest.strip_prefix('{') {
        let Some((inner, _)) = inner.split_once('}') else { return false };
        let (name, _default) = inner.split_once(":-").unwrap_or((inner, ""));
        let name = name.strip_prefix("vault:").unwrap_or(name);
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
        return name_ahead(name) && name.chars().all(legal);
    }
    ["env:", "vault:"].iter().any(|prefix| rest.strip_prefix(prefix).is_some_and(name_ahead))
}

#[cfg(test)]
mod tests {
    use super::holds_reference;

    #[test]
    fn tells_references_from_other_dollars() {
        for text in ["${X}", "a/${X_1:-y}/b", "$env:HOME", "${vault:KEY}", "x$vault:KEY", "$$env:A"]
        {
            assert!(holds_reference(text), "{text}");
        }
        for text in
            ["", "$", "$discovery/rest", "${}", "${1X}", "${X", "$env:", "$input.name", "US$5"]
        {
            assert!(!holds_reference(text), "{text}");
        }
    }
}
