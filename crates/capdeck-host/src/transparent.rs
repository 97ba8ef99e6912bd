//! One capability as it is, for clients that connect to it alone.

use capdeck_backend::{CallContext, CallError, ErrorCode};
use capdeck_catalog::{RawObject, ServerFacts};
use capdeck_definition::Backend;
use serde_json::{json, value::RawValue};

use crate::{Session, discover::relist, raw};

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
            return Ok(ServerFacts {
                capabilities: raw::object([("tools", json!({}))]),
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
        if capability.discovery.is_none() {
            // Arguments are checked against known tools; the client need not wait for the list.
            relist(self.host.clone(), definition.clone(), self.connections.clone());
        }
        lease.server().ok_or_else(|| {
            CallError::new(
                ErrorCode::InternalError,
                format!("`{id}` is connected without a handshake"),
            )
        })
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
        if method != "tools/list" || matches!(capability.definition.backend, Backend::Mcp(_)) {
            return self.forward(id, method, params, context).await;
        }
        let discovery = match &capability.discovery {
            Some(known) => known.clone(),
            None => self.host.discover(&capability.definition, &self.connections, context).await?,
        };
        serde_json::value::to_raw_value(&json!({ "tools": discovery.tools }))
            .map_err(|error| CallError::new(ErrorCode::InternalError, error.to_string()))
    }
}
