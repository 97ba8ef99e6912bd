//! The format's own rules: what fits words at all.

use super::{MatchKind, expression, lexicon::GENERIC};

/// How well a pattern fits, compared from the first field to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PatternFit {
    pub(super) kind: MatchKind,
    /// How many of its words were said, where only words fit.
    words: usize,
    /// How many of these are more than a `list` or a `show`.
    specific: usize,
    /// How many of the words that were said are about the tool.
    pub(super) affinity: usize,
    /// Its length: a longer pattern says more.
    length: usize,
}

impl PatternFit {
    /// Verb and object were said, if by words of different patterns.
    pub(super) fn count_as_request(&mut self) {
        if self.kind == MatchKind::Words {
            self.words = self.words.max(2);
        }
    }

    /// How much was said of it.
    pub(super) fn amount(&self) -> (MatchKind, usize) {
        (self.kind, self.words)
    }

    /// All but the length.
    pub(super) fn strength(&self) -> impl PartialEq {
        (self.kind, self.words, self.specific, self.affinity)
    }
}

/// What was said, in lower case.
pub(super) struct PhraseText {
    text: String,
}

impl PhraseText {
    pub(super) fn new(words: &str) -> Self {
        Self { text: words.to_lowercase().trim().to_owned() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The pattern that fits best, the first of several that are level.
    pub(super) fn best_fit<'a>(&self, patterns: &'a [String]) -> Option<(PatternFit, &'a String)> {
        let fitting =
            patterns.iter().filter_map(|pattern| self.fits(pattern).map(|fit| (fit, pattern)));
        fitting.reduce(|best, next| if next.0 > best.0 { next } else { best })
    }

    fn fits(&self, pattern: &str) -> Option<PatternFit> {
        let length = pattern.chars().count();
        let fit = |kind, words| Some(PatternFit { kind, words, specific: 0, affinity: 0, length });
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
        let shared: Vec<&&str> = all.iter().filter(|word| self.has(word)).collect();
        let specific = shared.iter().filter(|word| !GENERIC.contains(word)).count();
        let fit = PatternFit { specific, ..fit(MatchKind::Words, shared.len())? };
        (shared.len() * 2 >= all.len()).then_some(fit)
    }

    pub(super) fn shares_word(&self, summary: &str) -> bool {
        let summary = summary.to_lowercase();
        words(&summary).any(|word| self.has(word))
    }

    /// Whether a word that is long enough to mean something was said.
    pub(super) fn has(&self, word: &str) -> bool {
        word.len() > 2 && words(&self.text).any(|said| said == word)
    }
}

/// The words of a text, as the format splits it: everything but ASCII letters, digits and `_` separates words, and
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
