//! The deck as one MCP server: listed tools, resources, prompts, and the tools that reach the rest.

use std::sync::Arc;

use async_trait::async_trait;
use capdeck_host::{CallError, ErrorKind, RawObject, Session as HostSession, View};
use capdeck_mcp::{
    RpcError,
    server::{Exchange, Peer, Session},
};
use serde_json::{Value, json, value::RawValue};
use tokio_util::sync::CancellationToken;

use super::{
    caller::{Telling, context},
    failure, params,
    seen_lists::{List, SeenLists, tell_about_changes},
};

pub(super) struct DeckSession {
    session: Arc<HostSession>,
    seen: Arc<SeenLists>,
    ended: CancellationToken,
}

impl DeckSession {
    pub(super) fn open(session: Arc<HostSession>, peer: Peer) -> Arc<dyn Session> {
        let ended = CancellationToken::new();
        let seen = Arc::new(SeenLists::default());
        tell_about_changes(&session, seen.clone(), peer, ended.clone());
        Arc::new(Self { session, seen, ended })
    }

    /// What a client is told about the deck.
    fn introduction(&self) -> RawObject {
        let view = self.session.view();
        let mut capabilities = json!({
            "tools": { "listChanged": true },
            "resources": { "listChanged": true },
        });
        if view.offers_directly() {
            capabilities["prompts"] = json!({ "listChanged": true });
            capabilities["completions"] = json!({});
        }
        let mut result = object(json!({
            "capabilities": capabilities,
            "serverInfo": {
                "name": "capdeck",
                "title": "Capdeck",
                "version": self.session.host().settings().version,
            },
        }));
        if let Some(instructions) = view.instructions()
            && let Ok(text) = serde_json::value::to_raw_value(&instructions)
        {
            result.insert("instructions".to_owned(), text);
        }
        result
    }

    /// The view a list is read from. The client is told when that list changes later.
    async fn read(&self, list: List) -> Arc<View> {
        let view = self.session.discovered_view().await;
        self.seen.note(list, &self.session);
        view
    }

    async fn call_tool(
        &self,
        params: Option<RawObject>,
        exchange: Exchange,
    ) -> Result<Box<RawValue>, RpcError> {
        let (name, request) = params::tool_call(params.unwrap_or_default())?;
        let context = context(exchange, Telling::Progress);
        match self.session.call_listed(&name, request, &context).await {
            Ok(Some(result)) => Ok(result),
            Ok(None) => Err(RpcError::invalid_params(format!("there is no tool `{name}`"))),
            Err(error) if error.kind() == ErrorKind::Cancelled => {
                Err(failure::as_rpc_error(&error))
            }
            Err(error) => failure::as_tool_result(&error),
        }
    }
}

#[async_trait]
impl Session for DeckSession {
    async fn describe(&self) -> Result<RawObject, RpcError> {
        Ok(self.introduction())
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
        exchange: Exchange,
    ) -> Result<Box<RawValue>, RpcError> {
        let session = &self.session;
        match method {
            "tools/call" => return self.call_tool(params, exchange).await,
            "tools/list" => {
                let view = self.read(List::Tools).await;
                return one_page("tools", view.tools(), params.as_ref());
            }
            "resources/list" => {
                let view = self.read(List::Resources).await;
                return one_page("resources", &view.resources(), params.as_ref());
            }
            "resources/templates/list" => {
                let view = self.read(List::Resources).await;
                return one_page("resourceTemplates", &view.resource_templates(), params.as_ref());
            }
            "prompts/list" => {
                let view = self.read(List::Prompts).await;
                return one_page("prompts", &view.prompts(), params.as_ref());
            }
            _ => {}
        }
        let mut params = params.unwrap_or_default();
        params::strip_progress_token(&mut params);
        let context = context(exchange, Telling::Progress);
        let outcome: Result<Box<RawValue>, CallError> = match method {
            "resources/read" => {
                session.read_resource(&params::text(&params, "uri")?, &context).await
            }
            "prompts/get" => {
                let name = params::text(&params, "name")?;
                session.get_prompt(&name, params, &context).await
            }
            "completion/complete" => session.complete(params, &context).await,
            _ => return Err(RpcError::method_not_found(method)),
        };
        outcome.map_err(|error| failure::as_rpc_error(&error))
    }

    async fn notification(&self, method: &str, params: Option<RawObject>) {
        if method == "notifications/roots/list_changed" {
            self.session.tell_servers(method, params).await;
        }
    }

    async fn closed(&self) {
        self.ended.cancel();
        self.session.close().await;
    }
}

/// A list answer. The deck's lists are one page, so any cursor is a foreign one.
fn one_page(
    key: &str,
    items: &RawValue,
    params: Option<&RawObject>,
) -> Result<Box<RawValue>, RpcError> {
    if let Some(cursor) = params.and_then(|params| params.get("cursor"))
        && cursor.get() != "null"
    {
        return Err(RpcError::invalid_params(format!(
            "{} is not a cursor of this list",
            cursor.get()
        )));
    }
    let text = format!("{{\"{key}\":{}}}", items.get());
    RawValue::from_string(text).map_err(|error| RpcError::internal(error.to_string()))
}

fn object(value: Value) -> RawObject {
    let Value::Object(members) = value else { return RawObject::new() };
    members
        .into_iter()
        .filter_map(|(key, value)| Some((key, serde_json::value::to_raw_value(&value).ok()?)))
        .collect()
}
