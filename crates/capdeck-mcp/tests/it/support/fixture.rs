//! A service whose methods each show one thing the wire has to do.

mod modern_tools;

use std::sync::{Arc, atomic::AtomicBool};

use async_trait::async_trait;
use capdeck_mcp::{
    HeaderParams, RawObject, RpcError,
    server::{ClientHello, ClientPeer, RequestExchange, ServerSession, SessionFactory},
};
use serde_json::value::RawValue;
use tokio::sync::{Mutex, Notify, mpsc};

use super::{PLENTY, object, raw};

/// What the fixture saw, in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    Opened { requested: String, revision: &'static str, client: String },
    Notified(String),
    Started(String),
    Cancelled,
    Closed,
}

/// The service under all tests.
pub(crate) struct Fixture {
    happenings: mpsc::UnboundedSender<Happening>,
    seen: Mutex<mpsc::UnboundedReceiver<Happening>>,
    /// Lets the tool `slow` answer.
    pub(crate) release: Notify,
    peers: parking_lot::Mutex<Vec<ClientPeer>>,
    /// Set by the tool `visit`.
    pub(crate) visited: AtomicBool,
    this: std::sync::Weak<Self>,
}

struct FixtureSession(Arc<Fixture>);

impl Fixture {
    pub(crate) fn new() -> Arc<Self> {
        let (happenings, seen) = mpsc::unbounded_channel();
        Arc::new_cyclic(|this| Self {
            happenings,
            seen: Mutex::new(seen),
            release: Notify::new(),
            peers: parking_lot::Mutex::default(),
            visited: AtomicBool::new(false),
            this: this.clone(),
        })
    }

    /// The next thing that happened.
    pub(crate) async fn next(&self) -> Happening {
        super::soon(async { self.seen.lock().await.recv().await.unwrap() }).await
    }

    /// Waits for one thing, passing over others.
    pub(crate) async fn until(&self, wanted: &Happening) {
        while self.next().await != *wanted {}
    }

    /// Waits for several things in any order, passing over others.
    pub(crate) async fn until_all(&self, wanted: &[Happening]) {
        let mut missing: Vec<&Happening> = wanted.iter().collect();
        while !missing.is_empty() {
            let happened = self.next().await;
            missing.retain(|wanted| **wanted != happened);
        }
    }

    /// The session-level peer of the client that connected last.
    pub(crate) fn peer(&self) -> ClientPeer {
        self.peers.lock().last().unwrap().clone()
    }

    fn happened(&self, happening: Happening) {
        self.happenings.send(happening).unwrap();
    }
}

#[async_trait]
impl SessionFactory for Fixture {
    async fn open(
        &self,
        hello: ClientHello,
        peer: ClientPeer,
    ) -> Result<Arc<dyn ServerSession>, RpcError> {
        let client = hello.info.get("name").map(|name| name.get().to_owned()).unwrap_or_default();
        if client == r#""unwelcome""# {
            return Err(RpcError::invalid_request("not you"));
        }
        self.peers.lock().push(peer);
        let revision = hello.revision.as_str();
        self.happened(Happening::Opened { requested: hello.requested, revision, client });
        Ok(Arc::new(FixtureSession(self.this.upgrade().unwrap())))
    }
}

#[async_trait]
impl ServerSession for FixtureSession {
    async fn describe(&self) -> Result<RawObject, RpcError> {
        Ok(object(
            r#"{"capabilities":{"tools":{}},"serverInfo":{"name":"fixture","version":"0"},"instructions":"be kind"}"#,
        ))
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
        exchange: RequestExchange,
    ) -> Result<Box<RawValue>, RpcError> {
        let params = params.unwrap_or_default();
        if method != "tools/call" {
            let answer = modern_tools::request(&self.0, method, &params, &exchange).await;
            return answer.unwrap_or_else(|| Err(RpcError::method_not_found(method)));
        }
        let name: String = serde_json::from_str(params["name"].get()).unwrap();
        if let Some(answer) = modern_tools::call(&self.0, &name, &params, &exchange).await {
            return answer;
        }
        let peer = &exchange.peer;
        match name.as_str() {
            "echo" => Ok(params.get("arguments").cloned().unwrap_or_else(|| raw("{}"))),
            "progress" => {
                let token = exchange.progress_token.unwrap();
                for step in 1..=3 {
                    let mut note = object(&format!(r#"{{"progress":{step},"total":3}}"#));
                    note.insert("progressToken".to_owned(), token.clone());
                    peer.notify("notifications/progress", Some(note));
                }
                Ok(raw(r#"{"done":true}"#))
            }
            "log" => {
                peer.notify("notifications/message", Some(object(r#"{"level":"info"}"#)));
                Ok(raw("{}"))
            }
            "ask" => {
                peer.request("elicitation/create", Some(object(r#"{"message":"?"}"#)), PLENTY).await
            }
            "slow" => {
                self.0.happened(Happening::Started(name));
                self.0.release.notified().await;
                Ok(raw(r#"{"slow":true}"#))
            }
            "hang" => {
                self.0.happened(Happening::Started(name));
                exchange.cancel.cancelled().await;
                self.0.happened(Happening::Cancelled);
                Ok(raw("{}"))
            }
            "panic" => panic!("on purpose"),
            _ => Err(RpcError::new(-32042, "no such tool").with_data(raw(r#"{"name":  "kept"}"#))),
        }
    }

    async fn notification(&self, method: &str, _params: Option<RawObject>) {
        self.0.happened(Happening::Notified(method.to_owned()));
    }

    async fn header_params(&self, tool: &str) -> HeaderParams {
        modern_tools::header_params(tool)
    }

    async fn closed(&self) {
        self.0.happened(Happening::Closed);
    }
}
