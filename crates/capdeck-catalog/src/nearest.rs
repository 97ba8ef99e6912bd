//! The name somebody probably meant.

/// Below this similarity a suggestion misleads more than it helps.
const LEAST_SIMILAR: f64 = 0.6;

/// Letters of a name that are compared.
const LONGEST: usize = 128;

/// The candidate most like `wanted`, if any is close. The first of equals wins.
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody mistypes a page; comparing one with every name would only cost time.
    let wanted = plain(wanted);
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let similarity = similarity(&wanted, &plain(candidate));
        if similarity >= LEAST_SIMILAR && best.is_none_or(|(most, _)| similarity > most) {
            best = Some((similarity, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Spelling differences that people make without noticing: case and separators.
fn plain(name: &str) -> String {
    name.chars()
        .take(LONGEST)
        .filter(|letter| letter.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

fn similarity(wanted: &str, candidate: &str) -> f64 {
    if wanted.is_empty() || candidate.is_empty() {
        return 0.0;
    }
    let edits = strsim::normalized_damerau_levenshtein(wanted, candidate);
    // `issue` for `create_issue`: a name inside the other one is a fair guess even at a distance.
    let inside = wanted.len() >= 4 && candidate.contains(wanted)
        || candidate.len() >= 4 && wanted.contains(candidate);
    if inside { edits.max(LEAST_SIMILAR + edits / 10.0) } else { edits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_suggested_and_far_ones_are_not() {
        let names = ["create_issue", "list_issues", "close_issue", "ping"];
        for (wanted, expected) in [
            ("creat_issue", Some("create_issue")),
            ("createIssue", Some("create_issue")),
            ("list-issue", Some("list_issues")),
            ("pnig", Some("ping")),
            ("pingg", Some("ping")),
            ("deploy", None),
            ("", None),
        ] {
            assert_eq!(nearest(wanted, names), expected, "{wanted}");
        }
    }
}
