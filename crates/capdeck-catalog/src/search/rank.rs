//! Scores the documents an asker may see and keeps the best.

use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

use super::{
    document::SUMMARY,
    features::{Candidate, Comparison, Features, FieldShares},
    index::{MAX_STRENGTH, ToolIndex},
    query::{Query, TermGroup, parse},
    weights,
};

/// Documents that are looked at more closely.
const MAX_RERANKED_DOCUMENTS: usize = 64;
/// What a word of a card counts at least when it is in the name of the capability.
const MIN_CARD_NAME_STRENGTH: f32 = 0.7;
/// What a member of a set loses to its own tools, which need one call less. The questions to learn from have no sets.
const DETOUR_COST: f32 = 2.0;
/// The bit of a set of fields that stands for all of them.
const ANY_FIELD: u8 = 1 << 7;
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
        let (mut ranking, features) = self.candidates(question, limit, visible);
        let best_score = ranking.best.first().map_or(0.0, |(_, score)| *score);
        let head = &mut ranking.best[..features.len()];
        for ((document, score), features) in head.iter_mut().zip(&features) {
            *score = weights::weigh(features);
            if self.traits(*document).opens_member {
                *score -= DETOUR_COST;
            }
        }
        // The better candidate first, then the earlier place in the catalog.
        head.sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        // Candidates stay above the rest, whose scores are at most the best.
        for (_, score) in head {
            *score = best_score * (1.0 + 1.0 / (1.0 + (-*score).exp()));
        }
        ranking.best.truncate(limit);
        ranking
    }

    /// The documents that fit best by words alone, and what the first of them are compared by.
    pub(super) fn candidates(
        &self,
        question: &str,
        limit: usize,
        visible: &[bool],
    ) -> (ToolRanking, Vec<Features>) {
        let ranges = self.visible_ranges(visible);
        let corpus: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        let everything = corpus == self.document_count();
        let query =
            parse(self, question, |term| everything || self.present(term, &ranges, visible));
        let mut scratch = std::mem::take(&mut *self.scratch.lock());
        scratch.fit(self.document_count());
        let mut shares = Vec::with_capacity(query.groups.len());
        for group in &query.groups {
            self.gather(group, &ranges, visible, &mut scratch);
            shares.push(scratch.add_group_scores(corpus));
        }
        let sum: f32 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= sum);
        let ranking = self.select(&ranges, limit, &scratch.scores);
        scratch.scores.fill(0.0);
        *self.scratch.lock() = scratch;
        let head = ranking.best.len().min(MAX_RERANKED_DOCUMENTS);
        let features = self.features(&query, &shares, visible, &ranking.best[..head]);
        (ranking, features)
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

    /// The documents with the best scores, best first, and how many have any.
    fn select(&self, ranges: &[Range<u32>], limit: usize, scores: &[f32]) -> ToolRanking {
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
        let best = sorted.map(|(bits, document)| (document, f32::from_bits(bits.0))).collect();
        ToolRanking { best, total }
    }

    /// What the best documents are compared by, in their order.
    pub(super) fn features(
        &self,
        query: &Query,
        shares: &[f32],
        visible: &[bool],
        best: &[(u32, f32)],
    ) -> Vec<Features> {
        let best_score = best.first().map_or(1.0, |(_, score)| *score);
        let cards: Vec<Vec<(usize, f32)>> =
            query.groups.iter().map(|group| self.named_cards(group, visible)).collect();
        let is_exact =
            |of_group: &Vec<(usize, f32)>| of_group.iter().any(|(_, weight)| *weight > 0.99);
        let comparison = Comparison::new(query, shares, cards.iter().map(is_exact).collect());
        let field_shares = self.field_shares(query, shares, best);
        let mut card = vec![0.0; query.groups.len()];
        let candidates = best.iter().zip(field_shares);
        candidates
            .map(|((document, score), shares)| {
                let owner = self.capability_number(*document);
                for (weight, of_group) in card.iter_mut().zip(&cards) {
                    let own = of_group.iter().find(|(capability, _)| *capability == owner);
                    *weight = own.map_or(0.0, |(_, weight)| *weight);
                }
                comparison.features(&Candidate {
                    score: *score,
                    best_score,
                    name: self.name_words(*document),
                    traits: self.traits(*document),
                    card: &card,
                    shares,
                })
            })
            .collect()
    }

    /// The visible capabilities whose name expresses an idea, and how well.
    fn named_cards(&self, group: &TermGroup, visible: &[bool]) -> Vec<(usize, f32)> {
        let mut named: Vec<(usize, f32)> = Vec::new();
        for (term, weight) in &group.terms {
            for (capability, strength) in self.cards.get(term).into_iter().flatten() {
                let place = *capability as usize;
                if *strength < MIN_CARD_NAME_STRENGTH
                    || !visible.get(place).copied().unwrap_or_default()
                {
                    continue;
                }
                match named.iter_mut().find(|(known, _)| *known == place) {
                    Some((_, known)) => *known = known.max(*weight),
                    None => named.push((place, *weight)),
                }
            }
        }
        named
    }

    /// How well the fields of each of these documents cover the question.
    fn field_shares(&self, query: &Query, shares: &[f32], best: &[(u32, f32)]) -> Vec<FieldShares> {
        let mut places: Vec<(u32, usize)> =
            best.iter().enumerate().map(|(place, (document, _))| (*document, place)).collect();
        places.sort_unstable();
        let mut all = vec![FieldShares::default(); best.len()];
        let mut seen = vec![0_u8; best.len()];
        for (number, (group, share)) in query.groups.iter().zip(shares).enumerate() {
            seen.fill(0);
            let is_object = query.object == Some(number);
            let mut terms = group.terms.clone();
            terms.sort_by(|one, other| other.1.total_cmp(&one.1));
            for (term, weight) in terms {
                let (documents, fields) = self.fields(term);
                let mut from = 0;
                for (document, place) in &places {
                    let rest = documents.get(from..).unwrap_or_default();
                    from += rest.partition_point(|one| one < document);
                    if documents.get(from) != Some(document) {
                        continue;
                    }
                    let (Some(seen), Some(own)) = (seen.get_mut(*place), all.get_mut(*place))
                    else {
                        continue;
                    };
                    let set = fields.get(from).copied().unwrap_or_default() | ANY_FIELD;
                    let new = set & !*seen;
                    *seen |= set;
                    let gain = share * weight;
                    for (bit, sum) in own.fields.iter_mut().enumerate() {
                        if new >> bit & 1 == 1 {
                            *sum += gain;
                        }
                    }
                    if new & ANY_FIELD != 0 {
                        own.any += gain;
                    }
                    if is_object && new & SUMMARY.bit != 0 {
                        own.has_object = weight;
                    }
                }
            }
        }
        all
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
