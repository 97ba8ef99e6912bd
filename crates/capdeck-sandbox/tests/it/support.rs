//! A pool with real workers, and capabilities that answer from a script.

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use capdeck_sandbox::{
    CallFailure, CallHandler, CallRequest, CapabilityDirectory, CellRun, DeckOperation,
    HandlerResponse, RunReport, SandboxPool, SandboxSettings, ToolSchemas, WorkerCommand,
};
use serde_json::{Value, json, value::RawValue};
use tokio::sync::Notify;

/// Cargo builds examples along with the tests, into the folder beside `deps`.
pub(crate) fn worker() -> WorkerCommand {
    let test = std::env::current_exe().unwrap();
    let program: PathBuf = test.parent().unwrap().with_file_name("examples").join("worker");
    assert!(program.exists(), "`{}` is missing; run `cargo build --examples`", program.display());
    WorkerCommand { program, args: Vec::new() }
}

pub(crate) fn settings() -> SandboxSettings {
    SandboxSettings { spare_workers: 0, ..SandboxSettings::new(worker()) }
}

pub(crate) fn pool() -> SandboxPool {
    SandboxPool::new(settings())
}

/// The capabilities that tests use.
#[derive(Default)]
pub(crate) struct Deck {
    /// Woken when a call of `echo.wait` has started.
    pub(crate) started: Arc<Notify>,
    /// Lets a call of `echo.wait` end.
    pub(crate) release: Arc<Notify>,
    /// Woken when a call was dropped before its answer.
    pub(crate) dropped: Arc<Notify>,
}

/// Tells when a call is dropped.
struct Dropped(Option<Arc<Notify>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        if let Some(dropped) = self.0.take() {
            dropped.notify_one();
        }
    }
}

impl CapabilityDirectory for Deck {
    fn capabilities(&self) -> Vec<String> {
        ["echo", "github", "lazy", "my-api", "search"].map(str::to_owned).to_vec()
    }

    fn tools(&self, capability: &str) -> Option<Vec<String>> {
        let tools: &[&str] = match capability {
            "echo" => &["big", "echo", "fail", "never", "odd-name", "sleep", "wait"],
            "github" => &["create_issue", "list_issues"],
            "my-api" | "search" => &["get"],
            _ => return None,
        };
        Some(tools.iter().map(|tool| (*tool).to_owned()).collect())
    }

    fn schemas(&self, capability: &str, tool: &str) -> Option<ToolSchemas> {
        let (input, output) = match (capability, tool) {
            ("github", "create_issue") => (
                json!({"type": "object", "required": ["title"], "properties": {
                    "title": {"type": "string"},
                    "labels": {"type": "array", "items": {"type": "string"}},
                }}),
                None,
            ),
            ("github", "list_issues") => (
                json!({"type": "object", "properties": {"state": {"enum": ["open", "closed"]}}}),
                Some(json!({"type": "array", "items": {"$ref": "#/$defs/issue"}, "$defs": {
                    "issue": {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}},
                }})),
            ),
            _ => return None,
        };
        Some(ToolSchemas { input, output })
    }

    fn check_arguments(&self, _: &str, tool: &str, arguments: &Value) -> Vec<String> {
        if tool == "create_issue" && !arguments.get("title").is_some_and(Value::is_string) {
            return vec!["`title` must be a string".to_owned()];
        }
        Vec::new()
    }
}

#[async_trait]
impl CallHandler for Deck {
    async fn call(&self, call: CallRequest) -> HandlerResponse {
        let args: Value = serde_json::from_str(call.args.get()).unwrap();
        let tool = args.get("name").and_then(Value::as_str).unwrap_or_default();
        match (call.method, tool) {
            (DeckOperation::CallTool, "echo") => {
                let meta = raw(&json!({"capletId": call.capability, "status": 200}));
                HandlerResponse { outcome: Ok(raw(args.get("args").unwrap())), meta: Some(meta) }
            }
            (DeckOperation::CallTool, "fail") => HandlerResponse::failed(CallFailure {
                code: "DOWNSTREAM_TOOL_ERROR".to_owned(),
                message: "it broke".to_owned(),
                details: Some(json!({"body": {"reason": "teapot"}})),
                hint: Some("try tea".to_owned()),
            }),
            (DeckOperation::CallTool, "big") => {
                let bytes = args.pointer("/args/bytes").and_then(Value::as_u64).unwrap();
                let text = "x".repeat(usize::try_from(bytes).unwrap());
                HandlerResponse::data(raw(&Value::from(text)))
            }
            (DeckOperation::CallTool, "sleep") => {
                let ms = args.pointer("/args/ms").and_then(Value::as_u64).unwrap();
                tokio::time::sleep(Duration::from_millis(ms)).await;
                HandlerResponse::data(raw(&json!({"slept": ms})))
            }
            (DeckOperation::CallTool, "wait") => {
                let mut guard = Dropped(Some(self.dropped.clone()));
                self.started.notify_one();
                self.release.notified().await;
                guard.0 = None;
                HandlerResponse::data(raw(&json!("released")))
            }
            (DeckOperation::CallTool, "never") => std::future::pending().await,
            (DeckOperation::Tools, _) if call.capability.as_deref() == Some("lazy") => {
                HandlerResponse::failed(CallFailure {
                    code: "SERVER_UNAVAILABLE".to_owned(),
                    message: "`lazy` is not running".to_owned(),
                    details: None,
                    hint: None,
                })
            }
            (method, _) => HandlerResponse::data(raw(&json!({
                "capability": call.capability, "method": method.script_name(), "args": args,
            }))),
        }
    }
}

pub(crate) fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

/// Runs a cell against a fresh deck.
pub(crate) async fn run(pool: &SandboxPool, run: CellRun) -> RunReport {
    let deck = Deck::default();
    pool.run(run, &deck, &deck).await
}

/// The envelope as a client reads it.
pub(crate) fn envelope(report: &RunReport) -> Value {
    serde_json::to_value(&report.envelope).unwrap()
}
