//! Finds in a body whether it cites code: file paths and signatures.

use crate::entry::{PromotionReason, RiskClass};

/// Anchors kept of one entry.
const MAX_ANCHORS: usize = 100;
/// Characters of one anchor.
const MAX_ANCHOR_LENGTH: usize = 200;

/// Endings of files that are part of a project.
const CODE_FILE_EXTENSIONS: [&str; 43] = [
    "bash", "c", "cc", "cfg", "cjs", "conf", "cpp", "cs", "css", "dart", "ex", "go", "h", "hpp",
    "html", "ini", "ipynb", "java", "js", "json", "jsx", "kt", "lua", "md", "mjs", "php", "proto",
    "py", "rb", "rs", "scala", "sh", "sql", "svelte", "swift", "tf", "toml", "ts", "tsx", "vue",
    "yaml", "yml", "zig",
];
const FUNCTION_KEYWORDS: [&str; 5] = ["fn", "def", "func", "function", "fun"];
const TYPE_KEYWORDS: [&str; 6] = ["class", "interface", "struct", "impl", "trait", "enum"];

/// The class of an entry and what it cites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RiskAssessment {
    pub(crate) class: RiskClass,
    pub(crate) reason: Option<PromotionReason>,
    pub(crate) anchors: Vec<String>,
    /// The given class is structural, and yet the body cites code.
    pub(crate) contradicted: bool,
}

/// Classifies a body. A class that the writer gives is kept; files the writer names are added to those found.
pub(crate) fn classify(body: &str, given: Option<RiskClass>, named: &[String]) -> RiskAssessment {
    let mut anchors: Vec<String> = Vec::new();
    let named =
        named.iter().map(|anchor| super::one_line(anchor)).filter(|anchor| !anchor.is_empty());
    for anchor in named.chain(find_anchors(body)) {
        if anchors.len() < MAX_ANCHORS
            && anchor.len() <= MAX_ANCHOR_LENGTH
            && !anchors.contains(&anchor)
        {
            anchors.push(anchor);
        }
    }
    let found = if !anchors.is_empty() {
        Some(PromotionReason::FileAnchor)
    } else if body.lines().any(has_signature) {
        Some(PromotionReason::FunctionSignature)
    } else {
        None
    };
    let (class, reason) = match (given, found) {
        (Some(class), _) => (class, None),
        (None, Some(reason)) => (RiskClass::SpecificCode, Some(reason)),
        (None, None) => (RiskClass::Structural, None),
    };
    let contradicted = given == Some(RiskClass::Structural) && found.is_some();
    RiskAssessment { class, reason, anchors, contradicted }
}

fn find_anchors(body: &str) -> impl Iterator<Item = String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "._-/:@+~".contains(letter);
    body.split(move |letter| !is_part(letter)).filter_map(anchor)
}

/// The path in a run of path characters: `src/a.ts`, `./src/a.ts:12:4`, `a.ts:12`.
fn anchor(run: &str) -> Option<String> {
    if run.contains("//") {
        return None;
    }
    let run = run.trim_end_matches(['.', ':', '-', '/', '~']);
    let mut parts = run.split(':');
    let path = parts.next()?;
    let line = parts.next().filter(|part| !part.is_empty());
    let has_line = line.is_some_and(|line| line.bytes().all(|byte| byte.is_ascii_digit()));
    if line.is_some() && !has_line {
        return None;
    }
    let path = path.strip_prefix("./").unwrap_or(path);
    let (stem, ending) = path.rsplit_once('.')?;
    let is_named = stem
        .chars()
        .next_back()
        .is_some_and(|last| last.is_ascii_alphanumeric() || "_-]".contains(last));
    let is_file = is_named && CODE_FILE_EXTENSIONS.contains(&ending);
    (is_file && (path.contains('/') || has_line)).then(|| path.to_owned())
}

#[derive(Debug, PartialEq)]
enum CodeToken<'a> {
    Word(&'a str),
    Sign(char),
}

/// Whether a line declares a function or a type. Prose about functions and classes does not.
fn has_signature(line: &str) -> bool {
    let tokens = tokens(line);
    let starts_list =
        |token: Option<&CodeToken<'_>>| matches!(token, Some(CodeToken::Sign('(' | '<' | '[')));
    for (place, token) in tokens.iter().enumerate() {
        let after = |distance: usize| tokens.get(place + distance);
        match token {
            CodeToken::Word(word) if FUNCTION_KEYWORDS.contains(word) => {
                if matches!(after(1), Some(CodeToken::Word(_))) && starts_list(after(2)) {
                    return true;
                }
            }
            CodeToken::Word(word) if TYPE_KEYWORDS.contains(word) => {
                let is_name = matches!(after(1), Some(CodeToken::Word(name)) if name.starts_with(char::is_uppercase));
                let goes_on =
                    matches!(after(2), Some(CodeToken::Sign('{' | '(' | ':' | '<' | ';')))
                        || matches!(
                            after(2),
                            Some(CodeToken::Word("extends" | "implements" | "for" | "where"))
                        );
                if is_name && goes_on {
                    return true;
                }
            }
            CodeToken::Sign('(') => {
                let is_call = matches!(
                    place.checked_sub(1).and_then(|before| tokens.get(before)),
                    Some(CodeToken::Word(_))
                );
                if is_call && ends_like_a_signature(tokens.get(place..).unwrap_or_default()) {
                    return true;
                }
            }
            CodeToken::Word(_) | CodeToken::Sign(_) => {}
        }
    }
    false
}

/// `(…)` followed by `=>`, `->` or `{`.
fn ends_like_a_signature(tokens: &[CodeToken<'_>]) -> bool {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate() {
        match token {
            CodeToken::Sign('(') => depth += 1,
            CodeToken::Sign(')') => depth = depth.saturating_sub(1),
            CodeToken::Word(_) | CodeToken::Sign(_) => continue,
        }
        if depth == 0 {
            return matches!(
                (tokens.get(place + 1), tokens.get(place + 2)),
                (Some(CodeToken::Sign('{')), _)
                    | (Some(CodeToken::Sign('=' | '-')), Some(CodeToken::Sign('>')))
            );
        }
    }
    false
}

fn tokens(line: &str) -> Vec<CodeToken<'_>> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let length = if is_word(first) {
            rest.find(|letter| !is_word(letter)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let Some((token, after)) = rest.split_at_checked(length) else { break };
        if is_word(first) {
            found.push(CodeToken::Word(token));
        } else if !first.is_whitespace() {
            found.push(CodeToken::Sign(first));
        }
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchors(body: &str) -> Vec<String> {
        classify(body, None, &[]).anchors
    }

    #[test]
    fn spec_26_9_citing_a_file_makes_specific_code_and_prose_is_structural() {
        let cited = classify("see src/a.ts for it", None, &[]);
        assert_eq!(
            (cited.class, cited.reason),
            (RiskClass::SpecificCode, Some(PromotionReason::FileAnchor))
        );
        for prose in [
            "We decided to keep things simple.",
            "The class of problems, e.g. and/or questions, version 1.2; see https://example.com/src/a.ts.",
            "a function of time; the interface between teams; struct by lightning (really)",
            "either/or, 3/4, TCP/IP, docs://a/b.md",
        ] {
            let found = classify(prose, None, &[]);
            assert_eq!((found.class, found.reason), (RiskClass::Structural, None), "{prose}");
        }
    }

    #[test]
    fn paths_are_found_where_people_write_them() {
        assert_eq!(
            anchors("`./src/server/auth.ts:12`, (src/b.py) and main.rs:7."),
            ["src/server/auth.ts", "src/b.py", "main.rs"]
        );
        assert_eq!(anchors("../up/x.go src/a.ts src/a.ts"), ["../up/x.go", "src/a.ts"]);
        assert_eq!(
            anchors("main.rs alone, http://h/a.ts, x/y, .ts, a/.json"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn signatures_are_found() {
        for line in [
            "fn open(path: &Path) -> Self",
            "def handle(self, request):",
            "export function main<T>(x: T)",
            "class Store extends Base",
            "impl Store for File {",
            "login(user, check(x)) => Session",
        ] {
            let found = classify(line, None, &[]);
            assert_eq!(found.reason, Some(PromotionReason::FunctionSignature), "{line}");
        }
    }

    #[test]
    fn a_given_class_stands_but_is_remarked_on() {
        let found = classify("see src/a.ts", Some(RiskClass::Structural), &["lib/b.rs".to_owned()]);
        assert_eq!(
            (found.class, found.reason, found.contradicted),
            (RiskClass::Structural, None, true)
        );
        assert_eq!(found.anchors, ["lib/b.rs", "src/a.ts"]);
        let many: String = (0..500).map(|number| format!("src/f{number}.rs ")).collect();
        assert_eq!(anchors(&many).len(), MAX_ANCHORS);
    }
}
