//! The nearest known name to a mistyped one.

/// How many candidates are compared. A file with thousands of names and thousands of typing errors gets its messages all the
/// same, some without a suggestion.
pub(crate) const MAX_CANDIDATES: usize = 256;
/// How far a name may be from the one that is meant.
const MAX_DISTANCE: usize = 3;

/// The candidate most like `written`, if one is close enough to be meant.
pub(crate) fn nearest<'a>(
    written: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Scoring is quadratic in length, and no key is this long.
    if written.len() > 64 {
        return None;
    }
    let normal = |text: &str| text.replace(['_', '-'], "").to_ascii_lowercase();
    let wanted = normal(written);
    let length = wanted.chars().count();
    candidates
        .into_iter()
        .take(MAX_CANDIDATES)
        .map(|candidate| (normal(candidate), candidate))
        // Texts are at least as far apart as their lengths.
        .filter(|(normal, _)| normal.chars().count().abs_diff(length) <= MAX_DISTANCE)
        .map(|(normal, candidate)| (strsim::damerau_levenshtein(&wanted, &normal), candidate))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, candidate)| *distance <= (candidate.len() / 3).clamp(1, MAX_DISTANCE))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_typos_and_other_spellings_only() {
        let keys = ["command", "startupTimeoutMs", "url", "env"];
        assert_eq!(nearest("comand", keys), Some("command"));
        assert_eq!(nearest("startup_timeout_ms", keys), Some("startupTimeoutMs"));
        assert_eq!(nearest("URL", keys), Some("url"));
        assert_eq!(nearest("banana", keys), None);
        assert_eq!(nearest(&"x".repeat(1000), keys), None);
    }
}
