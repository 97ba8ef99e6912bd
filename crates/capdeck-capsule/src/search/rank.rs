//! Orders the entries that fit a question.

use std::{iter::Peekable, sync::Arc};

use super::{
    index::{EntryIndex, MAX_STRENGTH},
    postings::PostingPositions,
    query::{self, QueryGroup},
};
use crate::EntryMeta;

/// How much more a phrase counts than its words.
const PHRASE_WEIGHT: f32 = 1.5;

/// Entries that fit, best first.
#[derive(Debug, Default)]
pub(crate) struct EntryRanking {
    pub(crate) best: Vec<(Arc<EntryMeta>, f32)>,
    /// All that fit, those not in `best` included.
    pub(crate) total: usize,
}

impl EntryIndex {
    /// The best `most` of the entries that `visible` lets through, of all entries without it. Frequencies are counted
    /// among those alone.
    pub(crate) fn rank<V: Fn(&EntryMeta) -> bool>(
        &self,
        question: &str,
        most: usize,
        visible: Option<V>,
    ) -> EntryRanking {
        // Looking into every entry costs more than ranking them, so it is done only where something is left out.
        let is_visible = |document: &Option<Arc<EntryMeta>>| match &visible {
            Some(visible) => document.as_deref().is_some_and(visible),
            None => document.is_some(),
        };
        let seen: Vec<bool> = self.documents.iter().map(is_visible).collect();
        let is_seen = |document: u32| seen.get(document as usize).copied().unwrap_or(false);
        let count = seen.iter().filter(|seen| **seen).count() as f32;
        let present = |term: u32| {
            let postings = self.postings.get(term as usize);
            postings.is_some_and(|postings| {
                postings.documents.iter().any(|document| is_seen(*document))
            })
        };
        let groups = query::groups(self, question, present);
        let mut scores = vec![0.0_f32; self.documents.len()];
        // What a document has of the question's weight; phrases are counted apart, for they are required.
        let mut covered = vec![0.0_f32; self.documents.len()];
        let mut phrases = vec![0_usize; self.documents.len()];
        let (mut weight, mut required) = (0.0, 0);
        let mut here = vec![0.0_f32; self.documents.len()];
        for group in &groups {
            let mut touched: Vec<u32> = Vec::new();
            match group {
                QueryGroup::Impossible => return EntryRanking::default(),
                QueryGroup::Word(terms) => {
                    for (term, factor) in terms {
                        self.each_strength(*term, |document, strength| {
                            raise(
                                &mut here,
                                &mut touched,
                                document,
                                strength * factor,
                                is_seen(document),
                            );
                        });
                    }
                }
                QueryGroup::Phrase(terms) => {
                    required += 1;
                    for (document, strength) in self.with_phrase(terms, &is_seen) {
                        raise(&mut here, &mut touched, document, strength * PHRASE_WEIGHT, true);
                        if let Some(count) = phrases.get_mut(document as usize) {
                            *count += 1;
                        }
                    }
                }
            }
            if touched.is_empty() {
                continue;
            }
            let frequency = touched.len() as f32;
            let rarity = (1.0 + (count - frequency + 0.5) / (frequency + 0.5)).ln();
            weight += rarity;
            for document in touched {
                let at = document as usize;
                if let (Some(here), Some(score), Some(covered)) =
                    (here.get_mut(at), scores.get_mut(at), covered.get_mut(at))
                {
                    *score += rarity * *here;
                    *covered += rarity;
                    *here = 0.0;
                }
            }
        }
        let mut found: Vec<(f32, u32)> = Vec::new();
        for (document, score) in scores.iter().enumerate() {
            let has_phrases = phrases.get(document).copied() == Some(required);
            if *score > 0.0 && has_phrases {
                let share = covered.get(document).copied().unwrap_or_default() / weight;
                found.push((score * share, document as u32));
            }
        }
        self.best(found, most)
    }

    /// The best of what was found. Strengths are coarse, so that many are equal; those are ordered by their addresses
    /// only where it matters.
    fn best(&self, mut found: Vec<(f32, u32)>, most: usize) -> EntryRanking {
        let total = found.len();
        let meta = |document: u32| self.documents.get(document as usize).and_then(Option::as_ref);
        let by_score = |one: &(f32, u32), other: &(f32, u32)| other.0.total_cmp(&one.0);
        let order = |one: &(f32, u32), other: &(f32, u32)| {
            let uri = |document: u32| meta(document).map(|meta| meta.uri.as_str());
            by_score(one, other).then_with(|| uri(one.1).cmp(&uri(other.1)))
        };
        if found.len() > most && most > 0 {
            let (_, last, _) = found.select_nth_unstable_by(most - 1, by_score);
            let least = last.0;
            // Better ones are all in; as many of the equal ones as there is room for.
            found.retain(|(score, _)| score.total_cmp(&least).is_ge());
            let better = found.iter().filter(|(score, _)| score.total_cmp(&least).is_gt()).count();
            found.sort_unstable_by(by_score);
            let equal = found.get_mut(better..).unwrap_or_default();
            let room = most - better;
            if equal.len() > room && room > 0 {
                equal.select_nth_unstable_by(room - 1, order);
            }
            found.truncate(most);
        }
        found.sort_unstable_by(order);
        let best = found
            .into_iter()
            .filter_map(|(score, document)| Some((Arc::clone(meta(document)?), score)));
        EntryRanking { best: best.collect(), total }
    }

    fn each_strength(&self, term: u32, mut visit: impl FnMut(u32, f32)) {
        if let Some(postings) = self.postings.get(term as usize) {
            for (document, strength) in postings.documents.iter().zip(&postings.strengths) {
                visit(*document, f32::from(*strength) / MAX_STRENGTH);
            }
        }
    }

    /// Documents in which the terms are adjacent, with the strength of the words together.
    fn with_phrase(&self, terms: &[u32], is_seen: &impl Fn(u32) -> bool) -> Vec<(u32, f32)> {
        let lists: Vec<_> =
            terms.iter().filter_map(|term| self.postings.get(*term as usize)).collect();
        let Some(rarest) = lists.iter().min_by_key(|list| list.documents.len()) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        // How far each list was gone through: documents come in order.
        let mut cursors = vec![0_usize; lists.len()];
        let mut places: Vec<Peekable<PostingPositions<'_>>> = Vec::with_capacity(lists.len());
        'documents: for document in
            rarest.documents.iter().copied().filter(|document| is_seen(*document))
        {
            let mut strength = 0.0;
            for (list, cursor) in lists.iter().zip(&mut cursors) {
                let rest = list.documents.get(*cursor..).unwrap_or_default();
                *cursor += rest.iter().take_while(|known| **known < document).count();
                if list.documents.get(*cursor) != Some(&document) {
                    continue 'documents;
                }
                strength += list.strengths.get(*cursor).map_or(0.0, |byte| f32::from(*byte));
            }
            places.clear();
            places.extend(
                lists.iter().zip(&cursors).map(|(list, cursor)| list.places(*cursor).peekable()),
            );
            if stand_side_by_side(&mut places) {
                found.push((document, strength / MAX_STRENGTH));
            }
        }
        found
    }
}

/// Whether there is a place for the first such that each next one has the place after it. Goes no further than the first.
fn stand_side_by_side(places: &mut [Peekable<PostingPositions<'_>>]) -> bool {
    let Some((first, others)) = places.split_first_mut() else { return false };
    'starts: for start in first {
        for (expected, other) in (start + 1..).zip(others.iter_mut()) {
            while other.next_if(|place| *place < expected).is_some() {}
            match other.peek() {
                Some(place) if *place == expected => {}
                Some(_) => continue 'starts,
                None => return false,
            }
        }
        return true;
    }
    false
}

fn raise(here: &mut [f32], touched: &mut Vec<u32>, document: u32, strength: f32, is_seen: bool) {
    if let Some(best) = here.get_mut(document as usize)
        && is_seen
    {
        if *best == 0.0 {
            touched.push(document);
        }
        *best = best.max(strength);
    }
}

#[cfg(test)]
mod tests;
