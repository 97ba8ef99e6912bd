//! Full text over a capsule's entries: words, beginnings of words, phrases, typing errors.
//!
//! The index lives in memory and is made from the files, so it can never say anything else than they do.

mod index;
mod postings;
mod query;
mod rank;
mod snippet;
mod words;

use serde::Serialize;

pub(crate) use index::EntryIndex;
pub(crate) use rank::EntryRanking;
pub(crate) use snippet::snippet;

use crate::{
    EntryMeta, EntryScope, page,
    service::{EntryMatch, SearchQuery},
};

/// Hits of one page at most.
pub const MAX_SEARCH_PAGE_SIZE: usize = 50;

/// One page of hits, best first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EntrySearchPage {
    pub hits: Vec<EntryMatch>,
    /// All hits of all pages.
    pub total: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl SearchQuery {
    /// A question with nothing else said.
    pub fn words(query: &str) -> Self {
        Self { query: query.to_owned(), ..Self::default() }
    }

    pub(crate) fn page_size(&self) -> usize {
        if self.limit == 0 { 10 } else { self.limit.min(MAX_SEARCH_PAGE_SIZE) }
    }

    /// Whether an entry is among those asked about.
    pub(crate) fn matches(&self, meta: &EntryMeta) -> bool {
        self.scheme.as_ref().is_none_or(|scheme| meta.uri.scheme() == scheme)
            && self.tags.iter().all(|tag| meta.tags.contains(tag))
            && self.author.as_ref().is_none_or(|author| is_by(meta, author))
            && self.risk_class.is_none_or(|class| meta.risk_class == class)
            && self.written_after.is_none_or(|moment| meta.written_at > moment)
            && self.written_before.is_none_or(|moment| meta.written_at < moment)
    }

    /// Whether every entry is among them.
    pub(crate) fn takes_all(&self) -> bool {
        self.on_any_page() == Self::words(&self.query)
    }

    pub(crate) fn fingerprint(&self, scope: &EntryScope) -> String {
        page::fingerprint(&format!("{:?}{scope:?}", self.on_any_page()))
    }

    fn on_any_page(&self) -> Self {
        Self { limit: 0, cursor: None, ..self.clone() }
    }
}

fn is_by(meta: &EntryMeta, author: &str) -> bool {
    let starts = |text: &str| text.to_lowercase().starts_with(&author.to_lowercase());
    // `operator Ann (…)` is found as `operator` and as `Ann`.
    let name = meta.written_by.split_once(' ').map_or("", |(_, name)| name);
    [meta.written_by.as_str(), name, meta.client.as_deref().unwrap_or_default()]
        .into_iter()
        .any(starts)
        || meta.written_by_principal.as_deref() == Some(author)
}
