//! The wrapper tool of a capability: every operation, its fields and its answer.

use std::sync::Arc;

use capdeck_definition::Exposure;
use capdeck_host::{CallError, Host, Session};
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::deck::{Deck, agent_with, call_listed, caplet, listed, saying, text, value};

const MCP_OPERATIONS: [&str; 14] = [
    "inspect",
    "check",
    "tools",
    "search_tools",
    "describe_tool",
    "call_tool",
    "resources",
    "search_resources",
    "resource_templates",
    "read_resource",
    "prompts",
    "search_prompts",
    "get_prompt",
    "complete",
];

fn open(deck: &Deck) -> (Host, Arc<Session>) {
    let host = deck.open();
    let session = agent_with(&host, Some(Exposure::Progressive));
    (host, session)
}

async fn run(session: &Session, arguments: Value) -> Result<Value, CallError> {
    let id = if arguments["on"].is_string() { arguments["on"].as_str().unwrap() } else { "fake" };
    let mut fields = arguments.clone();
    fields.as_object_mut().unwrap().remove("on");
    Ok(call_listed(session, id, fields).await?.unwrap())
}

/// The `result` of a discovery answer, after checking its `caplets` metadata.
async fn result(session: &Session, arguments: Value) -> Value {
    let answer = run(session, arguments.clone()).await.unwrap();
    let facts = &answer["structuredContent"];
    let mut meta = facts["caplets"].clone();
    assert!(meta["elapsedMs"].is_u64(), "{meta}");
    for key in ["elapsedMs", "tool", "uri", "prompt"] {
        meta.as_object_mut().unwrap().remove(key);
    }
    let operation = &arguments["operation"];
    assert_eq!(
        meta,
        json!({"id": "fake", "name": "fake", "backend": "mcp", "operation": operation, "status": "ok"})
    );
    assert!(!text(&answer).is_empty());
    facts["result"].clone()
}

#[tokio::test]
async fn one_tool_per_capability_with_the_operations_of_its_kind() {
    let deck = Deck::of(&FakePlan::default()).file("config/sayer.md", &saying("hi"));
    let (host, session) = open(&deck);
    assert_eq!(listed(&session).await, ["fake", "sayer"]);
    let tools = value(session.view().tools());
    let schema = &tools[0]["inputSchema"];
    assert_eq!(schema["properties"]["operation"]["enum"], json!(MCP_OPERATIONS));
    assert_eq!(schema["required"], json!(["operation"]));
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(tools[0]["title"], "fake");
    assert_eq!(
        tools[1]["inputSchema"]["properties"]["operation"]["enum"],
        json!(&MCP_OPERATIONS[..6])
    );
    for key in ["uri", "ref", "argument", "context"] {
        assert!(schema["properties"].get(key).is_some(), "{key}");
        assert!(tools[1]["inputSchema"]["properties"].get(key).is_none(), "{key}");
    }
    host.close().await;
}

#[tokio::test]
async fn inspect_describes_without_connecting() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({"tags": ["a"], "callTimeoutMs": 5000}));
    let (host, session) = open(&deck);
    assert_eq!(
        result(&session, json!({"operation": "inspect"})).await,
        json!({
            "id": "fake", "name": "fake", "description": "A server of the test", "tags": ["a"],
            "backend": {"type": "mcp", "disabled": false, "transport": "stdio",
                "startupTimeoutMs": 10000, "callTimeoutMs": 5000, "toolCacheTtlMs": 30000},
        })
    );
    assert_eq!(record.starts().len(), 0);
    let report = result(&session, json!({"operation": "check"})).await;
    assert_eq!((&report["id"], &report["status"]), (&json!("fake"), &json!("available")));
    assert_eq!(record.starts().len(), 1);
    host.close().await;
}

#[tokio::test]
async fn tools_are_paged_to_the_end() {
    let plan = FakePlan { behaviours: false, tools: 120, ..FakePlan::default() };
    let deck = Deck::of(&plan);
    let (host, session) = open(&deck);
    let (mut names, mut cursor, mut pages) = (Vec::new(), Value::Null, 0);
    loop {
        let mut asked = json!({"operation": "tools", "limit": 50});
        if !cursor.is_null() {
            asked["cursor"] = cursor;
        }
        let page = result(&session, asked).await;
        let items = page["items"].as_array().unwrap();
        names.extend(items.iter().map(|item| item["name"].as_str().unwrap().to_owned()));
        cursor = page.get("nextCursor").cloned().unwrap_or_default();
        assert_eq!(page.get("truncated").is_some(), !cursor.is_null());
        pages += 1;
        if cursor.is_null() {
            break;
        }
    }
    let expected: Vec<String> = (0..120).map(|number| format!("tool_{number:05}")).collect();
    assert_eq!((names, pages), (expected, 3));
    let first = result(&session, json!({"operation": "tools", "limit": 1})).await;
    assert_eq!(
        first["items"][0],
        json!({
            "name": "tool_00000",
            "description": "Reads item 0 of a store and reports what changed since a given day",
            "hasInputSchema": true, "hasOutputSchema": false, "supportsFields": true,
            "acceptedArgs": ["item", "limit", "since"],
            "argsTemplate": {"item": "", "since": "", "limit": 0},
            "callTemplate": {"operation": "call_tool", "name": "tool_00000",
                "args": {"item": "", "since": "", "limit": 0}},
        })
    );
    host.close().await;
}

#[tokio::test]
async fn tool_search_is_by_relevance_and_pages_past_its_limit() {
    let plan = FakePlan { behaviours: true, tools: 60, ..FakePlan::default() };
    let deck = Deck::of(&plan);
    let (host, session) = open(&deck);
    let best = result(&session, json!({"operation": "search_tools", "query": "log message"})).await;
    assert_eq!((&best["id"], &best["query"]), (&json!("fake"), &json!("log message")));
    assert_eq!(best["items"][0]["name"], "log");
    let (mut names, mut cursor) = (std::collections::BTreeSet::new(), Value::Null);
    loop {
        let mut asked =
            json!({"operation": "search_tools", "query": "item of a store", "limit": 25});
        if !cursor.is_null() {
            asked["cursor"] = cursor;
        }
        let page = result(&session, asked).await;
        for item in page["items"].as_array().unwrap() {
            assert!(names.insert(item["name"].as_str().unwrap().to_owned()), "{item} came twice");
        }
        cursor = page.get("nextCursor").cloned().unwrap_or_default();
        if cursor.is_null() {
            break;
        }
    }
    assert!((0..60).all(|number| names.contains(&format!("tool_{number:05}"))), "{names:?}");
    host.close().await;
}

#[tokio::test]
async fn describe_tool_shows_everything_and_what_can_be_selected() {
    let deck = Deck::of(&FakePlan::default());
    let (host, session) = open(&deck);
    let described =
        result(&session, json!({"operation": "describe_tool", "name": "structured"})).await;
    assert_eq!(described["id"], "fake");
    assert_eq!(described["fieldSelection"], json!({"supported": true, "checked": true}));
    assert_eq!(described["tool"]["execution"], json!({"taskSupport": "forbidden"}));
    assert!(described["tool"]["inputSchema"]["$defs"]["point"].is_object());
    let plain = result(&session, json!({"operation": "describe_tool", "name": "echo"})).await;
    assert_eq!(plain["fieldSelection"], json!({"supported": true, "checked": false}));
    host.close().await;
}

#[tokio::test]
async fn call_tool_passes_the_result_through_with_its_origin() {
    let deck = Deck::of(&FakePlan::default());
    let (host, session) = open(&deck);
    let answer =
        run(&session, json!({"operation": "call_tool", "name": "odd_content", "args": {}})).await;
    let mut answer = answer.unwrap();
    let meta = answer["_meta"].as_object_mut().unwrap();
    let mut origin = meta.remove("caplets").unwrap();
    origin.as_object_mut().unwrap().remove("elapsedMs");
    assert_eq!(
        origin,
        json!({"id": "fake", "name": "fake", "backend": "mcp", "operation": "call_tool",
            "tool": "odd_content", "status": "ok"})
    );
    assert_eq!(answer["_meta"], json!({"example.com/trace": "abc"}));
    assert_eq!(answer["x-result"], "kept");
    assert_eq!(answer["content"][1]["type"], "hologram");
    host.close().await;
}

#[tokio::test]
async fn call_tool_keeps_only_the_chosen_fields() {
    let output = json!({"type": "object", "properties": {
        "exitCode": {"type": "integer"}, "stdout": {"type": "string"}}});
    let file = caplet(&json!({
        "name": "Sayer", "description": "Says one word on request",
        "cliTools": {"actions": {"say": {"command": "printf", "args": ["hi"], "outputSchema": output}}},
    }));
    let deck = Deck::new().file("config/sayer.md", &file);
    let (host, session) = open(&deck);
    let asked = |fields: Value| json!({"on": "sayer", "operation": "call_tool", "name": "say", "args": {}, "fields": fields});
    let answer = run(&session, asked(json!(["stdout"]))).await.unwrap();
    assert_eq!(answer["structuredContent"], json!({"stdout": "hi"}));
    for wrong in [json!(["nope"]), json!([]), json!("stdout"), json!([1])] {
        let error = run(&session, asked(wrong)).await.unwrap_err();
        assert_eq!(error.code.as_str(), "REQUEST_INVALID");
    }
    host.close().await;
}

#[tokio::test]
async fn resources_and_prompts_are_listed_searched_and_read() {
    let deck = Deck::of(&FakePlan::default());
    let (host, session) = open(&deck);
    let note = json!({"id": "fake", "kind": "resource", "uri": "fake://note", "name": "note",
        "description": "A note", "mimeType": "text/plain"});
    let item = json!({"id": "fake", "kind": "resourceTemplate", "uriTemplate": "fake://items/{id}",
        "name": "item", "description": "An item by number"});
    let greet = json!({"id": "fake", "prompt": "greet", "description": "Greets somebody",
        "arguments": [{"name": "who", "description": "Whom to greet", "required": true}]});
    for (asked, expected) in [
        (json!({"operation": "resources"}), vec![&note]),
        (json!({"operation": "resource_templates"}), vec![&item]),
        (json!({"operation": "search_resources", "query": "NOTE"}), vec![&note]),
        (json!({"operation": "search_resources", "query": "nothing like it"}), vec![]),
        (json!({"operation": "prompts"}), vec![&greet]),
        (json!({"operation": "search_prompts", "query": "somebody"}), vec![&greet]),
    ] {
        let listed = result(&session, asked.clone()).await;
        assert_eq!(listed["items"], json!(expected), "{asked}");
    }
    let read = run(&session, json!({"operation": "read_resource", "uri": "fake://items/9"})).await;
    let read = read.unwrap();
    assert_eq!(read["content"][0]["type"], "resource");
    assert_eq!(read["content"][0]["resource"], read["contents"][0]);
    assert_eq!(read["contents"][0]["text"], "item 9");
    assert_eq!(read["_meta"]["caplets"]["uri"], "fake://items/9");
    let asked = json!({"operation": "get_prompt", "name": "greet", "args": {"who": "Ada"}});
    let prompt = run(&session, asked).await.unwrap();
    assert!(prompt["messages"][0]["content"]["text"].to_string().contains("Greet Ada"));
    assert!(prompt["content"][0]["text"].to_string().contains("Greet Ada"));
    assert_eq!(prompt["_meta"]["caplets"]["prompt"], "greet");
    for reference in [
        json!({"type": "prompt", "name": "greet"}),
        json!({"type": "resourceTemplate", "uri": "fake://items/{id}"}),
    ] {
        let asked = json!({"operation": "complete", "ref": reference,
            "argument": {"name": "who", "value": "b"}, "context": {"arguments": {"x": "y"}}});
        assert!(run(&session, asked).await.unwrap().to_string().contains("berta"));
    }
    host.close().await;
}

#[tokio::test]
async fn each_operation_takes_its_own_fields_and_no_others() {
    let deck = Deck::of(&FakePlan::default()).file("config/sayer.md", &saying("hi"));
    let (host, session) = open(&deck);
    for (asked, code) in [
        (json!({}), "REQUEST_INVALID"),
        (json!({"operation": 3}), "REQUEST_INVALID"),
        (json!({"operation": "destroy"}), "UNKNOWN_OPERATION"),
        (json!({"on": "sayer", "operation": "resources"}), "UNSUPPORTED_OPERATION"),
        (json!({"operation": "inspect", "name": "x"}), "REQUEST_INVALID"),
        (json!({"operation": "check", "limit": 1}), "REQUEST_INVALID"),
        (json!({"operation": "tools", "query": "x"}), "REQUEST_INVALID"),
        (json!({"operation": "tools", "limit": 0}), "REQUEST_INVALID"),
        (json!({"operation": "tools", "cursor": "zzz"}), "REQUEST_INVALID"),
        (json!({"operation": "tools", "cursor": "99999"}), "REQUEST_INVALID"),
        (json!({"operation": "search_tools"}), "REQUEST_INVALID"),
        (json!({"operation": "search_tools", "query": " "}), "REQUEST_INVALID"),
        (json!({"operation": "search_tools", "query": "x", "cursor": "zzz"}), "REQUEST_INVALID"),
        (json!({"operation": "describe_tool"}), "REQUEST_INVALID"),
        (json!({"operation": "describe_tool", "name": "ecko"}), "TOOL_NOT_FOUND"),
        (json!({"operation": "call_tool", "name": "echo"}), "REQUEST_INVALID"),
        (json!({"operation": "call_tool", "name": "echo", "args": []}), "REQUEST_INVALID"),
        (json!({"operation": "call_tool", "args": {}}), "REQUEST_INVALID"),
        (json!({"operation": "read_resource"}), "REQUEST_INVALID"),
        (json!({"operation": "read_resource", "uri": "fake://gone"}), "DOWNSTREAM_RESOURCE_ERROR"),
        (json!({"operation": "get_prompt"}), "REQUEST_INVALID"),
        (json!({"operation": "complete", "ref": {"type": "x"}}), "REQUEST_INVALID"),
    ] {
        let error = run(&session, asked.clone()).await.unwrap_err();
        assert_eq!(error.code.as_str(), code, "{asked}: {error}");
    }
    let error = run(&session, json!({"operation": "destroy"})).await.unwrap_err();
    assert_eq!(error.message, "`fake` has no operation `destroy`");
    assert_eq!(error.hint, Some(format!("use one of: {}", MCP_OPERATIONS.join(", "))));
    host.close().await;
}

#[tokio::test]
async fn check_reports_an_unavailable_server_as_an_answer() {
    let plan = FakePlan { exit_at_start: Some(1), ..FakePlan::default() };
    let deck = Deck::of(&plan);
    let (host, session) = open(&deck);
    let mut report = result(&session, json!({"operation": "check"})).await;
    report.as_object_mut().unwrap().remove("elapsedMs");
    assert_eq!(
        report,
        json!({"id": "fake", "status": "unavailable", "error":
            {"code": "SERVER_UNAVAILABLE", "message": "`fake` ended with exit code 1",
                "hint": "run its `command` in a terminal to see what it is missing"}})
    );
    host.close().await;
}
