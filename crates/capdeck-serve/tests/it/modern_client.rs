//! A client of the modern era: every request says who sends it.

use capdeck_test::{HttpClient, HttpReply};
use serde_json::{Value, json};

use crate::{event_stream::EventStream, served::Served};

const REVISION: &str = "2026-07-28";

pub(crate) struct ModernClient {
    http: HttpClient,
    authority: String,
    path: &'static str,
    name: String,
    capabilities: Value,
    token: Option<String>,
    next_id: u64,
}

impl ModernClient {
    pub(crate) fn new(served: &Served, path: &'static str, capabilities: Value) -> Self {
        let (http, authority) = (served.client(path), served.authority().to_owned());
        let name = "modern".to_owned();
        Self { http, authority, path, name, capabilities, token: None, next_id: 1 }
    }

    /// A client at another address than the first one's.
    pub(crate) fn over(http: HttpClient, path: &'static str, capabilities: Value) -> Self {
        let (authority, name) = (String::new(), "modern".to_owned());
        Self { http, authority, path, name, capabilities, token: None, next_id: 1 }
    }

    /// The same client with a token.
    pub(crate) fn with_token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// The same client under another name, which makes it another one.
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.name = name.to_owned();
        self
    }

    /// Sends a request; the message that answers it.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let reply = self.send(method, params);
        let id = json!(self.next_id - 1);
        let answer = reply.messages().into_iter().find(|message| message["id"] == id);
        answer.unwrap_or_else(|| panic!("no answer to {method}: {reply:?}"))
    }

    /// Sends a request; everything that came back.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> HttpReply {
        let (headers, body) = self.message(method, params);
        let headers: Vec<_> = headers.iter().map(|(key, value)| (*key, value.as_str())).collect();
        self.http.send("POST", self.path, &headers, body.to_string().as_bytes())
    }

    /// Opens a stream of changes.
    pub(crate) fn listen(&mut self, filter: Value) -> EventStream {
        let params = json!({"notifications": filter});
        let (headers, body) = self.message("subscriptions/listen", params);
        EventStream::post_with(&self.authority, self.path, &headers, &body)
    }

    fn message(&mut self, method: &str, mut params: Value) -> (Vec<(&'static str, String)>, Value) {
        let id = self.next_id;
        self.next_id += 1;
        let mut meta = params["_meta"].as_object().cloned().unwrap_or_default();
        meta.insert("io.modelcontextprotocol/protocolVersion".to_owned(), json!(REVISION));
        meta.insert(
            "io.modelcontextprotocol/clientCapabilities".to_owned(),
            self.capabilities.clone(),
        );
        let info = json!({"name": self.name, "version": "1"});
        meta.insert("io.modelcontextprotocol/clientInfo".to_owned(), info);
        params["_meta"] = Value::Object(meta);
        let mut headers = vec![
            ("Content-Type", "application/json".to_owned()),
            ("MCP-Protocol-Version", REVISION.to_owned()),
            ("Mcp-Method", method.to_owned()),
        ];
        let name = match method {
            "tools/call" | "prompts/get" => params["name"].as_str(),
            "resources/read" => params["uri"].as_str(),
            "tasks/get" | "tasks/update" | "tasks/cancel" => params["taskId"].as_str(),
            _ => None,
        };
        headers.extend(name.map(|name| ("Mcp-Name", name.to_owned())));
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        headers.extend(bearer.map(|bearer| ("Authorization", bearer)));
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        (headers, body)
    }
}
