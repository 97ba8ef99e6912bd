//! Tasks between clients and servers that know them in different forms, and whose they are.

use std::sync::Arc;

use capdeck_host::{
    CallError, CapabilityId, ErrorCode, Host, HostEvent, Principal, RawMembers, Session,
    SessionScope, TaskForm, ToolRequest, calls, tasks, transparent,
};
use capdeck_test::built_binary;
use serde_json::{Value, json};

use crate::{
    audit::written,
    client::ScriptedClient,
    deck::{Deck, TEST_TIMEOUT, agent, call, context},
};

const RELATED: &str = "io.modelcontextprotocol/related-task";

fn deck(era: &str) -> Deck {
    let program = built_binary("capdeck-test", "conformance-server");
    let entry = json!({"name": "Jobs", "description": "Works for long", "command": program,
        "args": ["--stdio", "--era", era], "protocolEra": era});
    Deck::new().entry("mcpServers", "jobs", entry)
}

fn jobs() -> CapabilityId {
    CapabilityId::new("jobs").unwrap()
}

fn object(value: Value) -> RawMembers {
    serde_json::from_value(value).unwrap()
}

/// One client of the server `jobs`, as it is.
struct Peer {
    client: Arc<ScriptedClient>,
    session: Arc<Session>,
}

impl Peer {
    fn new(host: &Host, form: TaskForm, principal: &str) -> Self {
        Self::of(host, ScriptedClient::new("Ada"), form, principal)
    }

    fn of(host: &Host, client: Arc<ScriptedClient>, form: TaskForm, principal: &str) -> Self {
        let mut capabilities = json!({"elicitation": {}});
        if form == TaskForm::Extension {
            capabilities["extensions"] = json!({"io.modelcontextprotocol/tasks": {}});
        }
        let (scope, principal) = (SessionScope::Transparent(jobs()), Principal::named(principal));
        let session = client.session_of(host, scope, object(capabilities), principal, form);
        Self { client, session }
    }

    /// Calls a tool; `rest` are further members of the request.
    async fn call(&self, tool: &str, arguments: Value, rest: Value) -> Result<Value, CallError> {
        let request = ToolRequest {
            capability: "jobs".to_owned(),
            tool: tool.to_owned(),
            arguments: Some(serde_json::value::to_raw_value(&arguments).unwrap()),
            rest: object(rest),
            ..ToolRequest::default()
        };
        let result = calls::call(self.session.request(&self.client.context()), &request).await?;
        Ok(serde_json::from_str(result.get()).unwrap())
    }

    async fn ask(&self, method: &str, params: Value) -> Result<Value, CallError> {
        let context = self.client.context();
        let asked =
            tasks::answer(&self.session.request(&context), &jobs(), method, object(params)).await?;
        Ok(serde_json::from_str(asked.get()).unwrap())
    }

    /// Looks at a task until it is in this state.
    async fn until(&self, id: &Value, status: &str) -> Value {
        let looking = async {
            loop {
                let task = self.ask("tasks/get", json!({"taskId": id})).await.unwrap();
                if task["status"] == status {
                    return task;
                }
            }
        };
        tokio::time::timeout(TEST_TIMEOUT, looking).await.expect("the task gets there")
    }
}

fn rpc_code(error: &CallError) -> Option<i64> {
    error.rpc.as_ref().map(|failure| failure.code)
}

fn slow(seconds: f64) -> Value {
    json!({"seconds": seconds, "label": "it"})
}

#[tokio::test]
async fn a_core_task_is_the_extensions_to_a_modern_client() {
    let deck = deck("legacy");
    let host = deck.open();
    let peer = Peer::new(&host, TaskForm::Extension, "local");
    let made = peer.call("slow_compute", slow(0.0), json!({})).await.unwrap();
    assert_eq!((&made["resultType"], &made["status"]), (&json!("task"), &json!("working")));
    assert_eq!((&made["ttlMs"], &made["pollIntervalMs"]), (&json!(300_000), &json!(200)));
    let done = peer.until(&made["taskId"], "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "Computed it");
    assert!(done["result"].get("_meta").is_none(), "{done}");
    for over in 0..2 {
        let answer = peer.ask("tasks/cancel", json!({"taskId": made["taskId"]})).await.unwrap();
        assert_eq!(answer, json!({}), "{over}");
    }
    let made = peer.call("protocol_error_job", json!({}), json!({})).await.unwrap();
    let failed = peer.until(&made["taskId"], "failed").await;
    assert_eq!(failed["error"]["code"], -32603);
    for bad in [json!({}), json!({"taskId": 7}), json!({"taskId": null})] {
        let error = peer.ask("tasks/get", bad).await.unwrap_err();
        assert_eq!(error.message, "`taskId` must be a string");
    }
    for gone in ["tasks/list", "tasks/result"] {
        let error = peer.ask(gone, json!({"taskId": made["taskId"]})).await.unwrap_err();
        assert_eq!(rpc_code(&error), Some(-32601), "{gone}");
    }
    host.close().await;
}

#[tokio::test]
async fn questions_of_a_core_task_wait_for_a_modern_client() {
    let deck = deck("legacy");
    let host = deck.open();
    let peer = Peer::new(&host, TaskForm::Extension, "local");
    let made = peer.call("multi_input", json!({}), json!({})).await.unwrap();
    let id = &made["taskId"];
    // The two questions arrive one after the other; an answer to one that is not there yet is no one's.
    let asking = loop {
        let asking = peer.until(id, "input_required").await;
        if asking["inputRequests"].get("second_name").is_some()
            && asking["inputRequests"].get("first_name").is_some()
        {
            break asking;
        }
    };
    let first = &asking["inputRequests"]["first_name"];
    assert_eq!(first["method"], "elicitation/create");
    assert!(first["params"].get("_meta").is_none(), "{first}");
    for bad in [json!(null), json!(3), json!({"first_name": 1})] {
        let params = json!({"taskId": id, "inputResponses": bad});
        let error = peer.ask("tasks/update", params).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::RequestInvalid);
    }
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    for key in ["first_name", "nobody", "second_name"] {
        let params = json!({"taskId": id, "inputResponses": {key: answer}});
        assert_eq!(peer.ask("tasks/update", params).await.unwrap(), json!({}));
    }
    let done = peer.until(id, "completed").await;
    assert!(done["result"]["content"][0]["text"].as_str().unwrap().contains("Ada"), "{done}");
    let received = peer.client.received();
    assert!(received.is_empty(), "nothing was asked beside the task: {received:?}");
    host.close().await;
}

#[tokio::test]
async fn a_task_of_another_session_of_the_principal_goes_on_and_outlives_it() {
    let deck = deck("legacy");
    let host = deck.open();
    let first = Peer::new(&host, TaskForm::Extension, "ada");
    let made = first.call("confirm_delete", json!({"filename": "f"}), json!({})).await.unwrap();
    let id = &made["taskId"];
    first.session.close().await;
    let second = Peer::of(&host, ScriptedClient::new("Later"), TaskForm::Extension, "ada");
    second.until(id, "input_required").await;
    let eve = Peer::new(&host, TaskForm::Extension, "eve");
    for (method, more) in [
        ("tasks/get", json!(null)),
        ("tasks/update", json!({"confirm": {"action": "accept"}})),
        ("tasks/cancel", json!(null)),
    ] {
        let params = json!({"taskId": id, "inputResponses": more});
        let error = eve.ask(method, params).await.unwrap_err();
        let made_up = eve.ask(method, json!({"taskId": "made-up", "inputResponses": more})).await;
        let received = |error: &CallError| format!("{error:?}");
        let expected = received(&made_up.unwrap_err()).replace("made-up", id.as_str().unwrap());
        assert_eq!(received(&error), expected, "{method}: unknown and foreign look alike");
    }
    let params = json!({"taskId": id, "inputResponses": {"confirm": {"action": "accept"}}});
    second.ask("tasks/update", params).await.unwrap();
    let done = second.until(id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "Deleted f");
    host.close().await;
}

#[tokio::test]
async fn a_client_that_does_not_declare_tasks_gets_none() {
    let deck = deck("legacy");
    let host = deck.open();
    let client = ScriptedClient::new("plain");
    let (scope, principal) = (SessionScope::Transparent(jobs()), Principal::local());
    let form = TaskForm::Extension;
    let session = client.session_of(&host, scope, RawMembers::new(), principal, form);
    let peer = Peer { client, session };
    let now = peer.call("slow_compute", slow(0.0), json!({})).await.unwrap();
    assert_eq!(now["content"][0]["text"], "Computed it");
    let error = peer.call("failing_job", json!({}), json!({})).await.unwrap_err();
    assert_eq!(rpc_code(&error), Some(-32021));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let error = peer.ask(method, json!({"taskId": "x"})).await.unwrap_err();
        assert_eq!(rpc_code(&error), Some(-32021), "{method}");
    }
    assert_eq!(rpc_code(&tasks::check_listening(&peer.session).unwrap_err()), Some(-32021));
    host.close().await;
}

#[tokio::test]
async fn a_task_of_the_extension_is_a_core_task_to_a_legacy_client() {
    let deck = deck("modern");
    let host = deck.open();
    let peer = Peer::new(&host, TaskForm::Core, "local");
    let mut facts =
        transparent::server_facts(&peer.session.request(&context()), "jobs").await.unwrap();
    tasks::describe_server(&peer.session, &mut facts);
    assert!(facts.capabilities["tasks"].get().contains(r#""call":{}"#));
    assert!(!facts.capabilities["extensions"].get().contains("/tasks"));
    let listed =
        transparent::answer(&peer.session.request(&context()), "jobs", "tools/list", None).await;
    let listed: Value = serde_json::from_str(listed.unwrap().get()).unwrap();
    let tools = listed["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| tool["execution"]["taskSupport"].is_string()), "{listed}");

    let wish = json!({"task": {"ttl": 60_000}});
    let made = peer.call("slow_compute", slow(0.0), wish.clone()).await.unwrap();
    let id = &made["task"]["taskId"];
    assert_eq!(
        (&made["task"]["status"], &made["task"]["ttl"]),
        (&json!("working"), &json!(300_000))
    );
    let done = peer.until(id, "completed").await;
    assert!(done.get("result").is_none() && done.get("resultType").is_none(), "{done}");
    let result = peer.ask("tasks/result", json!({"taskId": id})).await.unwrap();
    assert_eq!(result["content"][0]["text"], "Computed it");
    assert_eq!(result["_meta"][RELATED]["taskId"], *id);

    let stored = peer.call("greet", json!({"name": "Eve"}), wish.clone()).await.unwrap();
    let stored = &stored["task"]["taskId"];
    peer.until(stored, "completed").await;
    let result = peer.ask("tasks/result", json!({"taskId": stored})).await.unwrap();
    assert_eq!(result["content"][0]["text"], "Hello, Eve!");
    let error = peer.ask("tasks/cancel", json!({"taskId": stored})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::RequestInvalid);

    let broken = peer.call("protocol_error_job", json!({}), wish.clone()).await.unwrap();
    let params = json!({"taskId": broken["task"]["taskId"]});
    let error = peer.ask("tasks/result", params).await.unwrap_err();
    assert_eq!(rpc_code(&error), Some(-32603));
    let failed = peer.call("failing_job", json!({}), wish).await.unwrap();
    peer.until(&failed["task"]["taskId"], "failed").await;
    let error = peer.call("failing_job", json!({}), json!({})).await.unwrap_err();
    assert_eq!(rpc_code(&error), Some(-32601), "it runs only as a task");
    let error = peer.ask("tasks/update", json!({"taskId": id})).await.unwrap_err();
    assert_eq!(rpc_code(&error), Some(-32601));
    host.close().await;
}

#[tokio::test]
async fn questions_of_a_task_of_the_extension_are_asked_on_the_way_to_its_result() {
    let deck = deck("modern");
    let host = deck.open();
    let peer = Peer::new(&host, TaskForm::Core, "local");
    let wish = json!({"task": {}});
    let made = peer.call("multi_input", json!({}), wish.clone()).await.unwrap();
    let id = &made["task"]["taskId"];
    let result = peer.ask("tasks/result", json!({"taskId": id})).await.unwrap();
    assert!(result["content"][0]["text"].as_str().unwrap().contains("Ada"), "{result}");
    let asked: Vec<_> = peer.client.received();
    let questions: Vec<_> =
        asked.iter().filter(|received| received.method == "elicitation/create").collect();
    assert_eq!(questions.len(), 2);
    assert!(questions.iter().all(|received| received.params["_meta"][RELATED]["taskId"] == *id));

    let made = peer.call("slow_compute", slow(60.0), wish).await.unwrap();
    let long = &made["task"]["taskId"];
    let ended = peer.ask("tasks/cancel", json!({"taskId": long})).await.unwrap();
    assert_eq!((&ended["taskId"], &ended["status"]), (long, &json!("cancelled")));
    peer.until(long, "cancelled").await;
    let error = peer.ask("tasks/cancel", json!({"taskId": long})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::RequestInvalid);
    let error = peer.ask("tasks/result", json!({"taskId": long})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Cancelled);
    host.close().await;
}

#[tokio::test]
async fn a_list_of_tasks_is_its_principals_own() {
    for era in ["legacy", "modern"] {
        let deck = deck(era);
        let host = deck.open();
        let ada = Peer::new(&host, TaskForm::Core, "ada");
        let eve = Peer::new(&host, TaskForm::Core, "eve");
        let wish = json!({"task": {}});
        let hers = ada.call("slow_compute", slow(0.0), wish.clone()).await.unwrap();
        let other = eve.call("slow_compute", slow(0.0), wish).await.unwrap();
        for (peer, made) in [(&ada, &hers), (&eve, &other)] {
            let listed = peer.ask("tasks/list", json!({})).await.unwrap();
            let ids: Vec<_> = listed["tasks"].as_array().unwrap().iter().collect();
            assert_eq!(ids.len(), 1, "{era}: {listed}");
            assert_eq!(ids[0]["taskId"], made["task"]["taskId"]);
        }
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            let params = json!({"taskId": hers["task"]["taskId"]});
            let error = eve.ask(method, params).await.unwrap_err();
            assert!(error.message.starts_with("there is no task"), "{era} {method}: {error}");
        }
        if era == "modern" {
            let error = ada.ask("tasks/list", json!({"cursor": "made up"})).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::RequestInvalid);
        }
        host.close().await;
    }
}

#[tokio::test]
async fn the_deck_waits_for_tools_that_run_only_as_tasks() {
    for era in ["legacy", "modern"] {
        let deck = deck(era);
        let host = deck.open();
        let result = call(&agent(&host), "jobs", "failing_job", json!({})).await.unwrap();
        assert_eq!(result["isError"], true, "{era}: {result}");
        assert_eq!(result["content"][0]["text"], "The job failed, as it always does");
        let client = ScriptedClient::new("Ada");
        let session = client.agent(&host, &["elicitation"]);
        let request = ToolRequest {
            capability: "jobs".to_owned(),
            tool: "test_tool_with_task".to_owned(),
            ..ToolRequest::default()
        };
        let result = calls::call(session.request(&client.context()), &request).await.unwrap();
        assert!(result.get().contains("Worked for Ada"), "{era}: {result}");
        host.close().await;
    }
}

#[tokio::test]
async fn changes_of_a_task_are_reported_to_the_one_who_listens() {
    for (era, form, ends) in [
        ("legacy", TaskForm::Extension, "notifications/tasks"),
        ("modern", TaskForm::Extension, "notifications/tasks"),
        ("modern", TaskForm::Core, "notifications/tasks/status"),
    ] {
        let deck = deck(era);
        let host = deck.open();
        let (mut events, peer) = (host.events(), Peer::new(&host, form, "ada"));
        let wish = if form == TaskForm::Core { json!({"task": {}}) } else { json!({}) };
        let made = peer.call("slow_compute", slow(1.0), wish).await.unwrap();
        let id = made.get("taskId").unwrap_or(&made["task"]["taskId"]).as_str().unwrap().to_owned();
        if form == TaskForm::Extension {
            tasks::watch_task(&peer.session, &jobs(), &id).await.unwrap();
            let eve = Peer::new(&host, form, "eve");
            tasks::watch_task(&eve.session, &jobs(), &id).await.unwrap_err();
        }
        let eve = Peer::new(&host, form, "eve");
        let received = async {
            loop {
                let event = events.recv().await.unwrap();
                if let HostEvent::TaskChanged { .. } = &event {
                    assert!(tasks::notice(&eve.session, &event).is_none());
                }
                let Some((method, task)) = tasks::notice(&peer.session, &event) else { continue };
                let task = serde_json::to_value(task).unwrap();
                assert_eq!((method, task["taskId"].as_str()), (ends, Some(id.as_str())));
                if task["status"] == "completed" {
                    return task;
                }
            }
        };
        let task =
            tokio::time::timeout(TEST_TIMEOUT, received).await.expect("its end is announced");
        assert_eq!(task.get("result").is_some(), form == TaskForm::Extension, "{era}: {task}");
        tasks::unwatch_task(&peer.session, &jobs(), &id).await;
        host.close().await;
    }
}

#[tokio::test]
async fn requests_about_tasks_are_written_down() {
    let deck = deck("legacy");
    {
        let host = deck.open();
        let peer = Peer::new(&host, TaskForm::Extension, "local");
        let made = peer.call("slow_compute", slow(0.0), json!({})).await.unwrap();
        peer.until(&made["taskId"], "completed").await;
        peer.ask("tasks/get", json!({"taskId": "made-up"})).await.unwrap_err();
        host.close().await;
    }
    let lines = written(&deck);
    let received = |line: &Value| {
        ["method", "capability", "tool", "outcome"]
            .map(|key| line[key].as_str().unwrap().to_owned())
    };
    let last = received(lines.last().unwrap());
    assert_eq!(last, ["tasks/get", "jobs", "made-up", "REQUEST_INVALID"]);
    let ok = received(&lines[lines.len() - 2]);
    assert_eq!((ok[0].as_str(), ok[3].as_str()), ("tasks/get", "ok"));
}
