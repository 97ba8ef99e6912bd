//! Who hears from a connection outside of calls.

use async_trait::async_trait;
use capdeck_catalog::RawMembers;
use serde_json::value::RawValue;

use crate::{CallError, ErrorCode};

/// What a remote says by itself. Implemented by the host, called by MCP connections.
#[async_trait]
pub trait ConnectionListener: Send + Sync {
    /// A notification, such as `notifications/tools/list_changed`.
    fn notified(&self, method: &str, params: Option<RawMembers>);

    /// A request that belongs to no call, such as `roots/list`.
    async fn requested(
        &self,
        method: &str,
        params: Option<RawMembers>,
    ) -> Result<Box<RawValue>, CallError>;
}

/// A listener that hears nothing and answers nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoListener;

#[async_trait]
impl ConnectionListener for NoListener {
    fn notified(&self, _method: &str, _params: Option<RawMembers>) {}

    async fn requested(
        &self,
        method: &str,
        _params: Option<RawMembers>,
    ) -> Result<Box<RawValue>, CallError> {
        Err(CallError::new(
            ErrorCode::UnsupportedCapability,
            format!("no client can answer `{method}`"),
        ))
    }
}
