//! The tools of the fake server, each named for what it does.

use std::{
    io::Write,
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use serde_json::{Map, Value, json};

use super::{
    ask, modern,
    plan::FakeFault,
    server::{FakeOutlet, FakeServer, MessageEnd},
};

/// The tools and what calling them does.
pub(super) const BEHAVIOURS: &[(&str, &str)] = &[
    ("echo", "Answers with its arguments"),
    ("params", "Answers with the whole params object as it arrived"),
    ("environment", "Answers with environment, arguments, working folder and process id"),
    ("received", "Answers with every message received so far"),
    ("hang", "Never answers"),
    ("crash", "Ends the process"),
    ("wrong_id", "Answers with an id nobody used"),
    ("bad_json", "Answers with a line that is no JSON"),
    ("huge_line", "Answers with one line of 20 MB"),
    ("rpc_error", "Answers with a JSON-RPC error that carries data"),
    ("tool_error", "Answers with isError"),
    ("wait", "Answers after `ms` milliseconds"),
    ("progress", "Reports `steps` steps, `intervalMs` apart, then answers"),
    ("chatter", "Writes `bytes` bytes to stderr, then answers"),
    ("big_result", "Answers with a text of `bytes` bytes"),
    ("log", "Sends a log message, then answers"),
    ("flood", "Sends `count` log messages of `bytes` bytes, then answers"),
    ("change_tools", "Adds a tool called `name` and says that the list changed"),
    ("touch_resource", "Says that the resource `uri` was updated"),
    ("ask_elicitation", "Asks the person a question and answers with the reply"),
    ("ask_sampling", "Asks the client's model and answers with the reply"),
    ("ask_roots", "Asks for the client's roots and answers with the reply"),
    ("ask_url", "Asks the person to visit a page and answers with the reply"),
    ("ask_all", "Asks all three at once and answers with the replies"),
    ("ask_twice", "Asks, and asks again, and answers with both replies"),
    ("ask_without_state", "Asks without giving the client a state to send back"),
    ("ask_to_wait", "Has a modern client send the call again, and asks nothing"),
    ("ask_forever", "Never has enough of asking"),
    ("headers", "Answers with the HTTP headers of the request"),
    ("odd_content", "Answers with content types and members no revision names"),
    ("structured", "Answers with structured content under an output schema with `$defs`"),
    ("grandchild", "Starts a program of its own and answers with its process id"),
];

/// True when the tool sends nothing but its answer, and that at once.
pub(super) fn is_quick(tool: &str) -> bool {
    tool == "echo" || tool.starts_with("tool_0")
}

/// Calls a tool. `None` means that nothing more is to be sent.
pub(super) fn call(
    server: &FakeServer,
    id: &Value,
    params: &Value,
    is_modern: bool,
    outlet: &Arc<dyn FakeOutlet>,
) -> Option<Result<Value, Value>> {
    let name = params["name"].as_str().unwrap_or_default();
    if let Some(outcome) = ask::ask(server, name, params, is_modern, outlet) {
        return Some(outcome.map(|answer| match answer.get("resultType") {
            Some(_) => answer,
            None => text(answer.to_string()),
        }));
    }
    if let Some(fault) = FakeFault::from_name(name) {
        fault.commit(id, outlet.as_ref());
        return None;
    }
    let arguments = &params["arguments"];
    let number = |key: &str, default: u64| arguments[key].as_u64().unwrap_or(default);
    let size = |key: &str| usize::try_from(number(key, 1 << 20)).unwrap_or(usize::MAX);
    let result = match name {
        // Not listed by itself: a plan lists it as one of its extra tools.
        "visit_first" => {
            let calls = server.received();
            let calls = calls.iter().filter(|message| message["params"]["name"] == name);
            if calls.count() == 1 {
                return Some(Err(json!({"code": -32042, "message": "sign in first", "data": {
                    "elicitations": [{"mode": "url", "elicitationId": "e1",
                        "url": "https://sign-in.test/start", "message": "Sign in to go on"}]}})));
            }
            text("signed in".to_owned())
        }
        // The next two as well: they know more about their arguments than their schema says.
        "even_result" if number("number", 1) % 2 == 1 => json!({
            "content": [{"type": "text", "text": "Error: `number` must be even"}], "isError": true,
        }),
        "even_params" if number("number", 1) % 2 == 1 => {
            return Some(Err(json!({"code": -32602, "message": "`number` is odd"})));
        }
        "params" => text(params.to_string()),
        "environment" => text(environment().to_string()),
        "received" => text(Value::from(server.received()).to_string()),
        "tool_error" => json!({
            "content": [{"type": "text", "text": "this tool fails on purpose"}], "isError": true,
        }),
        "wait" => {
            thread::sleep(Duration::from_millis(number("ms", 50)));
            text("waited".to_owned())
        }
        "progress" => {
            report_progress(params, number("steps", 3), number("intervalMs", 0), outlet);
            text("done".to_owned())
        }
        "chatter" => {
            write_stderr(size("bytes"));
            text("chattered".to_owned())
        }
        "big_result" => text("x".repeat(size("bytes"))),
        "log" if is_modern && !modern::wants_log(params, "info") => text("not logged".to_owned()),
        "log" => {
            let data = arguments["text"].as_str().unwrap_or("a log message");
            let message = json!({"level": "info", "logger": "fake", "data": data});
            notify(outlet, "notifications/message", message);
            text("logged".to_owned())
        }
        "flood" => {
            let message = json!({"level": "info", "data": "x".repeat(size("bytes"))});
            for _ in 0..number("count", 1000) {
                notify(outlet, "notifications/message", message.clone());
            }
            text("flooded".to_owned())
        }
        "change_tools" => {
            server.add_tool(arguments["name"].as_str().unwrap_or("added"));
            server.announce("notifications/tools/list_changed", json!({}), outlet);
            text("changed".to_owned())
        }
        "touch_resource" => {
            let params = json!({"uri": arguments["uri"]});
            server.announce("notifications/resources/updated", params, outlet);
            text("touched".to_owned())
        }
        "headers" => text(outlet.headers().to_string()),
        "odd_content" => odd_content(),
        "structured" => json!({
            "content": [{"type": "text", "text": r#"{"point":{"x":1,"y":2}}"#}],
            "structuredContent": {"point": {"x": 1, "y": 2}},
        }),
        "grandchild" => text(spawn_grandchild().to_string()),
        _ => text(arguments.to_string()),
    };
    Some(Ok(result))
}

/// Writes lines to stderr until this many bytes have gone.
pub fn write_stderr(bytes: usize) {
    let line = [b"chatter ".repeat(15), b"\n".to_vec()].concat();
    let mut stderr = std::io::stderr().lock();
    for _ in 0..bytes.div_ceil(line.len()) {
        let _nobody_reads = stderr.write_all(&line);
    }
}

/// Starts a program that would run for ten minutes; gives its process id.
pub fn spawn_grandchild() -> u32 {
    let mut sleeper = Command::new("sleep");
    sleeper.arg("600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    sleeper.spawn().unwrap().id()
}

fn text(text: String) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn notify(outlet: &Arc<dyn FakeOutlet>, method: &str, params: Value) {
    let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
    outlet.send(&message.to_string(), MessageEnd::Other);
}

fn report_progress(params: &Value, steps: u64, interval_ms: u64, outlet: &Arc<dyn FakeOutlet>) {
    for step in 1..=steps {
        thread::sleep(Duration::from_millis(interval_ms));
        if let Some(token) = params["_meta"].get("progressToken") {
            let message = format!("step {step}");
            let report = json!({
                "progressToken": token, "progress": step, "total": steps, "message": message,
            });
            notify(outlet, "notifications/progress", report);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the point is to show what a child was given")]
fn environment() -> Value {
    let variables: Map<String, Value> =
        std::env::vars().map(|(name, value)| (name, Value::from(value))).collect();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    json!({
        "env": variables,
        "args": arguments,
        "cwd": std::env::current_dir().unwrap(),
        "pid": std::process::id(),
    })
}

fn odd_content() -> Value {
    json!({
        "content": [
            {"type": "text", "text": "ordinary", "x-unknown": {"kept": true}},
            {"type": "hologram", "data": [1, 2.50, 1e3], "mimeType": "model/x-fake"},
        ],
        "x-result": "kept",
        "_meta": {"example.com/trace": "abc"},
    })
}
