//! A part of a capsule's address space, compared with others. The capsule itself decides which entries lie in it; here it
//! only matters whether one part lies in another.

/// A whole scheme (`docs://`), an entry with everything below it (`docs://team`), or, with `*` at the end, everything that
/// starts so (`docs://team*`). Case does not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UriPrefix {
    folded: String,
    is_open: bool,
}

impl UriPrefix {
    const LONGEST: usize = 1024;

    /// Reads a prefix; `None` when it is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (scheme, path) = text.split_once("://")?;
        let mut letters = scheme.bytes();
        let starts_well = letters.next().is_some_and(|first| first.is_ascii_lowercase());
        let goes_on_well = letters
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-');
        if !starts_well || !goes_on_well || text.len() > Self::LONGEST {
            return None;
        }
        let (path, is_open) = match path.strip_suffix('*') {
            Some(start) => (start, true),
            None => (path, false),
        };
        // `docs://team/` and `docs://team` mean the same; an open start may end in the middle of a segment.
        let whole = path.strip_suffix('/').unwrap_or(path);
        let is_bad = |segment: &str| {
            matches!(segment, "" | "." | "..")
                || segment.contains(|letter: char| {
                    letter.is_control() || letter.is_whitespace() || "%\\*?#".contains(letter)
                })
        };
        if !whole.is_empty() && whole.split('/').any(is_bad) {
            return None;
        }
        let kept = if is_open { path } else { whole };
        Some(Self { folded: format!("{scheme}://{kept}").to_ascii_lowercase(), is_open })
    }

    /// Whether everything in the other part is in this one.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let Some(rest) = other.folded.strip_prefix(&self.folded) else { return false };
        self.is_open
            || self.folded.ends_with("://")
            || rest.starts_with('/')
            || (rest.is_empty() && !other.is_open)
    }

    /// Whether the parts have anything in common. Parts are nested or apart, never crossed.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.covers(other) || other.covers(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> UriPrefix {
        UriPrefix::parse(text).unwrap()
    }

    #[test]
    fn parts_are_nested_or_apart() {
        for (outer, inner, covers) in [
            ("docs://", "docs://team", true),
            ("docs://", "docs://*", true),
            ("docs://*", "docs://", true),
            ("docs://team", "docs://team/plan", true),
            ("docs://team/", "docs://team", true),
            ("docs://team", "docs://Team", true),
            ("docs://team", "docs://teamwork", false),
            ("docs://team", "docs://team*", false),
            ("docs://team*", "docs://teamwork", true),
            ("docs://team*", "docs://team", true),
            ("docs://team", "docs://team/*", true),
            ("docs://team", "docs://", false),
            ("docs://", "notes://a", false),
        ] {
            assert_eq!(prefix(outer).covers(&prefix(inner)), covers, "{outer} {inner}");
        }
        assert!(!prefix("docs://team").overlaps(&prefix("docs://teamwork")));
        assert!(prefix("docs://team/a").overlaps(&prefix("docs://team")));
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        for text in [
            "",
            "docs",
            "://a",
            "Docs://a",
            "docs://..",
            "docs://a//b",
            "docs://a/./b",
            "docs://a%2e",
            "docs://a b",
            "docs://*a",
            "docs://a\u{7}",
            "docs:// ",
        ] {
            assert_eq!(UriPrefix::parse(text), None, "{text}");
        }
        assert_eq!(UriPrefix::parse(&format!("docs://{}", "a".repeat(2000))), None);
    }
}
