//! The inverted index: which tools hold which term, and how strongly.

use std::{ops::Range, sync::Arc};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::{builder, document::ToolTraits, rank::ScoreBuffers};
use crate::Capability;

/// Strengths are kept in a byte: 255 is the strongest.
pub(super) const MAX_STRENGTH: f32 = 255.0;

/// Marks a name's word that is in the plural; the other bits are its term.
pub(super) const PLURAL_FLAG: u32 = 1 << 31;

/// Marks a name's word that says what is done.
pub(super) const VERB_FLAG: u32 = 1 << 30;

/// Marks a name's word that says little.
pub(super) const NEUTRAL_FLAG: u32 = 1 << 29;

/// All marks of a name's word.
pub(super) const MARKS: u32 = PLURAL_FLAG | VERB_FLAG | NEUTRAL_FLAG;

/// An index over the usable capabilities of one catalog. A document is a tool, or a capability whose
/// tools are not known yet; documents of one capability lie side by side, in catalog order.
#[derive(Debug, Default)]
pub(crate) struct ToolIndex {
    pub(super) terms: TermTable,
    /// For term `t`, the entries `starts[t]..starts[t + 1]` of `documents` and `strengths`.
    pub(super) starts: Vec<u32>,
    pub(super) documents: Vec<u32>,
    pub(super) strengths: Vec<u8>,
    /// For each of these entries, the fields of the document that hold the term.
    pub(super) fields: Vec<u8>,
    /// Capabilities whose card holds a term. Cards count for all their tools, and are kept apart so
    /// that a long description is not stored once per tool.
    pub(super) cards: FxHashMap<u32, Vec<(u32, f32)>>,
    pub(super) capabilities: Vec<IndexedCapability>,
    /// For document `d`, the words of its name: `name_words[name_starts[d]..name_starts[d + 1]]`.
    pub(super) name_starts: Vec<u32>,
    pub(super) name_words: Vec<u32>,
    /// One for each document.
    pub(super) traits: Vec<ToolTraits>,
    /// Buffers of the last query, kept for the next one.
    pub(super) scratch: Mutex<ScoreBuffers>,
}

#[derive(Debug)]
pub(super) struct IndexedCapability {
    pub(super) capability: Arc<Capability>,
    pub(super) documents: Range<u32>,
}

#[derive(Debug, Default)]
pub(super) struct TermTable {
    pub(super) terms: Vec<Box<str>>,
    /// Which letters each term has, to pass over hopeless candidates for typing errors.
    pub(super) letters: Vec<u32>,
}

impl ToolIndex {
    pub(crate) fn build<'a>(capabilities: impl Iterator<Item = &'a Arc<Capability>>) -> Self {
        let usable: Vec<_> = capabilities.filter(|capability| capability.is_usable()).collect();
        builder::build(&usable)
    }

    pub(super) fn postings(&self, term: u32) -> (&[u32], &[u8]) {
        let range = bounds(&self.starts, term);
        (&self.documents[range.clone()], &self.strengths[range])
    }

    /// The documents that hold a term, and in which of their fields.
    pub(super) fn fields(&self, term: u32) -> (&[u32], &[u8]) {
        let range = bounds(&self.starts, term);
        (&self.documents[range.clone()], &self.fields[range])
    }

    pub(super) fn traits(&self, document: u32) -> ToolTraits {
        self.traits.get(document as usize).copied().unwrap_or_default()
    }

    /// The number of the capability a document belongs to.
    pub(super) fn capability_number(&self, document: u32) -> usize {
        self.capabilities.partition_point(|indexed| indexed.documents.end <= document)
    }

    pub(super) fn name_words(&self, document: u32) -> &[u32] {
        &self.name_words[bounds(&self.name_starts, document)]
    }

    pub(super) fn document_count(&self) -> usize {
        self.name_starts.len().saturating_sub(1)
    }

    /// The capability a document belongs to, and the document's place in it.
    pub(super) fn owner(&self, document: u32) -> Option<(&Arc<Capability>, usize)> {
        let indexed = self.capabilities.get(self.capability_number(document))?;
        Some((&indexed.capability, document.checked_sub(indexed.documents.start)? as usize))
    }
}

impl TermTable {
    /// A vocabulary of terms that are sorted.
    pub(super) fn new(terms: Vec<Box<str>>) -> Self {
        Self { letters: terms.iter().map(|term| letters(term)).collect(), terms }
    }

    pub(super) fn find(&self, text: &str) -> Option<u32> {
        self.terms.binary_search_by(|term| (**term).cmp(text)).ok().map(|at| at as u32)
    }

    pub(super) fn starting_with(&self, prefix: &str) -> impl Iterator<Item = u32> {
        let start = self.terms.partition_point(|term| **term < *prefix);
        let terms = self.terms.iter().enumerate().skip(start);
        terms.take_while(move |(_, term)| term.starts_with(prefix)).map(|(at, _)| at as u32)
    }
}

fn bounds(starts: &[u32], number: u32) -> Range<usize> {
    let at = number as usize;
    starts[at] as usize..starts[at + 1] as usize
}

/// A bit per letter and one for digits.
pub(super) fn letters(term: &str) -> u32 {
    term.bytes().fold(0, |set, byte| match byte {
        b'a'..=b'z' => set | 1 << (byte - b'a'),
        b'0'..=b'9' => set | 1 << 26,
        _ => set | 1 << 27,
    })
}
