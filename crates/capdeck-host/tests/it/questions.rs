//! What passes between a server and the client behind a call: questions, progress, cancellation.

use std::sync::Arc;

use capdeck_definition::CapabilityId;
use capdeck_host::{LastFailure, SessionScope, calls, transparent};
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::{
    client::{MessageChannel, ReceivedMessage, ScriptedClient},
    deck::{Deck, TEST_TIMEOUT, agent, call, request, text, value},
    record::until,
};

async fn asked_by(
    client: &Arc<ScriptedClient>,
    session: &capdeck_host::Session,
    tool: &str,
) -> Value {
    let asked = request("fake", tool, json!({}));
    let answer = calls::call(session.request(&client.context()), &asked).await.unwrap();
    serde_json::from_str(text(&value(&answer))).unwrap()
}

#[tokio::test]
async fn a_question_reaches_the_client_that_made_the_call() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({}));
    let host = deck.open();
    let client = ScriptedClient::new("ada");
    let session = client.agent(&host, &["elicitation", "sampling", "roots"]);
    for (tool, method) in [
        ("ask_elicitation", "elicitation/create"),
        ("ask_sampling", "sampling/createMessage"),
        ("ask_roots", "roots/list"),
    ] {
        let answer = asked_by(&client, &session, tool).await;
        assert_eq!(answer["result"]["content"]["name"], "ada", "{tool}: {answer}");
        let last = client.received().pop().unwrap();
        assert_eq!((last.channel, last.method.as_str()), (MessageChannel::Call, method));
    }
    let hello = &record.received("initialize")[0];
    assert_eq!(hello["capabilities"], json!({"elicitation": {}, "sampling": {}, "roots": {}}));
    assert_eq!(hello["clientInfo"], json!({"name": "ada"}));
    session.close().await;
    host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_clients_at_once_are_not_mixed_up() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({}));
    let host = deck.open();
    let clients: Vec<_> = ["ada", "grace"]
        .iter()
        .map(|name| {
            let client = ScriptedClient::new(name);
            let session = client.agent(&host, &["elicitation"]);
            (client, session)
        })
        .collect();
    let mut rounds = Vec::new();
    for _ in 0..10 {
        for (client, session) in &clients {
            let (client, session) = (client.clone(), session.clone());
            rounds.push(tokio::spawn(async move {
                let answer = asked_by(&client, &session, "ask_elicitation").await;
                let name = client.name();
                assert_eq!(answer["result"]["content"]["name"], name, "{answer}");
            }));
        }
    }
    for round in rounds {
        round.await.unwrap();
    }
    assert_eq!(record.starts().len(), 2, "each has a process of its own");
    for (client, session) in clients {
        assert_eq!(client.methods().len(), 10);
        session.close().await;
    }
    host.close().await;
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_gives_the_server_a_clear_refusal() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let answer = call(&agent(&host), "fake", "ask_elicitation", json!({})).await.unwrap();
    let answer: Value = serde_json::from_str(text(&answer)).unwrap();
    assert_eq!(
        answer["error"],
        json!({"code": -32601, "message": "the client does not declare `elicitation`"})
    );
    host.close().await;
}

#[tokio::test]
async fn the_refusal_is_as_clear_while_another_client_calls_on_the_same_connection() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({}));
    let host = deck.open();
    let (first, second) = (agent(&host), agent(&host));
    let context = ScriptedClient::new("ada").context();
    let cancel = context.cancel.clone();
    let calling = tokio::spawn(async move {
        calls::call(first.request(&context), &request("fake", "hang", json!({}))).await
    });
    until("the other call to arrive", || (record.calls() == 1).then_some(())).await;
    let answer = call(&second, "fake", "ask_elicitation", json!({})).await.unwrap();
    let answer: Value = serde_json::from_str(text(&answer)).unwrap();
    assert_eq!(
        answer["error"],
        json!({"code": -32601, "message": "the client does not declare `elicitation`"})
    );
    assert_eq!(record.starts().len(), 1, "they share one process");
    cancel.cancel();
    calling.await.unwrap().unwrap_err();
    host.close().await;
}

#[tokio::test]
async fn progress_passes_through_without_the_hosts_token() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({}));
    let host = deck.open();
    let client = ScriptedClient::new("ada");
    let session = client.agent(&host, &[]);
    let asked = request("fake", "progress", json!({"steps": 3}));
    calls::call(session.request(&client.context()), &asked).await.unwrap();
    let expected: Vec<ReceivedMessage> = (1..=3)
        .map(|step| ReceivedMessage {
            channel: MessageChannel::Call,
            method: "progress".to_owned(),
            params: json!({"progress": step, "total": 3, "message": format!("step {step}")}),
        })
        .collect();
    assert_eq!(client.received(), expected);
    host.close().await;
}

#[tokio::test]
async fn progress_keeps_a_long_call_alive() {
    let deck = Deck::new().server("fake", &FakePlan::default(), json!({"callTimeoutMs": 600}));
    let (host, session) = deck.operator();
    let steps = json!({"steps": 8, "intervalMs": 200});
    let answer = call(&session, "fake", "progress", steps).await.unwrap();
    assert_eq!(text(&answer), "done");
    host.close().await;
}

#[tokio::test]
async fn cancelling_ends_the_call_at_once_and_tells_the_server() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({}));
    let host = deck.open();
    let session = agent(&host);
    let client = ScriptedClient::new("ada");
    let context = client.context();
    let cancel = context.cancel.clone();
    let calling = {
        let session = session.clone();
        tokio::spawn(async move {
            calls::call(session.request(&context), &request("fake", "hang", json!({}))).await
        })
    };
    until("the call to arrive", || (record.calls() == 1).then_some(())).await;
    cancel.cancel();
    let outcome = tokio::time::timeout(TEST_TIMEOUT, calling).await.unwrap().unwrap();
    assert_eq!(outcome.unwrap_err().code.as_str(), "CANCELLED");
    let hanging = until("the call's id", || {
        record.messages().into_iter().find(|message| message["method"] == "tools/call")
    })
    .await;
    let shown =
        until("the server to be told", || record.received("notifications/cancelled").pop()).await;
    assert_eq!(shown["requestId"], hanging["id"]);
    // The connection goes on, and no one blames the server.
    assert_eq!(text(&call(&session, "fake", "echo", json!({})).await.unwrap()), "{}");
    assert_eq!(LastFailure::of(&host, "fake"), None);
    host.close().await;
}

#[tokio::test]
async fn cancelling_while_the_server_starts_ends_the_call() {
    let plan = FakePlan { start_delay_ms: 60_000, ..FakePlan::default() };
    let deck = Deck::new().server("fake", &plan, json!({"startupTimeoutMs": 120_000}));
    let host = deck.open();
    let session = agent(&host);
    let client = ScriptedClient::new("ada");
    let context = client.context();
    context.cancel.cancel();
    let asked = request("fake", "echo", json!({}));
    let calling = calls::call(session.request(&context), &asked);
    let outcome = tokio::time::timeout(TEST_TIMEOUT, calling).await.unwrap();
    assert_eq!(outcome.unwrap_err().code.as_str(), "CANCELLED");
    host.close().await;
}

#[tokio::test]
async fn a_transparent_client_hears_everything_its_server_says() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let client = ScriptedClient::new("ada");
    let scope = SessionScope::Transparent(CapabilityId::new("fake").unwrap());
    let session = client.session(&host, scope, &[]);
    let facts =
        transparent::server_facts(&session.request(&client.context()), "fake").await.unwrap();
    assert_eq!(value(&facts.server_info["name"]), "fake");
    for tool in ["log", "change_tools", "touch_resource"] {
        let asked = request("fake", tool, json!({"uri": "fake://note"}));
        calls::call(session.request(&client.context()), &asked).await.unwrap();
    }
    until("what the server said", || {
        let received_events = client.methods();
        let all = [
            "notifications/message",
            "notifications/tools/list_changed",
            "notifications/resources/updated",
        ];
        all.iter().all(|method| received_events.iter().any(|one| one == method)).then_some(())
    })
    .await;
    let other =
        calls::call(session.request(&client.context()), &request("else", "echo", json!({}))).await;
    assert_eq!(other.unwrap_err().code.as_str(), "SERVER_NOT_FOUND");
    session.close().await;
    host.close().await;
}
