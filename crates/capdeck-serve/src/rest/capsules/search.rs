//! Search in one capsule.

use capdeck_host::{EntryMatch, RiskClass, SearchQuery};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rest::{
    call::RestCall,
    input::NoBody,
    operation::{RestOperation, get},
    page::PageQuery,
    problem::ApiError,
    required_access::RequiredAccess,
    response::RestResponse,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get("/v1/capsules/{capsule}/search", "searchEntries", "Find entries by what they say")
            .about("A page has at most 50 hits, the best first.")
            .who(RequiredAccess::Anyone)
            .handled_by(search),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "SearchEntries")]
struct EntrySearchQuery {
    /// What to look for, in plain words.
    #[schemars(length(min = 1, max = 1000))]
    q: String,
    /// Only entries of this scheme.
    scheme: Option<String>,
    /// Only entries below this address.
    prefix: Option<String>,
    /// Only entries with all of these tags.
    #[serde(default)]
    tag: Vec<String>,
    /// Only entries of this client.
    author: Option<String>,
    risk_class: Option<RiskClass>,
    written_after: Option<Timestamp>,
    written_before: Option<Timestamp>,
    #[serde(flatten)]
    paging: PageQuery,
}

/// Entries that were found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "EntrySearchResults")]
struct MatchPage {
    items: Vec<EntryMatch>,
    next_cursor: Option<String>,
    /// How many there are on all pages.
    total: usize,
}

async fn search(
    call: RestCall,
    query: EntrySearchQuery,
    _: NoBody,
) -> Result<RestResponse<MatchPage>, ApiError> {
    let EntrySearchQuery {
        q,
        scheme,
        prefix,
        tag,
        author,
        risk_class,
        written_after,
        written_before,
        paging,
    } = query;
    let search = SearchQuery {
        query: q,
        scheme,
        prefix,
        tags: tag,
        author,
        risk_class,
        written_after,
        written_before,
        limit: paging.limit(),
        cursor: paging.inner_cursor(&call)?,
    };
    let found = call.ask_for(search).await?;
    let next_cursor = PageQuery::outer_cursor(&call, found.next_cursor);
    Ok(RestResponse::new(MatchPage { items: found.hits, next_cursor, total: found.total }))
}
