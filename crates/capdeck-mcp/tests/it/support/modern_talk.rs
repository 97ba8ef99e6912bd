//! A modern client driven by hand over HTTP.

use std::{net::SocketAddr, sync::Arc};

use capdeck_mcp::server::{HttpEndpoint, HttpOptions};
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

use super::{Fixture, http_client, serve_endpoint, soon};

/// What the keys that describe a sender begin with.
pub(crate) const META: &str = "io.modelcontextprotocol/";

/// A sender and the server it talks to.
#[derive(Clone)]
pub(crate) struct ModernTalk {
    pub(crate) fixture: Arc<Fixture>,
    pub(crate) endpoint: Arc<HttpEndpoint>,
    pub(crate) address: SocketAddr,
    pub(crate) http: reqwest::Client,
    pub(crate) capabilities: Value,
    pub(crate) principal: Option<&'static str>,
    /// More members of `_meta`.
    pub(crate) meta: Value,
}

impl ModernTalk {
    pub(crate) async fn start(options: HttpOptions) -> Self {
        let fixture = Fixture::new();
        let (endpoint, address) = serve_endpoint(&fixture, options).await;
        Self {
            fixture,
            endpoint,
            address,
            http: http_client(),
            capabilities: json!({"elicitation": {}}),
            principal: None,
            meta: json!({}),
        }
    }

    pub(crate) fn with_capabilities(&self, capabilities: Value) -> Self {
        Self { capabilities, ..self.clone() }
    }

    pub(crate) fn with_principal(&self, principal: &'static str) -> Self {
        Self { principal: Some(principal), ..self.clone() }
    }

    pub(crate) fn with_meta(&self, meta: Value) -> Self {
        Self { meta, ..self.clone() }
    }

    /// Params that say who sends them.
    pub(crate) fn signed(&self, mut params: Value) -> Value {
        let mut meta = self.meta.clone();
        meta[format!("{META}protocolVersion")] = json!("2026-07-28");
        meta[format!("{META}clientInfo")] = json!({"name": "test", "version": "1"});
        meta[format!("{META}clientCapabilities")] = self.capabilities.clone();
        params["_meta"] = meta;
        params
    }

    /// A POST of any body, without the headers of a modern request.
    pub(crate) fn posting(&self, body: &Value) -> RequestBuilder {
        let request = self
            .http
            .post(format!("http://{}/mcp", self.address))
            .header("accept", "application/json, text/event-stream")
            .json(body);
        match self.principal {
            Some(principal) => request.header("x-principal", principal),
            None => request,
        }
    }

    /// A request as it should be.
    pub(crate) fn asking(&self, id: u64, method: &str, params: Value) -> RequestBuilder {
        let name = match method {
            "tools/call" | "prompts/get" => params["name"].as_str(),
            "resources/read" => params["uri"].as_str(),
            _ => None,
        };
        let name = name.map(ToOwned::to_owned);
        let body =
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": self.signed(params)});
        let request = self
            .posting(&body)
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method);
        match name {
            Some(name) => request.header("mcp-name", name),
            None => request,
        }
    }

    pub(crate) async fn send(&self, id: u64, method: &str, params: Value) -> Response {
        soon(self.asking(id, method, params).send()).await.unwrap()
    }

    /// The status and the body of an answer that is JSON.
    pub(crate) async fn ask(&self, id: u64, method: &str, params: Value) -> (u16, Value) {
        outcome(self.send(id, method, params).await).await
    }

    /// The result of a tool call.
    pub(crate) async fn call(&self, id: u64, params: Value) -> Value {
        let (status, body) = self.ask(id, "tools/call", params).await;
        assert_eq!((status, &body["id"]), (200, &json!(id)), "{body}");
        body["result"].clone()
    }
}

/// The status and the body of an answer that is JSON.
pub(crate) async fn outcome(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    assert_eq!(response.headers()["content-type"], "application/json");
    (status, soon(response.json()).await.unwrap())
}
