//! Tasks over HTTP, between clients and servers of different eras.

use capdeck_test::built_binary;
use serde_json::{Value, json};

use crate::{
    modern_client::ModernClient,
    served::{Served, Setting, until},
};

pub(crate) const JOBS: &str = "/servers/jobs/mcp";

/// A host with the conformance server, forced to one era.
pub(crate) fn jobs(era: &str) -> Setting {
    let program = built_binary("capdeck-test", "conformance-server");
    let entry = json!({"name": "Jobs", "description": "Works for long", "command": program,
        "args": ["--stdio", "--era", era]});
    Setting::new().entry("mcpServers", "jobs", entry)
}

/// The capabilities of a client that knows the extension.
pub(crate) fn with_tasks() -> Value {
    json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}

fn slow(seconds: f64) -> Value {
    json!({"name": "slow_compute", "arguments": {"seconds": seconds, "label": "it"}})
}

fn modern(served: &Served) -> ModernClient {
    ModernClient::new(served, JOBS, with_tasks())
}

#[test]
fn a_modern_client_hears_of_a_legacy_servers_task() {
    for era in ["legacy", "modern"] {
        let served = jobs(era).serve();
        let mut client = modern(&served);
        let hello = client.request("server/discover", json!({}));
        let capabilities = &hello["result"]["capabilities"];
        assert!(capabilities["extensions"]["io.modelcontextprotocol/tasks"].is_object(), "{hello}");
        assert!(capabilities.get("tasks").is_none(), "{hello}");
        let made = client.request("tools/call", slow(1.0));
        let id = &made["result"]["taskId"];
        let mut stream = client.listen(json!({"taskIds": [id, "somebody-elses"]}));
        let honoured = &stream.next()["params"]["notifications"];
        assert_eq!(*honoured, json!({"taskIds": [id]}), "{era}");
        let reported = loop {
            let reported = stream.next();
            assert_eq!(
                (&reported["method"], &reported["params"]["taskId"]),
                (&json!("notifications/tasks"), id)
            );
            if reported["params"]["status"] == "completed" {
                break reported;
            }
        };
        assert_eq!(
            reported["params"]["result"]["content"][0]["text"], "Computed it",
            "{era}: {reported}"
        );
    }
}

#[test]
fn a_client_without_the_extension_hears_what_it_lacks() {
    let served = jobs("legacy").serve();
    let mut client = ModernClient::new(&served, JOBS, json!({}));
    for (method, params) in [
        ("tasks/get", json!({"taskId": "x"})),
        ("tasks/update", json!({"taskId": "x", "inputResponses": {}})),
        ("tasks/cancel", json!({"taskId": "x"})),
        ("tools/call", json!({"name": "failing_job", "arguments": {}})),
        ("subscriptions/listen", json!({"notifications": {"taskIds": ["x"]}})),
    ] {
        let answer = client.request(method, params);
        let required = &answer["error"]["data"]["requiredCapabilities"]["extensions"];
        assert_eq!(answer["error"]["code"], -32021, "{method}: {answer}");
        assert!(required["io.modelcontextprotocol/tasks"].is_object(), "{method}: {answer}");
    }
}

#[test]
fn a_legacy_client_runs_a_modern_servers_tool_as_a_task() {
    let served = jobs("modern").serve();
    let mut client = served.client(JOBS);
    let hello = client.initialize();
    assert!(hello["capabilities"]["tasks"]["requests"]["tools"]["call"].is_object(), "{hello}");
    let mut call = slow(0.0);
    call["task"] = json!({});
    let made = client.request("tools/call", call);
    let id = made["result"]["task"]["taskId"].clone();
    until("the end of the task", || {
        let task = client.request("tasks/get", json!({"taskId": id}));
        (task["result"]["status"] == "completed").then_some(())
    });
    let result = client.request("tasks/result", json!({"taskId": id}));
    assert_eq!(result["result"]["content"][0]["text"], "Computed it", "{result}");
    let listed = client.request("tasks/list", json!({}));
    assert_eq!(listed["result"]["tasks"][0]["taskId"], id, "{listed}");
    let unknown = client.request("tasks/result", json!({"taskId": "made-up"}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let answer = client.request("tasks/update", json!({"taskId": id}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
}
