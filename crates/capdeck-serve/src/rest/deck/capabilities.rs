//! The capabilities of the deck.

use capdeck_host::{
    BackendKind, CapabilityReport, DefinitionSource, Exposure, HealthStatus, ItemStatus, card,
    check, inspection, known_capability, list_items,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tools::context;
use crate::rest::{
    ApiResult, EmptyBody, JsonObject, ListPage, OptionalJsonBody, PageQuery, RequiredAccess,
    RestCall, RestOperation, get, post,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get("/v1/deck/capabilities", "listCapabilities", "List the capabilities of the deck")
            .about("Includes quarantined, hidden and untrusted ones with the reason. Connects to nothing. `tokens` is an upper bound for listing every tool.")
            .who(RequiredAccess::Deck)
            .handled_with_query(list),
        get("/v1/deck/capabilities/{capability}", "getCapability", "Get one capability, and why agents do or do not see it")
            .about("The members of `capdeck inspect --json`; `why` has those of `capdeck why --json`. Clients get no `why`. Connects to nothing.")
            .who(RequiredAccess::Deck)
            .handled_by(show),
        post("/v1/deck/capabilities/{capability}/check", "checkCapability", "Connect to a capability and refresh its tools")
            .about("The response is 200 even when the capability is not available; see `status`.")
            .problems(&[424, 502, 504])
            .handled_with_body(check),
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
pub(super) struct DiscoveryFailure {
    pub(super) at: jiff::Timestamp,
    pub(super) message: String,
}

impl DiscoveryFailure {
    pub(super) fn of(health: &HealthStatus) -> Option<Self> {
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
    let (catalog, is_client) = (session.catalog(), call.access.is_some());
    let mut items = list_items(&call.rest.host, &catalog);
    // Capabilities without a grant do not exist for a client, even broken ones.
    items.retain(|item| !is_client || session.snapshot().capability(&item.id).is_ok());
    items.retain(|item| {
        let texts = [&item.id, &item.name, &item.description];
        let mut texts = texts.into_iter().chain(&item.tags);
        query.status.is_none_or(|status| item.status == status)
            && texts.any(|one| one.to_lowercase().contains(&text))
    });
    let page =
        query.paging.page_of(&call, items, |item| item.id.clone())?.map(|item| CapabilitySummary {
            next_step: item.next_step.filter(|_| !is_client),
            tools: catalog
                .get(&item.id)
                .and_then(|one| one.discovery.as_ref())
                .map(|known| known.tools.len()),
            last_failure: DiscoveryFailure::of(&item.health).filter(|_| !is_client),
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
