//! What a question asks for: one group of terms per idea, the word itself and what else could be meant; and what is to
//! be done to which of them.

use super::{
    index::{ToolIndex, letters},
    intent::intent,
    thesaurus,
    verbs::VerbClass,
    words::{each_word, is_plural, is_stop_word, stemmed},
};

/// How much a longer word counts for its beginning, when the beginning is no word of its own.
const PREFIX_WEIGHT: f32 = 0.6;
/// The same beside an exact match: `repo` finds `repo` first, then `repository`.
const PREFIX_WITH_EXACT_WEIGHT: f32 = 0.5;
/// How much a word counts that differs by a typing error.
const TYPO_WEIGHT: f32 = 0.6;
/// How much a word counts for the two words it is made of: `keyvault` for "key vault".
const JOINED_WORD_WEIGHT: f32 = 1.0;
/// Longer words tried for one beginning.
const MAX_PREFIX_TERMS: usize = 24;
/// Words tried for one typing error.
const MAX_TYPO_TERMS: usize = 8;
/// Ideas taken from one question; agents sometimes paste a page.
pub(super) const MAX_QUERY_GROUPS: usize = 24;

/// One idea of a question.
#[derive(Debug, Default)]
pub(super) struct TermGroup {
    /// Terms that express it, each with how much it counts.
    pub(super) terms: Vec<(u32, f32)>,
    /// Whether the question asks for many of them.
    pub(super) plural: bool,
}

/// A question taken apart.
#[derive(Debug, Default)]
pub(super) struct Query {
    pub(super) groups: Vec<TermGroup>,
    /// The group that says what is to be done.
    pub(super) verb: Option<usize>,
    /// What is to be done; questions that do not say want to look.
    pub(super) class: VerbClass,
    /// The group of the thing that it is done to: `labels` in "the labels of a page".
    pub(super) object: Option<usize>,
}

/// Takes a question apart. `present` tells whether the asker's part of the catalog holds a term: what the
/// asker may not see must not change the answer either.
pub(super) fn parse(index: &ToolIndex, question: &str, present: impl Fn(u32) -> bool) -> Query {
    let words = words(question);
    let intent = intent(&words);
    let mut query = Query { class: intent.class, ..Query::default() };
    // A question of nothing but stop words is about those words.
    let only_stop_words = words.iter().all(|word| is_stop_word(word));
    let find = |word: &str| index.terms.find(&stemmed(word)).filter(|term| present(*term));
    let mut is_object_complete = false;
    for (place, word) in words.iter().enumerate() {
        if is_stop_word(word) && !only_stop_words {
            is_object_complete |= query.object.is_some() && ends_object(word);
            continue;
        }
        let mut group = group(index, &stemmed(word), &present);
        group.plural = is_plural(word);
        let before = place.checked_sub(1).and_then(|before| words.get(before));
        let pairs = [
            before.map(|before| format!("{before}{word}")),
            words.get(place + 1).map(|after| format!("{word}{after}")),
        ];
        for joined in pairs.into_iter().flatten().filter_map(|joined| find(&joined)) {
            group.add(joined, JOINED_WORD_WEIGHT);
        }
        if group.terms.is_empty() {
            continue;
        }
        if intent.verb == Some(place) {
            query.verb = Some(query.groups.len());
        } else if !is_object_complete {
            query.object = Some(query.groups.len());
        }
        query.groups.push(group);
        if query.groups.len() == MAX_QUERY_GROUPS {
            break;
        }
    }
    query
}

/// True for words after which something else begins: `of`, `in`, `that`.
fn ends_object(word: &str) -> bool {
    const WORDS: [&str; 17] = [
        "about", "as", "at", "by", "for", "from", "in", "into", "of", "on", "that", "to", "via",
        "when", "where", "which", "with",
    ];
    WORDS.contains(&word)
}

/// The distinct words of a question, two-word phrases joined.
fn words(question: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    // Single letters are no words to the index, but `a` tells a verb from a noun.
    let question = question.replace(" a ", " an ");
    each_word(&question, &mut String::new(), |word| {
        match all.last().and_then(|last| thesaurus::phrase(last, word)) {
            Some(joined) => {
                all.pop();
                all.push(joined.to_owned());
            }
            None => all.push(word.to_owned()),
        }
    });
    let mut distinct: Vec<String> = Vec::with_capacity(all.len());
    for word in all {
        if !distinct.contains(&word) {
            distinct.push(word);
        }
    }
    distinct
}

fn group(index: &ToolIndex, word: &str, present: &impl Fn(u32) -> bool) -> TermGroup {
    let mut group = TermGroup::default();
    let exact = index.terms.find(word).filter(|term| present(*term));
    group.terms.extend(exact.map(|term| (term, 1.0)));
    for (other, weight) in thesaurus::expansions(word) {
        if let Some(term) = index.terms.find(other).filter(|term| present(*term)) {
            group.add(term, *weight);
        }
    }
    let weight = if exact.is_some() { PREFIX_WITH_EXACT_WEIGHT } else { PREFIX_WEIGHT };
    if word.chars().count() >= 3 {
        let longer = index.terms.starting_with(word).filter(|term| present(*term));
        for term in longer.take(MAX_PREFIX_TERMS) {
            group.add(term, weight);
        }
    }
    if group.terms.is_empty() {
        typos(index, word, present, &mut group);
    }
    group
}

/// Adds the terms one or two typing errors away, nearest first.
fn typos(index: &ToolIndex, word: &str, present: &impl Fn(u32) -> bool, group: &mut TermGroup) {
    let length = word.len();
    let most = match length {
        0..=3 => return,
        4..=7 => 1,
        _ => 2,
    };
    let own = letters(word);
    let mut found: Vec<(usize, u32)> = Vec::new();
    for (term, (text, set)) in index.terms.terms.iter().zip(&index.terms.letters).enumerate() {
        // One edit changes at most two letters of the set; most of the vocabulary ends here.
        let is_hopeless = (own ^ set).count_ones() as usize > 2 * most;
        if is_hopeless || text.len().abs_diff(length) > most {
            continue;
        }
        let distance = strsim::osa_distance(word, text);
        if distance <= most && present(term as u32) {
            found.push((distance, term as u32));
        }
    }
    found.sort_unstable();
    for (distance, term) in found.into_iter().take(MAX_TYPO_TERMS) {
        group.add(term, TYPO_WEIGHT / distance as f32);
    }
}

impl TermGroup {
    fn add(&mut self, term: u32, weight: f32) {
        if !self.terms.iter().any(|(known, _)| *known == term) {
            self.terms.push((term, weight));
        }
    }
}
