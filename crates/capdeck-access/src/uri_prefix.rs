//! Parts of a capsule's address space: prefixes on whole segments, and what a set of allowed and denied ones leaves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entry_uri::{EntryUri, UriError, UriProblem, check_path, check_scheme, checked_text};

/// A whole scheme (`docs://`), an entry with everything below it (`docs://team`), or, with `*` at the end, everything
/// that starts so (`docs://team*`).
///
/// Case does not matter here. No two entries may differ in case alone, so a rule about `docs://secret` that let
/// `docs://Secret` through would reveal, by the refusal to create it, what it hides.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct UriPrefix {
    text: String,
    folded: String,
    is_open: bool,
}

impl UriPrefix {
    pub fn parse(text: &str) -> Result<Self, UriError> {
        let failed = |problem| UriError { text: text.to_owned(), problem };
        let (scheme, path) = text.split_once("://").ok_or_else(|| failed(UriProblem::NoScheme))?;
        check_scheme(scheme).map_err(failed)?;
        let (path, is_open) = match path.strip_suffix('*') {
            Some(start) => (start, true),
            None => (path, false),
        };
        // `docs://team/` and `docs://team` mean the same; an open start may end in the middle of a segment.
        let whole = path.strip_suffix('/').unwrap_or(path);
        if !whole.is_empty() {
            check_path(whole).map_err(failed)?;
        }
        let kept = if is_open { path } else { whole };
        let folded = format!("{scheme}://{kept}").to_ascii_lowercase();
        Ok(Self { text: text.to_owned(), folded, is_open })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn scheme(&self) -> &str {
        self.folded.split("://").next().unwrap_or_default()
    }

    /// Whether the prefix is a scheme with everything in it.
    pub fn is_whole_scheme(&self) -> bool {
        self.folded.ends_with("://")
    }

    /// Whether an entry lies below the prefix or is it.
    pub fn covers(&self, uri: &EntryUri) -> bool {
        self.covers_folded(&uri.folded())
    }

    /// Whether everything below the other prefix is below this one.
    pub fn contains(&self, other: &Self) -> bool {
        let Some(rest) = other.folded.strip_prefix(&self.folded) else { return false };
        self.is_open
            || self.is_whole_scheme()
            || rest.starts_with('/')
            || (rest.is_empty() && !other.is_open)
    }

    /// Whether the two have anything in common. Prefixes are nested or apart, never crossed.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.contains(other) || other.contains(self)
    }

    fn covers_folded(&self, uri: &str) -> bool {
        uri.strip_prefix(&self.folded).is_some_and(|rest| {
            self.is_open || rest.is_empty() || rest.starts_with('/') || self.is_whole_scheme()
        })
    }
}

checked_text!(UriPrefix);

/// What an access reaches: everything that an allowed prefix covers and no denied one does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct EntryScope {
    /// Empty means everything.
    #[serde(default, rename = "uri_prefixes", skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<UriPrefix>,
    #[serde(default, rename = "denied_prefixes", skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<UriPrefix>,
}

impl EntryScope {
    pub fn all() -> Self {
        Self::default()
    }

    pub fn parse<'a>(
        allow: impl IntoIterator<Item = &'a str>,
        deny: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, UriError> {
        Ok(Self {
            allow: allow.into_iter().map(UriPrefix::parse).collect::<Result<_, _>>()?,
            deny: deny.into_iter().map(UriPrefix::parse).collect::<Result<_, _>>()?,
        })
    }

    /// Whether nothing is reached here that the other one does not reach. When in doubt it says no.
    pub fn is_within(&self, other: &Self) -> bool {
        let is_denied = |part: &UriPrefix| self.deny.iter().any(|one| one.contains(part));
        let stays_inside = other.allow.is_empty()
            || (!self.allow.is_empty()
                && self.allow.iter().all(|one| {
                    is_denied(one) || other.allow.iter().any(|outer| outer.contains(one))
                }));
        // What the other one denies must stay out: denied here, too, or away from everything that is allowed.
        let stays_out = other.deny.iter().all(|forbidden| {
            is_denied(forbidden)
                || (!self.allow.is_empty()
                    && self.allow.iter().all(|one| is_denied(one) || !one.overlaps(forbidden)))
        });
        stays_inside && stays_out
    }

    /// What either of the two reaches, without what either of them denies.
    #[must_use]
    pub fn joined(&self, other: &Self) -> Self {
        let both = |one: &[UriPrefix], more: &[UriPrefix]| {
            let added = more.iter().filter(|prefix| !one.contains(prefix));
            one.iter().chain(added).cloned().collect()
        };
        let allow = match self.allow.is_empty() || other.allow.is_empty() {
            true => Vec::new(),
            false => both(&self.allow, &other.allow),
        };
        Self { allow, deny: both(&self.deny, &other.deny) }
    }

    pub fn is_all(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }

    /// Whether an entry is reached. A denied prefix wins over any allowed one.
    pub fn reaches(&self, uri: &EntryUri) -> bool {
        if self.is_all() {
            return true;
        }
        let uri = uri.folded();
        let allowed =
            self.allow.is_empty() || self.allow.iter().any(|prefix| prefix.covers_folded(&uri));
        allowed && !self.deny.iter().any(|prefix| prefix.covers_folded(&uri))
    }

    pub fn reaches_scheme(&self, scheme: &str) -> bool {
        let allowed =
            self.allow.is_empty() || self.allow.iter().any(|prefix| prefix.scheme() == scheme);
        let is_denied = |prefix: &UriPrefix| prefix.scheme() == scheme && prefix.is_whole_scheme();
        allowed && !self.deny.iter().any(is_denied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reaches(allow: &[&str], deny: &[&str], uri: &str) -> bool {
        let scope = EntryScope::parse(allow.iter().copied(), deny.iter().copied()).unwrap();
        scope.reaches(&EntryUri::parse(uri).unwrap())
    }

    #[test]
    fn spec_26_5_deny_beats_a_longer_allow() {
        assert!(!reaches(&["docs://secret/open"], &["docs://secret"], "docs://secret/open"));
        assert!(!reaches(&["docs://"], &["docs://"], "docs://a"));
    }

    #[test]
    fn spec_26_6_prefixes_end_at_segments() {
        assert!(reaches(&["docs://team"], &[], "docs://team"));
        assert!(reaches(&["docs://team"], &[], "docs://team/plan"));
        assert!(reaches(&["docs://team/"], &[], "docs://team/plan"));
        assert!(!reaches(&["docs://team"], &[], "docs://teamwork"));
        assert!(reaches(&["docs://team*"], &[], "docs://teamwork"));
        assert!(reaches(&["docs://"], &[], "docs://teamwork"));
        assert!(!reaches(&["docs://"], &[], "notes://teamwork"));
    }

    #[test]
    fn case_does_not_open_a_way_around() {
        assert!(!reaches(&[], &["docs://secret"], "docs://Secret/a"));
        assert!(!reaches(&[], &["docs://SECRET*"], "docs://secrets"));
    }

    #[test]
    fn bad_prefixes_are_refused() {
        for text in [
            "docs",
            "",
            "://a",
            "docs://..",
            "docs://a//b",
            "docs://a/./b",
            "Docs://a",
            "docs://*a",
            "docs://a/%2e",
            "docs://a b",
            "docs:// ",
            "docs://a\u{7}",
        ] {
            assert!(UriPrefix::parse(text).is_err(), "{text}");
        }
        assert!(UriPrefix::parse("docs://*").is_ok());
    }

    #[test]
    fn a_scheme_is_reached_when_something_in_it_is() {
        let scope = EntryScope::parse(["docs://a", "notes://"], ["notes://"]).unwrap();
        assert!(scope.reaches_scheme("docs"));
        assert!(!scope.reaches_scheme("notes"));
        assert!(!scope.reaches_scheme("config"));
    }

    #[test]
    fn parts_are_nested_or_apart() {
        let prefix = |text: &str| UriPrefix::parse(text).unwrap();
        for (outer, inner, expected) in [
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
            assert_eq!(prefix(outer).contains(&prefix(inner)), expected, "{outer} {inner}");
        }
        assert!(!prefix("docs://team").overlaps(&prefix("docs://teamwork")));
        assert!(prefix("docs://team/a").overlaps(&prefix("docs://team")));
    }
}
