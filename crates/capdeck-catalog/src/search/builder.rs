//! Reads capabilities into an [`ToolIndex`].

use std::{borrow::Cow, num::NonZero, sync::Arc, thread};

use capdeck_definition::Backend;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::{
    document::{self, SearchField, ToolTraits},
    index::{
        IndexedCapability, MARKS, MAX_STRENGTH, NEUTRAL_FLAG, PLURAL_FLAG, TermTable, ToolIndex,
        VERB_FLAG,
    },
    verbs::{VerbClass, class_of, is_neutral, is_noun_too},
    words::{each_word, is_plural, is_stop_word, stemmed},
};
use crate::Capability;

/// BM25's saturation: how soon a second occurrence stops mattering.
const SATURATION: f32 = 1.5;
/// Tools from which on reading them is shared out to threads; fewer are read in the time threads take.
const PARALLEL_INDEX_THRESHOLD: usize = 5_000;
/// Threads used at most: the host has other work.
const MAX_INDEX_THREADS: usize = 4;

/// Builds the index of usable capabilities, in their order.
pub(super) fn build(capabilities: &[&Arc<Capability>]) -> ToolIndex {
    let tools: usize = capabilities.iter().map(|capability| tool_count(capability)).sum();
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_INDEX_THREADS);
    if tools < PARALLEL_INDEX_THRESHOLD || threads == 1 {
        return IndexBuilder::from_capabilities(capabilities).finish();
    }
    let parts = split(capabilities, tools.div_ceil(threads));
    let mut builders = thread::scope(|scope| {
        let running: Vec<_> = parts
            .into_iter()
            .map(|part| scope.spawn(|| IndexBuilder::from_capabilities(part)))
            .collect();
        let join = |handle: thread::ScopedJoinHandle<'_, IndexBuilder>| match handle.join() {
            Ok(builder) => builder,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        running.into_iter().map(join).collect::<Vec<_>>()
    })
    .into_iter();
    let mut all = builders.next().unwrap_or_default();
    for builder in builders {
        all.absorb(builder);
    }
    all.finish()
}

fn tool_count(capability: &Capability) -> usize {
    capability.discovery.as_ref().map_or(1, |discovery| discovery.tools.len())
}

/// Cuts capabilities into runs of about `share` tools each.
fn split<'a>(mut rest: &'a [&'a Arc<Capability>], share: usize) -> Vec<&'a [&'a Arc<Capability>]> {
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let mut tools = 0;
        let taken = rest.iter().take_while(|capability| {
            let room = tools < share;
            tools += tool_count(capability);
            room
        });
        let (part, after) = rest.split_at(taken.count());
        parts.push(part);
        rest = after;
    }
    parts
}

/// Collects documents in order; terms get their final, sorted numbers at the end.
#[derive(Default)]
struct IndexBuilder {
    /// Every spelling seen, with the number of its stem; stop words have none.
    spellings: FxHashMap<Box<str>, Option<u32>>,
    stems: FxHashMap<Box<str>, u32>,
    /// What each stem means as a word of a name: the class of the verb, and the mark of a word that says little.
    meanings: Vec<(VerbClass, u32)>,
    /// The document at hand: weight per term, and the terms that have one.
    weights: Vec<f32>,
    /// Which of its fields hold each term.
    sets: Vec<u8>,
    touched: Vec<u32>,
    /// Terms and strengths of all documents so far; `starts` cuts them.
    starts: Vec<u32>,
    terms: Vec<u32>,
    strengths: Vec<u8>,
    fields: Vec<u8>,
    traits: Vec<ToolTraits>,
    cards: Vec<(u32, u32, f32)>,
    capabilities: Vec<IndexedCapability>,
    name_starts: Vec<u32>,
    name_words: Vec<u32>,
    words: Vec<u32>,
    buffer: String,
    /// Whether the last name has a verb for many things.
    names_a_list: bool,
}

impl IndexBuilder {
    fn from_capabilities(capabilities: &[&Arc<Capability>]) -> Self {
        let mut builder = Self { name_starts: vec![0], starts: vec![0], ..Self::default() };
        for capability in capabilities {
            builder.add(capability);
        }
        builder
    }

    /// Appends the documents of another builder, which numbered its terms by itself.
    fn absorb(&mut self, other: Self) {
        let mut numbers = vec![0_u32; other.stems.len()];
        for (text, seen) in other.stems {
            let next = self.stems.len() as u32;
            numbers[seen as usize] = *self.stems.entry(text).or_insert(next);
        }
        let number = |seen: u32| numbers[seen as usize];
        let (documents, places) = (self.document_count(), self.capabilities.len() as u32);
        let (entries, words) = (self.terms.len() as u32, self.name_words.len() as u32);
        self.terms.extend(other.terms.into_iter().map(number));
        self.strengths.extend(other.strengths);
        self.fields.extend(other.fields);
        self.traits.extend(other.traits);
        self.starts.extend(other.starts.into_iter().skip(1).map(|start| start + entries));
        let cards = other.cards.into_iter();
        self.cards
            .extend(cards.map(|(term, place, weight)| (number(term), place + places, weight)));
        self.name_words.extend(other.name_words.into_iter().map(|word| renumber(word, number)));
        self.name_starts.extend(other.name_starts.into_iter().skip(1).map(|start| start + words));
        self.capabilities.extend(other.capabilities.into_iter().map(|indexed| IndexedCapability {
            documents: indexed.documents.start + documents..indexed.documents.end + documents,
            ..indexed
        }));
    }

    fn add(&mut self, capability: &Arc<Capability>) {
        let tools = capability.discovery.as_ref().map(|discovery| discovery.tools.as_slice());
        let prefix = tools.and_then(|tools| shared_prefix(tools.iter().map(|tool| tool.name())));
        document::read_card(&capability.definition, prefix.as_deref(), |field, texts| {
            self.feed(field, texts);
        });
        let place = self.capabilities.len() as u32;
        for term in std::mem::take(&mut self.touched) {
            let (weight, _) = self.take_weight(term);
            self.cards.push((term, place, saturate(weight)));
        }
        let first = self.document_count();
        let opens_members = matches!(capability.definition.backend, Backend::Caplets(_));
        match tools {
            None => self.end_document(ToolTraits::default()),
            Some(tools) => {
                for tool in tools {
                    let class = self.feed_name(tool.name(), prefix.as_deref());
                    let mut traits =
                        document::read_tool(tool, |field, texts| self.feed(field, texts));
                    traits.class = class.unwrap_or(traits.class);
                    traits.lists = self.names_a_list;
                    traits.opens_member = opens_members;
                    self.end_document(traits);
                }
            }
        }
        let documents = first..self.document_count();
        self.capabilities.push(IndexedCapability { capability: Arc::clone(capability), documents });
    }

    fn document_count(&self) -> u32 {
        self.name_starts.len() as u32 - 1
    }

    /// Feeds a name and returns what its verb does. A first word that most tools of a capability share
    /// (`linear_…`) tells nothing apart and is not part of the name; it goes to the card.
    fn feed_name(&mut self, name: &str, prefix: Option<&str>) -> Option<VerbClass> {
        self.collect(&[Cow::Borrowed(name)]);
        let shared = prefix.and_then(|prefix| self.stems.get(prefix)).copied();
        let skipped = usize::from(self.words.len() > 1 && self.words.first().copied() == shared);
        self.words.drain(..skipped);
        let count = self.words.len();
        let (mut marks, mut classes) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut names_a_list = false;
        let mut place = 0_usize;
        each_word(name, &mut self.buffer, |word| {
            if is_stop_word(word) {
                return;
            }
            place += 1;
            let Some(term) = place.checked_sub(skipped + 1).and_then(|at| self.words.get(at))
            else {
                return;
            };
            let (class, mark) = self.meanings.get(*term as usize).copied().unwrap_or_default();
            marks.push(mark | if is_plural(word) { PLURAL_FLAG } else { 0 });
            // `log` alone or at the end is a thing; before another word it is done to that.
            let is_thing = is_noun_too(word) && !(classes.is_empty() && count > 1);
            classes.push(if is_thing { VerbClass::Unknown } else { class });
            names_a_list |= matches!(word, "list" | "search" | "find" | "query");
        });
        self.names_a_list = names_a_list;
        let verb = verb_place(&classes);
        let marks = marks.iter().enumerate();
        let marks = marks.map(|(at, mark)| if Some(at) == verb { mark | VERB_FLAG } else { *mark });
        self.name_words.extend(self.words.iter().zip(marks).map(|(word, mark)| word | mark));
        self.weigh(document::NAME);
        verb.and_then(|at| classes.get(at)).copied()
    }

    fn feed(&mut self, field: SearchField, texts: &[Cow<'_, str>]) {
        self.collect(texts);
        self.weigh(field);
    }

    fn collect(&mut self, texts: &[Cow<'_, str>]) {
        self.words.clear();
        let mut buffer = std::mem::take(&mut self.buffer);
        for text in texts {
            each_word(text, &mut buffer, |word| {
                let known = match self.spellings.get(word) {
                    Some(known) => *known,
                    None => {
                        let term = (!is_stop_word(word))
                            .then(|| intern(&mut self.stems, &mut self.meanings, word));
                        self.spellings.insert(word.into(), term);
                        term
                    }
                };
                self.words.extend(known);
            });
        }
        self.buffer = buffer;
    }

    fn weigh(&mut self, field: SearchField) {
        let length = self.words.len() as f32 / field.usual_length;
        let weight = field.weight / (1.0 - field.damping + field.damping * length);
        for term in self.words.drain(..) {
            if self.weights.len() <= term as usize {
                self.weights.resize(term as usize + 1, 0.0);
                self.sets.resize(term as usize + 1, 0);
            }
            let sum = &mut self.weights[term as usize];
            if *sum == 0.0 {
                self.touched.push(term);
            }
            *sum += weight;
            self.sets[term as usize] |= field.bit;
        }
    }

    /// The weight of a term in the document at hand, and the fields that hold it.
    fn take_weight(&mut self, term: u32) -> (f32, u8) {
        let weight = self.weights.get_mut(term as usize).map_or(0.0, std::mem::take);
        (weight, self.sets.get_mut(term as usize).map_or(0, std::mem::take))
    }

    fn end_document(&mut self, traits: ToolTraits) {
        self.traits.push(traits);
        for term in std::mem::take(&mut self.touched) {
            let (weight, fields) = self.take_weight(term);
            let strength = saturate(weight) * MAX_STRENGTH;
            self.terms.push(term);
            self.fields.push(fields);
            self.strengths.push(strength.round().clamp(1.0, MAX_STRENGTH) as u8);
        }
        self.starts.push(self.terms.len() as u32);
        self.name_starts.push(self.name_words.len() as u32);
    }

    fn finish(self) -> ToolIndex {
        let mut sorted: Vec<(Box<str>, u32)> = self.stems.into_iter().collect();
        sorted.sort_unstable();
        let mut numbers = vec![0_u32; sorted.len()];
        for (number, (_, seen)) in sorted.iter().enumerate() {
            numbers[*seen as usize] = number as u32;
        }
        let number = |seen: u32| numbers[seen as usize];
        let terms = TermTable::new(sorted.into_iter().map(|(text, _)| text).collect());
        let mut cards: FxHashMap<u32, Vec<(u32, f32)>> = FxHashMap::default();
        for (term, capability, strength) in self.cards {
            cards.entry(number(term)).or_default().push((capability, strength));
        }
        let entries = (self.strengths.as_slice(), self.fields.as_slice());
        let (starts, documents, strengths, fields) =
            invert(terms.terms.len(), &self.starts, &self.terms, entries, number);
        ToolIndex {
            terms,
            starts,
            documents,
            strengths,
            fields,
            cards,
            capabilities: self.capabilities,
            traits: self.traits,
            name_starts: self.name_starts,
            name_words: self.name_words.into_iter().map(|word| renumber(word, number)).collect(),
            scratch: Mutex::default(),
        }
    }
}

/// A name's word with its term renumbered and its marks kept.
fn renumber(word: u32, number: impl Fn(u32) -> u32) -> u32 {
    number(word & !MARKS) | word & MARKS
}

/// Which word of a name says what is done: the first one or the last one before any other.
fn verb_place(classes: &[VerbClass]) -> Option<usize> {
    let is_verb = |at: &usize| classes.get(*at).is_some_and(|one| *one != VerbClass::Unknown);
    let last = classes.len().checked_sub(1)?;
    [0, last].into_iter().chain(0..classes.len()).find(is_verb)
}

fn intern(
    stems: &mut FxHashMap<Box<str>, u32>,
    meanings: &mut Vec<(VerbClass, u32)>,
    word: &str,
) -> u32 {
    let stem = stemmed(word);
    let next = stems.len() as u32;
    *stems.entry(stem.into()).or_insert_with_key(|stem| {
        let mark = if is_neutral(stem) { NEUTRAL_FLAG } else { 0 };
        meanings.push((class_of(stem), mark));
        next
    })
}

fn saturate(weight: f32) -> f32 {
    weight / (SATURATION + weight)
}

/// Turns "terms per document" into "documents per term" by counting sort.
fn invert(
    terms: usize,
    document_starts: &[u32],
    document_terms: &[u32],
    (document_strengths, document_fields): (&[u8], &[u8]),
    number: impl Fn(u32) -> u32,
) -> (Vec<u32>, Vec<u32>, Vec<u8>, Vec<u8>) {
    let mut starts = vec![0_u32; terms + 1];
    for term in document_terms {
        starts[number(*term) as usize + 1] += 1;
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let mut next = starts.clone();
    let mut documents = vec![0_u32; document_terms.len()];
    let mut strengths = vec![0_u8; document_terms.len()];
    let mut fields = vec![0_u8; document_terms.len()];
    for (document, bounds) in document_starts.windows(2).enumerate() {
        let &[from, to] = bounds else { continue };
        let range = from as usize..to as usize;
        for entry in range {
            let next = &mut next[number(document_terms[entry]) as usize];
            let at = *next as usize;
            documents[at] = document as u32;
            strengths[at] = document_strengths[entry];
            fields[at] = document_fields[entry];
            *next += 1;
        }
    }
    (starts, documents, strengths, fields)
}

/// The stem of the first word that nearly all tools start with, when there are enough
/// tools to tell.
fn shared_prefix<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> Option<String> {
    let count = names.len();
    if count < 4 {
        return None;
    }
    let mut uses: FxHashMap<String, usize> = FxHashMap::default();
    let mut buffer = String::new();
    for name in names {
        let mut first = None;
        each_word(name, &mut buffer, |word| {
            first.get_or_insert_with(|| word.to_owned());
        });
        *uses.entry(first.unwrap_or_default()).or_default() += 1;
    }
    let (prefix, uses) = uses.into_iter().max_by_key(|(_, uses)| *uses)?;
    (uses * 10 >= count * 9).then(|| stemmed(&prefix))
}

#[cfg(test)]
mod tests;
