//! Answers one client's requests: which method goes where.

use std::sync::Arc;

use async_trait::async_trait;
use capdeck_mcp::{
    Era, HeaderParams, RawObject, RpcError,
    server::{ClientHello, ClientPeer, RequestExchange, ServerSession},
};
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};

use super::{
    call::{FixtureCall, FixtureResult, value_of},
    fixture::{ConformanceFixture, description},
    listeners, prompts, resources, skills, tasks, tools,
};

/// One client.
pub(super) struct FixtureSession {
    fixture: Arc<ConformanceFixture>,
    /// Set for clients that hear of changes without asking.
    listener: Option<u64>,
    era: Era,
    capabilities: Value,
    peer: ClientPeer,
}

impl FixtureSession {
    /// Takes a client in. A legacy one is notified of every change from now on.
    pub(super) fn open(
        fixture: Arc<ConformanceFixture>,
        hello: &ClientHello,
        peer: ClientPeer,
    ) -> Self {
        let era = hello.revision.era();
        let listener = (era == Era::Legacy).then(|| fixture.listeners.add(peer.clone(), None));
        let capabilities = value_of(&hello.capabilities);
        Self { fixture, listener, era, capabilities, peer }
    }
}

#[async_trait]
impl ServerSession for FixtureSession {
    async fn describe(&self) -> Result<RawObject, RpcError> {
        Ok(description(self.era == Era::Modern))
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
        exchange: RequestExchange,
    ) -> Result<Box<RawValue>, RpcError> {
        let call = FixtureCall {
            fixture: &self.fixture,
            capabilities: &self.capabilities,
            is_modern: exchange.revision.era() == Era::Modern,
            session: &self.peer,
            params: params.as_ref().map_or_else(|| json!({}), value_of),
            exchange: &exchange,
        };
        let result = answer(method, &call).await?;
        Ok(to_raw_value(&result).unwrap())
    }

    async fn notification(&self, _method: &str, _params: Option<RawObject>) {}

    async fn header_params(&self, name: &str) -> HeaderParams {
        let tools = tools::list(self.fixture.has_extra_tool());
        let Some(tool) = tools.iter().find(|tool| tool["name"] == name) else {
            return HeaderParams::default();
        };
        HeaderParams::from_schema(&to_raw_value(&tool["inputSchema"]).unwrap()).unwrap()
    }

    async fn closed(&self) {
        if let Some(listener) = self.listener {
            self.fixture.listeners.remove(listener);
        }
    }
}

async fn answer(method: &str, call: &FixtureCall<'_>) -> FixtureResult {
    match method {
        "tools/list" => Ok(json!({ "tools": tools::list(call.fixture.has_extra_tool()) })),
        "tools/call" => tools::call(call).await,
        "prompts/list" => Ok(json!({ "prompts": prompts::list(call.fixture.has_extra_prompt()) })),
        "prompts/get" => prompts::get(call).await,
        "completion/complete" => Ok(prompts::complete(call)),
        "resources/list" => Ok(json!({ "resources": resources::list() })),
        "resources/templates/list" => Ok(json!({ "resourceTemplates": resources::templates() })),
        "resources/read" => resources::read(call),
        "resources/directory/read" => skills::read_directory(call),
        "skills/list" => Ok(skills::list(call)),
        "skills/get" => skills::get(call),
        "resources/subscribe" | "resources/unsubscribe" => resources::subscription(call),
        "subscriptions/listen" if call.is_modern => listeners::listen(call).await,
        "logging/setLevel" if !call.is_modern => Ok(json!({})),
        _ if method.starts_with("tasks/") => tasks::answer(method, call).await,
        _ => Err(RpcError::method_not_found(method)),
    }
}
