//! The resource subscriptions of one connection.
//!
//! The owner counts subscribers: here a resource is watched or not. A legacy server gets a request for each change; a
//! modern one gets a new filter.

use std::collections::BTreeSet;

use capdeck_catalog::RawMembers;
use capdeck_mcp::client::ClientError;
use parking_lot::Mutex;
use serde_json::value::RawValue;

use super::{failure::McpOperation, session::McpSession};
use crate::{CallContext, CallError, CallResult, ErrorCode};

const MAX_WATCHED: usize = 10_000;

pub(super) const SUBSCRIBE: &str = "resources/subscribe";
pub(super) const UNSUBSCRIBE: &str = "resources/unsubscribe";

#[derive(Default)]
pub(super) struct ServerSubscriptions {
    watched: Mutex<BTreeSet<String>>,
    /// Held while the server is updated, so that it gets changes in order.
    updating: tokio::sync::Mutex<()>,
}

impl ServerSubscriptions {
    pub(super) fn uris(&self) -> Vec<String> {
        self.watched.lock().iter().cloned().collect()
    }

    pub(super) async fn update(
        &self,
        session: &McpSession,
        method: &str,
        params: Option<RawMembers>,
        context: &CallContext,
    ) -> CallResult {
        let Some(uri) = params.as_ref().and_then(uri_of) else {
            // A legacy server may know members that this host does not.
            if !session.is_modern() {
                return session.forward(method, params, context).await;
            }
            let message = format!("`{method}` needs the `uri` of a resource");
            return Err(CallError::invalid_request(message));
        };
        let _order = tokio::select! {
            order = self.updating.lock() => order,
            () = context.cancel.cancelled() => {
                return Err(CallError::new(ErrorCode::Cancelled, "the call was cancelled"));
            }
            () = tokio::time::sleep(session.timeout(context)) => {
                let after = session.timeout(context);
                let error = ClientError::Timeout { method: method.to_owned(), after };
                return Err(session.explain(McpOperation::from_method(method), error).await);
            }
        };
        if method == UNSUBSCRIBE {
            // The subscription is removed with every answer of the server.
            self.watched.lock().remove(&uri);
            self.notify_server(session, method, &uri, params, context).await?;
        } else if !self.watched.lock().contains(&uri) {
            self.notify_server(session, method, &uri, params, context).await?;
            self.watched.lock().insert(uri);
        }
        Ok(empty_result())
    }

    async fn notify_server(
        &self,
        session: &McpSession,
        method: &str,
        uri: &str,
        params: Option<RawMembers>,
        context: &CallContext,
    ) -> Result<(), CallError> {
        let mut uris = self.uris();
        if method == SUBSCRIBE {
            if uris.len() >= MAX_WATCHED {
                let message = format!("more than {MAX_WATCHED} resources of `{}`", session.id());
                return Err(
                    CallError::invalid_request(message).hint("unsubscribe from some of them first")
                );
            }
            uris.push(uri.to_owned());
        }
        if !session.is_modern() {
            return session.forward(method, params, context).await.map(drop);
        }
        session.watch_resources(uris, context).await
    }
}

fn uri_of(params: &RawMembers) -> Option<String> {
    serde_json::from_str(params.get("uri")?.get()).ok()
}

pub(super) fn empty_result() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
