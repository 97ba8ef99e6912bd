//! Addresses of entries: `<scheme>://<path>`, with rules under which a path is safe as a file name everywhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Characters of a path, all segments together.
const MAX_PATH_CHARS: usize = 200;
/// Segments of a path.
const MAX_SEGMENTS: usize = 8;
/// Characters of one segment.
const MAX_SEGMENT_CHARS: usize = 64;
/// Characters of a scheme's name.
const MAX_SCHEME_CHARS: usize = 32;
/// Names that Windows gives to devices, with any ending.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
/// Endings of the files below which no folder may have the same name.
const FILE_ENDINGS: [&str; 3] = [".md", ".json", ".txt"];
/// Endings the store uses for itself.
const OWN_ENDINGS: [&str; 2] = [".tmp", ".meta"];

/// The address of one entry, checked.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", inline)]
pub struct EntryUri {
    text: String,
    scheme: usize,
}

/// A text is no address of an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no entry address: {problem}", shown(.text))]
pub struct UriError {
    pub text: String,
    pub problem: UriProblem,
}

/// What is wrong with an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UriProblem {
    #[error("it has no `://`; write it as `docs://architecture`")]
    NoScheme,
    #[error(
        "a scheme is a lower-case letter, then lower-case letters, digits or `-`, at most {MAX_SCHEME_CHARS} in all"
    )]
    BadScheme,
    #[error("the path is empty")]
    EmptyPath,
    #[error("the path has more than {MAX_PATH_CHARS} characters")]
    PathTooLong,
    #[error("the path has more than {MAX_SEGMENTS} segments")]
    TooDeep,
    #[error("a segment between `/` is empty")]
    EmptySegment,
    #[error("`.` and `..` lead elsewhere and are not allowed")]
    Relative,
    #[error("`%` escapes are not decoded; write the characters themselves")]
    Escape,
    #[error("a segment starting with `_` is reserved")]
    Reserved,
    #[error(
        "segments consist of letters, digits, `.`, `_` and `-` and start with a letter or digit; found {0:?}"
    )]
    Character(char),
    #[error("a segment has more than {MAX_SEGMENT_CHARS} characters")]
    SegmentTooLong,
    #[error("a segment must not end with `.`")]
    TrailingDot,
    #[error("`{0}` is the name of a device on some systems")]
    Device(String),
    #[error("segments ending in `{0}` are kept for the store; choose another name")]
    OwnEnding(&'static str),
    #[error(
        "`{0}` in the middle of a path would be a folder named like a file; leave the ending away"
    )]
    FolderEnding(&'static str),
}

impl EntryUri {
    /// Checks an address. It is kept as written: nothing is decoded or normalised, so there is one spelling of each.
    pub fn parse(text: &str) -> Result<Self, UriError> {
        let failed = |problem| UriError { text: text.to_owned(), problem };
        let (scheme, path) = text.split_once("://").ok_or_else(|| failed(UriProblem::NoScheme))?;
        check_scheme(scheme).map_err(failed)?;
        check_path(path).map_err(failed)?;
        Ok(Self { text: text.to_owned(), scheme: scheme.len() })
    }

    /// An address from its two parts.
    pub fn new(scheme: &str, path: &str) -> Result<Self, UriError> {
        Self::parse(&format!("{scheme}://{path}"))
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The part before `://`.
    pub fn scheme(&self) -> &str {
        self.text.get(..self.scheme).unwrap_or_default()
    }

    /// The part after `://`.
    pub fn path(&self) -> &str {
        self.text.get(self.scheme + 3..).unwrap_or_default()
    }

    /// The path in lower case. Two entries may not differ in case alone, so that the files fit on every disk.
    pub fn folded(&self) -> String {
        self.text.to_ascii_lowercase()
    }
}

pub fn check_scheme(scheme: &str) -> Result<(), UriProblem> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let starts_well = scheme.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    if starts_well && scheme.len() <= MAX_SCHEME_CHARS && scheme.bytes().all(is_plain) {
        Ok(())
    } else {
        Err(UriProblem::BadScheme)
    }
}

/// Checks everything after `://`.
pub(crate) fn check_path(path: &str) -> Result<(), UriProblem> {
    if path.is_empty() {
        return Err(UriProblem::EmptyPath);
    }
    if path.chars().count() > MAX_PATH_CHARS {
        return Err(UriProblem::PathTooLong);
    }
    let segments: Vec<&str> = path.split('/').collect();
    if segments.len() > MAX_SEGMENTS {
        return Err(UriProblem::TooDeep);
    }
    for (place, segment) in segments.iter().enumerate() {
        check_segment(segment)?;
        let lower = segment.to_ascii_lowercase();
        if place + 1 < segments.len()
            && let Some(ending) = FILE_ENDINGS.into_iter().find(|ending| lower.ends_with(ending))
        {
            return Err(UriProblem::FolderEnding(ending));
        }
    }
    Ok(())
}

fn check_segment(segment: &str) -> Result<(), UriProblem> {
    if segment.is_empty() {
        return Err(UriProblem::EmptySegment);
    }
    if segment == "." || segment == ".." {
        return Err(UriProblem::Relative);
    }
    if segment.contains('%') {
        return Err(UriProblem::Escape);
    }
    if segment.starts_with('_') {
        return Err(UriProblem::Reserved);
    }
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "._-".contains(*letter);
    if let Some(letter) = segment.chars().find(|letter| !is_plain(letter)) {
        return Err(UriProblem::Character(letter));
    }
    if let Some(first) = segment.chars().next().filter(|first| !first.is_ascii_alphanumeric()) {
        return Err(UriProblem::Character(first));
    }
    if segment.len() > MAX_SEGMENT_CHARS {
        return Err(UriProblem::SegmentTooLong);
    }
    if segment.ends_with('.') {
        return Err(UriProblem::TrailingDot);
    }
    let lower = segment.to_ascii_lowercase();
    if is_device_name(lower.split('.').next().unwrap_or_default()) {
        return Err(UriProblem::Device(segment.to_owned()));
    }
    match OWN_ENDINGS.into_iter().find(|ending| lower.ends_with(ending)) {
        Some(ending) => Err(UriProblem::OwnEnding(ending)),
        None => Ok(()),
    }
}

/// Whether a name without its ending is that of a device on Windows.
pub fn is_device_name(stem: &str) -> bool {
    let numbered = ["com", "lpt"].iter().any(|kind| {
        stem.strip_prefix(kind).is_some_and(|number| {
            number.len() == 1 && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    });
    numbered || DEVICES.contains(&stem)
}

/// The start of a wrong address, without anything that could disturb a terminal.
fn shown(text: &str) -> String {
    const MAX_SHOWN: usize = 120;
    let mut shown: String = text.chars().take(MAX_SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().count() > MAX_SHOWN {
        shown.push('…');
    }
    shown
}

/// How a checked text is shown, read and written.
macro_rules! checked_text {
    ($name:ident) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(&self.text)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&self.text, formatter)
            }
        }

        impl TryFrom<String> for $name {
            type Error = crate::UriError;

            fn try_from(text: String) -> Result<Self, crate::UriError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(checked: $name) -> Self {
                checked.text
            }
        }
    };
}
pub(crate) use checked_text;

checked_text!(EntryUri);

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> UriProblem {
        EntryUri::parse(text).expect_err(text).problem
    }

    #[test]
    fn ordinary_addresses_are_taken_as_they_are() {
        for text in [
            "docs://architecture",
            "docs://api",
            "notes://q2-planning",
            "runbooks://deploy",
            "skills://review-pr",
            "docs://a/b/c/d/e/f/g/h",
            "docs://v1.2_final",
            "api-data://openapi.v3",
            "docs://README.md",
            "docs://console",
        ] {
            let uri = EntryUri::parse(text).unwrap();
            assert_eq!(uri.as_str(), text);
            assert_eq!(format!("{}://{}", uri.scheme(), uri.path()), text);
        }
    }

    #[test]
    fn path_tricks_are_refused_with_their_reason() {
        use UriProblem::*;
        assert_eq!(problem("docs"), NoScheme);
        assert_eq!(problem("docs:/a"), NoScheme);
        assert_eq!(problem("Docs://a"), BadScheme);
        assert_eq!(problem("://a"), BadScheme);
        assert_eq!(problem(&format!("{}://a", "s".repeat(33))), BadScheme);
        assert_eq!(problem("docs://"), EmptyPath);
        assert_eq!(problem("docs:///etc"), EmptySegment);
        assert_eq!(problem("docs://a//b"), EmptySegment);
        assert_eq!(problem("docs://a/"), EmptySegment);
        assert_eq!(problem("docs://../../x"), Relative);
        assert_eq!(problem("docs://a/./b"), Relative);
        assert_eq!(problem("docs://%2e%2e/x"), Escape);
        assert_eq!(problem("docs://_own"), Reserved);
        assert_eq!(problem("docs://.hidden"), Character('.'));
        assert_eq!(problem("docs://-x"), Character('-'));
        assert_eq!(problem("docs://a\\b"), Character('\\'));
        assert_eq!(problem("docs://a\0"), Character('\0'));
        assert_eq!(problem("docs://a b"), Character(' '));
        assert_eq!(problem("docs://a\u{202e}b"), Character('\u{202e}'));
        assert_eq!(problem("docs://e\u{301}"), Character('\u{301}'));
        assert_eq!(problem("docs://a?x"), Character('?'));
        assert_eq!(problem("docs://a."), TrailingDot);
        assert_eq!(problem("docs://CON"), Device("CON".to_owned()));
        assert_eq!(problem("docs://x/lpt1.txt"), Device("lpt1.txt".to_owned()));
        assert_eq!(problem("docs://x.tmp"), OwnEnding(".tmp"));
        assert_eq!(problem("api-data://x.meta"), OwnEnding(".meta"));
        assert_eq!(problem("docs://a.md/b"), FolderEnding(".md"));
        assert_eq!(problem("docs://a/b/c/d/e/f/g/h/i"), TooDeep);
        assert_eq!(problem(&format!("docs://{}", "a".repeat(65))), SegmentTooLong);
        assert_eq!(problem(&format!("docs://{}", "a".repeat(300))), PathTooLong);
    }

    #[test]
    fn a_message_never_carries_what_it_complains_about_raw() {
        let error = EntryUri::parse("docs://a\u{1b}[2J\n").unwrap_err().to_string();
        assert_eq!(
            error,
            "`docs://a\\u{1b}[2J\\n` is no entry address: segments consist of letters, digits, `.`, `_` and `-` and start \
             with a letter or digit; found '\\u{1b}'"
        );
    }
}
