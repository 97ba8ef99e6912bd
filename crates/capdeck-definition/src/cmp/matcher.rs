//! Which intent a person's words mean.
//!
//! The format's own matcher gives a pattern that fits 1.0, however it fits, and a tool whose summary shares a word 0.5; the
//! best wins and several best are "ambiguous". Here the same things fit, and several are ranked by how well they fit.
//!
//! An intent that changes something is selected only when the words ask for it (`evidence`): not when they deny it, ask
//! about it, suppose it, or share some words with it. It stays a candidate with the reason (`MatchDoubt`), and the answer
//! is "ambiguous" when nothing else fits better.

mod evidence;
mod lexicon;
mod reference;
mod sentence;

use std::collections::BTreeSet;

use regex::{Regex, RegexBuilder};
use serde::Serialize;
use serde_with::skip_serializing_none;

pub use evidence::MatchDoubt;

use self::{
    evidence::{IntentVerdict, IntentVocabulary, is_changing},
    reference::{PatternFit, PhraseText},
    sentence::ParsedSentence,
};
use crate::{CmpIntent, CmpTool};

/// What starts a pattern that is a regular expression.
pub(crate) const EXPRESSION: &str = "re:";
/// A compiled expression larger than this is no phrase.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// One tool that may be meant.
#[derive(Debug, Clone, Copy)]
pub struct CmpCandidate<'a> {
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
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IntentHit {
    pub capability: String,
    /// The intent, by its tool name; none when only the summary fits.
    pub intent: Option<String>,
    pub kind: MatchKind,
    pub pattern: Option<String>,
    /// Why the intent is not selected although it fits.
    pub doubt: Option<MatchDoubt>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntentMatch {
    Nothing,
    One(IntentHit),
    /// The best are level, or a doubt keeps the best from being selected. One hit alone has a doubt.
    Ambiguous(Vec<IntentHit>),
}

/// An intent that fits, and what the sentence says about it.
struct RankedHit {
    fit: PatternFit,
    hit: IntentHit,
    is_changing: bool,
    /// The clauses that say all of it.
    clauses: Vec<usize>,
    /// Whether an asserted clause is about it.
    is_asserted: bool,
}

/// Finds the intent that words mean among tools, in their order.
pub fn match_intent(words: &str, candidates: &[CmpCandidate<'_>]) -> IntentMatch {
    let said = PhraseText::new(words);
    if said.is_empty() {
        return IntentMatch::Nothing;
    }
    let sentence = ParsedSentence::read(words, &[]);
    let asserted = sentence.asserted().map(|text| PhraseText::new(&text));
    let mut hits = Vec::new();
    for candidate in candidates {
        let affinity = affinity(&said, candidate);
        for (name, intent) in &candidate.tool.intents {
            let Some((mut fit, pattern)) = said.best_fit(&intent.patterns) else { continue };
            fit.affinity = affinity;
            let hit = IntentHit {
                capability: candidate.capability.to_owned(),
                intent: Some(name.clone()),
                kind: fit.kind,
                pattern: Some(pattern.clone()),
                doubt: None,
            };
            hits.push(judge(words, &sentence, asserted.as_ref(), intent, fit, hit));
        }
    }
    if hits.is_empty() { match_summary(&said, candidates) } else { choose(hits) }
}

/// Tools whose summary shares a word.
fn match_summary(said: &PhraseText, candidates: &[CmpCandidate<'_>]) -> IntentMatch {
    let fits = candidates.iter().filter(|candidate| said.shares_word(candidate.summary));
    let hits = fits.map(|candidate| IntentHit {
        capability: candidate.capability.to_owned(),
        intent: None,
        kind: MatchKind::Summary,
        pattern: None,
        doubt: None,
    });
    answer(hits.collect())
}

fn answer(mut hits: Vec<IntentHit>) -> IntentMatch {
    match hits.len() {
        0 => IntentMatch::Nothing,
        1 if hits.iter().all(|hit| hit.doubt.is_none()) => {
            hits.pop().map_or(IntentMatch::Nothing, IntentMatch::One)
        }
        _ => IntentMatch::Ambiguous(hits),
    }
}

/// Adds what the sentence says about an intent that fits.
fn judge(
    words: &str,
    sentence: &ParsedSentence,
    asserted: Option<&PhraseText>,
    intent: &CmpIntent,
    mut fit: PatternFit,
    mut hit: IntentHit,
) -> RankedHit {
    let vocabulary = IntentVocabulary::new(intent);
    if !is_changing(intent) {
        let clauses = vocabulary.spoken_in(sentence);
        let is_asserted = match asserted {
            // What is only denied or supposed says little about what is wanted.
            Some(asserted) => asserted.best_fit(&intent.patterns).is_some_and(|(narrow, _)| {
                let affinity = fit.affinity;
                fit = narrow;
                fit.affinity = affinity;
                true
            }),
            None => sentence.clauses.iter().any(|clause| clause.mood.is_asserted()),
        };
        return RankedHit { fit, hit, is_changing: false, clauses, is_asserted };
    }
    let (clauses, is_asserted) = match vocabulary.judge(words, sentence) {
        IntentVerdict::Requested(clauses) => {
            fit.count_as_request();
            (clauses, true)
        }
        // The author's own phrase asks for it, in any form.
        IntentVerdict::Doubted { .. } if fit.kind == MatchKind::Exact => (Vec::new(), true),
        IntentVerdict::Doubted { doubt, is_asserted } => {
            hit.doubt = Some(doubt);
            (Vec::new(), is_asserted)
        }
    };
    RankedHit { fit, hit, is_changing: true, clauses, is_asserted }
}

/// The one that is meant, or those that could be.
fn choose(hits: Vec<RankedHit>) -> IntentMatch {
    let (mut doubted, mut clear): (Vec<RankedHit>, Vec<RankedHit>) =
        hits.into_iter().partition(|ranked| ranked.hit.doubt.is_some());
    if clear.iter().any(|ranked| ranked.is_asserted) {
        clear.retain(|ranked| ranked.is_asserted);
        doubted.retain(|ranked| ranked.is_asserted);
    }
    // Shared words alone make no candidate beside one that is named.
    let is_named = |ranked: &RankedHit| ranked.hit.doubt != Some(MatchDoubt::NotNamed);
    if !clear.is_empty() || doubted.iter().any(is_named) {
        doubted.retain(is_named);
    }
    let best = clear.iter().enumerate().max_by_key(|(index, ranked)| {
        // The first of several that are level.
        (ranked.fit, std::cmp::Reverse(*index))
    });
    let Some((first, best)) = best else {
        doubted.sort_by_key(|ranked| std::cmp::Reverse(ranked.fit));
        return answer(doubted.into_iter().map(|ranked| ranked.hit).collect());
    };
    let is_rival = |(index, other): (usize, &RankedHit)| {
        let is_level = match best.is_changing || other.is_changing {
            // The length of a pattern is no reason to change something.
            true => other.fit.strength() == best.fit.strength(),
            false => other.fit == best.fit,
        };
        let clauses: BTreeSet<&usize> = best.clauses.iter().collect();
        let is_another_request = !best.clauses.is_empty()
            && !other.clauses.is_empty()
            && other.clauses.iter().all(|clause| !clauses.contains(clause));
        index == first || is_level || is_another_request
    };
    let objects = |ranked: &&RankedHit| match best.is_changing {
        true => ranked.fit.amount() > best.fit.amount(),
        false => ranked.fit.amount() >= best.fit.amount(),
    };
    let rivals = clear.iter().enumerate().filter(|(index, other)| is_rival((*index, other)));
    let level: Vec<IntentHit> = rivals.map(|(_, ranked)| ranked.hit.clone()).collect();
    let doubts = doubted.iter().filter(objects).map(|ranked| ranked.hit.clone());
    answer(doubts.chain(level).collect())
}

/// How many words that were said are in a tool's name, domain or summary.
fn affinity(said: &PhraseText, candidate: &CmpCandidate<'_>) -> usize {
    let about = [candidate.capability, &candidate.tool.domain, candidate.summary].join(" ");
    let about: BTreeSet<String> = sentence::split_words(&about).into_iter().collect();
    about.iter().filter(|word| !lexicon::GENERIC.contains(word) && said.has(word)).count()
}

/// The expression a pattern holds, compiled; `None` for a plain phrase.
pub(crate) fn expression(pattern: &str) -> Option<Result<Regex, String>> {
    let text = pattern.strip_prefix(EXPRESSION)?;
    let built =
        RegexBuilder::new(text).case_insensitive(true).size_limit(MAX_COMPILED_BYTES).build();
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
