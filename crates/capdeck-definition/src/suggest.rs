//! The known name nearest to a mistyped one.

/// How many names of a file are compared. A file with thousands of names and thousands of typing errors gets its messages
/// all the same, some without a suggestion.
pub(crate) const MAX_CANDIDATES: usize = 256;

/// How far a key may be from the one that is meant.
const MAX_DISTANCE: usize = 3;

/// Below this similarity a suggestion misleads more than it helps.
const MIN_SIMILARITY: f64 = 0.6;

/// Letters of a name that are compared.
const MAX_COMPARED_LETTERS: usize = 128;

/// The key of a file that was meant. Stricter than [`nearest`]: a key that is only contained in another one, or shares
/// half of its letters, is usually another key.
pub(crate) fn nearest_key<'a>(
    written: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Scoring is quadratic in length, and no key is this long.
    if written.len() > 64 {
        return None;
    }
    let normal = |text: &str| text.replace(['_', '-'], "").to_ascii_lowercase();
    let name = normal(written);
    let length = name.chars().count();
    candidates
        .into_iter()
        .take(MAX_CANDIDATES)
        .map(|candidate| (normal(candidate), candidate))
        // Texts are at least as far apart as their lengths.
        .filter(|(normal, _)| normal.chars().count().abs_diff(length) <= MAX_DISTANCE)
        .map(|(normal, candidate)| (strsim::damerau_levenshtein(&name, &normal), candidate))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, candidate)| *distance <= (candidate.len() / 3).clamp(1, MAX_DISTANCE))
        .map(|(_, candidate)| candidate)
}

/// What to do about a mistyped key: write the one that was meant, else `otherwise`.
pub(crate) fn did_you_mean<'a>(
    written: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    otherwise: impl Into<String>,
) -> String {
    match nearest_key(written, candidates) {
        Some(near) => format!("did you mean `{near}`?"),
        None => otherwise.into(),
    }
}

/// Names as a message lists them.
pub(crate) fn quoted_list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The candidate most like `name`, if any is close. The first of equals wins.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = plain(name);
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let similarity = similarity(&name, &plain(candidate));
        if similarity >= MIN_SIMILARITY && best.is_none_or(|(most, _)| similarity > most) {
            best = Some((similarity, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Spelling differences that people make without noticing: case and separators.
fn plain(name: &str) -> String {
    name.chars()
        .take(MAX_COMPARED_LETTERS)
        .filter(|letter| letter.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

fn similarity(name: &str, candidate: &str) -> f64 {
    if name.is_empty() || candidate.is_empty() {
        return 0.0;
    }
    let edits = strsim::normalized_damerau_levenshtein(name, candidate);
    // `issue` for `create_issue`: a name inside the other one is a fair guess even at a distance.
    let inside = name.len() >= 4 && candidate.contains(name)
        || candidate.len() >= 4 && name.contains(candidate);
    if inside { edits.max(MIN_SIMILARITY + edits / 10.0) } else { edits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_suggested_and_far_ones_are_not() {
        let names = ["create_issue", "list_issues", "close_issue", "ping"];
        for (name, expected) in [
            ("creat_issue", Some("create_issue")),
            ("createIssue", Some("create_issue")),
            ("list-issue", Some("list_issues")),
            ("pnig", Some("ping")),
            ("pingg", Some("ping")),
            ("deploy", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, names), expected, "{name}");
        }
    }

    #[test]
    fn finds_typos_and_other_spellings_only() {
        let keys = ["command", "startupTimeoutMs", "url", "env"];
        assert_eq!(nearest_key("comand", keys), Some("command"));
        assert_eq!(nearest_key("startup_timeout_ms", keys), Some("startupTimeoutMs"));
        assert_eq!(nearest_key("URL", keys), Some("url"));
        assert_eq!(nearest_key("banana", keys), None);
        assert_eq!(nearest_key(&"x".repeat(1000), keys), None);
    }
}
