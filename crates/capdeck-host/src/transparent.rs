//! One capability with its own names and URIs, for clients that connect to it alone.

use std::sync::Arc;

use capdeck_backend::{ArtifactUri, CallError, ErrorCode};
use capdeck_catalog::{Capability, Discovery, HeldTools, RawMembers, ServerDetails, Tool};
use capdeck_definition::{Backend, PinMode, PolicyEffect};
use serde_json::{json, value::RawValue};

use crate::{
    RequestContext, TaskForm, artifacts,
    forward::forward,
    listing, prompts, raw, resources,
    tasks::{has_extension, with_task_support},
};

/// The server's facts about itself; connects to it. Other backends have plain facts.
pub async fn server_facts(
    request: &RequestContext<'_>,
    id: &str,
) -> Result<ServerDetails, CallError> {
    let capability = request.capability(id)?;
    let definition = &capability.definition;
    if !matches!(definition.backend, Backend::Mcp(_)) {
        let mut capabilities = raw::object([("tools", json!({})), ("resources", json!({}))]);
        if let Backend::Caplets(_) = definition.backend {
            capabilities.extend(raw::object([("prompts", json!({})), ("completions", json!({}))]));
        }
        return Ok(ServerDetails {
            capabilities,
            server_info: raw::object([
                ("name", json!(definition.id)),
                ("title", json!(definition.name)),
                ("version", json!(request.host().settings().version)),
            ]),
            instructions: Some(definition.description.clone()),
            ..ServerDetails::default()
        });
    }
    let lease = request.connections().lease(&capability.definition, request.call).await?;
    let facts = lease
        .server()
        .ok_or_else(|| CallError::internal(format!("`{id}` is connected without a handshake")))?;
    Ok(if capability.tools_only { of_tools_only(facts) } else { facts })
}

/// Forwards a request unchanged; for backends that are not servers the host lists the tools.
pub async fn answer(
    request: &RequestContext<'_>,
    id: &str,
    method: &str,
    params: Option<RawMembers>,
) -> raw::Answer {
    let capability = request.capability(id)?;
    let is_server = matches!(capability.definition.backend, Backend::Mcp(_));
    if method == "resources/read"
        && let Some(uri) = params.as_ref().and_then(|params| raw::string(params.get("uri")?))
        && ArtifactUri::is_meant(&uri)
        // A server may have artifacts of its own; its URIs go to it.
        && (!is_server || artifacts::has(&request.deck, &uri))
    {
        return artifacts::read(&request.deck, &uri).await;
    }
    if is_server {
        let mut answer = forward(request, id, method, params).await?;
        if method == "tools/list" && request.session().tasks == TaskForm::Core {
            let facts =
                request.connections().lease(&capability.definition, request.call).await?.server();
            if facts.is_some_and(|one| one.is_modern() && has_extension(&one.capabilities)) {
                answer = with_task_support(&answer)?;
            }
        }
        if method == "tools/list" && request.renewed().deck.is_screened(&capability) {
            return screen_list(request, &capability, &answer).await;
        }
        return Ok(answer);
    }
    let is_set = matches!(capability.definition.backend, Backend::Caplets(_));
    match method {
        _ if is_set && method != "tools/list" => {
            answer_for_members(request, id, method, params).await
        }
        "tools/list" => {
            let discovery = match &capability.discovery {
                Some(known) => known.clone(),
                None => listing::discover(request, &capability.definition).await?,
            };
            raw::text(&json!({ "tools": discovery.tools }))
        }
        "resources/list" => raw::text(&json!({ "resources": [] })),
        "resources/templates/list" => {
            raw::text(&json!({ "resourceTemplates": [artifacts::template()] }))
        }
        "resources/read" => Err(CallError::new(
            ErrorCode::ResourceNotFound,
            format!("`{id}` has no resources except its large results"),
        )),
        _ => forward(request, id, method, params).await,
    }
}

/// The resources and prompts of the members of a set that is served alone, under the deck's names.
async fn answer_for_members(
    request: &RequestContext<'_>,
    id: &str,
    method: &str,
    params: Option<RawMembers>,
) -> raw::Answer {
    let params = params.unwrap_or_default();
    let text = |key: &str| raw::get::<String>(&params, key);
    let view = || listing::discovered_offers(request);
    match method {
        "resources/list" => raw::text(&json!({ "resources": view().await.resources() })),
        "resources/templates/list" => {
            raw::text(&json!({ "resourceTemplates": view().await.resource_templates() }))
        }
        "prompts/list" => raw::text(&json!({ "prompts": view().await.prompts() })),
        "resources/read" => {
            resources::read(request, &text("uri").unwrap_or_default(), params).await
        }
        "prompts/get" => prompts::get(request, &text("name").unwrap_or_default(), params).await,
        "completion/complete" => prompts::complete(request, params).await,
        _ => Err(CallError::new(
            ErrorCode::UnsupportedOperation,
            format!("`{id}` is a set; it cannot answer `{method}`"),
        )),
    }
}

/// A page of the server's own tool list without what this client cannot see. The rest is unchanged.
async fn screen_list(
    request: &RequestContext<'_>,
    capability: &Capability,
    answer: &RawValue,
) -> raw::Answer {
    let broken = |error: serde_json::Error| {
        CallError::protocol_error(format!(
            "`{}` sent an invalid list: {error}",
            capability.definition.id
        ))
    };
    let mut page: RawMembers = serde_json::from_str(answer.get()).map_err(broken)?;
    let Some(tools) = page.get("tools") else { return Ok(answer.to_owned()) };
    let tools: Vec<RawMembers> = serde_json::from_str(tools.get()).map_err(broken)?;
    let tools: Vec<_> = tools.into_iter().filter_map(Tool::new).map(Arc::new).collect();
    let offered = Discovery { tools, ..Discovery::default() };
    let held = match capability.pins {
        PinMode::Block => {
            if capability.discovery.is_none() {
                // Pinned before any of it is shown.
                listing::discover(request, &capability.definition).await?;
            }
            request.host().pins().held(&capability.definition, &offered)
        }
        PinMode::Off | PinMode::Warn => HeldTools::new(),
    };
    let deck = request.renewed().deck;
    let shown: Vec<&Arc<Tool>> = offered
        .tools
        .iter()
        .filter(|tool| !held.contains_key(tool.name()))
        .filter(|tool| {
            deck.effect_on(capability, tool.name(), Some(tool.as_ref())) != PolicyEffect::Deny
        })
        .collect();
    raw::set(&mut page, "tools", &shown);
    raw::text(&page)
}

fn of_tools_only(mut facts: ServerDetails) -> ServerDetails {
    facts.capabilities.retain(|name, _| matches!(name.as_str(), "tools" | "tasks" | "extensions"));
    facts.instructions = None;
    facts
}
