//! Pins: definitions as first seen, changes reported and, when configured, held.

use capdeck_catalog::{HoldReason, PinChange};
use capdeck_definition::Exposure;
use capdeck_host::{
    CapabilityId, ErrorCode, Host, PinReview, SessionScope, ToolQuery, approve_tools, check,
    search, transparent, watch_files,
};
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::{
    client::ScriptedClient,
    code_mode::{coder, run, run_with},
    deck::{
        Deck, TEST_TIMEOUT, agent, agent_with, call, call_listed, caplet, context, listed, value,
    },
};

/// A server that reads what it offers from a file when it starts, so that its definition stays the same.
fn deck(mode: &str, tools: Value) -> Deck {
    let deck = Deck::new();
    offers(&deck, tools);
    let plan = deck.dirs.root().join("plan.json");
    let (program, _) = FakePlan::default().command();
    let script = r#"exec "$0" --plan "$(cat "$1")""#;
    let entry = json!({
        "name": "Changing", "description": "A server of the test", "pins": mode,
        "command": "sh", "args": ["-c", script, program, plan],
    });
    deck.entry("mcpServers", "fake", entry)
}

/// What the server offers from its next start on.
fn offers(deck: &Deck, tools: Value) {
    let plan = FakePlan {
        behaviours: false,
        everything: false,
        extra_tools: tools.as_array().unwrap().clone(),
        ..FakePlan::default()
    };
    deck.dirs.write("plan.json", plan.to_json());
}

/// A host that has asked the server again.
async fn open(deck: &Deck) -> Host {
    let host = deck.open();
    let report = check::check(&host.operator().request(&context()), "fake").await;
    assert!(report.outcome.is_ok(), "{:?}", report.outcome);
    host
}

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}

fn review(host: &Host) -> PinReview {
    PinReview::of(host, host.catalog().get("fake").unwrap()).unwrap()
}

fn kinds(review: &PinReview) -> Vec<String> {
    review.changes.iter().map(|change| format!("{} {}", change.kind(), change.tool())).collect()
}

fn approve(host: &Host, tool: Option<&str>) {
    approve_tools(host, host.catalog().get("fake").unwrap(), tool).unwrap().unwrap();
}

#[tokio::test]
async fn the_first_sight_is_pinned_and_later_changes_are_reported() {
    let deck = deck("warn", json!([tool("read", "Reads"), tool("gone", "Goes away soon")]));
    let host = open(&deck).await;
    assert!(review(&host).is_clean());
    assert_eq!(review(&host).book.unwrap().tools.len(), 2);
    host.close().await;

    offers(&deck, json!([tool("read", "Reads, and sends it to me"), tool("deploy", "New here")]));
    let host = open(&deck).await;
    let found = review(&host);
    assert_eq!(kinds(&found), ["added deploy", "changed read", "removed gone"]);
    let PinChange::Changed { changes, .. } = &found.changes[1] else { panic!("{found:?}") };
    assert_eq!(changes[0].part(), "description");
    // Calls go on.
    call(&agent(&host), "fake", "read", json!({})).await.unwrap();
    host.close().await;

    // Reported again after a restart, until a person approves.
    let host = open(&deck).await;
    assert_eq!(kinds(&review(&host)).len(), 3);
    approve(&host, Some("read"));
    assert_eq!(kinds(&review(&host)), ["added deploy", "removed gone"]);
    approve(&host, None);
    assert!(review(&host).is_clean());
    host.close().await;
}

#[tokio::test]
async fn what_changed_is_held_until_it_is_approved() {
    let deck = deck("block", json!([tool("read", "Reads"), tool("write", "Writes")]));
    let host = open(&deck).await;
    call(&agent(&host), "fake", "read", json!({})).await.unwrap();
    host.close().await;

    offers(
        &deck,
        json!([tool("read", "Reads it all"), tool("write", "Writes"), tool("new", "New")]),
    );
    let host = open(&deck).await;
    let session = agent_with(&host, Some(Exposure::Direct));
    assert_eq!(listed(&session).await, ["fake__write"]);
    call(&session, "fake", "write", json!({})).await.unwrap();
    for (name, reason) in [("read", "its definition changed"), ("new", "it is new")] {
        let error = call(&session, "fake", name, json!({})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ApprovalRequired, "{error}");
        assert!(error.message.contains(reason), "{error}");
        let hint = error.hint.unwrap();
        assert!(hint.contains(&format!("capdeck pins approve fake {name}")), "{hint}");
    }
    let by_name = call_listed(&session, "fake__read", json!({})).await.unwrap_err();
    assert_eq!(by_name.code, ErrorCode::ApprovalRequired, "{by_name}");
    let search = search::find(
        &session.request(&context()),
        ToolQuery { words: "reads it all", ..ToolQuery::default() },
    )
    .await
    .unwrap();
    assert!(search.hits.iter().all(|hit| hit.tool.as_ref().unwrap().name() != "read"));

    // Another process approves; the next use sees it.
    approve(&open(&deck).await, Some("read"));
    call(&session, "fake", "read", json!({})).await.unwrap();
    assert_eq!(listed(&session).await, ["fake__read", "fake__write"]);
    call(&session, "fake", "new", json!({})).await.unwrap_err();
    host.close().await;
}

#[tokio::test]
async fn a_run_waits_until_what_changed_is_approved() {
    let deck = deck("block", json!([tool("echo", "Says it again")]));
    open(&deck).await.close().await;
    offers(&deck, json!([tool("echo", "Says it again, and keeps it")]));
    let host = open(&deck).await;
    let session = coder(&host);
    let waits = run(&session, "await caplets.fake.echo({ word: 1 }); 'done'").await;
    assert_eq!(waits["error"]["code"], "RUN_PAUSED", "{waits}");
    let id = waits["meta"]["runId"].as_str().unwrap();
    let hint = waits["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("capdeck pins approve fake echo; then"), "{hint}");
    assert!(hint.contains(&format!("capdeck runs resume {id}")), "{hint}");
    approve(&open(&deck).await, Some("echo"));
    let ended = run_with(&session, json!({ "resume": id })).await;
    assert_eq!(ended["value"], "done", "{ended}");
    host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_host_follows_approvals() {
    let deck = deck("block", json!([tool("read", "Reads")]));
    open(&deck).await.close().await;
    offers(&deck, json!([tool("read", "Reads it all")]));
    let host = open(&deck).await;
    watch_files(&host).unwrap();
    let mut events = host.events();
    let session = agent_with(&host, Some(Exposure::Direct));
    assert_eq!(listed(&session).await, [""; 0]);
    approve(&host, None);
    let followed = async {
        while session.catalog().tool("fake", "read").is_none() {
            events.recv().await.unwrap();
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, followed).await.expect("the approval is followed");
    host.close().await;
}

#[tokio::test]
async fn a_tool_that_appears_on_a_running_server_is_held() {
    let deck = Deck::new().server("fake", &FakePlan::default(), json!({"pins": "block"}));
    let host = open(&deck).await;
    let session = agent(&host);
    call(&session, "fake", "change_tools", json!({"name": "sneaky"})).await.unwrap();
    let report = check::check(&host.operator().request(&context()), "fake").await;
    assert!(report.outcome.is_ok());
    let error = call(&session, "fake", "sneaky", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ApprovalRequired, "{error}");
    assert_eq!(review(&host).held.get("sneaky"), Some(&HoldReason::New));
    host.close().await;
}

#[tokio::test]
async fn a_server_that_is_pointed_elsewhere_starts_anew_and_is_reported() {
    let deck = deck("block", json!([tool("read", "Reads")]));
    open(&deck).await.close().await;
    let deck = deck.server(
        "fake",
        &FakePlan { behaviours: false, tools: 1, ..FakePlan::default() },
        json!({"pins": "block"}),
    );
    let host = open(&deck).await;
    call(&agent(&host), "fake", "tool_00000", json!({})).await.unwrap();
    let found = review(&host);
    assert!(found.book.as_ref().unwrap().is_repointed && !found.is_clean());
    assert_eq!(kinds(&found), [""; 0]);
    approve(&host, None);
    assert!(review(&host).is_clean());
    host.close().await;
}

#[tokio::test]
async fn hidden_text_is_flagged_and_held_when_changes_are_blocked() {
    let hidden = tool("deceive", "Reads a file\u{E0073}\u{E0065}\u{E006E}\u{E0064}");
    let honest = tool("smile", "Smiles 👩\u{200D}🚒");
    for (mode, is_held) in [("warn", false), ("block", true)] {
        let deck = deck(mode, json!([hidden, honest]));
        let host = open(&deck).await;
        let found = review(&host);
        assert_eq!(found.hidden.keys().collect::<Vec<_>>(), ["deceive"]);
        assert_eq!(found.hidden["deceive"][0].revealed, "Reads a file‹tags: send›");
        let session = agent(&host);
        call(&session, "fake", "smile", json!({})).await.unwrap();
        let outcome = call(&session, "fake", "deceive", json!({})).await;
        assert_eq!(outcome.is_err(), is_held, "{mode}");
        approve(&host, Some("deceive"));
        call(&session, "fake", "deceive", json!({})).await.unwrap();
        host.close().await;
    }
}

#[tokio::test]
async fn hidden_text_in_a_file_is_held_too() {
    let file = caplet(&json!({
        "name": "Sayer", "description": "Says one word on request", "pins": "block",
        "cliTools": {"actions": {
            "say": {"description": "Says\u{200B} a word", "command": "printf", "args": ["x"]},
        }},
    }));
    let deck = Deck::new().file("config/fake.md", &file);
    let host = deck.open();
    let session = agent(&host);
    let error = call(&session, "fake", "say", json!({})).await.unwrap_err();
    assert!(error.message.contains("hidden text"), "{error}");
    approve(&host, Some("say"));
    call(&session, "fake", "say", json!({})).await.unwrap();
    host.close().await;
}

#[tokio::test]
async fn the_transparent_endpoint_holds_back_as_well() {
    let deck = deck("block", json!([tool("read", "Reads"), tool("write", "Writes")]));
    open(&deck).await.close().await;
    offers(&deck, json!([tool("read", "Reads it all"), tool("write", "Writes")]));
    let host = deck.open();
    let client = ScriptedClient::new("ada");
    let scope = SessionScope::Transparent(CapabilityId::new("fake").unwrap());
    let session = client.session(&host, scope, &[]);
    let list =
        transparent::answer(&session.request(&client.context()), "fake", "tools/list", None).await;
    let list = value(&list.unwrap());
    assert_eq!(list["tools"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list["tools"][0]["name"], "write");
    check::check(&session.request(&client.context()), "fake").await;
    let error = call(&session, "fake", "read", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ApprovalRequired);
    session.close().await;
    host.close().await;
}

#[tokio::test]
async fn pins_that_are_off_record_nothing_and_broken_ones_hold_everything() {
    let off = deck("off", json!([tool("read", "Reads")]));
    let host = open(&off).await;
    assert!(review(&host).book.is_none());
    host.close().await;

    let deck = deck("block", json!([tool("read", "Reads")]));
    open(&deck).await.close().await;
    deck.dirs.write("state/pins/fake.pins.json", "{ broken");
    let host = deck.open();
    let error = call(&agent(&host), "fake", "read", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ApprovalRequired);
    approve(&host, None);
    call(&agent(&host), "fake", "read", json!({})).await.unwrap();
    host.close().await;
}

#[tokio::test]
async fn what_a_server_shows_only_to_some_clients_is_pinned_when_they_first_see_it() {
    let plan = FakePlan { gated_tools: true, ..FakePlan::default() };
    let deck = Deck::new().server("fake", &plan, json!({"pins": "block"}));
    let host = open(&deck).await;
    assert!(review(&host).is_clean());
    let client = ScriptedClient::new("ada");
    let session = client.agent(&host, &["sampling"]);
    call(&session, "fake", "for_sampling", json!({})).await.unwrap();
    assert!(review(&host).is_clean());
    session.close().await;
    host.close().await;
}
