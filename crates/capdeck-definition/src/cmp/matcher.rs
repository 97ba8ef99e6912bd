//! Which intent a person's words mean.
//!
//! The format's own matcher gives a pattern that fits 1.0, however it fits, and a tool whose summary shares a word 0.5; the
//! best wins and several best are "ambiguous". Here the same things fit, so that one best stays the answer, and several are
//! ranked by how well they fit. What is still level is told, never guessed.

use regex::{Regex, RegexBuilder};
use serde::Serialize;

use crate::CmpTool;

/// What starts a pattern that is a regular expression.
pub(crate) const EXPRESSION: &str = "re:";
/// A compiled expression larger than this is no phrase.
const MAX_COMPILED: usize = 1 << 20;

/// One tool that may be meant.
#[derive(Debug, Clone, Copy)]
pub struct CmpCandidate<'a> {
    /// The capability's id.
    pub capability: &'a str,
    pub summary: &'a str,
    pub tool: &'a CmpTool,
}

/// How words fit, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchKind {
    /// A word is in the tool's summary; no intent is meant in particular.
    Summary,
    /// At least half of a pattern's words are there.
    Words,
    /// A pattern is part of the words, or they of it.
    Substring,
    /// A regular expression finds something.
    Expression,
    /// The words are the pattern.
    Exact,
}

/// An intent that fits, or a tool whose summary does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IntentHit {
    pub capability: String,
    /// The intent, by its tool name; none when only the summary fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    pub kind: MatchKind,
    /// The pattern that fits best.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// What words mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntentMatch {
    Nothing,
    One(IntentHit),
    /// The best are level.
    Several(Vec<IntentHit>),
}

/// Finds the intent that words mean among tools, in their order.
pub fn match_intent(words: &str, candidates: &[CmpCandidate<'_>]) -> IntentMatch {
    let said = Said::new(words);
    if said.text.is_empty() {
        return IntentMatch::Nothing;
    }
    let mut hits: Vec<(Fit, IntentHit)> = Vec::new();
    for candidate in candidates {
        for (name, intent) in &candidate.tool.intents {
            let fitting = intent
                .patterns
                .iter()
                .filter_map(|pattern| said.fits(pattern).map(|fit| (fit, pattern)));
            // The first of several equally good patterns is shown.
            let best = fitting.reduce(|best, next| if next.0 > best.0 { next } else { best });
            hits.extend(best.map(|(fit, pattern)| {
                let hit = IntentHit {
                    capability: candidate.capability.to_owned(),
                    intent: Some(name.clone()),
                    kind: fit.kind,
                    pattern: Some(pattern.clone()),
                };
                (fit, hit)
            }));
        }
    }
    if hits.is_empty() {
        let fits = candidates.iter().filter(|candidate| said.shares_word(candidate.summary));
        hits.extend(fits.map(|candidate| {
            let hit = IntentHit {
                capability: candidate.capability.to_owned(),
                intent: None,
                kind: MatchKind::Summary,
                pattern: None,
            };
            (Fit { kind: MatchKind::Summary, words: 0, length: 0 }, hit)
        }));
    }
    let best = hits.iter().map(|(fit, _)| *fit).max();
    let level = hits.into_iter().filter(|(fit, _)| Some(*fit) == best);
    let mut level: Vec<IntentHit> = level.map(|(_, hit)| hit).collect();
    match level.len() {
        0 | 1 => level.pop().map_or(IntentMatch::Nothing, IntentMatch::One),
        _ => IntentMatch::Several(level),
    }
}

/// The expression a pattern holds, compiled; `None` for a plain phrase.
pub(crate) fn expression(pattern: &str) -> Option<Result<Regex, String>> {
    let text = pattern.strip_prefix(EXPRESSION)?;
    let built = RegexBuilder::new(text).case_insensitive(true).size_limit(MAX_COMPILED).build();
    Some(built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
        // The first lines draw the expression; the last says what is wrong with it.
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default().trim();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
    }))
}

/// How well a pattern fits, compared from the first field to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    kind: MatchKind,
    /// How many of its words were said, where only words fit.
    words: usize,
    /// Its length: a longer pattern says more.
    length: usize,
}

/// What was said, in lower case.
struct Said {
    text: String,
}

impl Said {
    fn new(words: &str) -> Self {
        Self { text: words.to_lowercase().trim().to_owned() }
    }

    fn fits(&self, pattern: &str) -> Option<Fit> {
        let fit = |kind, words| Some(Fit { kind, words, length: pattern.chars().count() });
        if let Some(expression) = expression(pattern) {
            let found = expression.is_ok_and(|expression| expression.is_match(&self.text));
            return if found { fit(MatchKind::Expression, 0) } else { None };
        }
        let lower = pattern.to_lowercase();
        if lower.trim() == self.text {
            return fit(MatchKind::Exact, 0);
        }
        if self.text.contains(&lower) || lower.contains(&self.text) {
            return fit(MatchKind::Substring, 0);
        }
        let all: Vec<&str> = words(&lower).collect();
        let shared = all.iter().filter(|word| self.has(word)).count();
        if shared * 2 >= all.len() { fit(MatchKind::Words, shared) } else { None }
    }

    fn shares_word(&self, summary: &str) -> bool {
        let summary = summary.to_lowercase();
        words(&summary).any(|word| self.has(word))
    }

    /// Whether a word that is long enough to mean something was said.
    fn has(&self, word: &str) -> bool {
        word.len() > 2 && words(&self.text).any(|said| said == word)
    }
}

/// The words of a text, as the format splits it: everything but ASCII letters, digits and `_` stands between words, and
/// what is cut at an end leaves an empty one.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let inner = text.trim_matches(|letter| !is_word(letter));
    let cut_before = text.starts_with(|letter| !is_word(letter));
    let cut_after = text.ends_with(|letter| !is_word(letter)) && !inner.is_empty();
    let middle = inner.split(move |letter| !is_word(letter)).filter(|word| !word.is_empty());
    let empty = usize::from(cut_before) + usize::from(cut_after);
    middle.chain(std::iter::repeat_n("", empty))
}
