//! Reports about the deck, in the shapes that the command line and the REST API share.

mod capability_report;
mod listing;
mod visibility;

use std::{collections::BTreeMap, sync::Arc};

use capdeck_backend::{CallError, StoredArtifact};
use capdeck_catalog::{
    Capability, Catalog, Discovery, HiddenText, HoldReason, RawMembers, Tool, ToolSearchMatch,
    definition_digest, hidden_text,
};
use capdeck_definition::{Backend, Definition, Exposure, McpServer, PinMode};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) use self::listing::state_of;
pub use self::{
    capability_report::CapabilityReport,
    listing::{ItemStatus, ListItem, list_items},
    visibility::Visibility,
};
use crate::{HealthStatus, Host, PinReview, View, raw};

/// The backend's own definition, always with a description.
pub fn tool_item(tool: &Tool) -> RawMembers {
    let mut item = tool.raw().clone();
    if !item.contains_key("description") {
        raw::set(&mut item, "description", "");
    }
    item
}

/// One tool with its schemas, its capability and the shape of its results so far.
pub fn described_tool(capability: &str, tool: &Tool, shape: Option<&Value>) -> RawMembers {
    let mut item = raw::object([("capability", json!(capability))]);
    item.extend(tool_item(tool));
    if let Some(shape) = shape {
        raw::set(&mut item, "observedOutputShape", shape);
    }
    item
}

/// A search result; its name is null where the capability's tools are not known.
pub fn found_tool(hit: &ToolSearchMatch) -> RawMembers {
    let unknown = || raw::object([("name", Value::Null)]);
    let mut item = hit.tool.as_ref().map_or_else(unknown, |tool| tool_item(tool));
    raw::set(&mut item, "capability", hit.capability.as_str());
    raw::set(&mut item, "score", &hit.score);
    item
}

/// `{uri, filename, mimeType?, byteLength, sha256, capability, createdAt}`.
pub fn artifact_item(one: &StoredArtifact) -> Value {
    let mut item = json!(one.artifact);
    item["capability"] = json!(one.capability);
    item["createdAt"] = json!(artifact_created(one));
    item
}

/// When it was stored, to the second.
pub fn artifact_created(one: &StoredArtifact) -> String {
    let second = Timestamp::try_from(one.created).map(Timestamp::as_second);
    second.and_then(Timestamp::from_second).map_or_else(|_| "-".to_owned(), |at| at.to_string())
}

/// The capabilities of a file that declares several, when the id names such a file and nothing
/// else.
pub fn capabilities_of_file(catalog: &Catalog, id: &str) -> Vec<Arc<Capability>> {
    if find(catalog, id).is_some() {
        return Vec::new();
    }
    let is_child = |capability: &&Arc<Capability>| {
        capability.definition.parent.as_ref().is_some_and(|parent| parent.as_str() == id)
    };
    catalog.capabilities().chain(catalog.untrusted()).filter(is_child).cloned().collect()
}

/// The capability of an id in any status; an unknown or broken one gives the error of a call.
pub fn known_capability(host: &Host, id: &str) -> Result<Arc<Capability>, CallError> {
    let catalog = host.catalog();
    match find(&catalog, id) {
        Some(capability) => Ok(capability.clone()),
        None => host.operator().snapshot().capability(id),
    }
}

fn find<'a>(catalog: &'a Catalog, id: &str) -> Option<&'a Arc<Capability>> {
    let is = |capability: &&Arc<Capability>| capability.definition.id.as_str() == id;
    catalog.get(id).or_else(|| catalog.untrusted().iter().find(is))
}

/// The card of a capability with its status: the output of `capdeck inspect --json`.
pub fn inspection(host: &Host, capability: &Capability) -> Value {
    let item = ListItem::from_capability(capability, HealthStatus::of(host, capability));
    let known = capability.discovery.as_ref();
    let mut shown = card(capability);
    shown["exposure"] = json!(item.exposure);
    shown["status"] = json!(item.status);
    shown["health"] = json!(item.health);
    raw::put_some(&mut shown, "reason", item.reason);
    shown["source"] = json!(item.source);
    shown["shadows"] = json!(item.shadows);
    shown["tokens"] = json!(item.tokens);
    raw::put_some(&mut shown, "chaos", item.chaos);
    let names = known.map(|known| known.tools.iter().map(|tool| tool.name()).collect::<Vec<_>>());
    shown["tools"] = json!(names);
    let server = known.and_then(|known| known.server.as_ref());
    let instructions = server.and_then(|server| server.instructions.as_ref());
    raw::put_some(&mut shown, "instructions", instructions);
    let scopes = known.map(|known| &known.scopes).filter(|scopes| !scopes.is_empty());
    raw::put_some(&mut shown, "scopes", scopes);
    let problems = known.map(|known| &known.problems).filter(|problems| !problems.is_empty());
    raw::put_some(&mut shown, "leftOut", problems);
    shown["pins"] = json!(capability.pins);
    raw::put_list(&mut shown, "hiddenText", &tools_with_hidden_text(capability));
    shown
}

/// The tools whose definitions have invisible text.
pub fn tools_with_hidden_text(capability: &Capability) -> Vec<&str> {
    let tools = capability.discovery.iter().flat_map(|known| &known.tools);
    tools.filter(|tool| !hidden_text(tool).is_empty()).map(|tool| tool.name()).collect()
}

/// One tool. The names are a public shape.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PinItem {
    pub capability: String,
    pub tool: String,
    /// `pinned`, `added`, `changed`, `renamed`, `removed`, or `unpinned` for what is never pinned.
    pub status: &'static str,
    pub mode: PinMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Why it is blocked, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub held: Option<HoldReason>,
    /// Invisible text in its definition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Value>")]
    pub hidden_text: Vec<HiddenText>,
}

/// Every known tool of a capability, and the removed ones.
pub fn pin_items(
    capability: &Capability,
    offered: Option<&Discovery>,
    review: &PinReview,
) -> Vec<PinItem> {
    let kinds: BTreeMap<&str, &'static str> =
        review.changes.iter().map(|change| (change.tool(), change.kind())).collect();
    let item = |tool: &str, digest: Option<String>| {
        let unchanged = if review.book.is_some() { "pinned" } else { "unpinned" };
        PinItem {
            capability: capability.definition.id.to_string(),
            tool: tool.to_owned(),
            status: kinds.get(tool).copied().unwrap_or(unchanged),
            mode: capability.pins,
            digest,
            held: review.held.get(tool).copied(),
            hidden_text: review.hidden.get(tool).cloned().unwrap_or_default(),
        }
    };
    let known = offered.into_iter().flat_map(|known| &known.tools);
    let mut items: Vec<PinItem> =
        known.map(|tool| item(tool.name(), Some(definition_digest(tool)))).collect();
    let removed = kinds.iter().filter(|(_, kind)| **kind == "removed");
    items.extend(removed.map(|(tool, _)| item(tool, None)));
    items
}

/// The changes since a capability's tools were pinned, or those of one tool: `{capability, change,
/// tool?, …}` each.
pub fn pin_changes(id: &str, review: &PinReview, only: Option<&str>) -> Vec<Value> {
    let is_meant = |tool: &str| only.is_none_or(|only| only == tool);
    let with_id = |mut value: Value| {
        value["capability"] = json!(id);
        value
    };
    let mut items: Vec<Value> = Vec::new();
    if only.is_none() && review.book.as_ref().is_some_and(|book| book.is_repointed) {
        items.push(with_id(json!({ "change": "repointed" })));
    }
    let changes = review.changes.iter().filter(|change| is_meant(change.tool()));
    items.extend(changes.map(|change| with_id(json!(change))));
    for (tool, found) in review.hidden.iter().filter(|(tool, _)| is_meant(tool)) {
        items.push(with_id(json!({ "change": "hiddenText", "tool": tool, "places": found })));
    }
    items
}

/// What a deck has, as `list`, `budget` and the documents count it: usable capabilities outside of sets, and their tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeckSize {
    pub capabilities: usize,
    /// True when all of them are MCP servers.
    pub only_servers: bool,
    pub tools: usize,
    /// Capabilities whose tools are not known yet.
    pub unknown: usize,
}

impl DeckSize {
    pub fn of(catalog: &Catalog) -> Self {
        let mut size = Self { capabilities: 0, only_servers: true, tools: 0, unknown: 0 };
        for capability in counted_capabilities(catalog) {
            size.capabilities += 1;
            size.only_servers &= matches!(capability.definition.backend, Backend::Mcp(_));
            match &capability.discovery {
                Some(known) => size.tools += known.tools.len(),
                None => size.unknown += 1,
            }
        }
        size
    }
}

fn counted_capabilities(catalog: &Catalog) -> impl Iterator<Item = &Arc<Capability>> {
    let capabilities = catalog.capabilities();
    capabilities.filter(|one| one.is_usable() && one.definition.member_of.is_none())
}

/// The cost of one capability. `None` is an unknown cost.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BudgetItem {
    pub id: String,
    /// The number of tools.
    pub tools: Option<usize>,
    /// Every tool listed.
    pub direct: Option<usize>,
    /// One tool for the capability.
    pub progressive: Option<usize>,
    /// The search tools; the same for any number of capabilities.
    pub search: Option<usize>,
    pub on_demand: Option<usize>,
    pub code_mode: Option<usize>,
}

/// The cost of every usable capability; `count` returns the tokens of a tool list.
pub fn budget_items(catalog: &Arc<Catalog>, count: &dyn Fn(&View) -> usize) -> Vec<BudgetItem> {
    counted_capabilities(catalog)
        .map(|capability| {
            let id = capability.definition.id.as_str();
            let cost = |exposure| count(&View::alone(catalog.clone(), id, exposure));
            let known = capability.discovery.as_ref();
            BudgetItem {
                id: id.to_owned(),
                tools: known.map(|known| known.tools.len()),
                direct: known.map(|_| cost(Exposure::Direct)),
                progressive: Some(cost(Exposure::Progressive)),
                search: Some(cost(Exposure::Search)),
                on_demand: Some(cost(Exposure::OnDemand)),
                code_mode: Some(cost(Exposure::CodeMode)),
            }
        })
        .collect()
}

/// `{id, name, description, tags?, hints?, backend: {type, …}, importProblems?}`.
pub fn card(capability: &Capability) -> Value {
    let definition = capability.definition.as_ref();
    let mut card = json!({
        "id": definition.id,
        "name": definition.name,
        "description": definition.description,
    });
    raw::put_list(&mut card, "tags", &definition.tags);
    raw::put_some(&mut card, "useWhen", definition.hints.use_when.as_ref());
    raw::put_some(&mut card, "avoidWhen", definition.hints.avoid_when.as_ref());
    card["backend"] = backend_facts(definition);
    let left_out = capability.discovery.as_ref().map(|known| known.problems.len());
    raw::put_some(&mut card, "importProblems", left_out.filter(|count| *count > 0));
    card
}

/// What the command of a server needs where its file sets no limit.
fn startup_timeout(server: &McpServer) -> u64 {
    let least = server.start_limit(None).least.as_millis();
    u64::try_from(least).unwrap_or(u64::MAX)
}

fn backend_facts(definition: &Definition) -> Value {
    let mut facts = json!({
        "type": definition.backend.kind().as_str(),
        "disabled": definition.disabled,
    });
    let more = match &definition.backend {
        Backend::Mcp(server) => json!({
            "transport": server.effective_transport(),
            "startupTimeoutMs": startup_timeout(server),
            "callTimeoutMs": server.call_timeout_ms,
            "toolCacheTtlMs": server.tool_cache_ttl_ms,
        }),
        Backend::OpenApi(api) => json!({
            "requestTimeoutMs": api.import.requests.request_timeout_ms,
            "operationCacheTtlMs": api.import.operation_cache_ttl_ms,
            "source": if api.spec_path.is_some() { "specPath" } else { "specUrl" },
        }),
        Backend::GoogleDiscovery(api) => json!({
            "requestTimeoutMs": api.import.requests.request_timeout_ms,
            "operationCacheTtlMs": api.import.operation_cache_ttl_ms,
            "source": if api.discovery_path.is_some() { "discoveryPath" } else { "discoveryUrl" },
        }),
        Backend::GraphQl(api) => json!({
            "requestTimeoutMs": api.requests.request_timeout_ms,
            "operationCacheTtlMs": api.operation_cache_ttl_ms,
            "source": match (&api.schema_path, &api.schema_url) {
                (Some(_), _) => "schemaPath",
                (None, Some(_)) => "schemaUrl",
                (None, None) => "introspection",
            },
            "configuredOperations": !api.operations.is_empty(),
        }),
        Backend::Http(api) => json!({
            "requestTimeoutMs": api.requests.request_timeout_ms,
            "configuredActions": api.actions.len(),
        }),
        Backend::Cli(tools) => json!({
            "timeoutMs": tools.timeout_ms,
            "maxOutputBytes": tools.max_output_bytes,
            "configuredActions": tools.actions.len(),
        }),
        Backend::Cmp(tool) => json!({
            "domain": tool.domain,
            "version": tool.version,
            "configuredActions": tool.intents.len(),
        }),
        Backend::Caplets(set) => json!({
            "source": match (&set.config_path, &set.caplets_root) {
                (Some(_), Some(_)) => "both",
                (Some(_), None) => "configPath",
                (None, _) => "capletsRoot",
            },
            "toolCacheTtlMs": set.tool_cache_ttl_ms,
        }),
        Backend::Capsules => json!({}),
    };
    if let (Some(facts), Value::Object(more)) = (facts.as_object_mut(), more) {
        facts.extend(more);
    }
    facts
}
