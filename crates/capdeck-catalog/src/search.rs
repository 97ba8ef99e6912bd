//! Finds tools by what they do, across all capabilities.
//!
//! Own inverted index (BM25F over names, descriptions, tags, hints, patterns and parameters) with a
//! light stemmer, a small thesaurus, and prefix and typing-error tolerance where a word is not known.
//! A linear model puts the best of them in order (`docs/design/060-search-ranking.md`).

mod builder;
mod document;
mod features;
mod index;
mod intent;
mod query;
mod rank;
mod texts;
mod thesaurus;
mod verbs;
mod weights;
mod words;

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use capdeck_definition::CapabilityId;
use rustc_hash::FxHasher;

pub(crate) use index::ToolIndex;

use crate::{Capability, Tool};

#[derive(Clone, Copy)]
pub struct ToolSearchRequest<'a> {
    pub query: &'a str,
    pub within: Option<&'a str>,
    /// Hits per page; 0 counts as 1.
    pub limit: usize,
    /// `next_cursor` of the page before, for the same query.
    pub cursor: Option<&'a str>,
    /// What the asker may see. The rest does not exist: it is not found, not counted and does not
    /// change how anything else is ranked.
    pub allowed: &'a dyn Fn(&Capability) -> bool,
}

/// One page of hits, best first.
#[derive(Debug, Clone, Default)]
pub struct ToolSearchResult {
    pub hits: Vec<ToolSearchMatch>,
    /// Set while there are more.
    pub next_cursor: Option<String>,
    /// All hits of all pages.
    pub total: usize,
}

/// A tool that fits, or a capability whose tools are not known yet.
#[derive(Debug, Clone)]
pub struct ToolSearchMatch {
    pub capability: CapabilityId,
    /// `None` when the capability itself fits and has not been asked for its tools.
    pub tool: Option<Arc<Tool>>,
    /// Higher is better; comparable within one search only.
    pub score: f32,
}

/// A candidate of a search with the numbers that decide its place, for training the ranking.
#[derive(Debug, Clone)]
pub struct SearchCandidate {
    pub capability: CapabilityId,
    pub tool: Option<Arc<Tool>>,
    /// In the order of [`search_features`].
    pub features: Vec<f32>,
}

/// The names of the features of a [`SearchCandidate`].
pub fn search_features() -> &'static [&'static str] {
    &features::FEATURE_NAMES
}

/// The cursor is not one of this search.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the cursor does not belong to this search: {cursor:?}; repeat the search without it")]
pub struct SearchCursorError {
    pub cursor: String,
}

impl ToolIndex {
    pub(crate) fn search(
        &self,
        request: &ToolSearchRequest<'_>,
    ) -> Result<ToolSearchResult, SearchCursorError> {
        let offset = read_cursor(request)?;
        let visible: Vec<bool> = self
            .capabilities
            .iter()
            .map(|indexed| {
                let id = indexed.capability.definition.id.as_str();
                request.within.is_none_or(|within| within == id)
                    && (request.allowed)(&indexed.capability)
            })
            .collect();
        let end = offset.saturating_add(request.limit.max(1));
        let ranking = self.rank(request.query, end, &visible);
        let hits = ranking.best.iter().skip(offset).filter_map(|(document, score)| {
            let (capability, place) = self.owner(*document)?;
            let discovery = capability.discovery.as_ref();
            Some(ToolSearchMatch {
                capability: capability.definition.id.clone(),
                tool: discovery.and_then(|discovery| discovery.tools.get(place)).cloned(),
                score: *score,
            })
        });
        Ok(ToolSearchResult {
            hits: hits.collect(),
            next_cursor: (end < ranking.total).then(|| write_cursor(request, end)),
            total: ranking.total,
        })
    }
}

impl ToolIndex {
    pub(crate) fn search_candidates(&self, question: &str) -> Vec<SearchCandidate> {
        let visible = vec![true; self.capabilities.len()];
        let (ranking, features) = self.candidates(question, 1, &visible);
        let candidates = ranking.best.iter().zip(features);
        candidates
            .filter_map(|((document, _), features)| {
                let (capability, place) = self.owner(*document)?;
                let discovery = capability.discovery.as_ref();
                Some(SearchCandidate {
                    capability: capability.definition.id.clone(),
                    tool: discovery.and_then(|discovery| discovery.tools.get(place)).cloned(),
                    features: features.to_vec(),
                })
            })
            .collect()
    }
}

/// The cursor of the page that starts at `offset`: opaque to clients, and only good for the search it came from.
///
/// It names a place and not a document, so it still works after a reload: hits may then move across
/// the border of a page, which is all that can be promised about a list that changed.
fn write_cursor(request: &ToolSearchRequest<'_>, offset: usize) -> String {
    format!("{offset:x}-{:06x}", mark(request))
}

/// Where the asked-for page starts.
fn read_cursor(request: &ToolSearchRequest<'_>) -> Result<usize, SearchCursorError> {
    let Some(cursor) = request.cursor else { return Ok(0) };
    let parsed = cursor.split_once('-').and_then(|(offset, own)| {
        let own = u32::from_str_radix(own, 16).ok()?;
        let offset = usize::from_str_radix(offset, 16).ok()?;
        (own == mark(request)).then_some(offset)
    });
    parsed.ok_or_else(|| SearchCursorError { cursor: cursor.chars().take(40).collect() })
}

/// A short mark of the search itself, so that a cursor of another one is noticed.
fn mark(request: &ToolSearchRequest<'_>) -> u32 {
    let mut hasher = FxHasher::default();
    (request.query, request.within).hash(&mut hasher);
    let hash = hasher.finish();
    ((hash >> 40) ^ hash) as u32 & 0xff_ffff
}
