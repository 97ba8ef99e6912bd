//! The inverted index, changed entry by entry.

use std::{collections::BTreeMap, sync::Arc};

use rustc_hash::FxHashMap;

use super::{postings::TermPostings, words::each_word};
use crate::{EntryMeta, EntryUri};

/// The weight of a word by its field, and how many words the field usually has.
struct FieldWeight {
    weight: f32,
    usual_length: f32,
    damping: f32,
}

const TITLE: FieldWeight = FieldWeight { weight: 3.0, usual_length: 4.0, damping: 0.4 };
const PATH: FieldWeight = FieldWeight { weight: 2.5, usual_length: 3.0, damping: 0.3 };
const TAGS: FieldWeight = FieldWeight { weight: 2.0, usual_length: 3.0, damping: 0.2 };
const BODY: FieldWeight = FieldWeight { weight: 1.0, usual_length: 250.0, damping: 0.75 };

/// How soon more of the same word stops mattering.
const SATURATION: f32 = 1.3;
/// Strengths are kept in a byte.
pub(super) const MAX_STRENGTH: f32 = 255.0;
/// Words read of one entry.
const MAX_INDEXED_WORDS: u32 = 100_000;
/// Places between two fields, so that no phrase spans them.
const FIELD_GAP: u32 = 16;

/// An index over entries. A document is one entry in its current version; a changed entry gets a new number, and the
/// old one stays empty until there are many of them.
#[derive(Debug, Default)]
pub(crate) struct EntryIndex {
    pub(super) documents: Vec<Option<Arc<EntryMeta>>>,
    by_uri: FxHashMap<EntryUri, u32>,
    pub(super) terms: FxHashMap<Arc<str>, u32>,
    pub(super) sorted: BTreeMap<Arc<str>, u32>,
    /// Which letters each term has, to pass over hopeless candidates for typing errors.
    pub(super) letters: Vec<u32>,
    pub(super) names: Vec<Arc<str>>,
    pub(super) postings: Vec<TermPostings>,
}

struct TermOccurrence {
    term: u32,
    place: u32,
    field: usize,
}

impl EntryIndex {
    /// Adds an entry, or replaces what was known of it.
    pub(crate) fn put(&mut self, meta: &Arc<EntryMeta>, body: &str) {
        self.remove(&meta.uri);
        let number = self.documents.len() as u32;
        let mut found: Vec<TermOccurrence> = Vec::new();
        let mut lengths = [0_u32; 4];
        let title = meta.title.as_deref().or(meta.heading.as_deref()).unwrap_or_default();
        let tags = meta.tags.join(" \n");
        let mut place = 0;
        for (field, text) in [title, meta.uri.path(), &tags, body].into_iter().enumerate() {
            each_word(text, |_, term| {
                if place < MAX_INDEXED_WORDS {
                    found.push(TermOccurrence { term: self.intern(term), place, field });
                    if let Some(length) = lengths.get_mut(field) {
                        *length += 1;
                    }
                    place += 1;
                }
            });
            place += FIELD_GAP;
        }
        found.sort_unstable_by_key(|occurrence| (occurrence.term, occurrence.place));
        let weight = |occurrence: &TermOccurrence| {
            let field = [TITLE, PATH, TAGS, BODY].into_iter().nth(occurrence.field).unwrap_or(BODY);
            let length = lengths.get(occurrence.field).map_or(0.0, |length| *length as f32);
            field.weight / (1.0 - field.damping + field.damping * length / field.usual_length)
        };
        for same in found.chunk_by(|one, next| one.term == next.term) {
            let sum: f32 = same.iter().map(weight).sum();
            let strength =
                (sum / (SATURATION + sum) * MAX_STRENGTH).round().clamp(1.0, MAX_STRENGTH) as u8;
            if let Some(first) = same.first()
                && let Some(postings) = self.postings.get_mut(first.term as usize)
            {
                postings.push(number, strength, same.iter().map(|occurrence| occurrence.place));
            }
        }
        self.documents.push(Some(Arc::clone(meta)));
        self.by_uri.insert(meta.uri.clone(), number);
    }

    pub(crate) fn remove(&mut self, uri: &EntryUri) {
        if let Some(number) = self.by_uri.remove(uri)
            && let Some(document) = self.documents.get_mut(number as usize)
        {
            *document = None;
        }
        if self.documents.len() > 1_000 && self.documents.len() > 2 * self.by_uri.len() {
            self.compact();
        }
    }

    /// Gives the documents new numbers without holes.
    fn compact(&mut self) {
        let mut next = 0;
        let mut numbers = Vec::with_capacity(self.documents.len());
        for document in &self.documents {
            numbers.push(document.is_some().then_some(next));
            next += u32::from(document.is_some());
        }
        for postings in &mut self.postings {
            *postings = postings.renumbered(&numbers);
        }
        self.documents.retain(Option::is_some);
        for number in self.by_uri.values_mut() {
            if let Some(Some(new)) = numbers.get(*number as usize) {
                *number = *new;
            }
        }
    }

    fn intern(&mut self, term: &str) -> u32 {
        if let Some(known) = self.terms.get(term) {
            return *known;
        }
        let number = self.names.len() as u32;
        let name: Arc<str> = term.into();
        self.terms.insert(Arc::clone(&name), number);
        self.sorted.insert(Arc::clone(&name), number);
        self.letters.push(letters(term));
        self.names.push(name);
        self.postings.push(TermPostings::default());
        number
    }
}

/// A bit per letter, one for digits, one for everything else.
pub(super) fn letters(term: &str) -> u32 {
    term.bytes().fold(0, |set, byte| match byte {
        b'a'..=b'z' => set | 1 << (byte - b'a'),
        b'0'..=b'9' => set | 1 << 26,
        _ => set | 1 << 27,
    })
}
