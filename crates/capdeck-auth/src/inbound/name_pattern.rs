//! Patterns for names of capabilities and tools, compared with each other. Which names fit is decided where names are; here
//! it only matters whether one pattern lets through more than another.

/// Whether every name that fits the inner pattern fits the outer one. `*` stands for any letters, `?` for one.
///
/// Never true when it should be false. It may be false for patterns that say the same in different words (`?*` and `*?`):
/// then an approval has to repeat the words of the request.
pub(super) fn covers(outer: &str, inner: &str) -> bool {
    let outer: Vec<char> = outer.chars().collect();
    let inner: Vec<char> = inner.chars().collect();
    // The inner pattern is read as a name in which `*` and `?` are letters that only a wildcard of the outer one takes.
    let (mut at, mut read) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while let Some(letter) = inner.get(read) {
        match outer.get(at) {
            Some('*') => {
                retry = Some((at + 1, read));
                at += 1;
            }
            Some('?') if *letter != '*' => {
                at += 1;
                read += 1;
            }
            Some(wanted) if wanted == letter && !matches!(letter, '*' | '?') => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((after_star, taken)) = retry else { return false };
                retry = Some((after_star, taken + 1));
                (at, read) = (after_star, taken + 1);
            }
        }
    }
    outer.iter().skip(at).all(|rest| *rest == '*')
}

/// Whether a text can be a pattern.
pub(super) fn is_pattern(text: &str) -> bool {
    (1..=256).contains(&text.len()) && !text.contains(|c: char| c.is_control() || c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether a name fits, the slow and obvious way.
    fn fits(pattern: &[char], name: &[char]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some(('*', rest)), None) => fits(rest, name),
            (Some(('*', rest)), Some((_, shorter))) => fits(rest, name) || fits(pattern, shorter),
            (Some(('?', rest)), Some((_, shorter))) => fits(rest, shorter),
            (Some((wanted, rest)), Some((letter, shorter))) => {
                wanted == letter && fits(rest, shorter)
            }
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    #[test]
    fn a_pattern_covers_what_is_narrower() {
        for (outer, inner, expected) in [
            ("*", "git/*", true),
            ("git/*", "*", false),
            ("git/*", "git/read_*", true),
            ("git/read_?", "git/read_*", false),
            ("a*c", "a?c", true),
            ("a?c", "abc", true),
            ("abc", "a?c", false),
            ("**", "*", true),
            ("", "", true),
        ] {
            assert_eq!(covers(outer, inner), expected, "{outer} {inner}");
        }
    }

    proptest! {
        #[test]
        fn item_20_a_covered_pattern_never_lets_more_through(
            outer in "[ab*?]{0,6}", inner in "[ab*?]{0,6}", name in "[abc]{0,6}",
        ) {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            if covers(&outer, &inner) && fits(&letters(&inner), &letters(&name)) {
                prop_assert!(fits(&letters(&outer), &letters(&name)));
            }
        }
    }
}
