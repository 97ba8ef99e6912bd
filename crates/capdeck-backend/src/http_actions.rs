//! Hand-written HTTP actions as a connection.

mod mapping;
mod path;
mod request;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use capdeck_catalog::Discovery;
use capdeck_definition::{HttpAction, HttpApi, HttpMethod};
use serde_json::{json, value::RawValue};
use tokio_util::sync::CancellationToken;
use url::Url;

use self::request::build_request;
use crate::{
    CallContext, CallError, Connection, ToolCall,
    arguments::{no_such_tool, read_arguments},
    connect::ResolvedBackend,
    declared_tool::{DeclaredTool, declared_discovery},
    http::{ApiEndpoint, ResponseDelivery, parse_base},
};

#[derive(Debug)]
pub(crate) struct HttpActions {
    block: HttpApi,
    base: Url,
    endpoint: ApiEndpoint,
}

#[async_trait]
impl Connection for HttpActions {
    async fn discover(&self, _context: &CallContext) -> Result<Discovery, CallError> {
        let tools = self.block.actions.iter().map(|(name, action)| declare(name, action));
        declared_discovery(tools, self.endpoint.result_scrubber())
    }

    async fn call_tool(
        &self,
        call: ToolCall<'_>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let name = call.name;
        self.endpoint.bounded(name, context, self.call(call)).await
    }

    fn ended(&self) -> Option<String> {
        self.endpoint.ended()
    }

    async fn close(&self) {
        self.endpoint.close();
    }
}

impl HttpActions {
    pub(crate) fn new(
        mut prepared: ResolvedBackend<HttpApi>,
        cancel: &CancellationToken,
    ) -> Result<Self, CallError> {
        let block = prepared.block.clone();
        let base =
            parse_base(&block.base_url).map_err(|error| error.scrubbed(&prepared.log_scrubber))?;
        let server = Some(base.clone());
        let endpoint = ApiEndpoint::new(&mut prepared, server, cancel);
        Ok(Self { block, base, endpoint: endpoint.with_auth_errors_as_responses() })
    }

    async fn call(&self, call: ToolCall<'_>) -> Result<Box<RawValue>, CallError> {
        let actions = &self.block.actions;
        let action =
            actions.get(call.name).ok_or_else(|| no_such_tool(call.name, actions.keys()))?;
        let arguments = read_arguments(call.arguments)?;
        let auth = self.endpoint.auth_headers()?;
        let request = build_request(&self.base, action, &auth, &arguments)?;
        let delivery = ResponseDelivery::Inline { limit: self.block.max_response_bytes };
        self.endpoint.exchange(request, delivery).await
    }
}

pub(crate) fn declare<'a>(name: &'a str, action: &'a HttpAction) -> DeclaredTool<'a> {
    let method = json!(action.method);
    let method = method.as_str().unwrap_or_default();
    DeclaredTool {
        name,
        description: action
            .description
            .clone()
            .unwrap_or_else(|| format!("{method} {}", action.path)),
        use_when: action.use_when.as_ref(),
        avoid_when: action.avoid_when.as_ref(),
        input_schema: action.input_schema.as_ref(),
        output_schema: action.output_schema.as_ref(),
        annotations: json!({
            "readOnlyHint": action.method == HttpMethod::Get,
            "destructiveHint": action.method == HttpMethod::Delete,
        }),
        ..DeclaredTool::default()
    }
}
