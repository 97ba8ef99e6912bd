//! Scores the documents an asker may see and keeps the best.

use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

use rustc_hash::FxHashMap;

use super::{
    index::{MAX_STRENGTH, PLURAL_FLAG, ToolIndex},
    intent::{DESTRUCTIVE_VERBS, QueryIntent, READING_VERBS, intent},
    query::{TermGroup, groups},
    words::stemmed,
};

/// Documents that are looked at more closely, by how well the question covers their name.
const MAX_RERANKED_DOCUMENTS: usize = 256;
/// What a name that is exactly the question adds, as a share of the score.
const NAME_BONUS: f32 = 0.45;
/// What a name adds whose verb suits what the question wants: looking or doing, and destroying only when
/// asked. It is added and never taken: the head must stay above the rest.
const INTENT_BONUS: f32 = 0.15;

/// What a word of a name counts when it is singular and the question's is plural, or the reverse.
const NUMBER_MISMATCH_WEIGHT: f32 = 0.6;
/// Flattens rarity: one rare word by the way must not outweigh what the question is about.
const RARITY_EXPONENT: f32 = 0.7;

/// Per-document buffers of one query; all zero between queries.
#[derive(Debug, Default)]
pub(crate) struct ScoreBuffers {
    scores: Vec<f32>,
    group: Vec<f32>,
    touched: Vec<u32>,
}

/// The best documents of a query, best first, and how many there are in all.
pub(super) struct ToolRanking {
    pub(super) best: Vec<(u32, f32)>,
    pub(super) total: usize,
}

/// A document in the heap of the best so far: the worst of them is on top. Scores are positive, so their bits have the
/// same order.
type RankCandidate = (Reverse<u32>, u32);

impl ToolIndex {
    /// The `limit` best documents among the capabilities that `visible` admits.
    pub(super) fn rank(&self, question: &str, limit: usize, visible: &[bool]) -> ToolRanking {
        let ranges = self.visible_ranges(visible);
        let corpus: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        let everything = corpus == self.document_count();
        let groups =
            groups(self, question, |term| everything || self.present(term, &ranges, visible));

        let mut scratch = std::mem::take(&mut *self.scratch.lock());
        scratch.fit(self.document_count());
        let mut rarity = Vec::with_capacity(groups.len());
        for group in &groups {
            self.gather(group, &ranges, visible, &mut scratch);
            rarity.push(scratch.add_group_scores(corpus));
        }
        let bonus = NameBonus::new(&groups, &rarity, self.query_intent(question));
        let ranking = self.select(&bonus, &ranges, limit, &scratch.scores);
        scratch.scores.fill(0.0);
        *self.scratch.lock() = scratch;
        ranking
    }

    /// What the question wants, with the verbs that tell whether a tool suits.
    fn query_intent(&self, question: &str) -> Option<IntentTerms> {
        let term = |verb: &&str| self.terms.find(&stemmed(verb));
        Some(IntentTerms {
            intent: intent(question)?,
            looking: READING_VERBS.iter().filter_map(term).collect(),
            destroying: DESTRUCTIVE_VERBS.iter().filter_map(term).collect(),
        })
    }

    /// The documents of the visible capabilities; neighbours are joined.
    fn visible_ranges(&self, visible: &[bool]) -> Vec<Range<u32>> {
        let mut ranges: Vec<Range<u32>> = Vec::new();
        for (indexed, visible) in self.capabilities.iter().zip(visible) {
            if !visible {
                continue;
            }
            match ranges.last_mut() {
                Some(last) if last.end == indexed.documents.start => {
                    last.end = indexed.documents.end;
                }
                _ => ranges.push(indexed.documents.clone()),
            }
        }
        ranges
    }

    fn present(&self, term: u32, ranges: &[Range<u32>], visible: &[bool]) -> bool {
        let (documents, _) = self.postings(term);
        let in_range = |range: &Range<u32>| {
            let at = documents.partition_point(|document| *document < range.start);
            documents.get(at).is_some_and(|document| *document < range.end)
        };
        ranges.iter().any(in_range) || self.cards_with(term, visible).next().is_some()
    }

    fn cards_with<'a>(
        &'a self,
        term: u32,
        visible: &'a [bool],
    ) -> impl Iterator<Item = (Range<u32>, f32)> + 'a {
        self.cards.get(&term).into_iter().flatten().filter_map(|(capability, strength)| {
            let shown = visible.get(*capability as usize).copied().unwrap_or_default();
            let indexed = self.capabilities.get(*capability as usize)?;
            shown.then(|| (indexed.documents.clone(), *strength))
        })
    }

    /// Collects into `scratch.group` how strongly each document expresses one idea: the best of its
    /// terms, joined with the best of its card.
    fn gather(
        &self,
        group: &TermGroup,
        ranges: &[Range<u32>],
        visible: &[bool],
        scratch: &mut ScoreBuffers,
    ) {
        for (term, weight) in &group.terms {
            let (documents, strengths) = self.postings(*term);
            let scale = weight / MAX_STRENGTH;
            for range in ranges {
                let from = documents.partition_point(|document| *document < range.start);
                let to = documents.partition_point(|document| *document < range.end);
                for (document, strength) in documents[from..to].iter().zip(&strengths[from..to]) {
                    let best = scratch.touch(*document);
                    *best = best.max(f32::from(*strength) * scale);
                }
            }
        }
        for (documents, strength) in self.best_cards(group, visible) {
            for document in documents {
                let best = scratch.touch(document);
                *best = 1.0 - (1.0 - *best) * (1.0 - strength);
            }
        }
    }

    /// For each visible capability whose card expresses the idea, its documents and how strongly.
    fn best_cards(&self, group: &TermGroup, visible: &[bool]) -> Vec<(Range<u32>, f32)> {
        let mut best: Vec<(Range<u32>, f32)> = Vec::new();
        for (term, weight) in &group.terms {
            for (documents, strength) in self.cards_with(*term, visible) {
                let strength = strength * weight;
                match best.iter_mut().find(|(known, _)| *known == documents) {
                    Some((_, known)) => *known = known.max(strength),
                    None => best.push((documents, strength)),
                }
            }
        }
        best
    }

    fn select(
        &self,
        bonus: &NameBonus,
        ranges: &[Range<u32>],
        limit: usize,
        scores: &[f32],
    ) -> ToolRanking {
        // The head is the same documents for every page, so that pages do not overlap.
        let capacity = limit.max(MAX_RERANKED_DOCUMENTS);
        let mut heap: BinaryHeap<RankCandidate> = BinaryHeap::with_capacity(capacity + 1);
        let mut total = 0;
        for range in ranges {
            let scores = &scores[range.start as usize..range.end as usize];
            for (document, score) in range.clone().zip(scores) {
                if *score <= 0.0 {
                    continue;
                }
                total += 1;
                let bits = score.to_bits();
                if heap.len() == capacity && heap.peek().is_some_and(|(worst, _)| bits <= worst.0) {
                    continue;
                }
                heap.push((Reverse(bits), document));
                if heap.len() > capacity {
                    heap.pop();
                }
            }
        }
        let sorted = heap.into_sorted_vec().into_iter();
        let mut best: Vec<(u32, f32)> =
            sorted.map(|(bits, document)| (document, f32::from_bits(bits.0))).collect();
        let head = best.len().min(MAX_RERANKED_DOCUMENTS);
        for (document, score) in &mut best[..head] {
            *score *= 1.0 + bonus.share_for(self.name_words(*document));
        }
        // The higher score first, then the earlier place in the catalog.
        best[..head]
            .sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        best.truncate(limit);
        ToolRanking { best, total }
    }
}

impl ScoreBuffers {
    fn fit(&mut self, documents: usize) {
        self.scores.resize(documents, 0.0);
        self.group.resize(documents, 0.0);
    }

    /// How strongly a document expresses the idea at hand so far.
    fn touch(&mut self, document: u32) -> &mut f32 {
        let strength = &mut self.group[document as usize];
        if *strength == 0.0 {
            self.touched.push(document);
        }
        strength
    }

    /// Adds the idea at hand to the scores, weighed by how rare it is, and clears it.
    fn add_group_scores(&mut self, corpus: usize) -> f32 {
        let (corpus, found) = (corpus as f32, self.touched.len() as f32);
        let rarity = (1.0 + (corpus - found + 0.5) / (found + 0.5)).ln().powf(RARITY_EXPONENT);
        for document in self.touched.drain(..) {
            let at = document as usize;
            self.scores[at] += rarity * std::mem::take(&mut self.group[at]);
        }
        rarity
    }
}

/// How well a question and a name cover each other.
struct NameBonus {
    /// For each term of the question, the idea it expresses and how well.
    terms: FxHashMap<u32, (usize, f32)>,
    /// Each idea's share of the question, and whether it is asked for in the plural.
    shares: Vec<(f32, bool)>,
    intent: Option<IntentTerms>,
}

/// What a question wants, and the terms of verbs that look and that destroy.
struct IntentTerms {
    intent: QueryIntent,
    looking: Vec<u32>,
    destroying: Vec<u32>,
}

impl NameBonus {
    fn new(groups: &[TermGroup], rarity: &[f32], intent: Option<IntentTerms>) -> Self {
        let sum: f32 = rarity.iter().sum();
        let mut terms: FxHashMap<u32, (usize, f32)> = FxHashMap::default();
        for (number, group) in groups.iter().enumerate() {
            for (term, weight) in &group.terms {
                let known = terms.entry(*term).or_insert((number, *weight));
                if *weight > known.1 {
                    *known = (number, *weight);
                }
            }
        }
        let share = |(rarity, group): (&f32, &TermGroup)| (rarity / sum, group.plural);
        Self { terms, shares: rarity.iter().zip(groups).map(share).collect(), intent }
    }

    /// What a name adds, as a share of the score.
    fn share_for(&self, name: &[u32]) -> f32 {
        let (mut named, mut asked, mut seen) = (0.0, 0.0, 0_u32);
        for word in name {
            let Some((group, weight)) = self.terms.get(&(word & !PLURAL_FLAG)) else { continue };
            let (share, plural) = self.shares.get(*group).copied().unwrap_or_default();
            let same_number = plural == (word & PLURAL_FLAG != 0);
            let weight = if same_number { *weight } else { weight * NUMBER_MISMATCH_WEIGHT };
            named += weight;
            if seen & 1 << group == 0 {
                seen |= 1 << group;
                asked += weight * share;
            }
        }
        if name.is_empty() {
            return 0.0;
        }
        let suits = self.intent.as_ref().is_some_and(|intent| self.suits(intent, name));
        NAME_BONUS * asked * named / name.len() as f32 + if suits { INTENT_BONUS } else { 0.0 }
    }

    fn suits(&self, intent: &IntentTerms, name: &[u32]) -> bool {
        let terms = || name.iter().map(|word| word & !PLURAL_FLAG);
        let looks = terms().any(|term| intent.looking.contains(&term));
        let destroys = |term| intent.destroying.contains(&term) && !self.terms.contains_key(&term);
        match intent.intent {
            QueryIntent::Look => looks,
            QueryIntent::Do => !looks && !terms().any(destroys),
        }
    }
}
