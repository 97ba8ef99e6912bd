//! The search view: three tools that reach a deck of any size.

use capdeck_host::{HostEvent, check};
use capdeck_test::{FakePlan, fake::FakeFault};
use serde_json::{Value, json};

use crate::{
    deck::{Deck, TEST_TIMEOUT, agent, call_listed, caplet, context, listed, saying, text},
    record::{is_alive, until},
};

async fn search(session: &capdeck_host::Session, arguments: Value) -> Value {
    let answer = call_listed(session, "search", arguments).await.unwrap().unwrap();
    answer["structuredContent"].clone()
}

#[tokio::test]
async fn search_describe_and_call_across_capabilities() {
    let weather = json!({"name": "forecast", "description": "Tells the weather of the next days",
        "inputSchema": {"type": "object", "required": ["city"],
            "properties": {"city": {"type": "string"}}}});
    let plan = FakePlan { extra_tools: vec![weather.clone()], ..FakePlan::default() };
    let deck = Deck::of(&plan).file("config/sayer.md", &saying("hi"));
    let host = deck.open();
    let session = agent(&host);
    assert_eq!(listed(&session).await, ["search", "describe", "call_tool", "call_read_only"]);

    let found = search(&session, json!({"query": "weather forecast", "limit": 1})).await;
    let mut best = found["items"][0].clone();
    assert!(best["score"].as_f64().is_some_and(|score| score > 0.0), "{best}");
    best.as_object_mut().unwrap().remove("score");
    assert_eq!(
        best,
        json!({"name": "fake__forecast", "capability": "fake",
            "signature": "fake__forecast(city: string)",
            "description": "Tells the weather of the next days"})
    );

    let described = call_listed(&session, "describe", json!({"name": "fake__forecast"})).await;
    let described = described.unwrap().unwrap();
    assert_eq!(described["structuredContent"]["capability"], "fake");
    let tool = &described["structuredContent"]["tool"];
    assert_eq!(tool["name"], "fake__forecast");
    assert_eq!(tool["inputSchema"], weather["inputSchema"]);

    for key in ["data", "args", "arguments"] {
        let asked = json!({"name": "fake__forecast", key: {"city": "Oslo"}});
        let answer = call_listed(&session, "call_tool", asked).await.unwrap().unwrap();
        assert_eq!(text(&answer), r#"{"city":"Oslo"}"#);
    }
    let dotted = json!({"name": "sayer.say"});
    let answer = call_listed(&session, "call_tool", dotted).await.unwrap().unwrap();
    assert_eq!(answer["structuredContent"]["stdout"], "hi");
    host.close().await;
}

#[tokio::test]
async fn results_page_to_the_end_and_a_filter_holds() {
    let plan = FakePlan { behaviours: false, tools: 70, ..FakePlan::default() };
    let deck = Deck::new().server("one", &plan, json!({})).server("two", &plan, json!({}));
    let host = deck.open();
    let session = agent(&host);
    for (within, expected) in [(None, 140), (Some("two"), 70)] {
        let mut asked = json!({"query": "item of a store", "limit": 50});
        if let Some(id) = within {
            asked["capability"] = json!(id);
        }
        let mut names = std::collections::BTreeSet::new();
        loop {
            let page = search(&session, asked.clone()).await;
            assert_eq!(page["total"], expected);
            for item in page["items"].as_array().unwrap() {
                assert!(names.insert(item["name"].as_str().unwrap().to_owned()), "{item} twice");
                assert!(within.is_none_or(|id| item["capability"] == id), "{item}");
            }
            let Some(cursor) = page.get("nextCursor") else { break };
            asked["cursor"] = cursor.clone();
        }
        assert_eq!(names.len(), expected);
    }
    let error = call_listed(&session, "search", json!({"query": "x", "cursor": "nonsense"})).await;
    let error = error.unwrap_err();
    assert_eq!(error.code.as_str(), "REQUEST_INVALID");
    assert_eq!(error.hint.as_deref(), Some("start without a cursor"));
    host.close().await;
}

#[tokio::test]
async fn capabilities_that_cannot_be_asked_are_reported_with_the_reason() {
    let dead = FakePlan { exit_at_start: Some(4), ..FakePlan::default() };
    let hanging = FakePlan { initialize: FakeFault::Hang, ..FakePlan::default() };
    let deck = Deck::of(&FakePlan::default())
        .server("dead", &dead, json!({}))
        .server("hanging", &hanging, json!({"startupTimeoutMs": 600_000}))
        .config("options", json!({"searchDiscoveryTimeoutMs": 1500}));
    let host = deck.open();
    for id in ["fake", "dead"] {
        drop(check::check(&host.operator().request(&context()), id).await);
    }
    let session = agent(&host);
    let found = search(&session, json!({"query": "answers with its arguments"})).await;
    assert_eq!(found["items"][0]["name"], "fake__echo");
    assert_eq!(
        found["unavailable"],
        json!([
            {"capability": "dead", "status": "failed", "reason": "`dead` ended with exit code 4"},
            {"capability": "hanging", "status": "starting",
                "reason": "`hanging` has not listed its tools yet; try again in a moment"},
        ])
    );
    host.close().await;
}

#[tokio::test]
async fn a_search_answers_while_a_server_still_hangs() {
    let deck = Deck::new();
    let record = deck.record("hanging");
    let hanging =
        FakePlan { initialize: FakeFault::Hang, record: record.path(), ..FakePlan::default() };
    let deck = deck
        .server("fake", &FakePlan::default(), json!({}))
        .server("hanging", &hanging, json!({"startupTimeoutMs": 600_000}))
        .config("options", json!({"searchDiscoveryTimeoutMs": 300}));
    let host = deck.open();
    check::check(&host.operator().request(&context()), "fake").await.outcome.unwrap();
    let session = agent(&host);
    let asked = json!({"query": "answers with its arguments"});
    let first = search(&session, asked.clone()).await;
    assert_eq!(first["items"][0]["name"], "fake__echo");
    assert_eq!(first["unavailable"][0]["status"], "starting");
    let process = until("the start of the server", || record.starts().first().copied()).await;
    assert!(is_alive(process));

    let again = search(&session, asked);
    tokio::select! {
        biased;
        again = again => assert_eq!(again, first),
        () = std::future::ready(()) => panic!("the second search waited"),
    }
    assert!(is_alive(process));
    assert_eq!(record.starts().len(), 1, "it is still the same start");
    host.close().await;
}

#[tokio::test]
async fn a_late_answer_is_in_the_next_search() {
    // The server starts when the file is there.
    let deck = Deck::new();
    let flag = deck.dirs.root().join("flag");
    let (program, plan) = FakePlan::default().command();
    let script = format!(
        "until [ -e {flag} ]; do sleep 0.05; done; exec \"$0\" \"$@\"",
        flag = flag.display()
    );
    let entry = json!({
        "name": "Slow", "description": "Starts late", "command": "sh",
        "args": ["-c", script, program, plan[0], plan[1]], "startupTimeoutMs": 600_000,
    });
    let deck = deck
        .entry("mcpServers", "slow", entry)
        .config("options", json!({"searchDiscoveryTimeoutMs": 300}));
    let host = deck.open();
    let (session, mut events) = (agent(&host), host.events());
    let asked = json!({"query": "answers with its arguments"});
    let first = search(&session, asked.clone()).await;
    assert_eq!(first["unavailable"][0]["status"], "starting");

    std::fs::write(&flag, "").unwrap();
    let event = tokio::time::timeout(TEST_TIMEOUT, events.recv()).await;
    assert!(matches!(event.unwrap().unwrap(), HostEvent::CatalogChanged));
    let second = search(&session, asked).await;
    assert_eq!(second["items"][0]["name"], "slow__echo");
    assert_eq!(second.get("unavailable"), None);
    host.close().await;
}

#[tokio::test]
async fn wrong_requests_say_what_is_wrong() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let session = agent(&host);
    search(&session, json!({"query": "echo"})).await;
    for (tool, asked, code, message) in [
        ("search", json!({}), "REQUEST_INVALID", "`search`: missing field `query`"),
        ("describe", json!({"name": 1}), "REQUEST_INVALID", "`describe`: invalid type"),
        ("call_tool", json!({"tool": "x"}), "REQUEST_INVALID", "`call_tool`: unknown field `tool`"),
        ("search", json!({"query": "x", "capability": "fke"}), "SERVER_NOT_FOUND", "there is no"),
        ("describe", json!({"name": "fake__ecko"}), "TOOL_NOT_FOUND", "`fake` has no tool `ecko`"),
        ("call_tool", json!({"name": "fake__ecko"}), "TOOL_NOT_FOUND", "`fake` has no tool `ecko`"),
        ("call_tool", json!({"name": "nothing"}), "TOOL_NOT_FOUND", "there is no tool `nothing`"),
    ] {
        let error = call_listed(&session, tool, asked.clone()).await.unwrap_err();
        assert_eq!(error.code.as_str(), code, "{tool} {asked}: {error}");
        assert!(error.message.starts_with(message), "{tool} {asked}: {error}");
    }
    let error =
        call_listed(&session, "call_tool", json!({"name": "fake__ecko"})).await.unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean `fake.echo`?"));
    // A tool that is not listed but can be searched says how it is reached.
    let error = call_listed(&session, "fake__echo", json!({})).await.unwrap_err();
    assert_eq!(error.code.as_str(), "TOOL_NOT_FOUND");
    assert_eq!(
        error.hint.as_deref(),
        Some("use `call_tool` with name `fake__echo`, or `search` for `echo`")
    );
    assert_eq!(call_listed(&session, "no_such_tool", json!({})).await.unwrap(), None);
    host.close().await;
}

#[tokio::test]
async fn an_exposure_of_none_is_refused_with_the_shell_command() {
    let hidden = caplet(&json!({
        "name": "Hidden", "description": "Not for agents", "exposure": "none",
        "cliTools": {"actions": {"say": {"command": "printf", "args": ["secret"]}}},
    }));
    let deck = Deck::of(&FakePlan::default()).file("config/hidden.md", &hidden);
    let host = deck.open();
    let session = agent(&host);
    let found = search(&session, json!({"query": "say", "limit": 50})).await;
    let items = found["items"].as_array().unwrap();
    assert!(items.iter().all(|item| item["capability"] == "fake"), "{found}");
    for (tool, asked, command) in [
        ("call_tool", json!({"name": "hidden__say"}), "capdeck sh hidden say"),
        ("describe", json!({"name": "hidden__say"}), "capdeck sh hidden say"),
        ("search", json!({"query": "say", "capability": "hidden"}), "capdeck sh hidden"),
        ("hidden__say", json!({}), "capdeck sh hidden say"),
    ] {
        let error = call_listed(&session, tool, asked).await.unwrap_err();
        assert_eq!(error.code.as_str(), "DENIED", "{tool}: {error}");
        assert_eq!(error.message, "`hidden` is not offered over MCP (its exposure is `none`)");
        assert_eq!(error.hint.unwrap(), format!("use the shell: {command}"), "{tool}");
    }
    let operator = host.operator();
    let answer = crate::deck::call(&operator, "hidden", "say", json!({})).await.unwrap();
    assert_eq!(answer["structuredContent"]["stdout"], "secret");
    host.close().await;
}
