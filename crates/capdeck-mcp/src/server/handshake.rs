//! The server side of the handshake.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use serde_json::value::RawValue;

use super::{
    ClientHello, SessionFactory, conversation::ServerConversation, message_outlet::MessageOutlet,
};
use crate::{ProtocolRevision, RawObject, RpcError, raw};

pub(super) struct HandshakeResult {
    pub(super) revision: ProtocolRevision,
    pub(super) result: Box<RawValue>,
}

pub(super) async fn open(
    service: &Arc<dyn SessionFactory>,
    conversation: &Arc<ServerConversation>,
    outlet: MessageOutlet,
    params: Option<Box<RawValue>>,
    extensions: http::Extensions,
) -> Result<HandshakeResult, RpcError> {
    let params = raw::parse_params(params.as_deref())?.unwrap_or_default();
    let requested = raw::text_member(&params, "protocolVersion").ok_or_else(|| {
        RpcError::invalid_params("`initialize` needs a `protocolVersion`, such as `2025-11-25`")
    })?;
    let revision = ProtocolRevision::negotiate(&requested);
    let hello = ClientHello {
        requested,
        revision,
        info: raw::object_member(&params, "clientInfo").unwrap_or_default(),
        capabilities: raw::object_member(&params, "capabilities").unwrap_or_default(),
        extensions,
    };
    let opening = AssertUnwindSafe(service.open(hello, conversation.peer(outlet))).catch_unwind();
    let fault = || RpcError::internal("a fault in this server ended the handshake");
    let session = opening.await.unwrap_or_else(|_| Err(fault()))?;
    let describing = AssertUnwindSafe(session.describe()).catch_unwind();
    let described = match describing.await.unwrap_or_else(|_| Err(fault())) {
        Ok(described) => described,
        Err(error) => {
            session.closed().await;
            return Err(error);
        }
    };
    conversation.begin(revision, session);
    let mut result = RawObject::with_capacity(described.len() + 1);
    result.insert("protocolVersion".to_owned(), raw::raw(revision.as_str()));
    result.extend(described);
    Ok(HandshakeResult { revision, result: raw::raw(&result) })
}
