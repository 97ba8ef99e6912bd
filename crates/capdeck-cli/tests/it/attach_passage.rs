//! What passes through `capdeck attach` while a call runs and between calls: a client on pipes, a bridge, a running host, a server.

use capdeck_test::{FakeEra, FakePlan, RunningHost, StdioClient, TestDirs, built_binary};
use serde_json::{Value, json};

use crate::capdeck;

/// A client of the bridge to a host with one server, and what must live as long.
struct Passage {
    client: StdioClient,
    _host: RunningHost,
    _dirs: [TestDirs; 2],
}

impl Passage {
    fn new(entry: Value, capabilities: Value) -> Self {
        let (there, here) = (TestDirs::new(), TestDirs::new());
        there.write_config(&json!({"mcpServers": {"fake": entry}}));
        let host = capdeck(&there).up(&[]);
        let mut client = capdeck(&here).attach(&[&host.url, "--only", "fake"]);
        client.initialize_with(capabilities);
        Self { client, _host: host, _dirs: [there, here] }
    }

    fn call(&mut self, name: &str, arguments: Value) -> Value {
        let answer =
            self.client.request("tools/call", json!({"name": name, "arguments": arguments}));
        answer["result"].clone()
    }

    /// Waits until a message that the server received fits.
    fn until_received(&mut self, fits: impl Fn(&Value) -> bool) {
        let mut asked = 0..2_000;
        let is_received = asked.any(|_| {
            let answer = self.call("received", json!({}));
            let text = answer["content"][0]["text"].as_str().unwrap();
            let messages: Vec<Value> = serde_json::from_str(text).unwrap();
            messages.iter().any(&fits)
        });
        assert!(is_received, "the server never received it");
    }
}

fn fake(era: FakeEra) -> Value {
    FakePlan { era, ..FakePlan::default() }.deck_entry()
}

/// Runs a check with a server of either era.
fn in_both_eras(capabilities: &Value, check: impl Fn(&mut Passage, FakeEra)) {
    for era in [FakeEra::Legacy, FakeEra::Modern] {
        check(&mut Passage::new(fake(era), capabilities.clone()), era);
    }
}

#[test]
fn progress_arrives_step_by_step_with_the_clients_own_token() {
    in_both_eras(&json!({}), |passage, era| {
        let params = json!({"name": "progress", "arguments": {"steps": 3},
            "_meta": {"progressToken": "mine-7"}});
        let id = passage.client.send_request("tools/call", params);
        for step in 1..=3 {
            let reported = passage.client.incoming("notifications/progress");
            assert_eq!(reported["params"]["progressToken"], "mine-7", "{era:?}: {reported}");
            assert_eq!(
                reported["params"]["progress"].as_f64(),
                Some(f64::from(step)),
                "{reported}"
            );
        }
        assert_eq!(passage.client.answer_to(id)["result"]["content"][0]["text"], "done");
    });
}

#[test]
fn cancelling_reaches_the_server_and_nothing_answers() {
    let mut passage = Passage::new(fake(FakeEra::Legacy), json!({}));
    let id = passage.client.send_request("tools/call", json!({"name": "hang", "arguments": {}}));
    passage.until_received(|message| message["params"]["name"] == "hang");
    let params = json!({"requestId": id, "reason": "enough"});
    passage.client.notify("notifications/cancelled", params);
    passage.until_received(|message| message["method"] == "notifications/cancelled");
    assert!(passage.client.set_aside().all(|message| message["id"] != json!(id)));
    assert_eq!(passage.call("echo", json!({"still": "here"}))["isError"], Value::Null);
}

#[test]
fn questions_reach_the_client_and_answers_the_server() {
    let capabilities = json!({"elicitation": {}, "sampling": {}, "roots": {}});
    in_both_eras(&capabilities, |passage, era| {
        for (tool, method, reply) in [
            (
                "ask_elicitation",
                "elicitation/create",
                json!({"action": "accept", "content": {"a": "yes-1"}}),
            ),
            (
                "ask_sampling",
                "sampling/createMessage",
                json!({"role": "assistant", "model": "m-2",
                "content": {"type": "text", "text": "said"}}),
            ),
            ("ask_roots", "roots/list", json!({"roots": [{"uri": "file:///r-3"}]})),
        ] {
            let params = json!({"name": tool, "arguments": {}});
            let id = passage.client.send_request("tools/call", params);
            let question = passage.client.incoming(method);
            passage.client.respond(&question["id"], reply.clone());
            let answer = passage.client.answer_to(id);
            let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
            for part in ["yes-1", "m-2", "r-3"] {
                let is_said = reply.to_string().contains(part);
                assert_eq!(text.contains(part), is_said, "{era:?} {tool}: {answer}");
            }
        }
    });
}

#[test]
fn changed_lists_and_watched_resources_are_reported() {
    in_both_eras(&json!({}), |passage, era| {
        passage.client.request("tools/list", json!({}));
        passage.call("change_tools", json!({"name": "brand_new"}));
        passage.client.incoming("notifications/tools/list_changed");
        let listed = passage.client.request("tools/list", json!({}));
        assert!(listed.to_string().contains("brand_new"), "{era:?}: {listed}");

        let uri = json!({"uri": "fake://note"});
        let watched = passage.client.request("resources/subscribe", uri.clone());
        assert_eq!(watched["result"], json!({}), "{era:?}");
        passage.call("touch_resource", uri.clone());
        let reported = passage.client.incoming("notifications/resources/updated");
        assert_eq!(reported["params"]["uri"], "fake://note", "{era:?}: {reported}");
        let unwatched = passage.client.request("resources/unsubscribe", uri);
        assert_eq!(unwatched["result"], json!({}), "{era:?}");
    });
}

#[test]
fn a_tasks_life_passes() {
    for era in ["legacy", "modern"] {
        let program = built_binary("capdeck-test", "conformance-server");
        let entry = json!({"name": "Jobs", "description": "Works for long", "command": program,
            "args": ["--stdio", "--era", era]});
        let mut passage = Passage::new(entry, json!({"tasks": {}}));
        let call = json!({"name": "slow_compute", "task": {},
            "arguments": {"seconds": 0.0, "label": "it"}});
        let made = passage.client.request("tools/call", call);
        let id = json!({"taskId": made["result"]["task"]["taskId"]});
        assert!(id["taskId"].is_string(), "{era}: {made}");
        // Held until the task is over.
        let result = passage.client.request("tasks/result", id.clone());
        assert_eq!(result["result"]["content"][0]["text"], "Computed it", "{era}: {result}");
        let task = passage.client.request("tasks/get", id);
        assert_eq!(task["result"]["status"], "completed", "{era}: {task}");
        let unknown = passage.client.request("tasks/get", json!({"taskId": "made-up"}));
        assert_eq!(unknown["error"]["code"], -32602, "{era}: {unknown}");
    }
}

#[test]
fn a_legacy_client_gets_nothing_that_only_the_modern_era_has() {
    in_both_eras(&json!({}), |passage, era| {
        for (method, params) in [
            ("tools/list", json!({})),
            ("tools/call", json!({"name": "structured", "arguments": {}})),
            ("tools/call", json!({"name": "tool_error", "arguments": {}})),
            ("resources/list", json!({})),
            ("resources/read", json!({"uri": "fake://note"})),
            ("prompts/list", json!({})),
            ("prompts/get", json!({"name": "greet", "arguments": {"who": "you"}})),
        ] {
            let answer = passage.client.request(method, params);
            let members = answer["result"].as_object().unwrap_or_else(|| panic!("{answer}"));
            for added in ["resultType", "ttlMs", "cacheScope", "_meta"] {
                assert!(!members.contains_key(added), "{era:?} {method}: {answer}");
            }
        }
    });
}

#[test]
fn one_capability_that_is_not_there_is_refused_at_the_start() {
    let (there, here) = (TestDirs::new(), TestDirs::new());
    there.write_config(&json!({"mcpServers": {"fake": fake(FakeEra::Legacy)}}));
    let host = capdeck(&there).up(&[]);
    let refused = capdeck(&here).args(["attach", &host.url, "--only", "fakke"]).run();
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains("did you mean `fake`?"), "{}", refused.stderr);
}
