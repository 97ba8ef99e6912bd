//! Orders the entries that fit a question.

use std::sync::Arc;

use super::{
    index::{Index, STRONGEST},
    query::{self, Group},
};
use crate::EntryMeta;

/// How much more a phrase counts than its words.
const PHRASE: f32 = 1.5;

/// Entries that fit, best first.
#[derive(Debug, Default)]
pub(crate) struct Ranking {
    pub(crate) best: Vec<(Arc<EntryMeta>, f32)>,
    /// All that fit, those not in `best` included.
    pub(crate) total: usize,
}

impl Index {
    /// The best `most` of the entries that `visible` lets through. Frequencies are counted among those alone.
    pub(crate) fn rank(
        &self,
        question: &str,
        most: usize,
        visible: impl Fn(&EntryMeta) -> bool,
    ) -> Ranking {
        let seen: Vec<bool> = self
            .documents
            .iter()
            .map(|document| document.as_deref().is_some_and(&visible))
            .collect();
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
                Group::Impossible => return Ranking::default(),
                Group::Word(terms) => {
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
                Group::Phrase(terms) => {
                    required += 1;
                    for (document, strength) in self.with_phrase(terms, &is_seen) {
                        raise(&mut here, &mut touched, document, strength * PHRASE, true);
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

    fn best(&self, mut found: Vec<(f32, u32)>, most: usize) -> Ranking {
        let total = found.len();
        let meta = |document: u32| self.documents.get(document as usize).and_then(Option::as_ref);
        let order = |one: &(f32, u32), other: &(f32, u32)| {
            let uri = |document: u32| meta(document).map(|meta| meta.uri.as_str());
            other.0.total_cmp(&one.0).then_with(|| uri(one.1).cmp(&uri(other.1)))
        };
        if found.len() > most && most > 0 {
            found.select_nth_unstable_by(most - 1, order);
            found.truncate(most);
        }
        found.sort_unstable_by(order);
        let best = found
            .into_iter()
            .filter_map(|(score, document)| Some((Arc::clone(meta(document)?), score)));
        Ranking { best: best.collect(), total }
    }

    fn each_strength(&self, term: u32, mut visit: impl FnMut(u32, f32)) {
        if let Some(postings) = self.postings.get(term as usize) {
            for (document, strength) in postings.documents.iter().zip(&postings.strengths) {
                visit(*document, f32::from(*strength) / STRONGEST);
            }
        }
    }

    /// Documents in which the terms stand side by side, with the strength of the words together.
    fn with_phrase(&self, terms: &[u32], is_seen: &impl Fn(u32) -> bool) -> Vec<(u32, f32)> {
        let lists: Vec<_> =
            terms.iter().filter_map(|term| self.postings.get(*term as usize)).collect();
        let Some(rarest) = lists.iter().min_by_key(|list| list.documents.len()) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        // How far each list was gone through: documents come in order.
        let mut cursors = vec![0_usize; lists.len()];
        let (mut starts, mut places) = (Vec::new(), Vec::new());
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
            for (offset, (list, cursor)) in (0..).zip(lists.iter().zip(&cursors)) {
                list.read_places(*cursor, &mut places);
                let aligned = places.iter().filter_map(|place| place.checked_sub(offset));
                if offset == 0 {
                    starts.clear();
                    starts.extend(aligned);
                } else {
                    keep_common(&mut starts, aligned);
                }
            }
            if !starts.is_empty() {
                found.push((document, strength / STRONGEST));
            }
        }
        found
    }
}

/// Keeps those numbers that the others have, too. Both are in order.
fn keep_common(numbers: &mut Vec<u32>, others: impl Iterator<Item = u32>) {
    let mut others = others.peekable();
    numbers.retain(|number| {
        while others.next_if(|other| other < number).is_some() {}
        others.peek() == Some(number)
    });
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
