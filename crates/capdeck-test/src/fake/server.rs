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

use super::{behaviour, offer, plan::FakePlan};

/// Where the messages that belong to one received message go.
pub(super) trait Outlet: Send + Sync {
    fn send(&self, text: &str, kind: Kind);

    /// Leaves the request without an answer for good.
    fn abandon(&self) {}
}

/// Whether a message ends its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Answer,
    Other,
}

/// One fake server and everything it remembers.
pub struct Server {
    pub(super) plan: FakePlan,
    record: Option<Mutex<File>>,
    received: Mutex<Vec<Value>>,
    /// Names of tools added while running.
    added_tools: Mutex<Vec<String>>,
    /// Requests of ours that wait for the client.
    waiting: Mutex<HashMap<String, mpsc::Sender<Value>>>,
    next_id: AtomicU64,
    /// Streams that carry what belongs to no request.
    pub(super) standing: Mutex<Vec<Arc<dyn Outlet>>>,
}

impl Server {
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
            waiting: Mutex::default(),
            next_id: AtomicU64::new(1),
            standing: Mutex::default(),
        })
    }

    /// Treats one message from the client. Returns when everything it caused has been sent.
    pub(super) fn handle(&self, message: Value, outlet: &Arc<dyn Outlet>) {
        self.remember(&message);
        let id = message.get("id").cloned();
        match (message["method"].as_str(), id) {
            (Some(method), Some(id)) => self.answer(method, &id, &message["params"], outlet),
            (Some(_notification), None) => {}
            (None, _) => self.wake(message),
        }
    }

    /// True when answering takes no longer than building the answer.
    pub(super) fn is_quick(message: &Value) -> bool {
        let call = message["method"] == "tools/call";
        !call || message["params"]["name"].as_str().is_none_or(behaviour::is_quick)
    }

    fn answer(&self, method: &str, id: &Value, params: &Value, outlet: &Arc<dyn Outlet>) {
        let fault = match method {
            "initialize" => self.plan.initialize,
            "tools/list" => self.plan.list,
            "tools/call" => self.plan.call,
            _ => super::Fault::None,
        };
        if fault.commit(id, outlet.as_ref()) {
            return;
        }
        let outcome = match method {
            "initialize" => Ok(offer::initialize(&self.plan, params)),
            "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
                Ok(json!({}))
            }
            "tools/list" => offer::tools(&self.plan, &self.added_tools.lock().unwrap(), params),
            "tools/call" => {
                let Some(outcome) = behaviour::call(self, id, params, outlet) else { return };
                outcome
            }
            _ if self.plan.everything => offer::other(method, params),
            _ => Err(offer::method_not_found(method)),
        };
        let answer = match outcome {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        };
        outlet.send(&answer.to_string(), Kind::Answer);
    }

    /// Asks the client something in the middle of a call and waits for what it says.
    pub(super) fn ask(&self, method: &str, params: Value, outlet: &Arc<dyn Outlet>) -> Value {
        let id = format!("ask-{}", self.next_id.fetch_add(1, Ordering::Relaxed));
        let (sender, receiver) = mpsc::channel();
        self.waiting.lock().unwrap().insert(id.clone(), sender);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        outlet.send(&request.to_string(), Kind::Other);
        receiver
            .recv_timeout(Duration::from_secs(60))
            .unwrap_or_else(|_| json!({"error": "no answer"}))
    }

    /// Sends a notification on the standing streams, else beside the current request.
    pub(super) fn announce(&self, method: &str, params: Value, outlet: &Arc<dyn Outlet>) {
        let text = json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string();
        let standing = self.standing.lock().unwrap();
        if standing.is_empty() {
            outlet.send(&text, Kind::Other);
        }
        for stream in standing.iter() {
            stream.send(&text, Kind::Other);
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

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Server").field("plan", &self.plan).finish_non_exhaustive()
    }
}
