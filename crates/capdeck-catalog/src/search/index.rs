//! The inverted index: which tools hold which term, and how strongly.

use std::{ops::Range, sync::Arc};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::{builder, rank::ScoreBuffers};
use crate::Capability;

/// Strengths are kept in a byte: 255 is the strongest.
pub(super) const MAX_STRENGTH: f32 = 255.0;

/// Marks a name's word that is in the plural; the other bits are its term.
pub(super) const PLURAL_FLAG: u32 = 1 << 31;

/// An index over the usable capabilities of one catalog. A document is a tool, or a capability whose
/// tools are not known yet; documents of one capability lie side by side, in catalog order.
#[derive(Debug, Default)]
pub(crate) struct ToolIndex {
    pub(super) terms: TermTable,
    /// For term `t`, the entries `starts[t]..starts[t + 1]` of `documents` and `strengths`.
    pub(super) starts: Vec<u32>,
    pub(super) documents: Vec<u32>,
    pub(super) strengths: Vec<u8>,
    /// Capabilities whose card holds a term. Cards count for all their tools, and are kept apart so
    /// that a long description is not stored once per tool.
    pub(super) cards: FxHashMap<u32, Vec<(u32, f32)>>,
    pub(super) capabilities: Vec<IndexedCapability>,
    /// For document `d`, the words of its name: `name_words[name_starts[d]..name_starts[d + 1]]`.
    pub(super) name_starts: Vec<u32>,
    pub(super) name_words: Vec<u32>,
    /// Buffers of the last query, kept for the next one.
    pub(super) scratch: Mutex<ScoreBuffers>,
}

/// A capability in the index and its documents.
#[derive(Debug)]
pub(super) struct IndexedCapability {
    pub(super) capability: Arc<Capability>,
    pub(super) documents: Range<u32>,
}

/// The sorted vocabulary.
#[derive(Debug, Default)]
pub(super) struct TermTable {
    text: String,
    ends: Vec<u32>,
    /// Which letters each term has, to pass over hopeless candidates for typing errors.
    pub(super) letters: Vec<u32>,
}

impl ToolIndex {
    pub(crate) fn build<'a>(capabilities: impl Iterator<Item = &'a Arc<Capability>>) -> Self {
        let usable: Vec<_> = capabilities.filter(|capability| capability.is_usable()).collect();
        builder::build(&usable)
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

impl TermTable {
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

    /// Adds a term; terms come sorted.
    pub(super) fn push(&mut self, term: &str) {
        self.text.push_str(term);
        self.ends.push(self.text.len() as u32);
        self.letters.push(letters(term));
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
