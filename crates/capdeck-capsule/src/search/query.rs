//! What a question asks for: words with what else could be meant, and phrases.

use std::ops::Bound;

use super::{
    index::{EntryIndex, letters},
    words::each_word,
};

/// How much a longer word counts for its beginning, beside an exact match.
const PREFIX_WITH_EXACT_WEIGHT: f32 = 0.4;
/// The same where the beginning is no word of its own.
const PREFIX_WEIGHT: f32 = 0.7;
/// How much a word counts that differs by a typing error.
const TYPO_WEIGHT: f32 = 0.6;
const MAX_PREFIX_TERMS: usize = 32;
const MAX_TYPO_TERMS: usize = 8;
/// Ideas taken from one question; agents sometimes paste a page.
const MAX_QUERY_GROUPS: usize = 32;
/// Letters from which on a prefix matches longer words.
const MIN_PREFIX_LENGTH: usize = 3;

/// One idea of a question.
#[derive(Debug)]
pub(super) enum QueryGroup {
    /// Terms that express it, each with how much it counts.
    Word(Vec<(u32, f32)>),
    /// Terms that must be adjacent.
    Phrase(Vec<u32>),
    /// A phrase with a word that nothing holds.
    Impossible,
}

/// The terms a question is about, for marking them in a text.
pub(crate) fn terms_of(question: &str) -> Vec<String> {
    let mut terms = Vec::new();
    each_word(question, |_, term| terms.push(term.to_owned()));
    terms
}

/// The ideas of a question. `present` is whether what the caller sees holds a term: what it may not see must not
/// change the answer either.
pub(super) fn groups(
    index: &EntryIndex,
    question: &str,
    present: impl Fn(u32) -> bool,
) -> Vec<QueryGroup> {
    let mut groups = Vec::new();
    for (place, part) in question.split('"').enumerate() {
        let is_phrase = place % 2 == 1;
        if is_phrase {
            let terms = terms_of(part);
            let known: Option<Vec<u32>> =
                terms.iter().map(|term| exact(index, term, &present)).collect();
            match known {
                Some(known) if known.is_empty() => {}
                Some(known) => groups.push(QueryGroup::Phrase(known)),
                None => groups.push(QueryGroup::Impossible),
            }
        } else {
            for word in part.split_whitespace() {
                let is_prefix = word.ends_with('*');
                let terms = terms_of(word);
                let last = terms.len().saturating_sub(1);
                for (at, term) in terms.iter().enumerate() {
                    let asked = if is_prefix && at == last { 1.0 } else { 0.0 };
                    groups.push(QueryGroup::Word(expand(index, term, asked, &present)));
                }
            }
        }
    }
    groups.truncate(MAX_QUERY_GROUPS);
    groups
}

fn exact(index: &EntryIndex, term: &str, present: impl Fn(u32) -> bool) -> Option<u32> {
    index.terms.get(term).copied().filter(|term| present(*term))
}

/// A term and its alternatives; `asked` is how much longer words count at least.
fn expand(
    index: &EntryIndex,
    term: &str,
    asked: f32,
    present: &impl Fn(u32) -> bool,
) -> Vec<(u32, f32)> {
    let exact = exact(index, term, present);
    let mut found: Vec<(u32, f32)> = exact.map(|term| (term, 1.0)).into_iter().collect();
    let length = term.chars().count();
    if length >= MIN_PREFIX_LENGTH || asked > 0.0 {
        let usual = if exact.is_some() { PREFIX_WITH_EXACT_WEIGHT } else { PREFIX_WEIGHT };
        let after = (Bound::Excluded(term), Bound::Unbounded);
        let longer =
            index.sorted.range::<str, _>(after).take_while(|(name, _)| name.starts_with(term));
        let longer = longer.map(|(_, number)| *number).filter(|number| present(*number));
        found.extend(longer.take(MAX_PREFIX_TERMS).map(|number| (number, usual.max(asked))));
    }
    if found.is_empty() && length >= 4 {
        let most = if length >= 8 { 2 } else { 1 };
        let mut near: Vec<(usize, u32)> = Vec::new();
        let term_letters = letters(term);
        for (number, (name, has)) in index.names.iter().zip(&index.letters).enumerate() {
            // Each error changes at most two letters of the set.
            let differs = (term_letters ^ has).count_ones() as usize;
            if differs <= 2 * most && name.len().abs_diff(term.len()) <= most {
                let distance = strsim::osa_distance(term, name);
                if distance <= most && present(number as u32) {
                    near.push((distance, number as u32));
                }
            }
        }
        near.sort_unstable();
        let factor = |distance: usize| TYPO_WEIGHT / distance.max(1) as f32;
        found.extend(
            near.into_iter()
                .take(MAX_TYPO_TERMS)
                .map(|(distance, number)| (number, factor(distance))),
        );
    }
    found
}
