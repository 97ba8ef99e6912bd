//! The protocol side of the fake server, the same for every transport.

use std::{
    collections::HashMap,
    fs::File,
    io::Write,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    ask, behaviour,
    modern::{self, FakeListenStream},
    offer,
    plan::{FakeEra, FakePlan},
};

/// Where the messages that belong to one received message go.
pub(super) trait FakeOutlet: Send + Sync {
    fn send(&self, text: &str, kind: MessageEnd);

    /// Sends an error as the answer, with the HTTP status that goes with it in the modern era.
    fn refuse(&self, text: &str, _status: u16) {
        self.send(text, MessageEnd::Answer);
    }

    /// Leaves the request without an answer for good.
    fn abandon(&self) {}

    /// Waits until the client leaves. False where nothing tells.
    fn hold(&self) -> bool {
        false
    }

    /// The HTTP headers of the request, as an object.
    fn headers(&self) -> Value {
        Value::Null
    }
}

/// Whether a message ends its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageEnd {
    Answer,
    Other,
}

/// One fake server and everything it remembers.
pub struct FakeServer {
    pub(super) plan: FakePlan,
    record: Option<Mutex<File>>,
    received: Mutex<Vec<Value>>,
    /// Names of tools added while running.
    added_tools: Mutex<Vec<String>>,
    /// What the client declared in the handshake.
    declared: Mutex<Value>,
    /// Requests of ours that wait for the client.
    waiting: Mutex<HashMap<String, mpsc::Sender<Value>>>,
    next_id: AtomicU64,
    /// Streams that carry what belongs to no request.
    pub(super) standing: Mutex<Vec<Arc<dyn FakeOutlet>>>,
    /// Streams of modern clients.
    pub(super) listening: Mutex<Vec<FakeListenStream>>,
}

impl FakeServer {
    /// Sets up the server; reads nothing yet.
    pub fn new(plan: FakePlan) -> Arc<Self> {
        let record = plan.record.as_ref().map(|path| {
            let mut file = File::options().create(true).append(true).open(path).unwrap();
            append(&mut file, &json!({"started": std::process::id()}));
            Mutex::new(file)
        });
        Arc::new(Self {
            plan,
            record,
            received: Mutex::default(),
            added_tools: Mutex::default(),
            declared: Mutex::default(),
            waiting: Mutex::default(),
            next_id: AtomicU64::new(1),
            standing: Mutex::default(),
            listening: Mutex::default(),
        })
    }

    /// Treats one message from the client. Returns when everything it caused has been sent.
    pub(super) fn handle(&self, message: Value, outlet: &Arc<dyn FakeOutlet>) {
        self.remember(&message);
        let id = message.get("id").cloned();
        match (message["method"].as_str(), id) {
            (Some(method), Some(id)) => self.answer(method, &id, &message["params"], outlet),
            (Some("notifications/cancelled"), None) => {
                self.stop_listening(&message["params"]["requestId"]);
            }
            (Some(_notification), None) => {}
            (None, _) => self.wake(message),
        }
    }

    /// True when answering takes no longer than building the answer.
    pub(super) fn is_quick(message: &Value) -> bool {
        let params = &message["params"];
        match message["method"].as_str() {
            Some("tools/call") => params["name"].as_str().is_none_or(behaviour::is_quick),
            Some("prompts/get" | "resources/read") => {
                params["name"] != "interview" && params["uri"] != "fake://question"
            }
            _ => true,
        }
    }

    fn answer(&self, method: &str, id: &Value, params: &Value, outlet: &Arc<dyn FakeOutlet>) {
        let fault = match method {
            "server/discover" => self.plan.discover,
            "initialize" => self.plan.initialize,
            "tools/list" => self.plan.list,
            "tools/call" => self.plan.call,
            _ => super::FakeFault::None,
        };
        if fault.commit(id, outlet.as_ref()) {
            return;
        }
        let (is_modern, outcome) = match modern::admit(&self.plan, method, params) {
            Err(error) => (true, Err(error)),
            Ok(true) if method == "subscriptions/listen" => return self.listen(id, params, outlet),
            Ok(is_modern) => {
                let outcome = self.treat(method, id, params, is_modern, outlet);
                let Some(outcome) = outcome else { return };
                (is_modern, outcome)
            }
        };
        match outcome {
            Ok(result) => {
                let result =
                    if is_modern { modern::finish(&self.plan, method, result) } else { result };
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
                outlet.send(&answer.to_string(), MessageEnd::Answer);
            }
            Err(error) => {
                let status = if is_modern { modern::status_of(&error) } else { 200 };
                let answer = json!({"jsonrpc": "2.0", "id": id, "error": error});
                outlet.refuse(&answer.to_string(), status);
            }
        }
    }

    /// Does what a request asks for. `None` means that nothing more is to be sent.
    fn treat(
        &self,
        method: &str,
        id: &Value,
        params: &Value,
        is_modern: bool,
        outlet: &Arc<dyn FakeOutlet>,
    ) -> Option<Result<Value, Value>> {
        let outcome = match method {
            "server/discover" if is_modern => Ok(modern::discover(&self.plan)),
            "initialize" => {
                *self.declared.lock().unwrap() = params["capabilities"].clone();
                Ok(offer::initialize(&self.plan, params))
            }
            "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
                Ok(json!({}))
            }
            "tools/list" => offer::tools(&self.plan, &self.more_tools(params), params),
            "tools/call" => behaviour::call(self, id, params, is_modern, outlet)?,
            _ if !self.plan.everything => Err(offer::method_not_found(method)),
            "prompts/get" | "resources/read" => {
                let subject = params["name"].as_str().or(params["uri"].as_str());
                match ask::ask(self, subject.unwrap_or_default(), params, is_modern, outlet) {
                    None => offer::other(&self.plan, method, params, is_modern),
                    Some(outcome) => outcome.map(|answer| match answer.get("resultType") {
                        Some(_) => answer,
                        None => offer::answered(method, &answer),
                    }),
                }
            }
            _ => offer::other(&self.plan, method, params, is_modern),
        };
        Some(outcome)
    }

    /// Names of tools added while running, and of those that only some clients see.
    fn more_tools(&self, params: &Value) -> Vec<String> {
        let mut names = self.added_tools.lock().unwrap().clone();
        if self.plan.gated_tools {
            let sent = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
            let once = self.declared.lock().unwrap();
            let declared = if sent.is_object() { sent } else { &*once };
            let gates = ["sampling", "elicitation", "roots"].into_iter();
            let open = gates.filter(|gate| declared.get(gate).is_some());
            names.extend(open.map(|gate| format!("for_{gate}")));
        }
        names
    }

    /// Asks the client something in the middle of a call and waits for what it says.
    pub(super) fn ask(&self, method: &str, params: Value, outlet: &Arc<dyn FakeOutlet>) -> Value {
        let id = format!("ask-{}", self.next_id.fetch_add(1, Ordering::Relaxed));
        let (sender, receiver) = mpsc::channel();
        self.waiting.lock().unwrap().insert(id.clone(), sender);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        outlet.send(&request.to_string(), MessageEnd::Other);
        receiver
            .recv_timeout(Duration::from_secs(60))
            .unwrap_or_else(|_| json!({"error": "no answer"}))
    }

    /// Sends a notification on the standing streams, else beside the current request.
    pub(super) fn announce(&self, method: &str, params: Value, outlet: &Arc<dyn FakeOutlet>) {
        let text = json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string();
        let listening = self.listening.lock().unwrap();
        for stream in listening.iter().filter(|stream| stream.wants(method, &params)) {
            stream.send(method, params.clone());
        }
        let standing = self.standing.lock().unwrap();
        let no_one = standing.is_empty() && listening.is_empty();
        if no_one && self.plan.era != FakeEra::Modern {
            outlet.send(&text, MessageEnd::Other);
        }
        for stream in standing.iter() {
            stream.send(&text, MessageEnd::Other);
        }
    }

    pub(super) fn add_tool(&self, name: &str) {
        self.added_tools.lock().unwrap().push(name.to_owned());
    }

    pub(super) fn received(&self) -> Vec<Value> {
        self.received.lock().unwrap().clone()
    }

    fn remember(&self, message: &Value) {
        if let Some(record) = &self.record {
            append(&mut record.lock().unwrap(), message);
        }
        // Load tests send millions of calls; only behaviour tests ask what arrived.
        let mut received = self.received.lock().unwrap();
        if received.len() < 1_000 {
            received.push(message.clone());
        }
    }

    fn wake(&self, response: Value) {
        let Some(id) = response["id"].as_str() else { return };
        if let Some(sender) = self.waiting.lock().unwrap().remove(id) {
            let _gave_up = sender.send(response);
        }
    }
}

/// Writes a line in one piece: other servers append to the same file, and tests read it meanwhile.
fn append(file: &mut File, message: &Value) {
    file.write_all(format!("{message}\n").as_bytes()).unwrap();
}

impl std::fmt::Debug for FakeServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Server").field("plan", &self.plan).finish_non_exhaustive()
    }
}
