//! Opens one session per client of one capsule.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use capdeck_auth::inbound::OAuthScope;
use capdeck_host::{CapsuleTool, Host, SharedAccess, capsule_scope};
use capdeck_mcp::{
    RpcError,
    server::{ClientHello, ClientPeer, MissingScopes, ServerSession, SessionFactory},
};
use serde_json::value::RawValue;

use super::{
    capsule_failure,
    capsule_mcp_client::{CapsuleMcpClient, CapsuleReference, reach},
    capsule_mcp_session::CapsuleMcpSession,
    client_streams::ClientStreams,
    params,
};

pub(crate) struct CapsuleMcpService {
    host: Host,
    /// The id, which survives a rename.
    id: String,
    /// The project whose files are checked against anchors, if all clients work in one.
    project: Option<PathBuf>,
}

impl CapsuleMcpService {
    pub(crate) fn new(host: Host, id: String) -> Arc<Self> {
        Arc::new(Self { host, id, project: None })
    }

    pub(crate) fn in_project(host: Host, id: String) -> Arc<Self> {
        let project = host.settings().project.as_ref().map(|project| project.dir.clone());
        Arc::new(Self { host, id, project })
    }
}

#[async_trait]
impl SessionFactory for CapsuleMcpService {
    async fn open(
        &self,
        hello: ClientHello,
        peer: ClientPeer,
    ) -> Result<Arc<dyn ServerSession>, RpcError> {
        let place =
            CapsuleReference::find_within(&self.host, &self.id, reach(&hello.extensions)).await;
        let place = place.map_err(|failure| capsule_failure::as_rpc_error(&failure))?;
        let (Some(place), Some(service)) = (place, self.host.capsules()) else {
            let message = format!("there is no capsule `{}`", self.id);
            return Err(RpcError::new(RpcError::REFUSED, message));
        };
        let client = CapsuleMcpClient::new(&self.host, service.clone(), &hello)
            .bound_to(&place)
            .in_project(self.project.clone());
        CapsuleMcpSession::open(client, ClientStreams::new(hello.revision, peer)).await
    }

    fn missing_scopes(
        &self,
        extensions: &http::Extensions,
        method: &str,
        params: Option<&RawValue>,
    ) -> Option<MissingScopes> {
        let access = extensions.get::<SharedAccess>()?.access();
        let (name, arguments) = params::called_tool(method, params)?;
        let needed = capsule_scope(CapsuleTool::named(&name)?, arguments.as_deref());
        let missing = access.missing([needed]);
        let is_complete = missing.is_empty() || access.scopes.allows(OAuthScope::CapsuleWrite);
        (!is_complete).then(|| MissingScopes(missing.to_string()))
    }
}
