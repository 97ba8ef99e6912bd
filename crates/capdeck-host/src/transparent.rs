//! One capability as it is, for clients that connect to it alone.

use std::sync::Arc;

use capdeck_backend::{ArtifactUri, CallContext, CallError, ErrorCode};
use capdeck_catalog::{Capability, Discovery, Held, RawObject, ServerFacts, Tool};
use capdeck_definition::{Backend, Effect, PinMode};
use serde_json::{json, value::RawValue};

use crate::{Session, TaskForm, artifacts, raw, tasks::with_task_support};

impl Session {
    /// What the server said about itself; connects to it. Backends that are not servers have plain facts.
    pub async fn server_facts(
        &self,
        id: &str,
        context: &CallContext,
    ) -> Result<ServerFacts, CallError> {
        let capability = self.capability(id)?;
        let definition = &capability.definition;
        if !matches!(definition.backend, Backend::Mcp(_)) {
            let mut capabilities = raw::object([("tools", json!({})), ("resources", json!({}))]);
            if let Backend::Caplets(_) = definition.backend {
                capabilities
                    .extend(raw::object([("prompts", json!({})), ("completions", json!({}))]));
            }
            return Ok(ServerFacts {
                capabilities,
                server_info: raw::object([
                    ("name", json!(definition.id)),
                    ("title", json!(definition.name)),
                    ("version", json!(self.host.settings().version)),
                ]),
                instructions: Some(definition.description.clone()),
                ..ServerFacts::default()
            });
        }
        let lease = self.lease(&capability, context).await?;
        let facts = lease.server().ok_or_else(|| {
            CallError::new(
                ErrorCode::InternalError,
                format!("`{id}` is connected without a handshake"),
            )
        })?;
        Ok(if capability.tools_only { of_tools_only(facts) } else { facts })
    }

    /// Sends a request on as it is; for backends that are not servers the host lists the tools.
    pub async fn forward_or_list(
        &self,
        id: &str,
        method: &str,
        params: Option<RawObject>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let capability = self.capability(id)?;
        let is_server = matches!(capability.definition.backend, Backend::Mcp(_));
        if method == "resources/read"
            && let Some(uri) = params.as_ref().and_then(|params| raw::string(params.get("uri")?))
            && ArtifactUri::is_meant(&uri)
            // A server may have artifacts of its own; its URIs are its business.
            && (!is_server || self.has_artifact(&uri))
        {
            return self.read_artifact(&uri).await;
        }
        if is_server {
            let mut answer = self.forward(id, method, params, context).await?;
            if method == "tools/list" && self.tasks == TaskForm::Core {
                let facts = self.lease(&capability, context).await?.server();
                if facts.is_some_and(|facts| self.offers_tasks_by_extension(&facts)) {
                    answer = with_task_support(&answer)?;
                }
            }
            if method == "tools/list" && self.snapshot().is_screened(&capability) {
                return self.screen_list(&capability, &answer, context).await;
            }
            return Ok(answer);
        }
        let is_set = matches!(capability.definition.backend, Backend::Caplets(_));
        match method {
            _ if is_set && method != "tools/list" => {
                self.answer_for_members(id, method, params, context).await
            }
            "tools/list" => {
                let discovery = match &capability.discovery {
                    Some(known) => known.clone(),
                    None => self.discover(&capability.definition, context).await?,
                };
                answer(&json!({ "tools": discovery.tools }))
            }
            "resources/list" => answer(&json!({ "resources": [] })),
            "resources/templates/list" => {
                answer(&json!({ "resourceTemplates": [artifacts::template()] }))
            }
            "resources/read" => Err(CallError::new(
                ErrorCode::ResourceNotFound,
                format!("`{id}` has no resources but its large results"),
            )),
            _ => self.forward(id, method, params, context).await,
        }
    }

    /// What a set answers that is served alone: its members' resources and prompts, under the deck's names.
    async fn answer_for_members(
        &self,
        id: &str,
        method: &str,
        params: Option<RawObject>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let params = params.unwrap_or_default();
        let text = |key: &str| params.get(key).and_then(|text| raw::string(text));
        let view = || self.discovered_offers();
        match method {
            "resources/list" => answer(&json!({ "resources": view().await.resources() })),
            "resources/templates/list" => {
                answer(&json!({ "resourceTemplates": view().await.resource_templates() }))
            }
            "prompts/list" => answer(&json!({ "prompts": view().await.prompts() })),
            "resources/read" => {
                self.read_resource(&text("uri").unwrap_or_default(), params, context).await
            }
            "prompts/get" => {
                self.get_prompt(&text("name").unwrap_or_default(), params, context).await
            }
            "completion/complete" => self.complete(params, context).await,
            _ => Err(CallError::new(
                ErrorCode::UnsupportedOperation,
                format!("`{id}` is a set; it cannot answer `{method}`"),
            )),
        }
    }

    /// A page of the server's own tool list without what this client may not know. The rest stays as it is.
    async fn screen_list(
        &self,
        capability: &Capability,
        answer: &RawValue,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let broken = |error: serde_json::Error| {
            CallError::new(
                ErrorCode::DownstreamProtocolError,
                format!("`{}` sent a list that is none: {error}", capability.definition.id),
            )
        };
        let mut page: RawObject = serde_json::from_str(answer.get()).map_err(broken)?;
        let Some(tools) = page.get("tools") else { return Ok(answer.to_owned()) };
        let tools: Vec<RawObject> = serde_json::from_str(tools.get()).map_err(broken)?;
        let tools: Vec<_> = tools.into_iter().filter_map(Tool::new).map(Arc::new).collect();
        let offered = Discovery { tools, ..Discovery::default() };
        let held = match capability.pins {
            PinMode::Block => {
                if capability.discovery.is_none() {
                    // The first sight is pinned before anything of it is shown.
                    self.discover(&capability.definition, context).await?;
                }
                self.host.pins().held(&capability.definition, &offered)
            }
            PinMode::Off | PinMode::Warn => Held::new(),
        };
        let deck = self.snapshot();
        let shown: Vec<&Arc<Tool>> = offered
            .tools
            .iter()
            .filter(|tool| !held.contains_key(tool.name()))
            .filter(|tool| {
                deck.effect_on(capability, tool.name(), Some(tool.as_ref())) != Effect::Deny
            })
            .collect();
        page.insert("tools".to_owned(), serde_json::value::to_raw_value(&shown).map_err(broken)?);
        serde_json::value::to_raw_value(&page).map_err(broken)
    }
}

/// What a server says about itself, for somebody who has only some of its tools.
fn of_tools_only(mut facts: ServerFacts) -> ServerFacts {
    facts.capabilities.retain(|name, _| matches!(name.as_str(), "tools" | "tasks" | "extensions"));
    facts.instructions = None;
    facts
}

fn answer(value: &impl serde::Serialize) -> Result<Box<RawValue>, CallError> {
    serde_json::value::to_raw_value(value)
        .map_err(|error| CallError::new(ErrorCode::InternalError, error.to_string()))
}
