//! Tool lists: asked for once, kept on disk, followed when they change.

use std::time::Duration;

use capdeck_definition::Exposure;
use capdeck_host::{Host, HostEvent, calls, check, listing};
use capdeck_test::{FakePlan, fake::FakeFault};
use serde_json::{Value, json};

use crate::{
    client::ScriptedClient,
    deck::{
        Deck, TEST_TIMEOUT, agent, agent_with, call, call_listed, context, listed, text, value,
    },
    record::{Record, until},
};

fn tool_names(host: &Host) -> Vec<String> {
    let catalog = host.catalog();
    let known = catalog.get("fake").unwrap().discovery.clone();
    known.iter().flat_map(|known| &known.tools).map(|tool| tool.name().to_owned()).collect()
}

#[tokio::test]
async fn a_second_host_lists_from_disk_without_connecting() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({}));
    let first = deck.open();
    let before =
        listing::discovered_view(&agent_with(&first, Some(Exposure::Direct)).request(&context()))
            .await;
    assert_eq!(record.starts().len(), 1);
    first.close().await;

    let second = deck.open();
    let after =
        listing::discovered_view(&agent_with(&second, Some(Exposure::Direct)).request(&context()))
            .await;
    assert_eq!(before.tools().get(), after.tools().get(), "the same bytes");
    assert_eq!(before.resources().get(), after.resources().get());
    assert_eq!(before.prompts().get(), after.prompts().get());
    assert_eq!(record.starts().len(), 1, "nothing was started for the second");
    second.close().await;
}

#[tokio::test]
async fn a_changed_definition_or_a_broken_cache_file_asks_again() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({}));
    let (host, session) = deck.operator();
    check::check(&session.request(&context()), "fake").await.outcome.unwrap();
    host.close().await;

    for path in deck.dirs.cache().join("discoveries").read_dir().unwrap() {
        std::fs::write(path.unwrap().path(), "{ half a file").unwrap();
    }
    let (host, session) = deck.operator();
    assert!(host.catalog().get("fake").unwrap().discovery.is_none());
    call(&session, "fake", "echo", json!({})).await.unwrap();
    host.close().await;

    let deck = deck.server("fake", &plan, json!({"env": {"CHANGED": "1"}}));
    let host = deck.open();
    assert!(host.catalog().get("fake").unwrap().discovery.is_none());
    host.close().await;
}

#[tokio::test]
async fn a_list_change_makes_a_new_catalog_and_an_event() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let session = agent_with(&host, Some(Exposure::Direct));
    assert!(!listed(&session).await.contains(&"fake__late".to_owned()));
    let version = host.catalog().version();
    let mut events = host.events();
    call(&session, "fake", "change_tools", json!({"name": "late"})).await.unwrap();
    let said = tokio::time::timeout(TEST_TIMEOUT, events.recv()).await.unwrap().unwrap();
    let HostEvent::ServerNotified { capability, session: None, method, .. } = said else {
        panic!("the server speaks first: {said:?}");
    };
    assert_eq!((capability.as_str(), &*method), ("fake", "notifications/tools/list_changed"));
    let event = tokio::time::timeout(TEST_TIMEOUT, events.recv()).await;
    assert!(matches!(event.unwrap().unwrap(), HostEvent::CatalogChanged));
    assert!(host.catalog().version() > version);
    assert!(listed(&session).await.contains(&"fake__late".to_owned()));
    let answer = call_listed(&session, "fake__late", json!({"a": 1})).await.unwrap().unwrap();
    assert_eq!(text(&answer), r#"{"a":1}"#);
    host.close().await;
}

#[tokio::test]
async fn a_change_that_changes_nothing_is_no_event() {
    let deck = Deck::of(&FakePlan::default());
    let (host, session) = deck.operator();
    check::check(&session.request(&context()), "fake").await.outcome.unwrap();
    let version = host.catalog().version();
    check::check(&session.request(&context()), "fake").await.outcome.unwrap();
    assert_eq!(host.catalog().version(), version);
    host.close().await;
}

#[tokio::test]
async fn a_list_that_fails_later_keeps_the_last_good_one() {
    // A shell swaps the plan: the second start of the same definition has a broken list.
    let deck = Deck::new();
    let (program, good) = FakePlan::default().command();
    let (_, bad) = FakePlan { list: FakeFault::Error, ..FakePlan::default() }.command();
    let flag = deck.dirs.root().join("flag");
    let script = format!(
        "if [ -e {flag} ]; then exec \"$0\" --plan \"$2\"; else exec \"$0\" --plan \"$1\"; fi",
        flag = flag.display()
    );
    let args = json!(["-c", script, program, good[1], bad[1]]);
    let entry =
        json!({"name": "Fake", "description": "Breaks on request", "command": "sh", "args": args});
    let deck = deck.entry("mcpServers", "fake", entry);
    let (host, session) = deck.operator();
    check::check(&session.request(&context()), "fake").await.outcome.unwrap();
    let names = tool_names(&host);
    std::fs::write(&flag, "").unwrap();
    call(&session, "fake", "crash", json!({})).await.unwrap_err();
    let report = check::check(&session.request(&context()), "fake").await;
    let message = report.outcome.unwrap_err().message;
    assert_eq!(message, "`fake` refused `tools/list`: refused on purpose");
    assert_eq!(tool_names(&host), names);
    assert_eq!(text(&call(&session, "fake", "echo", json!({})).await.unwrap()), "{}");
    host.close().await;
}

#[tokio::test]
async fn the_server_is_asked_before_a_tool_is_called_unknown() {
    for ttl in [0, 600_000] {
        let deck = Deck::new();
        let record = deck.record("fake");
        let plan = FakePlan { record: record.path(), ..FakePlan::default() };
        let deck = deck.server("fake", &plan, json!({"toolCacheTtlMs": ttl}));
        let (host, session) = deck.operator();
        check::check(&session.request(&context()), "fake").await.outcome.unwrap();
        for asked in 2..=3 {
            let error = call(&session, "fake", "nope", json!({})).await.unwrap_err();
            assert_eq!(error.code.as_str(), "TOOL_NOT_FOUND");
            assert_eq!(record.received("tools/list").len(), asked, "toolCacheTtlMs {ttl}");
        }
        host.close().await;
    }
}

/// A server that lists what a file says, and a record of what it received.
fn listing(more: Value) -> (Deck, Record) {
    let deck = Deck::new();
    let record = deck.record("fake");
    offer(&deck, &["one"]);
    let plan = FakePlan {
        behaviours: false,
        list_file: Some(deck.dirs.root().join("lists.json")),
        record: record.path(),
        ..FakePlan::default()
    };
    (deck.server("fake", &plan, more), record)
}

fn offer(deck: &Deck, names: &[&str]) {
    let tool = |name: &&str| json!({"name": name, "inputSchema": {"type": "object"}});
    let tools: Vec<Value> = names.iter().map(tool).collect();
    deck.dirs.write("lists.json", json!({ "tools": tools }).to_string());
}

#[tokio::test]
async fn a_list_is_read_once_per_connection_and_again_when_it_is_old() {
    for (ttl, per_call) in [(600_000, 0), (0, 1)] {
        let (deck, record) = listing(json!({"toolCacheTtlMs": ttl}));
        let (host, session) = deck.operator();
        check::check(&session.request(&context()), "fake").await.outcome.unwrap();
        let asked = || record.received("tools/list").len();
        for calls in 1..=3 {
            call(&session, "fake", "one", json!({})).await.unwrap();
            until("the list is read", || (asked() == 1 + calls * per_call).then_some(())).await;
        }
        // The end of a host waits for lists that are being read.
        host.close().await;
        assert_eq!(asked(), 1 + 3 * per_call, "toolCacheTtlMs {ttl}");
    }
}

#[tokio::test]
async fn a_new_connection_of_the_same_host_is_asked_again() {
    let (deck, record) = listing(json!({}));
    let (host, session) = deck.operator();
    check::check(&session.request(&context()), "fake").await.outcome.unwrap();
    offer(&deck, &["one", "crash"]);
    call(&session, "fake", "crash", json!({})).await.unwrap_err();
    assert_eq!(record.received("tools/list").len(), 2, "asked before it was called unknown");
    offer(&deck, &["one", "two"]);
    let mut events = host.events();
    call(&session, "fake", "one", json!({})).await.unwrap();
    let noticed = async {
        while tool_names(&host) != ["one", "two"] {
            events.recv().await.unwrap();
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, noticed).await.expect("the new list is in the catalog");
    assert_eq!((record.starts().len(), record.received("tools/list").len()), (2, 3));
    host.close().await;
}

#[tokio::test]
async fn calls_at_once_ask_for_a_list_once() {
    let (deck, record) = listing(json!({"pins": "block"}));
    let (host, session) = deck.operator();
    check::check(&session.request(&context()), "fake").await.outcome.unwrap();
    host.close().await;

    let (host, session) = deck.operator();
    let calls = (0..8).map(|_| call(&session, "fake", "one", json!({})));
    for outcome in futures_util::future::join_all(calls).await {
        outcome.unwrap();
    }
    assert_eq!((record.starts().len(), record.received("tools/list").len()), (2, 2));
    offer(&deck, &["one", "two"]);
    let calls = (0..8).map(|_| call(&session, "fake", "two", json!({})));
    for outcome in futures_util::future::join_all(calls).await {
        assert_eq!(outcome.unwrap_err().code.as_str(), "APPROVAL_REQUIRED");
    }
    // The second asks again, because the first had asked before it came; all others came before that.
    assert_eq!(record.received("tools/list").len(), 4);
    host.close().await;
}

#[tokio::test]
async fn each_audience_has_its_list_checked() {
    let (deck, record) = listing(json!({"pins": "block", "protocolEra": "auto"}));
    let host = deck.open();
    let client = ScriptedClient::new("ada");
    let session = client.agent(&host, &["sampling"]);
    call(&session, "fake", "one", json!({})).await.unwrap();
    host.close().await;

    let tool = json!({"name": "one", "description": "Changed", "inputSchema": {"type": "object"}});
    deck.dirs.write("lists.json", json!({"tools": [tool]}).to_string());
    let host = deck.open();
    let bare = agent(&host);
    let error = call(&bare, "fake", "one", json!({})).await.unwrap_err();
    assert_eq!(error.code.as_str(), "APPROVAL_REQUIRED", "{error}");
    let session = client.agent(&host, &["sampling"]);
    let error = call(&session, "fake", "one", json!({})).await.unwrap_err();
    assert_eq!(error.code.as_str(), "APPROVAL_REQUIRED", "{error}");
    assert_eq!(record.calls(), 1);
    session.close().await;
    host.close().await;
}

#[tokio::test]
async fn an_answer_about_a_replaced_definition_changes_neither_catalog_nor_pins() {
    let (deck, _record) = listing(json!({}));
    let (host, session) = deck.operator();
    check::check(&session.request(&context()), "fake").await.outcome.unwrap();
    let before = host.catalog().get("fake").unwrap().clone();
    let deck = deck.server("fake", &FakePlan::default(), json!({}));
    host.reload();
    check::check(&session.request(&context()), "fake").await.outcome.unwrap();
    let pins = || std::fs::read_to_string(deck.dirs.state().join("pins/fake.pins.json")).unwrap();
    let (names, pinned) = (tool_names(&host), pins());
    // The tool of the old definition is looked for, as by a call that began before the reload.
    let error = calls::find_tool(&session.request(&context()), &before, "nope").await.unwrap_err();
    assert_eq!(error.code.as_str(), "TOOL_NOT_FOUND", "{error}");
    assert_eq!((tool_names(&host), pins()), (names, pinned));
    host.close().await;
}

#[tokio::test]
async fn with_a_ttl_of_zero_every_listing_asks_the_server() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({"toolCacheTtlMs": 0, "exposure": "progressive"}));
    let host = deck.open();
    let session = agent(&host);
    for round in 1..=3 {
        call_listed(&session, "fake", json!({"operation": "tools"})).await.unwrap().unwrap();
        assert_eq!(record.received("tools/list").len(), round);
    }
    host.close().await;
}

#[tokio::test]
async fn a_check_reports_what_there_is() {
    let deck = Deck::of(&FakePlan::default());
    let (host, session) = deck.operator();
    let mut report = check::check(&session.request(&context()), "fake").await.to_json();
    assert!(report["elapsedMs"].is_u64());
    report.as_object_mut().unwrap().remove("elapsedMs");
    let expected: Value = json!({
        "id": "fake", "status": "available", "toolCount": tool_names(&host).len(),
        "capabilities": {
            "tools": true, "resources": true, "resourceTemplates": true, "prompts": true,
            "completions": true,
        },
        "resourceCount": 1, "resourceTemplateCount": 1, "promptCount": 1,
    });
    assert_eq!(report, expected);
    host.close().await;
}

#[tokio::test]
async fn a_listing_does_not_wait_for_a_server_that_hangs() {
    let hanging = FakePlan { initialize: FakeFault::Hang, ..FakePlan::default() };
    let deck = Deck::of(&FakePlan { behaviours: false, tools: 1, ..FakePlan::default() })
        .server("slow", &hanging, json!({"startupTimeoutMs": 600_000}))
        .config("options", json!({"exposure": "direct", "exposureDiscoveryTimeoutMs": 700}));
    let host = deck.open();
    let session = agent(&host);
    // The server is waited for ten minutes; the listing is there long before.
    let listing = tokio::time::timeout(Duration::from_secs(120), listed(&session)).await;
    assert_eq!(listing.unwrap(), ["fake__tool_00000"]);
    assert_eq!(value(session.view().tools()).as_array().unwrap().len(), 1);
    host.close().await;
}

#[tokio::test]
async fn no_one_waits_twice_for_a_server_that_does_not_answer() {
    let silent = FakePlan { initialize: FakeFault::Hang, ..FakePlan::default() };
    let deck = Deck::of(&FakePlan::default())
        .server("silent", &silent, json!({"startupTimeoutMs": 300}))
        .config("options", json!({"exposureDiscoveryTimeoutMs": 500}));
    let host = deck.open();
    let session = agent_with(&host, Some(Exposure::Direct));
    let first = listing::discovered_view(&session.request(&context())).await;
    assert!(first.tools().get().contains("fake__echo"));
    let context = context();
    let request = session.request(&context);
    tokio::select! {
        biased;
        again = listing::discovered_view(&request) => assert_eq!(first.tools().get(), again.tools().get()),
        () = std::future::ready(()) => panic!("the second listing waited"),
    }
    host.close().await;
}

#[tokio::test]
async fn a_later_host_does_not_wait_for_a_server_that_did_not_answer() {
    // The same definition hangs until the file is there, and answers from then on.
    let deck = Deck::new();
    let flag = deck.dirs.root().join("flag");
    let (program, plan) = FakePlan::default().command();
    let script = format!(
        "if [ -e {flag} ]; then exec \"$0\" \"$@\"; else exec sleep 600; fi",
        flag = flag.display()
    );
    let entry = json!({
        "name": "Slow", "description": "Hangs at first", "command": "sh",
        "args": ["-c", script, program, plan[0], plan[1]], "startupTimeoutMs": 600_000,
    });
    let deck = deck
        .entry("mcpServers", "slow", entry)
        .config("options", json!({"exposure": "direct", "exposureDiscoveryTimeoutMs": 700}));
    let first = deck.open();
    assert_eq!(listed(&agent(&first)).await, [""; 0]);
    first.close().await;

    std::fs::write(&flag, "").unwrap();
    let second = deck.open();
    let (session, mut events) = (agent(&second), second.events());
    tokio::select! {
        biased;
        names = listed(&session) => assert_eq!(names, [""; 0]),
        () = std::future::ready(()) => panic!("the listing waited"),
    }
    let event = tokio::time::timeout(TEST_TIMEOUT, events.recv()).await;
    assert!(matches!(event.unwrap().unwrap(), HostEvent::CatalogChanged));
    assert!(listed(&session).await.contains(&"slow__echo".to_owned()));
    second.close().await;

    // What has answered is waited for again, should its list be lost.
    assert_eq!(deck.dirs.cache().join("unanswered").read_dir().unwrap().count(), 0);
}
