//! The conformance server where the suite does not look: one era only, legacy tasks, wrong arguments.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use capdeck_test::{HttpClient, StdioClient};
use serde_json::{Value, json};

fn server(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_conformance-server"));
    command.args(arguments);
    command
}

/// A fixture over HTTP that ends with the test.
struct Served(Child, HttpClient);

impl Served {
    fn start(era: &str) -> Self {
        let mut child =
            server(&["--http", "0", "--era", era]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        Self(child, HttpClient::new(said["url"].as_str().unwrap()))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn modern_params() -> Value {
    json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    } })
}

#[test]
fn a_legacy_server_on_pipes_does_not_know_discovery_and_goes_on_with_a_handshake() {
    let mut client = StdioClient::start(server(&["--stdio", "--era", "legacy"]));
    let answer = client.request("server/discover", modern_params());
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    assert_eq!(client.initialize()["protocolVersion"], "2025-11-25");
    let answer = client.request("tools/call", json!({ "name": "test_simple_text" }));
    assert!(answer["result"]["content"][0]["text"].is_string(), "{answer}");
    let (status, _) = client.close();
    assert!(status.success());
}

#[test]
fn a_modern_server_on_pipes_refuses_a_handshake_and_names_its_revision() {
    let mut client = StdioClient::start(server(&["--stdio", "--era", "modern"]));
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {} });
    let answer = client.request("initialize", hello);
    assert_eq!(answer["error"]["code"], -32022, "{answer}");
    assert_eq!(answer["error"]["data"]["supported"], json!(["2026-07-28"]));
    assert_eq!(answer["error"]["data"]["requested"], "2025-11-25");
}

#[test]
fn servers_of_one_era_refuse_the_other_over_http() {
    let request = |method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
    };
    let mut legacy = Served::start("legacy");
    let reply = legacy.1.post(&request("server/discover", modern_params()));
    assert_eq!(reply.status, 400);
    let mut modern = Served::start("modern");
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {} });
    let reply = modern.1.post(&request("initialize", hello));
    assert_eq!(reply.status, 400);
    assert_eq!(reply.messages()[0]["error"]["code"], -32022);
}

#[test]
fn a_legacy_task_asks_through_its_result_and_tells_how_it_goes() {
    let mut client = StdioClient::start(server(&["--stdio"]));
    client.initialize_with(json!({ "elicitation": {} }));
    let call =
        json!({ "name": "confirm_delete", "arguments": { "filename": "a.txt" }, "task": {} });
    let created = client.request("tools/call", call);
    let task = json!({ "taskId": created["result"]["task"]["taskId"] });
    let result = client.send_request("tasks/result", task.clone());
    let question = client.incoming("elicitation/create");
    let related = &question["params"]["_meta"]["io.modelcontextprotocol/related-task"];
    assert_eq!(related, &task);
    client.respond(&question["id"], json!({ "action": "accept", "content": { "confirm": true } }));
    let answer = client.answer_to(result);
    assert_eq!(answer["result"]["content"][0]["text"], "Deleted a.txt");
    let done = client.wait_for("the end of the task", |message| {
        message["method"] == "notifications/tasks/status"
            && message["params"]["status"] == "completed"
    });
    assert_eq!(done["params"]["taskId"], task["taskId"]);
    let again = client.request("tasks/cancel", task);
    assert_eq!(again["error"]["code"], -32602, "a task that has ended cannot be cancelled");
    let listed = client.request("tasks/list", json!({}));
    assert_eq!(listed["result"]["tasks"].as_array().unwrap().len(), 1);
}

#[test]
fn a_trigger_really_changes_the_list() {
    let mut client = StdioClient::start(server(&["--stdio"]));
    client.initialize();
    let names = |client: &mut StdioClient| {
        let listed = client.request("tools/list", json!({}));
        listed["result"]["tools"].as_array().unwrap().len()
    };
    let before = names(&mut client);
    client.request("tools/call", json!({ "name": "test_trigger_tool_change" }));
    client.incoming("notifications/tools/list_changed");
    assert_eq!(names(&mut client), before + 1);
    let answer = client.request("tools/call", json!({ "name": "test_extra_tool" }));
    assert!(answer["result"].is_object(), "{answer}");
}

#[test]
fn bad_input_is_refused() {
    let mut client = StdioClient::start(server(&["--stdio"]));
    client.initialize();
    let mut code =
        |method: &str, params: Value| client.request(method, params)["error"]["code"].clone();
    assert_eq!(code("tools/call", json!({ "name": "nobody" })), -32602);
    assert_eq!(
        code("tools/call", json!({ "name": "slow_compute", "arguments": { "seconds": -1 } })),
        -32602
    );
    assert_eq!(code("tools/call", json!({ "name": "failing_job" })), -32601);
    assert_eq!(code("resources/read", json!({ "uri": "test://template//data" })), -32002);
    assert_eq!(
        code("resources/directory/read", json!({ "uri": "skill://tidy-notes/SKILL.md" })),
        -32602
    );
    assert_eq!(code("tasks/get", json!({ "taskId": "nobody" })), -32602);
    assert_eq!(code("no/such/method", json!({})), -32601);
    let wrong = server(&["--stdio", "--era", "stone"]).output().unwrap();
    assert!(
        !wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).starts_with("usage:")
    );
}
