//! Search across everything that a client may find: tools of the deck and entries of capsules.

use std::sync::Arc;

use capdeck_backend::CallError;
use capdeck_catalog::{Capability, Catalog, ToolSearchMatch, ToolSearchRequest};
use serde_json::Value;

use crate::{
    EntryHit, RequestContext, SessionScope, View,
    deck_snapshot::DeckSnapshot,
    discover::{DiscoveryPurpose, MissingList},
};

/// A search query.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolQuery<'a> {
    pub words: &'a str,
    pub within: Option<&'a str>,
    pub limit: Option<usize>,
    pub cursor: Option<&'a str>,
}

/// One page of results, with the capabilities that could not be searched.
#[derive(Debug)]
pub struct DeckSearchResults {
    pub hits: Vec<ToolSearchMatch>,
    pub next_cursor: Option<String>,
    pub total: usize,
    /// Matching entries of capsules, with the first page only.
    pub entries: Vec<EntryHit>,
    /// Capabilities that were not searched, because they are starting or failed.
    pub unavailable: Vec<MissingList>,
}

impl DeckSearchResults {
    pub fn unavailable_rows(&self) -> Value {
        self.unavailable.iter().map(MissingList::to_json).collect()
    }
}

/// Finds tools across everything the client may search. Asks backends without a known list and
/// waits for them only briefly: what they answer later is in the next search.
pub async fn find(
    request: &RequestContext<'_>,
    query: ToolQuery<'_>,
) -> Result<DeckSearchResults, CallError> {
    let may_search =
        |deck: &DeckSnapshot<'_>, view: &View, capability: &Capability| match deck.scope() {
            SessionScope::Operator => capability.is_usable(),
            SessionScope::Deck(_) => view.is_searchable(capability),
            SessionScope::Transparent(_) => deck.may_see(capability),
        };
    find_among(request, query, &may_search).await
}

pub(crate) async fn find_among(
    request: &RequestContext<'_>,
    query: ToolQuery<'_>,
    allowed: &(dyn Fn(&DeckSnapshot<'_>, &View, &Capability) -> bool + Sync),
) -> Result<DeckSearchResults, CallError> {
    let ToolQuery { words, within, limit, cursor } = query;
    let (deck, view) = (&request.deck, request.deck.view());
    if let Some(id) = within {
        deck.capability(id)?;
    }
    let is_meant = |capability: &&Arc<Capability>| {
        within.is_none_or(|id| id == capability.definition.id.as_str())
            && allowed(deck, &view, capability)
    };
    let unknown = deck.catalog().capabilities().filter(is_meant).cloned();
    let asking = request.connections().discover_unknown(unknown, DiscoveryPurpose::Search);
    let unavailable = asking.await;

    // A capability that just answered may be offered in another form.
    let request = request.renewed();
    let (deck, view) = (&request.deck, request.deck.view());
    warm(deck.catalog()).await;
    let allowed = |capability: &Capability| allowed(deck, &view, capability);
    let config = deck.catalog().config();
    let limit = limit.unwrap_or(config.default_search_limit as usize);
    let page = deck
        .catalog()
        .search(&ToolSearchRequest {
            query: words,
            within,
            limit: limit.clamp(1, config.max_search_limit as usize),
            cursor,
            allowed: &allowed,
        })
        .map_err(|error| {
            CallError::invalid_request(error.to_string()).hint("start without a cursor")
        })?;
    let entries = match cursor.is_none() && deck.searches_entries(within, &allowed) {
        true => deck.search_entries(words).await,
        false => Vec::new(),
    };
    Ok(DeckSearchResults {
        hits: page.hits,
        next_cursor: page.next_cursor,
        total: page.total,
        entries,
        unavailable,
    })
}

/// Builds the search index of a catalog. That takes long for a large deck, so it never delays other
/// calls.
pub(crate) async fn warm(catalog: &Arc<Catalog>) {
    if !catalog.is_search_warm() {
        let building = catalog.clone();
        if let Err(error) = tokio::task::spawn_blocking(move || building.warm_search()).await {
            tracing::error!(%error, "building the search index panicked");
        }
    }
}
