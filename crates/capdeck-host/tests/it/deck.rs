//! A deck of one test: files in folders of its own, and the host opened on them.

use std::{path::PathBuf, sync::Arc, time::Duration};

use capdeck_auth::{EnvironmentSnapshot, KeySettings, Vault};
use capdeck_definition::{DeckRoot, Exposure, RootOwner, find_project};
use capdeck_host::{
    CallContext, CallError, ClientProfile, Host, HostSettings, NoCaller, Principal, Session,
    SessionContinuity, SessionScope, SessionSettings, TaskForm, ToolRequest, ViewPolicy,
    WorkerCommand, calls, listing,
};
use capdeck_test::{FakePlan, TestDirs, sandbox_worker};
use serde_json::{Map, Value, json, value::RawValue};

use crate::record::Record;

/// Longer than any answer may take; a test that waits this long has found a hang.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Files of a deck, written as they are added.
pub(crate) struct Deck {
    pub(crate) dirs: TestDirs,
    config: Map<String, Value>,
    variables: Vec<(String, String)>,
}

impl Deck {
    pub(crate) fn new() -> Self {
        // A slow machine must not make a search miss a server that is only starting.
        let options = json!({ "searchDiscoveryTimeoutMs": TEST_TIMEOUT.as_millis() as u64 });
        let config = Map::from_iter([("options".to_owned(), options)]);
        Self { dirs: TestDirs::new(), config, variables: Vec::new() }
    }

    /// A deck of one well-behaved server called `fake`.
    pub(crate) fn of(plan: &FakePlan) -> Self {
        Self::new().server("fake", plan, json!({}))
    }

    /// Adds a stdio server to the user's config; `more` are further members of its entry.
    pub(crate) fn server(self, id: &str, plan: &FakePlan, more: Value) -> Self {
        let mut entry = plan.deck_entry();
        merge(&mut entry, more);
        self.entry("mcpServers", id, entry)
    }

    /// Adds an entry to one of the config's maps.
    pub(crate) fn entry(mut self, map: &str, id: &str, entry: Value) -> Self {
        self.config.entry(map).or_insert_with(|| json!({}))[id] = entry;
        self.dirs.write_config(&Value::Object(self.config.clone()));
        self
    }

    /// Sets a top-level member of the config; of `options`, only those given.
    pub(crate) fn config(mut self, key: &str, value: Value) -> Self {
        match self.config.get_mut(key).filter(|_| key == "options") {
            Some(options) => merge(options, value),
            None => drop(self.config.insert(key.to_owned(), value)),
        }
        self.dirs.write_config(&Value::Object(self.config.clone()));
        self
    }

    /// Writes a file below the deck's root, such as `config/osv.md`.
    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        self.dirs.write(path, text);
        self
    }

    /// Sets a variable of the environment that references are resolved from.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A record for a plan, in a file of this deck.
    pub(crate) fn record(&self, name: &str) -> Record {
        Record::new(self.dirs.root().join(format!("{name}.record")))
    }

    /// The settings that the command line would make of these folders.
    pub(crate) fn settings(&self) -> HostSettings {
        #[expect(clippy::disallowed_methods, reason = "children need the machine's PATH")]
        let path = std::env::var("PATH").unwrap();
        let given = self.variables.iter().cloned();
        let environment: EnvironmentSnapshot = given.chain([("PATH".to_owned(), path)]).collect();
        HostSettings {
            user_roots: vec![DeckRoot { dir: self.dirs.config(), owner: RootOwner::User }],
            project: find_project(&self.dirs.project(), Some(&self.dirs.home())),
            starter: Vec::new(),
            state_dir: self.dirs.state(),
            cache_dir: self.dirs.cache(),
            environment,
            vault: Vault::new(&self.dirs.state(), KeySettings::default()),
            guardian: None,
            sandbox: Some(WorkerCommand { program: sandbox_worker(), args: Vec::new() }),
            default_exposure: Exposure::Search,
            capsules: None,
            version: "0.0.0-test".to_owned(),
        }
    }

    pub(crate) fn open(&self) -> Host {
        Host::open(self.settings())
    }

    /// The host and the person's own session with it.
    pub(crate) fn operator(&self) -> (Host, Arc<Session>) {
        let host = self.open();
        let session = host.operator();
        (host, session)
    }
}

pub(crate) fn local_session(host: &Host, scope: SessionScope) -> Arc<Session> {
    host.session(SessionSettings::local(scope, ClientProfile::default()))
}

/// An agent's session with the whole deck.
pub(crate) fn agent(host: &Host) -> Arc<Session> {
    agent_with(host, None)
}

/// An agent's session that was started with an exposure for everything.
pub(crate) fn agent_with(host: &Host, exposure: Option<Exposure>) -> Arc<Session> {
    host.session(SessionSettings {
        scope: SessionScope::Deck(ViewPolicy::offering(exposure)),
        client_name: "test-agent".to_owned(),
        principal: Principal::local(),
        client: ClientProfile::default(),
        listener: Arc::new(NoCaller),
        tasks: TaskForm::Awaited,
        continuity: SessionContinuity::Connection,
        access: None,
        shares_files: true,
    })
}

/// A context whose timeout is the definition's own.
pub(crate) fn context() -> CallContext {
    CallContext { timeout: None, ..CallContext::detached(TEST_TIMEOUT) }
}

/// Calls a tool; the answer as a value.
pub(crate) async fn call(
    session: &Session,
    capability: &str,
    tool: &str,
    arguments: Value,
) -> Result<Value, CallError> {
    let (request, context) = (request(capability, tool, arguments), context());
    let calling = calls::call(session.request(&context), &request);
    let answer = tokio::time::timeout(TEST_TIMEOUT, calling).await;
    Ok(value(&answer.expect("a call ends in time")?))
}

/// Calls a tool by the name it is listed under.
pub(crate) async fn call_listed(
    session: &Session,
    name: &str,
    arguments: Value,
) -> Result<Option<Value>, CallError> {
    let request = ToolRequest { arguments: Some(raw(&arguments)), ..ToolRequest::default() };
    let context = context();
    let calling = calls::call_listed(session.request(&context), name, request);
    let answer = tokio::time::timeout(TEST_TIMEOUT, calling).await;
    Ok(answer.expect("a call ends in time")?.as_deref().map(value))
}

pub(crate) fn request(capability: &str, tool: &str, arguments: Value) -> ToolRequest {
    ToolRequest {
        capability: capability.to_owned(),
        tool: tool.to_owned(),
        arguments: Some(raw(&arguments)),
        ..ToolRequest::default()
    }
}

pub(crate) fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

pub(crate) fn value(text: &RawValue) -> Value {
    serde_json::from_str(text.get()).unwrap()
}

/// The text of a result's first content block.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

/// The names of the tools a session lists, in order.
pub(crate) async fn listed(session: &Session) -> Vec<String> {
    let tools = value(listing::discovered_view(&session.request(&context())).await.tools());
    let names = tools.as_array().unwrap().iter();
    names.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// A Caplet file: frontmatter from JSON, which is YAML too, and a body.
pub(crate) fn caplet(frontmatter: &Value) -> String {
    let mut text = "---\n".to_owned();
    for (key, value) in frontmatter.as_object().unwrap() {
        text.push_str(&format!("{key}: {value}\n"));
    }
    text.push_str("---\n# Notes\n");
    text
}

/// A Caplet file of one command-line tool `say` that prints `word`.
pub(crate) fn saying(word: &str) -> String {
    caplet(&json!({
        "name": "Sayer",
        "description": "Says one word on request",
        "cliTools": {"actions": {"say": {"command": "printf", "args": ["%s", word]}}},
    }))
}

/// Everything below a folder, as text, with the path before each file.
pub(crate) fn everything_below(folder: PathBuf) -> String {
    let mut text = String::new();
    let mut waiting = vec![folder];
    while let Some(folder) = waiting.pop() {
        let Ok(entries) = folder.read_dir() else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                waiting.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap_or_default();
                text.push_str(&format!(
                    "{}\n{}\n",
                    path.display(),
                    String::from_utf8_lossy(&bytes)
                ));
            }
        }
    }
    text
}

fn merge(entry: &mut Value, more: Value) {
    let Value::Object(more) = more else { panic!("members of an entry are an object") };
    entry.as_object_mut().unwrap().extend(more);
}
