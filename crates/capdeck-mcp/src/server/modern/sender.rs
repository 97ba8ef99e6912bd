//! The validated sender of a modern request.

use std::sync::Arc;

use crate::{
    Era, LogSeverity, ProtocolRevision, RawObject, RpcError,
    request_meta::{CLIENT_CAPABILITIES, LOG_LEVEL, PROTOCOL_VERSION, RequestMeta},
};

/// A description has a few hundred bytes; it is the key of sessions.
const MAX_BYTES: usize = 64 * 1024;

#[derive(Debug, Clone)]
pub(in crate::server) struct RequestSender {
    pub(in crate::server) revision: ProtocolRevision,
    pub(in crate::server) capabilities: Arc<RawObject>,
    pub(in crate::server) info: RawObject,
    pub(in crate::server) log_level: Option<LogSeverity>,
}

impl RequestSender {
    pub(in crate::server) fn read(meta: RequestMeta) -> Result<Self, RpcError> {
        let version = meta.protocol_version.ok_or_else(|| missing(PROTOCOL_VERSION, "a text"))?;
        let revision = ProtocolRevision::parse(&version)
            .filter(|revision| revision.era() == Era::Modern)
            .ok_or_else(|| RpcError::unsupported_version(&version))?;
        let capabilities =
            meta.capabilities.ok_or_else(|| missing(CLIENT_CAPABILITIES, "an object"))?;
        let info = meta.info.unwrap_or_default();
        let members = capabilities.iter().chain(&info);
        let bytes: usize = members.map(|(key, value)| key.len() + value.get().len()).sum();
        if bytes > MAX_BYTES {
            return Err(RpcError::invalid_params(format!(
                "the client describes itself in more than {MAX_BYTES} bytes"
            )));
        }
        let log_level = match meta.log_level {
            None => None,
            Some(level) => Some(LogSeverity::parse(&level).ok_or_else(|| {
                RpcError::invalid_params(format!("`{LOG_LEVEL}` cannot be `{level}`"))
            })?),
        };
        Ok(Self { revision, capabilities: Arc::new(capabilities), info, log_level })
    }
}

fn missing(key: &str, kind: &str) -> RpcError {
    RpcError::invalid_params(format!("`_meta` needs {kind} in `{key}`"))
}
