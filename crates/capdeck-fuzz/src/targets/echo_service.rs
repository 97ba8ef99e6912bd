//! A service behind the server targets: it answers everything at once and keeps what reached it.

use std::sync::Arc;

use async_trait::async_trait;
use capdeck_mcp::{
    HeaderParams, RawObject, RpcError,
    server::{ClientHello, ClientPeer, RequestExchange, ServerSession, SessionFactory},
};
use parking_lot::Mutex;
use serde_json::value::RawValue;

/// The state that the tool `ask` gives a client to keep.
pub(crate) const KEPT_STATE: &str = "what the session keeps";

/// Answers every request with its own params; the tool `ask` asks a question first.
#[derive(Default)]
pub(crate) struct EchoService {
    seen: Arc<Mutex<Vec<SeenRequest>>>,
}

/// A request that reached the session.
#[derive(Debug, Clone)]
pub(crate) struct SeenRequest {
    pub(crate) method: String,
    pub(crate) params: RawObject,
}

struct EchoSession(Arc<Mutex<Vec<SeenRequest>>>);

impl EchoService {
    /// What reached the session since the last time this was asked.
    pub(crate) fn take_seen(&self) -> Vec<SeenRequest> {
        std::mem::take(&mut self.seen.lock())
    }
}

#[async_trait]
impl SessionFactory for EchoService {
    async fn open(
        &self,
        _hello: ClientHello,
        _peer: ClientPeer,
    ) -> Result<Arc<dyn ServerSession>, RpcError> {
        Ok(Arc::new(EchoSession(Arc::clone(&self.seen))))
    }
}

#[async_trait]
impl ServerSession for EchoSession {
    async fn describe(&self) -> Result<RawObject, RpcError> {
        Ok(object(
            r#"{"capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"0"},"instructions":"x"}"#,
        ))
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
        _exchange: RequestExchange,
    ) -> Result<Box<RawValue>, RpcError> {
        let params = params.unwrap_or_default();
        let asks = ["tools/call", "prompts/get", "resources/read"].contains(&method)
            && params.get("name").is_some_and(|name| name.get() == r#""ask""#)
            && !params.contains_key("inputResponses");
        self.0.lock().push(SeenRequest { method: method.to_owned(), params: params.clone() });
        if asks {
            let question = r#"{"q":{"method":"elicitation/create","params":{"message":"?"}}}"#;
            return Ok(raw(&format!(
                r#"{{"resultType":"input_required","inputRequests":{question},"requestState":"{KEPT_STATE}"}}"#
            )));
        }
        Ok(raw(&serde_json::to_string(&params).unwrap()))
    }

    async fn notification(&self, _method: &str, _params: Option<RawObject>) {}

    async fn header_params(&self, _tool: &str) -> HeaderParams {
        let schema = r#"{"properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}"#;
        HeaderParams::from_schema(&raw(schema)).unwrap()
    }

    async fn closed(&self) {}
}

pub(crate) fn object(text: &str) -> RawObject {
    serde_json::from_str(text).unwrap()
}

pub(crate) fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}
