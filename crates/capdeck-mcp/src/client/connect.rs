//! Detects the era of a server and opens the connection in it.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{
    ClientError, McpClient, RequestOptions, call::saturating_deadline, modern::ModernProtocol,
};
use crate::{Era, ProtocolRevision, RawObject, RpcError, raw, request_meta};

/// Bounds the probe for the modern era. Legacy servers reject it at once; the few that stay silent, or are slow to
/// start, are probed again if they reject the handshake.
const PROBE_TIMEOUT: Duration = Duration::from_secs(4);

const PROBE_TRIES: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EraChoice {
    /// Modern if the server supports it, else legacy.
    Auto,
    /// Same as `Auto`, for a known legacy server: tries the handshake first.
    LegacyFirst,
    Legacy,
    Modern,
}

type EraProbe = Result<ServerHello, ClientError>;

impl McpClient {
    /// Opens the connection. May be called again when the server lost the session or changed its era.
    pub async fn connect(
        &self,
        hello: ClientDescription,
        choice: EraChoice,
        timeout: Duration,
    ) -> Result<ServerHello, ClientError> {
        let end = saturating_deadline(Instant::now(), timeout);
        let hello = Arc::new(hello);
        match choice {
            EraChoice::Legacy => self.initialize(&hello, timeout).await,
            EraChoice::Modern => self.probe(&hello, timeout).await?,
            EraChoice::LegacyFirst => match self.initialize(&hello, timeout).await {
                Ok(found) => Ok(found),
                Err(error) => self.probe_after(error, &hello, end).await,
            },
            EraChoice::Auto => {
                let silent = match self.probe(&hello, PROBE_TIMEOUT.min(timeout / 2)).await? {
                    Ok(found) => return Ok(found),
                    Err(why) => matches!(why, ClientError::Timeout { .. }),
                };
                match self.initialize(&hello, remaining(end)).await {
                    // A slow modern server has received both messages and rejects the second.
                    Err(error) if silent => self.probe_after(error, &hello, end).await,
                    outcome => outcome.map(ServerHello::refusing_the_other_era),
                }
            }
        }
    }

    async fn probe_after(
        &self,
        error: ClientError,
        hello: &Arc<ClientDescription>,
        end: Instant,
    ) -> Result<ServerHello, ClientError> {
        let refused = matches!(
            error,
            ClientError::Rpc(_)
                | ClientError::Http { status: 400 | 404 | 405, .. }
                | ClientError::Protocol { .. }
        );
        if !refused {
            return Err(error);
        }
        match self.probe(hello, remaining(end)).await {
            Ok(Ok(found)) => Ok(found.refusing_the_other_era()),
            Ok(Err(_)) | Err(_) => Err(error),
        }
    }

    async fn probe(
        &self,
        hello: &Arc<ClientDescription>,
        timeout: Duration,
    ) -> Result<EraProbe, ClientError> {
        let end = saturating_deadline(Instant::now(), timeout);
        let inner = &self.inner;
        inner.reset_era();
        inner.transport.reset();
        let mut revision = ProtocolRevision::LATEST;
        for _ in 0..PROBE_TRIES {
            let modern = ModernProtocol::new(inner, revision, Arc::clone(hello));
            match modern.discover(end).await {
                Ok(answer) => {
                    return Ok(read_discovery(answer, revision)
                        .inspect(|found| inner.enter(Arc::new(modern), found)));
                }
                Err(ClientError::Rpc(error)) => match offered(&error) {
                    Some(other) => revision = other,
                    None => return Ok(Err(ClientError::Rpc(error))),
                },
                Err(error) if ends_connecting(&error) => return Err(error),
                Err(error) => return Ok(Err(error)),
            }
        }
        let message = "the server rejects the protocol versions that it offers";
        Ok(Err(ClientError::protocol(message)))
    }
}

pub(super) fn offered(error: &RpcError) -> Option<ProtocolRevision> {
    if error.code != RpcError::UNSUPPORTED_VERSION {
        return None;
    }
    let data: RawObject = serde_json::from_str(error.data.as_ref()?.get()).ok()?;
    newest_modern(&data, "supported")
}

fn newest_modern(object: &RawObject, key: &str) -> Option<ProtocolRevision> {
    let versions: Vec<String> = serde_json::from_str(object.get(key)?.get()).ok()?;
    let known = versions.iter().filter_map(|version| ProtocolRevision::parse(version));
    known.filter(|revision| revision.era() == Era::Modern).max()
}

/// Returns whether a handshake would fail with the same error.
fn ends_connecting(error: &ClientError) -> bool {
    match error {
        ClientError::Closed { .. } | ClientError::Cancelled | ClientError::Unreachable { .. } => {
            true
        }
        ClientError::Http { status, .. } => matches!(status, 300..=399 | 401 | 403),
        _ => false,
    }
}

fn read_discovery(raw: Box<RawValue>, asked: ProtocolRevision) -> Result<ServerHello, ClientError> {
    let result: RawObject = serde_json::from_str(raw.get())
        .map_err(|_| ClientError::protocol("the answer to `server/discover` is not an object"))?;
    // Some legacy servers answer `{}` to any request.
    if !result.contains_key("supportedVersions") {
        let message = "the answer to `server/discover` has no `supportedVersions`";
        return Err(ClientError::protocol(message));
    }
    let Some(newest) = newest_modern(&result, "supportedVersions") else {
        let message = format!("the server does not speak protocol version `{asked}`");
        return Err(ClientError::protocol(message));
    };
    let server_info = raw::object_member(&result, "_meta")
        .and_then(|meta| raw::object_member(&meta, request_meta::SERVER_INFO))
        .or_else(|| raw::object_member(&result, "serverInfo"));
    Ok(ServerHello::new(newest, &result, server_info, raw))
}

fn remaining(end: Instant) -> Duration {
    end.saturating_duration_since(Instant::now())
}

#[derive(Debug, Clone, Default)]
pub struct ClientDescription {
    pub info: RawObject,
    pub capabilities: RawObject,
}

#[derive(Debug, Clone)]
pub struct ServerHello {
    pub revision: ProtocolRevision,
    pub capabilities: RawObject,
    pub server_info: RawObject,
    pub instructions: Option<String>,
    /// True when the server was asked in the other era first and refused. False when it was not asked.
    pub refuses_other_era: bool,
    pub raw: Box<RawValue>,
}

impl ServerHello {
    fn new(
        revision: ProtocolRevision,
        result: &RawObject,
        server_info: Option<RawObject>,
        raw: Box<RawValue>,
    ) -> Self {
        Self {
            revision,
            capabilities: raw::object_member(result, "capabilities").unwrap_or_default(),
            server_info: server_info.unwrap_or_default(),
            instructions: raw::text_member(result, "instructions"),
            refuses_other_era: false,
            raw,
        }
    }

    fn refusing_the_other_era(self) -> Self {
        Self { refuses_other_era: true, ..self }
    }
}

impl McpClient {
    /// Opens the session. May be called again when the server lost it.
    async fn initialize(
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
        tokio::time::timeout(timeout, initialized)
            .await
            .map_err(|_| ClientError::timeout("notifications/initialized", timeout))??;
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
    let server_info = raw::object_member(&result, "serverInfo");
    Ok(ServerHello::new(revision, &result, server_info, raw))
}
