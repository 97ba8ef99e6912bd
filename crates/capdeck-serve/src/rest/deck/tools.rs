//! Tools: list, get and search.

use capdeck_host::{
    CallError, CapabilityReport, DeckSearchResults, EntryHit, ErrorCode, ToolQuery, calls, check,
    described_tool, found_tool, search, tool_item,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;

use super::session::context;
use crate::rest::{
    call::RestCall,
    input::{NoBody, NoQuery},
    operation::{RestOperation, get},
    page::{ListPage, PageQuery},
    problem::ApiError,
    required_access::RequiredAccess,
    response::RestResponse,
    shapes::{JsonObject, ToolDefinition},
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get("/v1/deck/capabilities/{capability}/tools", "listTools", "List the tools of one capability")
            .about("Connects only while the tools are unknown, or with `refresh`.")
            .who(RequiredAccess::Deck)
            .problems(&[424, 502, 504])
            .handled_by(list),
        get("/v1/deck/capabilities/{capability}/tools/{tool}", "getTool", "Get one tool with its schemas")
            .about("`observedOutputShape` is the shape of earlier results; `why` explains the policy and the pin.")
            .who(RequiredAccess::Deck)
            .problems(&[424, 502, 504])
            .handled_by(show),
        get("/v1/deck/tools/search", "searchTools", "Search tools by purpose")
            .about("Connects to capabilities whose tools are unknown. The first page also has matching capsule entries.")
            .who(RequiredAccess::Deck)
            .problems(&[404])
            .handled_by(search),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ListTools")]
struct ToolListQuery {
    /// Ask the capability again instead of using the cached list.
    refresh: Option<bool>,
    #[serde(flatten)]
    paging: PageQuery,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "SearchTools")]
struct ToolSearchQuery {
    /// The purpose of the tool, in plain words.
    #[schemars(length(min = 1, max = 1000))]
    q: String,
    /// Only in this capability.
    #[serde(rename = "in")]
    within: Option<String>,
    #[serde(flatten)]
    paging: PageQuery,
}

/// Matching tools, the best first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ToolSearchResults")]
struct ToolSearchResponse {
    /// Each with its `capability` and `score`; `name` is null while the capability's tools are unknown.
    items: Vec<JsonObject>,
    next_cursor: Option<String>,
    /// The number of results on all pages.
    total: usize,
    /// Matching capsule entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    entries: Vec<JsonObject>,
    /// Capabilities that cannot be searched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unavailable: Vec<UnavailableCapability>,
}

/// A capability that cannot be searched.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UnavailableCapability")]
struct UnavailableCapability {
    capability: String,
    reason: String,
}

async fn list(
    call: RestCall,
    query: ToolListQuery,
    _: NoBody,
) -> Result<RestResponse<ListPage<ToolDefinition>>, ApiError> {
    let session = call.session();
    let id = call.path_parameter("capability");
    let capability = session.snapshot().capability(id)?;
    let discovery = match &capability.discovery {
        Some(known) if query.refresh != Some(true) => known.clone(),
        _ => check::check(&session.request(&context(None)), id).await.outcome?,
    };
    session.close().await;
    let page =
        query.paging.page_of(&call, discovery.tools.clone(), |tool| tool.name().to_owned())?;
    Ok(RestResponse::new(page.map(|tool| ToolDefinition(tool_item(&tool)))))
}

async fn show(
    call: RestCall,
    _: NoQuery,
    _: NoBody,
) -> Result<RestResponse<ToolDefinition>, ApiError> {
    let session = call.session();
    let (id, name) = (call.path_parameter("capability"), call.path_parameter("tool"));
    let capability = session.snapshot().capability(id)?;
    let tool =
        calls::find_tool(&session.request(&context(None)), &capability, name).await?.ok_or_else(
            || CallError::new(ErrorCode::ToolNotFound, format!("`{id}` has no tool `{name}`")),
        )?;
    let host = &call.rest.host;
    let shape = host.observed_shape(&capability.definition, &tool);
    let mut item = described_tool(id, &tool, shape.as_ref());
    let why = match &call.access {
        Some(_) => None,
        None => CapabilityReport::of(host, id, Some(name), "")?.tool,
    };
    if let Some(why) = why.and_then(|why| to_raw_value(&why).ok()) {
        item.insert("why".to_owned(), why);
    }
    session.close().await;
    Ok(RestResponse::new(ToolDefinition(item)))
}

async fn search(
    call: RestCall,
    query: ToolSearchQuery,
    _: NoBody,
) -> Result<RestResponse<ToolSearchResponse>, ApiError> {
    let session = call.session();
    let cursor = query.paging.inner_cursor(&call)?;
    let (within, limit) = (query.within.as_deref(), Some(query.paging.limit()));
    let answer = search::find(
        &session.request(&context(None)),
        ToolQuery { words: &query.q, within, limit, cursor: cursor.as_deref() },
    )
    .await?;
    session.close().await;
    let DeckSearchResults { hits, next_cursor, total, entries, unavailable } = answer;
    let items = hits.iter().filter_map(|hit| serde_json::to_value(found_tool(hit)).ok());
    Ok(RestResponse::new(ToolSearchResponse {
        items: items.map(JsonObject).collect(),
        next_cursor: PageQuery::outer_cursor(&call, next_cursor),
        total,
        entries: entries.iter().map(EntryHit::facts).map(JsonObject).collect(),
        unavailable: unavailable
            .into_iter()
            .map(|(capability, error)| UnavailableCapability {
                capability,
                reason: error.to_string(),
            })
            .collect(),
    }))
}
