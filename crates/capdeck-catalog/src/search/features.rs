//! What is compared of a question and a candidate. A linear model over these numbers decides the order of the best
//! candidates; `docs/design/060-search-ranking.md` describes it.

use rustc_hash::FxHashMap;

use super::{
    document::ToolTraits,
    index::{MARKS, NEUTRAL_FLAG, PLURAL_FLAG, VERB_FLAG},
    query::{MAX_QUERY_GROUPS, Query, TermGroup},
    verbs::VerbClass,
};

/// Names of the features, in their order.
pub(super) const FEATURE_NAMES: [&str; FEATURE_COUNT] = [
    "base",
    "base_log",
    "name_asked",
    "name_used",
    "name_asked_and_used",
    "name_unused",
    "card_asked",
    "name_or_card_asked",
    "title_asked",
    "summary_asked",
    "summary_start_asked",
    "details_asked",
    "parameters_asked",
    "parameter_texts_asked",
    "hints_asked",
    "any_asked",
    "exactly_asked",
    "verb_named",
    "verb_same_class",
    "verb_other_class",
    "looks_for_deed",
    "acts_for_look",
    "removes_unasked",
    "destructive_unasked",
    "writes_for_look",
    "deprecated",
    "object_named",
    "object_is_last",
    "object_in_summary",
    "number_same",
    "number_other",
    "names_other_card",
    "neighbours_named",
    "complete",
    "whole_name_asked",
    "implied_look",
    "nouns_other_number",
    "many_for_many",
    "many_for_one",
    "one_for_many",
    "verb_unused",
    "object_missing",
];

pub(super) const FEATURE_COUNT: usize = 42;

pub(super) type Features = [f32; FEATURE_COUNT];

/// Fields whose coverage is a feature, as bits of a posting's field set.
pub(super) const FIELD_FEATURES: usize = 7;

/// How well the fields of a candidate cover a question, as shares of the question.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FieldShares {
    /// In the order of the bits of a field set.
    pub(super) fields: [f32; FIELD_FEATURES],
    pub(super) any: f32,
    /// Whether the summary has the object of the question.
    pub(super) has_object: f32,
}

/// What a candidate is compared by.
pub(super) struct Candidate<'a> {
    /// Its score by words alone, and the best of all candidates.
    pub(super) score: f32,
    pub(super) best_score: f32,
    pub(super) name: &'a [u32],
    pub(super) traits: ToolTraits,
    /// For each group, how well the name of the capability expresses it.
    pub(super) card: &'a [f32],
    pub(super) shares: FieldShares,
}

/// A question prepared for comparing candidates with it.
pub(super) struct Comparison<'a> {
    query: &'a Query,
    /// Each group's share of the question.
    shares: Vec<f32>,
    /// For each term, the group it expresses and how well.
    terms: FxHashMap<u32, (usize, f32)>,
    /// Groups that are the exact name of some capability.
    card_named: Vec<bool>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(query: &'a Query, shares: &[f32], card_named: Vec<bool>) -> Self {
        let mut terms: FxHashMap<u32, (usize, f32)> = FxHashMap::default();
        for (number, group) in query.groups.iter().enumerate() {
            for (term, weight) in &group.terms {
                let known = terms.entry(*term).or_insert((number, *weight));
                if *weight > known.1 {
                    *known = (number, *weight);
                }
            }
        }
        Self { query, shares: shares.to_vec(), terms, card_named }
    }

    fn share(&self, group: usize) -> f32 {
        self.shares.get(group).copied().unwrap_or_default()
    }

    /// Sums shares of groups, each times a weight.
    fn sum(&self, weight: impl Fn(usize, &TermGroup) -> f32) -> f32 {
        let groups = self.query.groups.iter().enumerate();
        groups.map(|(number, group)| self.share(number) * weight(number, group)).sum()
    }

    pub(super) fn features(&self, candidate: &Candidate<'_>) -> Features {
        let Candidate { score, best_score, traits, card, shares, .. } = candidate;
        let name = NameMatch::new(self, candidate.name);
        let card_weight = |group: usize| card.get(group).copied().unwrap_or_default();
        let named = |group: usize| name.groups.get(group).copied().unwrap_or_default();
        let name_asked = self.sum(|group, _| named(group));
        let used = name.used / (name.nouns.max(1) as f32);
        let name_or_card = self.sum(|group, _| named(group).max(card_weight(group)));
        let exact = |weight: f32| if weight > 0.99 { 1.0 } else { 0.0 };
        let object = self.query.object.map_or(0.0, named);
        let verb = self.query.verb.map_or(0.0, named);
        let (asked, does) = (self.query.class, traits.class);
        let is_known = asked != VerbClass::Unknown && does != VerbClass::Unknown;
        let plural = self
            .query
            .object
            .and_then(|object| self.query.groups.get(object))
            .map(|group| group.plural);
        let gives_many = traits.lists || name.last_plural == Some(true);
        let whole = name.unused_nouns == 0 && name.nouns > 0;
        let flag = |is_set: bool| if is_set { 1.0 } else { 0.0 };
        let is_deed = !matches!(asked, VerbClass::Look | VerbClass::Unknown);
        let FieldShares { fields, any, has_object } = shares;
        let [title, summary, summary_start, details, parameters, parameter_texts, hints] = *fields;
        [
            score / best_score,
            (score / best_score).max(1e-3).ln(),
            name_asked,
            used,
            name_asked * used,
            name.unused_nouns.min(4) as f32 / 4.0,
            self.sum(|group, _| card_weight(group)),
            name_or_card,
            title,
            summary,
            summary_start,
            details,
            parameters,
            parameter_texts,
            hints,
            *any,
            self.sum(|group, _| exact(named(group).max(card_weight(group)))),
            verb,
            flag(is_known && asked == does),
            flag(is_known && asked != does),
            flag(is_deed && does == VerbClass::Look),
            flag(asked == VerbClass::Look && is_known && does != VerbClass::Look),
            flag(does == VerbClass::Remove && asked != VerbClass::Remove),
            flag(traits.is_destructive && asked != VerbClass::Remove),
            flag(asked == VerbClass::Look && traits.is_writing),
            flag(traits.is_deprecated),
            object,
            flag(self.query.object.is_some() && name.last_noun == self.query.object),
            *has_object,
            flag(plural.is_some() && name.last_plural == plural),
            flag(plural.is_some() && name.last_plural.is_some() && name.last_plural != plural),
            self.sum(|group, _| {
                let is_other = self.card_named.get(group).copied().unwrap_or_default();
                flag(is_other && card_weight(group) < 0.5 && named(group) < 0.9)
            }),
            name.neighbours as f32 / (self.query.groups.len().max(2) - 1) as f32,
            flag(name_or_card > 0.8),
            flag(whole) * name_or_card,
            flag(self.query.verb.is_none() && does == VerbClass::Look),
            self.sum(|group, _| name.other_number.get(group).copied().unwrap_or_default()),
            flag(plural == Some(true) && gives_many && does == VerbClass::Look),
            flag(plural == Some(false) && gives_many && does == VerbClass::Look),
            flag(plural == Some(true) && !gives_many && does == VerbClass::Look),
            flag(self.query.verb.is_some() && name.unused_verb),
            flag(self.query.object.is_some() && object == 0.0 && *has_object == 0.0),
        ]
    }
}

/// How a question and a name fit together.
struct NameMatch {
    /// For each group, how well the name expresses it.
    groups: [f32; MAX_QUERY_GROUPS],
    /// Weights of the nouns that were asked for.
    used: f32,
    nouns: usize,
    unused_nouns: usize,
    /// The group that the last noun expresses, and whether that noun is in the plural.
    last_noun: Option<usize>,
    last_plural: Option<bool>,
    /// Pairs of words that are neighbours in the question as well, in the same order.
    neighbours: usize,
    /// For each group, how well a noun expresses it that is singular where the question is plural, or the reverse.
    other_number: [f32; MAX_QUERY_GROUPS],
    unused_verb: bool,
}

impl NameMatch {
    fn new(comparison: &Comparison<'_>, name: &[u32]) -> Self {
        let mut found = Self {
            groups: [0.0; MAX_QUERY_GROUPS],
            used: 0.0,
            nouns: 0,
            unused_nouns: 0,
            last_noun: None,
            last_plural: None,
            neighbours: 0,
            other_number: [0.0; MAX_QUERY_GROUPS],
            unused_verb: false,
        };
        let mut before = None;
        for word in name {
            let is_verb = word & VERB_FLAG != 0;
            let group = comparison.terms.get(&(word & !MARKS)).copied();
            if let Some((group, weight)) = group
                && let Some(best) = found.groups.get_mut(group)
            {
                *best = best.max(weight);
                if before.is_some_and(|before: usize| before + 1 == group) {
                    found.neighbours += 1;
                }
            }
            before = group.map(|(group, _)| group);
            if is_verb {
                found.unused_verb = group.is_none();
                continue;
            }
            if word & NEUTRAL_FLAG != 0 && group.is_none() {
                continue;
            }
            let plural = word & PLURAL_FLAG != 0;
            if let Some((group, weight)) = group
                && comparison.query.groups.get(group).is_some_and(|group| group.plural != plural)
                && let Some(other) = found.other_number.get_mut(group)
            {
                *other = weight;
            }
            found.nouns += 1;
            found.last_plural = Some(plural);
            found.last_noun = group.map(|(group, _)| group);
            match group {
                Some((_, weight)) => found.used += weight,
                None => found.unused_nouns += 1,
            }
        }
        found
    }
}
