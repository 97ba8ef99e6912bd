//! Opens one session per client of one capsule.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use capdeck_host::Host;
use capdeck_mcp::{
    RpcError,
    server::{ClientHello, Peer, Service, Session},
};

use super::{
    capsule_client::{CapsuleClient, CapsulePlace, reach},
    capsule_failure,
    capsule_session::CapsuleMcpSession,
    client_streams::ClientStreams,
};

/// The endpoint of one capsule.
pub(crate) struct CapsuleMcpService {
    host: Host,
    /// The capsule's id, which stays when its name changes.
    id: String,
    /// The project whose files anchors are checked against, where all clients work in one.
    project: Option<PathBuf>,
}

impl CapsuleMcpService {
    pub(crate) fn new(host: Host, id: String) -> Arc<Self> {
        Arc::new(Self { host, id, project: None })
    }

    /// For the one client that works in the host's project.
    pub(crate) fn in_project(host: Host, id: String) -> Arc<Self> {
        let project = host.settings().project.as_ref().map(|project| project.dir.clone());
        Arc::new(Self { host, id, project })
    }
}

#[async_trait]
impl Service for CapsuleMcpService {
    async fn open(&self, hello: ClientHello, peer: Peer) -> Result<Arc<dyn Session>, RpcError> {
        let place = CapsulePlace::reached(&self.host, &self.id, reach(&hello.extensions)).await;
        let place = place.map_err(|failure| capsule_failure::as_rpc_error(&failure))?;
        let (Some(place), Some(service)) = (place, self.host.capsules()) else {
            let message = format!("there is no capsule `{}`", self.id);
            return Err(RpcError::new(RpcError::REFUSED, message));
        };
        let client = CapsuleClient::new(&self.host, service.clone(), &hello)
            .bound(&place)
            .in_project(self.project.clone());
        CapsuleMcpSession::open(client, ClientStreams::new(hello.revision, peer)).await
    }
}
