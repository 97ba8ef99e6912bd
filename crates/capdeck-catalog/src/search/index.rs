//! The inverted index: which tools hold which term, and how strongly.

use std::{borrow::Cow, ops::Range, sync::Arc};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::{
    document::{self, Field},
    rank::Scratch,
    words::{each_word, is_plural, is_stop_word, stem},
};
use crate::Capability;

/// BM25's saturation: how soon a second occurrence stops mattering.
const SATURATION: f32 = 1.5;
/// Strengths are kept in a byte: 255 is the strongest.
pub(super) const STRONGEST: f32 = 255.0;

/// Marks a name's word that is in the plural; the other bits are its term.
pub(super) const PLURAL: u32 = 1 << 31;

/// An index over the usable capabilities of one catalog. A document is a tool, or a capability whose
/// tools are not known yet; documents of one capability lie side by side, in catalog order.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(super) terms: Terms,
    /// For term `t`, the entries `starts[t]..starts[t + 1]` of `documents` and `strengths`.
    pub(super) starts: Vec<u32>,
    pub(super) documents: Vec<u32>,
    pub(super) strengths: Vec<u8>,
    /// Capabilities whose card holds a term. Cards count for all their tools, and are kept apart so
    /// that a long description is not stored once per tool.
    pub(super) cards: FxHashMap<u32, Vec<(u32, f32)>>,
    pub(super) capabilities: Vec<Indexed>,
    /// For document `d`, the words of its name: `name_words[name_starts[d]..name_starts[d + 1]]`.
    pub(super) name_starts: Vec<u32>,
    pub(super) name_words: Vec<u32>,
    /// Buffers of the last query, kept for the next one.
    pub(super) scratch: Mutex<Scratch>,
}

/// A capability in the index and its documents.
#[derive(Debug)]
pub(super) struct Indexed {
    pub(super) capability: Arc<Capability>,
    pub(super) documents: Range<u32>,
}

/// The sorted vocabulary.
#[derive(Debug, Default)]
pub(super) struct Terms {
    text: String,
    ends: Vec<u32>,
    /// Which letters each term has, to pass over hopeless candidates for typing errors.
    pub(super) letters: Vec<u32>,
}

impl Index {
    pub(crate) fn build<'a>(capabilities: impl Iterator<Item = &'a Arc<Capability>>) -> Self {
        let mut builder = Builder { name_starts: vec![0], starts: vec![0], ..Builder::default() };
        for capability in capabilities.filter(|capability| capability.is_usable()) {
            builder.add(capability);
        }
        builder.finish()
    }

    pub(super) fn postings(&self, term: u32) -> (&[u32], &[u8]) {
        let bound = |term: usize| self.starts.get(term).map_or(0, |start| *start as usize);
        let range = bound(term as usize)..bound(term as usize + 1);
        (
            self.documents.get(range.clone()).unwrap_or_default(),
            self.strengths.get(range).unwrap_or_default(),
        )
    }

    pub(super) fn name_words(&self, document: u32) -> &[u32] {
        let bound = |at: usize| self.name_starts.get(at).map_or(0, |start| *start as usize);
        let range = bound(document as usize)..bound(document as usize + 1);
        self.name_words.get(range).unwrap_or_default()
    }

    pub(super) fn document_count(&self) -> usize {
        self.name_starts.len().saturating_sub(1)
    }

    /// The capability a document belongs to, and the document's place in it.
    pub(super) fn owner(&self, document: u32) -> Option<(&Arc<Capability>, usize)> {
        let at = self.capabilities.partition_point(|indexed| indexed.documents.end <= document);
        let indexed = self.capabilities.get(at)?;
        Some((&indexed.capability, document.checked_sub(indexed.documents.start)? as usize))
    }
}

impl Terms {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, term: usize) -> &str {
        let start = term
            .checked_sub(1)
            .and_then(|before| self.ends.get(before))
            .map_or(0, |end| *end as usize);
        let end = self.ends.get(term).map_or(start, |end| *end as usize);
        self.text.get(start..end).unwrap_or_default()
    }

    /// The first term that is not before `wanted`.
    fn lower_bound(&self, wanted: &str) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            if self.get(middle) < wanted { low = middle + 1 } else { high = middle }
        }
        low
    }

    pub(super) fn find(&self, wanted: &str) -> Option<u32> {
        let at = self.lower_bound(wanted);
        (at < self.len() && self.get(at) == wanted).then_some(at as u32)
    }

    /// The terms that start with `prefix`.
    pub(super) fn starting_with(&self, prefix: &str) -> Range<usize> {
        let start = self.lower_bound(prefix);
        let length = (start..self.len()).take_while(|at| self.get(*at).starts_with(prefix)).count();
        start..start + length
    }
}

/// A bit per letter and one for digits.
pub(super) fn letters(term: &str) -> u32 {
    term.bytes().fold(0, |set, byte| match byte {
        b'a'..=b'z' => set | 1 << (byte - b'a'),
        b'0'..=b'9' => set | 1 << 26,
        _ => set | 1 << 27,
    })
}

/// Collects documents in order; terms get their final, sorted numbers at the end.
#[derive(Default)]
struct Builder {
    /// Every spelling seen, with the number of its stem; stop words have none.
    spellings: FxHashMap<Box<str>, Option<u32>>,
    stems: FxHashMap<Box<str>, u32>,
    /// The document at hand: weight per term, and the terms that have one.
    weights: Vec<f32>,
    touched: Vec<u32>,
    /// Terms and strengths of all documents so far; `starts` cuts them.
    starts: Vec<u32>,
    terms: Vec<u32>,
    strengths: Vec<u8>,
    cards: Vec<(u32, u32, f32)>,
    capabilities: Vec<Indexed>,
    name_starts: Vec<u32>,
    name_words: Vec<u32>,
    words: Vec<u32>,
    buffer: String,
}

impl Builder {
    fn add(&mut self, capability: &Arc<Capability>) {
        let tools = capability.discovery.as_ref().map(|discovery| discovery.tools.as_slice());
        let prefix = tools.and_then(|tools| shared_prefix(tools.iter().map(|tool| tool.name())));
        document::read_card(&capability.definition, prefix.as_deref(), |field, texts| {
            self.feed(field, texts);
        });
        let place = self.capabilities.len() as u32;
        for term in std::mem::take(&mut self.touched) {
            let weight = self.take_weight(term);
            self.cards.push((term, place, saturate(weight)));
        }
        let first = self.document_count();
        match tools {
            None => self.end_document(),
            Some(tools) => {
                for tool in tools {
                    self.feed_name(tool.name(), prefix.as_deref());
                    document::read_tool(tool, |field, texts| self.feed(field, texts));
                    self.end_document();
                }
            }
        }
        let documents = first..self.document_count();
        self.capabilities.push(Indexed { capability: Arc::clone(capability), documents });
    }

    fn document_count(&self) -> u32 {
        self.name_starts.len() as u32 - 1
    }

    /// A first word that most tools of a capability share (`linear_…`) tells nothing apart and is not
    /// part of the name; it goes to the card.
    fn feed_name(&mut self, name: &str, prefix: Option<&str>) {
        self.collect(&[Cow::Borrowed(name)]);
        let shared = prefix.and_then(|prefix| self.stems.get(prefix)).copied();
        let skipped = usize::from(self.words.len() > 1 && self.words.first().copied() == shared);
        self.words.drain(..skipped);
        let mut marks = Vec::with_capacity(self.words.len());
        each_word(name, &mut self.buffer, |word| {
            if !is_stop_word(word) {
                marks.push(if is_plural(word) { PLURAL } else { 0 });
            }
        });
        let marks = marks.iter().skip(skipped);
        self.name_words.extend(self.words.iter().zip(marks).map(|(word, mark)| word | mark));
        self.weigh(document::NAME);
    }

    fn feed(&mut self, field: Field, texts: &[Cow<'_, str>]) {
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
                        let term = (!is_stop_word(word)).then(|| intern(&mut self.stems, word));
                        self.spellings.insert(word.into(), term);
                        term
                    }
                };
                self.words.extend(known);
            });
        }
        self.buffer = buffer;
    }

    fn weigh(&mut self, field: Field) {
        let length = self.words.len() as f32 / field.usual_length;
        let weight = field.weight / (1.0 - field.damping + field.damping * length);
        for term in self.words.drain(..) {
            if self.weights.len() <= term as usize {
                self.weights.resize(term as usize + 1, 0.0);
            }
            if let Some(sum) = self.weights.get_mut(term as usize) {
                if *sum == 0.0 {
                    self.touched.push(term);
                }
                *sum += weight;
            }
        }
    }

    fn take_weight(&mut self, term: u32) -> f32 {
        self.weights.get_mut(term as usize).map_or(0.0, std::mem::take)
    }

    fn end_document(&mut self) {
        for term in std::mem::take(&mut self.touched) {
            let strength = saturate(self.take_weight(term)) * STRONGEST;
            self.terms.push(term);
            self.strengths.push(strength.round().clamp(1.0, STRONGEST) as u8);
        }
        self.starts.push(self.terms.len() as u32);
        self.name_starts.push(self.name_words.len() as u32);
    }

    fn finish(self) -> Index {
        let mut sorted: Vec<(Box<str>, u32)> = self.stems.into_iter().collect();
        sorted.sort_unstable();
        let mut terms = Terms::default();
        let mut numbers = vec![0_u32; sorted.len()];
        for (number, (text, seen)) in sorted.into_iter().enumerate() {
            terms.text.push_str(&text);
            terms.ends.push(terms.text.len() as u32);
            terms.letters.push(letters(&text));
            if let Some(slot) = numbers.get_mut(seen as usize) {
                *slot = number as u32;
            }
        }
        let number = |seen: u32| numbers.get(seen as usize).copied().unwrap_or_default();

        let mut cards: FxHashMap<u32, Vec<(u32, f32)>> = FxHashMap::default();
        for (term, capability, strength) in self.cards {
            cards.entry(number(term)).or_default().push((capability, strength));
        }
        let (starts, documents, strengths) =
            invert(terms.len(), &self.starts, &self.terms, &self.strengths, number);
        Index {
            terms,
            starts,
            documents,
            strengths,
            cards,
            capabilities: self.capabilities,
            name_starts: self.name_starts,
            name_words: self
                .name_words
                .into_iter()
                .map(|word| number(word & !PLURAL) | word & PLURAL)
                .collect(),
            scratch: Mutex::default(),
        }
    }
}

fn intern(stems: &mut FxHashMap<Box<str>, u32>, word: &str) -> u32 {
    let mut stemmed = word.to_owned();
    stem(&mut stemmed);
    let next = stems.len() as u32;
    *stems.entry(stemmed.into()).or_insert(next)
}

fn saturate(weight: f32) -> f32 {
    weight / (SATURATION + weight)
}

/// Turns "terms per document" into "documents per term" by counting sort.
fn invert(
    terms: usize,
    document_starts: &[u32],
    document_terms: &[u32],
    document_strengths: &[u8],
    number: impl Fn(u32) -> u32,
) -> (Vec<u32>, Vec<u32>, Vec<u8>) {
    let mut starts = vec![0_u32; terms + 1];
    for term in document_terms {
        if let Some(count) = starts.get_mut(number(*term) as usize + 1) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let mut next = starts.clone();
    let mut documents = vec![0_u32; document_terms.len()];
    let mut strengths = vec![0_u8; document_terms.len()];
    for (document, bounds) in document_starts.windows(2).enumerate() {
        let &[from, to] = bounds else { continue };
        let range = from as usize..to as usize;
        let entries = document_terms.get(range.clone()).into_iter().flatten();
        let values = document_strengths.get(range).into_iter().flatten();
        for (term, strength) in entries.zip(values) {
            if let Some(at) = next.get_mut(number(*term) as usize) {
                if let Some(slot) = documents.get_mut(*at as usize) {
                    *slot = document as u32;
                }
                if let Some(slot) = strengths.get_mut(*at as usize) {
                    *slot = *strength;
                }
                *at += 1;
            }
        }
    }
    (starts, documents, strengths)
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
    let (mut prefix, uses) = uses.into_iter().max_by_key(|(_, uses)| *uses)?;
    stem(&mut prefix);
    (uses * 10 >= count * 9).then_some(prefix)
}
