//! The capabilities of the deck, their token cost and their health.

use capdeck_host::{
    BackendKind, BudgetItem, CapabilityReport, DefinitionSource, Exposure, HealthStatus,
    ItemStatus, View, budget_items, card, check, estimate_tokens, inspection, known_capability,
    list_items,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use super::tools::context;
use crate::rest::{
    ApiResult, EmptyBody, JsonObject, ListPage, OptionalJsonBody, PageQuery,
    RequiredAccess::{Admin, Deck},
    RestCall, RestOperation, get, post,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(Deck, "/v1/deck/capabilities", "listCapabilities", "List the capabilities of the deck")
            .about("Includes quarantined, hidden and untrusted ones with the reason. Connects to nothing. `tokens` is an upper bound for listing every tool.")
            .handled_with_query(list),
        get(Deck, "/v1/deck/capabilities/{capability}", "getCapability", "Get one capability, and why agents do or do not see it")
            .about("The members of `capdeck inspect --json`; `why` has those of `capdeck why --json`. Clients get no `why`. Connects to nothing.")
            .handled_by(show),
        post(Admin, "/v1/deck/capabilities/{capability}/check", "checkCapability", "Connect to a capability and refresh its tools")
            .about("The response is 200 even when the capability is not available; see `status`.")
            .problems(&[424, 502, 504])
            .handled_with_body(check),
    ]
}

/// After the operations on tools in the document.
pub(super) fn health_operations() -> Vec<RestOperation> {
    vec![
        get(Deck, "/v1/deck/budget", "getBudget", "Get the token cost of each capability")
            .about("Upper bounds, calibrated against o200k; `capdeck budget` counts exactly. Uses cached tool lists; connects to nothing.")
            .handled_by(budget),
        get(Admin, "/v1/deck/health", "getDeckHealth", "Get the health of the capabilities")
            .about("From the last known state; connects to nothing. `degraded` when a capability is quarantined or its last call failed.")
            .handled_by(health),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct CapabilityListQuery {
    /// Only capabilities with this status.
    status: Option<ItemStatus>,
    /// Only capabilities whose id, name, description or tags contain this text.
    q: Option<String>,
    #[serde(flatten)]
    paging: PageQuery,
}

/// One capability in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CapabilitySummary {
    id: String,
    name: String,
    description: String,
    tags: Vec<String>,
    /// Null when its file cannot be parsed.
    backend: Option<BackendKind>,
    exposure: Option<Exposure>,
    status: ItemStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The source file. For the owner and admins.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<DefinitionSource>,
    /// The shadowed definitions. For the owner and admins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    shadows: Vec<DefinitionSource>,
    /// Upper bound of tokens for listing every tool; null while the tools are unknown.
    tokens: Option<usize>,
    /// The number of parts of its description that were not imported.
    import_problems: usize,
    /// The injected faults.
    #[serde(skip_serializing_if = "Option::is_none")]
    chaos: Option<String>,
    /// The next step to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_step: Option<String>,
    /// The number of tools; null while unknown.
    tools: Option<usize>,
    /// The last known health. For the owner and admins.
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<HealthStatus>,
    /// The last failure, if no call has succeeded since.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_failure: Option<DiscoveryFailure>,
}

/// A failure of a capability.
#[derive(Debug, Serialize, JsonSchema)]
struct DiscoveryFailure {
    at: jiff::Timestamp,
    message: String,
}

impl DiscoveryFailure {
    fn from_health(health: &HealthStatus) -> Option<Self> {
        match health {
            HealthStatus::Failing { last_at, reason, .. } => {
                Some(Self { at: *last_at, message: reason.clone() })
            }
            _ => None,
        }
    }
}

async fn list(
    call: RestCall,
    query: CapabilityListQuery,
) -> ApiResult<ListPage<CapabilitySummary>> {
    let text = query.q.unwrap_or_default().to_lowercase();
    let session = call.session();
    let (deck, is_client) = (session.snapshot(), call.access.is_some());
    let mut items = list_items(&call.rest.host, deck.catalog());
    // Capabilities without a grant do not exist for a client, even broken ones.
    items.retain(|item| !is_client || deck.capability(&item.id).is_ok());
    items.retain(|item| {
        let texts = [&item.id, &item.name, &item.description];
        let mut texts = texts.into_iter().chain(&item.tags);
        query.status.is_none_or(|status| item.status == status)
            && texts.any(|one| one.to_lowercase().contains(&text))
    });
    let page =
        query.paging.page_of(&call, items, |item| item.id.clone())?.map(|item| CapabilitySummary {
            next_step: item.next_step.filter(|_| !is_client),
            tools: deck
                .catalog()
                .get(&item.id)
                .and_then(|one| one.discovery.as_ref())
                .map(|known| known.tools.len()),
            last_failure: DiscoveryFailure::from_health(&item.health).filter(|_| !is_client),
            health: Some(item.health).filter(|_| !is_client),
            id: item.id,
            name: item.name,
            description: item.description,
            tags: item.tags,
            backend: item.backend,
            exposure: item.exposure,
            status: item.status,
            reason: item.reason,
            source: Some(item.source).filter(|_| !is_client),
            shadows: if is_client { Vec::new() } else { item.shadows },
            tokens: item.tokens,
            import_problems: item.import_problems,
            chaos: item.chaos,
        });
    Ok(page)
}

async fn show(call: RestCall) -> ApiResult<JsonObject> {
    let id = call.path_parameter("capability");
    let host = &call.rest.host;
    if call.access.is_some() {
        let capability = call.session().snapshot().capability(id)?;
        return Ok(JsonObject(card(&capability)));
    }
    let why = CapabilityReport::of(host, id, None, "")?.to_json();
    let mut shown = match known_capability(host, id) {
        Ok(capability) => inspection(host, &capability),
        // A file that does not load has only an explanation.
        Err(_) => Value::Object(serde_json::Map::from_iter([("id".to_owned(), id.into())])),
    };
    shown["why"] = why;
    Ok(JsonObject(shown))
}

async fn check(call: RestCall, _: OptionalJsonBody<EmptyBody>) -> ApiResult<JsonObject> {
    let session = call.session();
    let id = call.path_parameter("capability");
    session.snapshot().capability(id)?;
    let report = check::check(&session.request(&context(None)), id).await;
    session.close().await;
    Ok(JsonObject(report.to_json()))
}

/// The token cost of the deck.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Budget")]
struct DeckBudget {
    items: Vec<BudgetItem>,
    /// The cost of the tool list in the current exposures.
    total: usize,
    /// The limit in the configuration.
    limit: Option<u32>,
    /// How tokens are counted: `bound` is an upper bound.
    counting: &'static str,
}

async fn budget(call: RestCall) -> ApiResult<DeckBudget> {
    let session = call.session();
    let deck = session.snapshot();
    let items = budget_items(deck.catalog(), &count_tokens);
    let total = count_tokens(&deck.view());
    let limit = deck.catalog().config().surface_tokens;
    Ok(DeckBudget { items, total, limit, counting: "bound" })
}

pub(in crate::rest) fn count_tokens(view: &View) -> usize {
    match view.tools().get() {
        "[]" => 0,
        listed => estimate_tokens(listed),
    }
}

/// The health of the deck.
#[derive(Debug, Serialize, JsonSchema)]
struct DeckHealth {
    /// `ok` or `degraded`.
    status: &'static str,
    capabilities: Vec<CapabilityHealth>,
}

/// The health of one capability.
#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CapabilityHealth {
    id: String,
    status: ItemStatus,
    reason: Option<String>,
    /// The last known health.
    health: HealthStatus,
    /// The last failure, if no call has succeeded since.
    last_failure: Option<DiscoveryFailure>,
}

async fn health(call: RestCall) -> ApiResult<DeckHealth> {
    let host = &call.rest.host;
    let session = call.session();
    let capabilities: Vec<CapabilityHealth> = list_items(host, session.snapshot().catalog())
        .into_iter()
        .map(|item| CapabilityHealth {
            last_failure: DiscoveryFailure::from_health(&item.health),
            id: item.id,
            status: item.status,
            reason: item.reason,
            health: item.health,
        })
        .collect();
    let is_bad = |one: &CapabilityHealth| {
        matches!(one.status, ItemStatus::Quarantined | ItemStatus::Stale)
            || one.last_failure.is_some()
    };
    let status = if capabilities.iter().any(is_bad) { "degraded" } else { "ok" };
    Ok(DeckHealth { status, capabilities })
}
