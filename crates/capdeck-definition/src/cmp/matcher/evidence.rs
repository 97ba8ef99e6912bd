//! Whether a sentence asks for an intent that changes something.
//!
//! Evidence is a request whose verb is a verb of the intent's patterns and whose object is one of their objects. Patterns
//! of one intent paraphrase each other, so verb and object may come from different ones.

use regex::Regex;
use serde::Serialize;

use super::{
    EXPRESSION, expression,
    lexicon::{
        DESTROYING_VERBS, LIGHT_VERBS, is_changing_verb, is_content, is_gerund, is_misspelt,
        is_negator, stem,
    },
    sentence::{ClauseMood, ParsedSentence, SentenceClause, split_words},
};
use crate::CmpIntent;

/// Why an intent that changes something is not selected although its words fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchDoubt {
    Negated,
    Question,
    /// The words suppose it, or say when or why something else happens.
    Supposed,
    Reported,
    /// Its verb is there, and nothing that says what it is to be done to.
    VerbAlone,
    Misspelt,
    /// The words ask for something else that has to do with it.
    OtherRequest,
    NotNamed,
}

impl MatchDoubt {
    /// The reason, as a person reads it after the intent's name.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Negated => "the words deny it",
            Self::Question => "the words ask about it",
            Self::Supposed => "the words only suppose it",
            Self::Reported => "the words report or quote it",
            Self::VerbAlone => "the words do not say what to do it to",
            Self::Misspelt => "a word may be misspelt",
            Self::OtherRequest => "the words ask for something else",
            Self::NotNamed => "the words do not name it",
        }
    }
}

/// What a sentence says about an intent.
pub(super) enum IntentVerdict {
    /// It is asked for in these clauses.
    Requested(Vec<usize>),
    Doubted {
        doubt: MatchDoubt,
        /// Whether it is what an asserted clause is about.
        is_asserted: bool,
    },
}

/// Whether an intent changes something: by its manifest, or by its words when the manifest says nothing.
pub(super) fn is_changing(intent: &CmpIntent) -> bool {
    if intent.destructive || intent.confirm || !intent.idempotent {
        return true;
    }
    let plain = intent.patterns.iter().filter(|pattern| !pattern.starts_with(EXPRESSION));
    let verbs: Vec<String> =
        plain.filter_map(|pattern| split_words(pattern).into_iter().next()).collect();
    let mut command = intent.command.words().iter().skip(1).map(ToString::to_string);
    // `deploy status` among phrases that ask changes nothing.
    let changing = verbs.iter().filter(|verb| is_changing_verb(verb)).count();
    changing * 2 > verbs.len()
        || verbs.iter().any(|verb| DESTROYING_VERBS.contains(verb))
        || command.any(|word| DESTROYING_VERBS.contains(&word))
}

/// The words of an intent's patterns.
pub(super) struct IntentVocabulary {
    patterns: Vec<Vec<String>>,
    expressions: Vec<Regex>,
    verbs: Vec<String>,
    /// The last word of each pattern that has one besides its verb: in English the noun that the others describe.
    objects: Vec<String>,
}

impl IntentVocabulary {
    pub(super) fn new(intent: &CmpIntent) -> Self {
        let compiled = intent.patterns.iter().filter_map(|pattern| expression(pattern));
        let plain = intent.patterns.iter().filter(|pattern| !pattern.starts_with(EXPRESSION));
        let patterns: Vec<Vec<String>> = plain.map(|pattern| split_words(pattern)).collect();
        let object =
            |words: &Vec<String>| words.iter().skip(1).rfind(|word| is_content(word)).cloned();
        Self {
            expressions: compiled.filter_map(Result::ok).collect(),
            verbs: patterns.iter().filter_map(|words| words.first()).cloned().collect(),
            objects: patterns.iter().filter_map(object).collect(),
            patterns,
        }
    }

    /// The asserted clauses that hold all words of a pattern.
    pub(super) fn spoken_in(&self, sentence: &ParsedSentence) -> Vec<usize> {
        let spoken = |clause: &SentenceClause| {
            let holds = |pattern: &Vec<String>| {
                let starts = (0..clause.words.len()).filter(|at| clause.words[*at] == pattern[0]);
                pattern.len() > 1
                    && starts.map(|at| &clause.words[at..]).any(|words| in_order(pattern, words))
            };
            clause.mood.is_asserted() && self.patterns.iter().any(holds)
        };
        let clauses = sentence.clauses.iter().enumerate();
        clauses.filter(|(_, clause)| spoken(clause)).map(|(index, _)| index).collect()
    }

    pub(super) fn judge(&self, text: &str, sentence: &ParsedSentence) -> IntentVerdict {
        let mut requests = self.requests(sentence);
        if requests.is_empty() {
            requests = self.requests_with_own_negation(text);
        }
        if requests.is_empty() { self.doubt(sentence) } else { IntentVerdict::Requested(requests) }
    }

    fn requests(&self, sentence: &ParsedSentence) -> Vec<usize> {
        let clauses = sentence.clauses.iter().enumerate();
        let requests = clauses.filter(|(_, clause)| clause.mood == ClauseMood::Request);
        requests.filter(|(_, clause)| self.is_requested(clause)).map(|(index, _)| index).collect()
    }

    /// `do not disturb` is a name where a pattern has it.
    fn requests_with_own_negation(&self, text: &str) -> Vec<usize> {
        let negated = self
            .patterns
            .iter()
            .filter(|words| words.len() > 1 && words.iter().any(|word| is_negator(word)));
        let mut read =
            negated.map(|pattern| (pattern.join(" "), ParsedSentence::read(text, pattern)));
        let found = read.find_map(|(joined, sentence)| {
            let is_request = |clause: &SentenceClause| {
                let asks = clause.mood == ClauseMood::Request;
                asks && positions(clause.after_frame()).any(|words| words[0] == joined)
            };
            sentence.clauses.iter().position(is_request)
        });
        found.into_iter().collect()
    }

    fn is_requested(&self, clause: &SentenceClause) -> bool {
        let words = clause.after_frame();
        let text = words.join(" ");
        if self.expressions.iter().any(|expression| expression.is_match(&text)) {
            return true;
        }
        positions(words).any(|words| self.is_asked(words))
    }

    fn is_asked(&self, words: &[String]) -> bool {
        let (verb, rest) = (&words[0], &words[1..]);
        if !self.verbs.contains(verb) {
            return false;
        }
        // `stop deleting`: what is done is the second verb.
        if rest.first().is_some_and(|word| is_gerund(word) && !self.has_second(word)) {
            return false;
        }
        let is_whole = self.patterns.iter().any(|pattern| {
            let says_more = || rest.iter().any(|word| is_content(word) && !is_name(word));
            in_order(pattern, words) && (pattern.len() > 1 || !says_more())
        });
        is_whole || self.has_object(rest)
    }

    fn has_second(&self, word: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.get(1).is_some_and(|second| second == word))
    }

    fn has_object(&self, rest: &[String]) -> bool {
        (0..rest.len()).any(|at| self.objects.iter().any(|object| is_noun(object, rest, at)))
    }

    fn doubt(&self, sentence: &ParsedSentence) -> IntentVerdict {
        let names = |word: &String| self.verbs.iter().any(|verb| stem(word) == stem(verb));
        let is_slip = |word: &String| self.verbs.iter().any(|verb| is_misspelt(word, verb));
        let mut found: Option<(MatchDoubt, bool)> = None;
        for clause in &sentence.clauses {
            let slips = clause.words.iter().any(is_slip);
            if !slips && !clause.words.iter().any(names) {
                continue;
            }
            let begins = clause.after_frame().first().is_some_and(|word| self.verbs.contains(word));
            let doubt = match clause.mood {
                ClauseMood::Negated => MatchDoubt::Negated,
                ClauseMood::Question => MatchDoubt::Question,
                ClauseMood::Subordinate => MatchDoubt::Supposed,
                ClauseMood::Statement => MatchDoubt::Reported,
                ClauseMood::Request if begins => MatchDoubt::VerbAlone,
                ClauseMood::Request if slips => MatchDoubt::Misspelt,
                ClauseMood::Request => MatchDoubt::OtherRequest,
            };
            let is_asserted = clause.mood.is_asserted();
            if found.is_none_or(|(_, known)| is_asserted && !known) {
                found = Some((doubt, is_asserted));
            }
        }
        let quoted = sentence.quoted.iter().any(names).then_some((MatchDoubt::Reported, true));
        let (doubt, is_asserted) = found.or(quoted).unwrap_or((MatchDoubt::NotNamed, false));
        IntentVerdict::Doubted { doubt, is_asserted }
    }
}

/// The places where the verb of a request can be: its first word, or after `run the`.
fn positions(words: &[String]) -> impl Iterator<Item = &[String]> {
    let light = words.first().is_some_and(|word| LIGHT_VERBS.contains(word));
    let later = light.then(|| {
        let article = |word: &String| ["a", "an", "the", "my", "this"].contains(&word.as_str());
        let skipped = 1 + words.iter().skip(1).take_while(|word| article(word)).count();
        &words[skipped..]
    });
    std::iter::once(words).chain(later).filter(|words| !words.is_empty())
}

/// Whether words begin with the pattern's first word and hold the others after it, in their order.
fn in_order(pattern: &[String], words: &[String]) -> bool {
    let Some((first, others)) = pattern.split_first() else { return false };
    let Some((said, rest)) = words.split_first() else { return false };
    let mut places = 0..rest.len();
    first == said && others.iter().all(|word| places.any(|at| is_noun(word, rest, at)))
}

/// Whether the word at a place is this one. `email account` is no `emails`, but `email 42` is.
fn is_noun(noun: &str, words: &[String], at: usize) -> bool {
    let begins_compound =
        || words.get(at + 1).is_some_and(|next| is_content(next) && !is_name(next));
    words[at] == noun || (stem(&words[at]) == stem(noun) && !begins_compound())
}

/// Whether a word is an identifier rather than a word of the language.
fn is_name(word: &str) -> bool {
    word.contains(|letter: char| letter.is_numeric() || letter == '_')
}
