//! The client side of the handshake.

use std::time::Duration;

use serde_json::value::RawValue;

use super::{ClientError, McpClient, RequestOptions};
use crate::{Era, ProtocolRevision, RawObject, raw};

#[derive(Debug, Clone, Default)]
pub struct ClientDescription {
    pub info: RawObject,
    pub capabilities: RawObject,
}

/// The server's description of itself, from the handshake or the probe.
#[derive(Debug, Clone)]
pub struct ServerHello {
    pub revision: ProtocolRevision,
    pub capabilities: RawObject,
    pub server_info: RawObject,
    pub instructions: Option<String>,
    pub raw: Box<RawValue>,
}

impl McpClient {
    /// Opens the session. May be called again when the server lost it.
    pub(super) async fn initialize(
        &self,
        hello: &ClientDescription,
        timeout: Duration,
    ) -> Result<ServerHello, ClientError> {
        self.inner.reset_era();
        let transport = &self.inner.transport;
        transport.reset();
        let params = [
            ("protocolVersion".to_owned(), raw::raw(ProtocolRevision::LATEST_LEGACY.as_str())),
            ("capabilities".to_owned(), raw::raw(&hello.capabilities)),
            ("clientInfo".to_owned(), raw::raw(&hello.info)),
        ];
        let options = RequestOptions::within(timeout);
        let answer =
            self.request("initialize", Some(params.into_iter().collect()), options).await?;
        let hello = read_hello(answer)?;
        transport.negotiated(hello.revision);
        let initialized = self.notify("notifications/initialized", None);
        tokio::time::timeout(timeout, initialized).await.map_err(|_| ClientError::Timeout {
            method: "notifications/initialized".to_owned(),
            after: timeout,
        })??;
        transport.opened();
        Ok(hello)
    }
}

fn read_hello(raw: Box<RawValue>) -> Result<ServerHello, ClientError> {
    let result: RawObject = serde_json::from_str(raw.get())
        .map_err(|_| ClientError::protocol("the answer to `initialize` is not an object"))?;
    let Some(version) = raw::text_member(&result, "protocolVersion") else {
        return Err(ClientError::protocol("the answer to `initialize` has no `protocolVersion`"));
    };
    let known = ProtocolRevision::parse(&version).filter(|revision| revision.era() == Era::Legacy);
    let revision = known.ok_or_else(|| {
        ClientError::protocol(format!("the server speaks an unknown protocol version: `{version}`"))
    })?;
    Ok(ServerHello {
        revision,
        capabilities: raw::object_member(&result, "capabilities").unwrap_or_default(),
        server_info: raw::object_member(&result, "serverInfo").unwrap_or_default(),
        instructions: raw::text_member(&result, "instructions"),
        raw,
    })
}
