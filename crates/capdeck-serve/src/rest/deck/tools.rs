//! Tools: list, get, search and call. A session of a REST request uses the same path as MCP calls.

use std::{sync::Arc, time::Duration};

use capdeck_host::{
    AGENT_START_WAIT, CallConsent, CallContext, CallError, CapabilityReport, ClientProfile,
    DeckSearchResults, EntryHit, ErrorCode, NoCaller, Principal, Session, SessionContinuity,
    SessionScope, SessionSettings, TaskForm, ToolQuery, ToolRequest, ViewPolicy, calls, check,
    described_tool, found_tool, observed_shape, search, tool_item,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::to_raw_value};

use crate::rest::{
    ApiError, ApiResult, JsonBody, JsonObject, ListPage, OptionalJsonBody, PageQuery,
    RawToolResult,
    RequiredAccess::{self, Deck, DeckCall},
    RestCall, RestOperation, ToolDefinition, get, post,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(Deck, "/v1/deck/capabilities/{capability}/tools", "listTools", "List the tools of one capability")
            .about("Connects only while the tools are unknown, or with `refresh`.")
            .problems(&[424, 502, 504])
            .handled_with_query(list_tools),
        get(Deck, "/v1/deck/capabilities/{capability}/tools/{tool}", "getTool", "Get one tool with its schemas")
            .about("`observedOutputShape` is the shape of earlier results; `why` explains the policy and the pin.")
            .problems(&[424, 502, 504])
            .handled_by(get_tool),
        get(Deck, "/v1/deck/tools/search", "searchTools", "Search tools by purpose")
            .about("Connects to capabilities whose tools are unknown and waits for them briefly; those that answer later are in the next search. The first page also has matching capsule entries.")
            .problems(&[404])
            .handled_with_query(search_tools),
        post(DeckCall, "/v1/deck/capabilities/{capability}/tools/{tool}/call", "callTool", "Call a tool")
            .about("The response is the tool's result, an MCP `CallToolResult`; a failed tool sets `isError`. Arguments are checked against the tool's input schema first. A tool that requires approval returns 409 `approval_required`: repeat the same call after a person has approved it.")
            .problems(&[424, 502, 504])
            .handled_with_body(call_tool),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ToolListQuery {
    /// Ask the capability again instead of using the cached list.
    refresh: Option<bool>,
    #[serde(flatten)]
    paging: PageQuery,
}

#[derive(Debug, Deserialize, JsonSchema)]
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
struct UnavailableCapability {
    capability: String,
    /// `starting`: search again in a moment. `failed`: see the reason.
    #[schemars(extend("enum" = ["starting", "failed"]))]
    status: &'static str,
    reason: String,
}

async fn list_tools(call: RestCall, query: ToolListQuery) -> ApiResult<ListPage<ToolDefinition>> {
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
    Ok(page.map(|tool| ToolDefinition(tool_item(&tool))))
}

async fn get_tool(call: RestCall) -> ApiResult<ToolDefinition> {
    let session = call.session();
    let (id, name) = (call.path_parameter("capability"), call.path_parameter("tool"));
    let capability = session.snapshot().capability(id)?;
    let tool =
        calls::find_tool(&session.request(&context(None)), &capability, name).await?.ok_or_else(
            || CallError::new(ErrorCode::ToolNotFound, format!("`{id}` has no tool `{name}`")),
        )?;
    let host = &call.rest.host;
    let shape = observed_shape(host, &capability.definition, &tool);
    let mut item = described_tool(id, &tool, shape.as_ref());
    let why = match &call.access {
        Some(_) => None,
        None => CapabilityReport::of(host, id, Some(name), "")?.tool,
    };
    if let Some(why) = why.and_then(|why| to_raw_value(&why).ok()) {
        item.insert("why".to_owned(), why);
    }
    session.close().await;
    Ok(ToolDefinition(item))
}

async fn search_tools(call: RestCall, query: ToolSearchQuery) -> ApiResult<ToolSearchResponse> {
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
    Ok(ToolSearchResponse {
        items: items.map(JsonObject).collect(),
        next_cursor: PageQuery::outer_cursor(&call, next_cursor),
        total,
        entries: entries.iter().map(EntryHit::facts).map(JsonObject).collect(),
        unavailable: unavailable
            .into_iter()
            .map(|list| UnavailableCapability {
                capability: list.id.to_string(),
                status: list.status(),
                reason: list.error.to_string(),
            })
            .collect(),
    })
}

/// Options of a tool call.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ToolCall")]
struct ToolCallBody {
    /// Arguments that match the tool's `inputSchema`.
    #[serde(default)]
    arguments: Map<String, Value>,
    /// Return only these parts of a structured result, as dotted paths.
    #[serde(default)]
    fields: Vec<String>,
    /// Idle timeout in milliseconds.
    #[schemars(range(min = 1, max = 3_600_000))]
    timeout_ms: Option<u64>,
    /// Approve this call, where the policy requires approval. For the owner and admins.
    #[serde(default)]
    approved: bool,
}

async fn call_tool(
    call: RestCall,
    body: OptionalJsonBody<ToolCallBody>,
) -> ApiResult<RawToolResult> {
    let JsonBody(ToolCallBody { arguments, fields, timeout_ms, approved }) = body;
    if approved {
        RequiredAccess::Admin.check_call(&call)?;
    }
    let arguments = to_raw_value(&arguments)
        .map_err(|error| ApiError::internal("cannot serialize the arguments", &error))?;
    let request = ToolRequest {
        capability: call.path_parameter("capability").to_owned(),
        tool: call.path_parameter("tool").to_owned(),
        arguments: Some(arguments),
        fields,
        consent: if approved { CallConsent::Given } else { CallConsent::AskedLater },
        ..ToolRequest::default()
    };
    let session = call.session();
    let outcome =
        calls::call(session.request(&context(timeout_ms.map(Duration::from_millis))), &request)
            .await;
    session.close().await;
    outcome.map(RawToolResult).map_err(|error| {
        let is_own = error.code == ErrorCode::ApprovalRequired && error.data.is_none();
        let error = ApiError::from(error);
        if is_own {
            error.hint(
                "ask a person to approve it in the dashboard, or to call it with `approved: true`",
            )
        } else {
            error
        }
    })
}

/// The client name in audits and policies.
const CLIENT: &str = "capdeck-rest";

impl RestCall {
    /// A session without elicitation.
    pub(super) fn session(&self) -> Arc<Session> {
        let scope = match &self.access {
            // A client gets the same view as over MCP.
            Some(_) => SessionScope::Deck(ViewPolicy::default()),
            None => SessionScope::Operator,
        };
        self.rest.host.session(SessionSettings {
            scope,
            client_name: CLIENT.to_owned(),
            principal: Principal::named(&self.principal).shown_as(self.name().as_deref()),
            client: ClientProfile::default(),
            listener: Arc::new(NoCaller),
            tasks: TaskForm::Awaited,
            continuity: SessionContinuity::Requests,
            access: self.access.clone(),
            shares_files: false,
        })
    }
}

/// A context with the timeout of the tool, or this one.
pub(super) fn context(timeout: Option<Duration>) -> CallContext {
    let start_wait = Some(AGENT_START_WAIT);
    CallContext { timeout, start_wait, ..CallContext::detached(Duration::ZERO) }
}
