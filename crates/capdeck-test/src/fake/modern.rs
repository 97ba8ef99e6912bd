//! What differs for a request of the modern era: it says who sends it, and its answer says what it is.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    offer,
    plan::{FakeEra, FakePlan},
    server::{FakeOutlet, FakeServer, MessageEnd},
};

/// The modern revision this server speaks.
const REVISION: &str = "2026-07-28";

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// Methods that exist only in the legacy era.
const REMOVED: [&str; 5] =
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// Log levels, least severe first.
const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// A stream that was opened by `subscriptions/listen`.
pub(super) struct FakeListenStream {
    id: Value,
    filter: Value,
    outlet: Arc<dyn FakeOutlet>,
}

/// Says whether a request is of the modern era, or why it is refused.
pub(super) fn admit(plan: &FakePlan, method: &str, params: &Value) -> Result<bool, Value> {
    let declared = &params["_meta"][PROTOCOL_VERSION];
    match (plan.era, declared) {
        (FakeEra::Legacy, _) | (FakeEra::Both, Value::Null) => return Ok(false),
        (FakeEra::Modern, Value::Null) if method == "initialize" => {
            return Err(unsupported(&params["protocolVersion"]));
        }
        (FakeEra::Modern, Value::Null) => {
            let message = format!("`_meta` has no `{PROTOCOL_VERSION}`");
            return Err(json!({"code": -32602, "message": message}));
        }
        (_, Value::String(version)) if version == REVISION => {}
        (_, other) => return Err(unsupported(other)),
    }
    if !params["_meta"][CLIENT_CAPABILITIES].is_object() {
        let message = format!("`_meta` has no `{CLIENT_CAPABILITIES}`");
        return Err(json!({"code": -32602, "message": message}));
    }
    if REMOVED.contains(&method) { Err(offer::method_not_found(method)) } else { Ok(true) }
}

/// True when a message is written in the modern era, and the server speaks it.
pub(super) fn is_modern(plan: &FakePlan, message: &Value) -> bool {
    plan.era != FakeEra::Legacy && !message["params"]["_meta"][PROTOCOL_VERSION].is_null()
}

/// What the client can be asked for.
pub(super) fn has_capability(params: &Value, name: &str) -> bool {
    params["_meta"][CLIENT_CAPABILITIES].get(name).is_some()
}

/// True when the sender wants to hear log messages of this level while the request runs.
pub(super) fn wants_log(params: &Value, level: &str) -> bool {
    let rank = |level: &str| LEVELS.iter().position(|known| *known == level);
    let wanted = params["_meta"][LOG_LEVEL].as_str().and_then(rank);
    wanted.is_some_and(|wanted| rank(level) >= Some(wanted))
}

/// The answer to `server/discover`.
pub(super) fn discover(plan: &FakePlan) -> Value {
    let mut result = json!({
        "supportedVersions": [REVISION],
        "capabilities": offer::capabilities(plan),
    });
    if let Some(instructions) = &plan.instructions {
        result["instructions"] = json!(instructions);
    }
    result
}

/// Adds what every modern result carries.
pub(super) fn finish(plan: &FakePlan, method: &str, mut result: Value) -> Value {
    let Some(members) = result.as_object_mut() else { return result };
    members.entry("resultType").or_insert(json!("complete"));
    let cacheable = method.ends_with("/list") || method == "resources/read";
    if cacheable || method == "server/discover" {
        members.insert("ttlMs".to_owned(), json!(0));
        members.insert("cacheScope".to_owned(), json!("public"));
    }
    let meta = members.entry("_meta").or_insert_with(|| json!({}));
    meta[SERVER_INFO] = offer::server_info(plan);
    result
}

/// The HTTP status that goes with a modern error.
pub(super) fn status_of(error: &Value) -> u16 {
    match error["code"].as_i64() {
        Some(-32601) => 404,
        Some(-32602 | -32020 | -32021 | -32022) => 400,
        _ => 200,
    }
}

/// A header that says something else than the body, as an error.
pub(super) fn header_mismatch(
    message: &Value,
    header: impl Fn(&str) -> Option<String>,
) -> Option<Value> {
    let params = &message["params"];
    let name = match message["method"].as_str()? {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        _ => None,
    };
    let expected = [
        ("mcp-protocol-version", params["_meta"][PROTOCOL_VERSION].as_str()),
        ("mcp-method", message["method"].as_str()),
        ("mcp-name", name),
    ];
    expected.into_iter().find_map(|(key, value)| {
        let value = value?;
        let found = header(key);
        if found.as_deref() == Some(value) {
            return None;
        }
        let message = format!("`{key}` is {found:?}, the body says `{value}`");
        Some(json!({"code": -32020, "message": message}))
    })
}

impl FakeServer {
    /// Opens a stream of notifications; its request stays unanswered.
    pub(super) fn listen(&self, id: &Value, params: &Value, outlet: &Arc<dyn FakeOutlet>) {
        let filter = params["notifications"].clone();
        let stream = FakeListenStream { id: id.clone(), filter, outlet: Arc::clone(outlet) };
        let honoured = json!({"notifications": stream.filter});
        stream.send("notifications/subscriptions/acknowledged", honoured);
        self.listening.lock().unwrap().push(stream);
        if outlet.hold() {
            let mut listening = self.listening.lock().unwrap();
            listening.retain(|stream| !Arc::ptr_eq(&stream.outlet, outlet));
        }
    }

    pub(super) fn stop_listening(&self, id: &Value) {
        self.listening.lock().unwrap().retain(|stream| stream.id != *id);
    }
}

impl FakeListenStream {
    pub(super) fn wants(&self, method: &str, params: &Value) -> bool {
        let key = match method {
            "notifications/tools/list_changed" => "toolsListChanged",
            "notifications/prompts/list_changed" => "promptsListChanged",
            "notifications/resources/list_changed" => "resourcesListChanged",
            _ => {
                let uris = self.filter["resourceSubscriptions"].as_array();
                return uris.is_some_and(|uris| uris.contains(&params["uri"]));
            }
        };
        self.filter[key] == true
    }

    pub(super) fn send(&self, method: &str, mut params: Value) {
        let meta = Map::from_iter([(SUBSCRIPTION_ID.to_owned(), self.id.clone())]);
        params["_meta"] = Value::from(meta);
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.outlet.send(&message.to_string(), MessageEnd::Other);
    }
}

fn unsupported(requested: &Value) -> Value {
    let data = json!({"supported": [REVISION], "requested": requested});
    json!({"code": -32022, "message": "unsupported protocol version", "data": data})
}
