//! One capability as it is: its own names, URIs, capabilities and instructions.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use capdeck_host::{CallContext, CapabilityId, RawObject, Session as HostSession};
use capdeck_mcp::{
    RpcError,
    server::{Exchange, Session},
};
use serde_json::value::RawValue;

use super::{
    caller::{Telling, context},
    failure, params,
};

/// Longest wait for a server to start when a client connects.
const START_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) struct TransparentSession {
    id: CapabilityId,
    session: Arc<HostSession>,
}

impl TransparentSession {
    pub(super) fn open(id: CapabilityId, session: Arc<HostSession>) -> Arc<dyn Session> {
        Arc::new(Self { id, session })
    }

    /// Connects to the server and repeats what it said about itself.
    async fn introduction(&self) -> Result<RawObject, RpcError> {
        let waiting = CallContext::detached(START_TIMEOUT);
        let facts = self.session.server_facts(self.id.as_str(), &waiting).await;
        let facts = facts.map_err(|error| failure::as_rpc_error(&error))?;
        let mut result = RawObject::new();
        result.insert("capabilities".to_owned(), raw(&facts.capabilities)?);
        result.insert("serverInfo".to_owned(), raw(&facts.server_info)?);
        if let Some(instructions) = &facts.instructions {
            result.insert("instructions".to_owned(), raw(instructions)?);
        }
        Ok(result)
    }

    async fn call_tool(
        &self,
        params: Option<RawObject>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, RpcError> {
        let (name, mut request) = params::tool_call(params.unwrap_or_default())?;
        (request.capability, request.tool) = (self.id.to_string(), name);
        match self.session.call(&request, context).await {
            Ok(result) => Ok(result),
            Err(error) if error.rpc.is_some() => Err(failure::as_rpc_error(&error)),
            Err(error) => failure::as_tool_result(&error),
        }
    }
}

#[async_trait]
impl Session for TransparentSession {
    async fn describe(&self) -> Result<RawObject, RpcError> {
        self.introduction().await
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
        exchange: Exchange,
    ) -> Result<Box<RawValue>, RpcError> {
        let context = context(exchange, Telling::Everything);
        if method == "tools/call" {
            return self.call_tool(params, &context).await;
        }
        let mut params = params;
        if let Some(params) = &mut params {
            params::strip_progress_token(params);
        }
        self.session
            .forward_or_list(self.id.as_str(), method, params, &context)
            .await
            .map_err(|error| failure::as_rpc_error(&error))
    }

    async fn notification(&self, method: &str, params: Option<RawObject>) {
        if method != "notifications/initialized" {
            self.session.forward_notification(self.id.as_str(), method, params).await;
        }
    }

    async fn closed(&self) {
        self.session.close().await;
    }
}

fn raw(value: &impl serde::Serialize) -> Result<Box<RawValue>, RpcError> {
    serde_json::value::to_raw_value(value).map_err(|error| RpcError::internal(error.to_string()))
}
