//! Patterns for names of capabilities and tools: `*` matches any letters, `?` one. Upper and lower case differ.

/// A pattern of a whole name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NamePattern(Box<[char]>);

impl NamePattern {
    /// A pattern from its text. Any text is one; see [`Self::is_valid`] for those that are taken from clients.
    pub fn new(text: &str) -> Self {
        Self(text.chars().collect())
    }

    /// Whether a text may be stored as a pattern.
    pub fn is_valid(text: &str) -> bool {
        (1..=256).contains(&text.len())
            && !text.contains(|letter: char| letter.is_control() || letter.is_whitespace())
    }

    /// Whether a whole name fits. Takes time in proportion to both lengths at worst.
    pub fn matches(&self, name: &str) -> bool {
        let letters: Vec<char> = name.chars().collect();
        self.accepts(&letters, |expected, letter| expected == '?' || expected == letter)
    }

    pub fn is_any(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|letter| *letter == '*')
    }

    /// Whether every name that fits the inner pattern fits this one.
    ///
    /// Never true when it should be false. It may be false for patterns that say the same in different words (`?*` and
    /// `*?`): then an approval has to repeat the words of the request.
    pub fn covers(&self, inner: &Self) -> bool {
        // The inner pattern is read as a name in which `*` and `?` are letters that only a wildcard of this one takes.
        self.accepts(&inner.0, |expected, letter| match expected {
            '?' => letter != '*',
            _ => expected == letter && !matches!(letter, '*' | '?'),
        })
    }

    fn accepts(&self, letters: &[char], fits: impl Fn(char, char) -> bool) -> bool {
        let (mut at, mut read) = (0, 0);
        // Where to go on when the letters after the last `*` turn out not to fit.
        let mut retry: Option<(usize, usize)> = None;
        while let Some(letter) = letters.get(read) {
            match self.0.get(at) {
                Some('*') => {
                    retry = Some((at + 1, read));
                    at += 1;
                }
                Some(expected) if fits(*expected, *letter) => {
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
        self.0.iter().skip(at).all(|rest| *rest == '*')
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn covers(outer: &str, inner: &str) -> bool {
        NamePattern::new(outer).covers(&NamePattern::new(inner))
    }

    /// Whether a name fits, the slow and obvious way.
    fn fits(pattern: &[char], name: &[char]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some(('*', rest)), None) => fits(rest, name),
            (Some(('*', rest)), Some((_, shorter))) => fits(rest, name) || fits(pattern, shorter),
            (Some(('?', rest)), Some((_, shorter))) => fits(rest, shorter),
            (Some((expected, rest)), Some((letter, shorter))) => {
                expected == letter && fits(rest, shorter)
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
            prop_assert_eq!(
                NamePattern::new(&inner).matches(&name),
                fits(&letters(&inner), &letters(&name))
            );
            if covers(&outer, &inner) && fits(&letters(&inner), &letters(&name)) {
                prop_assert!(fits(&letters(&outer), &letters(&name)));
            }
        }
    }
}
