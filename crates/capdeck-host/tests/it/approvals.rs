//! Calls that a person is asked about: through the client, by a command, or at the command line.

use std::sync::Arc;

use capdeck_host::{
    ApprovalDuration, ApprovalStore, CallConsent, CallError, CapabilityId, ErrorCode, Host,
    Session, SessionScope, ToolRequest, calls,
};
use capdeck_test::FakePlan;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    audit::written,
    client::ScriptedClient,
    deck::{
        Deck, agent, call, call_listed, caplet, context, everything_below, request, text, value,
    },
    record::Record,
};

/// A server with a tool that says it is destructive, and what the server received.
pub(crate) fn destructive() -> (Deck, Record) {
    let deck = Deck::new();
    let record = deck.record("fake");
    let tool = json!({
        "name": "wipe", "description": "Removes everything",
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
        "annotations": {"destructiveHint": true},
    });
    let plan = FakePlan { extra_tools: vec![tool], record: record.path(), ..FakePlan::default() };
    (deck.server("fake", &plan, json!({})), record)
}

fn decision(word: &str) -> Option<Value> {
    Some(json!({"action": "accept", "content": {"decision": word}}))
}

async fn ask(
    client: &Arc<ScriptedClient>,
    session: &Session,
    arguments: Value,
) -> Result<Value, CallError> {
    let answer =
        calls::call(session.request(&client.context()), &request("fake", "wipe", arguments))
            .await?;
    Ok(value(&answer))
}

fn waiting_id(error: &CallError) -> String {
    assert_eq!(error.code, ErrorCode::ApprovalRequired, "{error:?}");
    error.data.as_ref().unwrap()["approval"]["id"].as_str().unwrap().to_owned()
}

fn approve(host: &Host, id: &str, hold: ApprovalDuration) {
    ApprovalStore::new(&host.settings().state_dir).approve(id, hold, Timestamp::now()).unwrap();
}

fn approved(deck: &Deck) -> Vec<String> {
    let shown = |line: &Value| format!("{} {}", line["outcome"], line["approved"]).replace('"', "");
    let lines = written(deck);
    lines.iter().filter(|line| line["method"] == "tools/call").map(shown).collect()
}

#[tokio::test]
async fn the_person_is_asked_through_the_client_each_time() {
    let (deck, record) = destructive();
    {
        let host = deck.open();
        let client = ScriptedClient::answering("ada", decision("once"));
        let session = client.agent(&host, &["elicitation"]);
        for _ in 0..2 {
            let answer =
                ask(&client, &session, json!({"path": "a", "token": "s3cret-value"})).await;
            assert!(text(&answer.unwrap()).contains("\"path\":\"a\""));
        }
        let asked = client.received();
        assert_eq!(client.methods(), ["elicitation/create"; 2]);
        let params = &asked[0].params;
        let message = params["message"].as_str().unwrap();
        assert_eq!(
            message,
            "Run `wipe` of `fake`?\nArguments: {\"path\":\"a\",\"token\":\"[redacted]\"}"
        );
        let decision = &params["requestedSchema"]["properties"]["decision"];
        assert_eq!(decision["enum"], json!(["once", "always", "no"]));
        assert_eq!(record.calls(), 2);
        session.close().await;
        host.close().await;
    }
    assert_eq!(approved(&deck), ["ok once", "ok once"]);
    assert!(!everything_below(deck.dirs.state()).contains("s3cret-value"));
}

/// Clients without a terminal refuse for a person who saw nothing.
#[tokio::test]
async fn a_refusal_faster_than_a_person_reads_leaves_the_call_waiting() {
    let (deck, record) = destructive();
    {
        let host = deck.open();
        let store = ApprovalStore::new(&host.settings().state_dir);
        for reply in [
            decision("perhaps"),
            Some(json!({"action": "accept"})),
            Some(json!({"action": "decline", "content": {"decision": "once"}})),
            Some(json!({"action": "decline"})),
            Some(json!({"action": "cancel"})),
        ] {
            let client = ScriptedClient::answering("ada", reply.clone());
            let session = client.agent(&host, &["elicitation"]);
            let error = ask(&client, &session, json!({"path": "a"})).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::ApprovalRequired, "{reply:?} {error}");
            let [waiting] = <[_; 1]>::try_from(store.list(Timestamp::now()).unwrap()).unwrap();
            assert!(error.hint.unwrap().contains(&format!("capdeck approve {};", waiting.id)));
            session.close().await;
        }
        assert_eq!(record.calls(), 0);
        let [waiting] = <[_; 1]>::try_from(store.list(Timestamp::now()).unwrap()).unwrap();
        store.approve(&waiting.id, ApprovalDuration::Once, Timestamp::now()).unwrap();
        let client = ScriptedClient::answering("ada", Some(json!({"action": "cancel"})));
        let session = client.agent(&host, &["elicitation"]);
        ask(&client, &session, json!({"path": "a"})).await.unwrap();
        assert_eq!((record.calls(), client.methods().len()), (1, 0));
        session.close().await;
        host.close().await;
    }
    let lines = approved(&deck);
    let (last, refused) = lines.split_last().unwrap();
    assert_eq!(last, "ok once");
    assert!(refused.iter().all(|line| line == "APPROVAL_REQUIRED refused"), "{lines:?}");
}

#[tokio::test]
async fn a_no_in_the_form_and_an_answer_of_no_known_form_are_a_no() {
    let (deck, record) = destructive();
    let host = deck.open();
    let no = decision("no").unwrap();
    let odd = json!({"action": "accept", "content": {"decision": true}});
    for reply in [no, json!("once"), odd] {
        let client = ScriptedClient::answering("ada", Some(reply));
        let session = client.agent(&host, &["elicitation"]);
        let error = ask(&client, &session, json!({})).await.unwrap_err();
        assert_eq!((error.code, record.calls()), (ErrorCode::Denied, 0));
        session.close().await;
    }
    host.close().await;
}

#[tokio::test]
async fn always_is_remembered_for_everybody_and_after_a_restart() {
    let (deck, _record) = destructive();
    {
        let host = deck.open();
        let client = ScriptedClient::answering("ada", decision("always"));
        let session = client.agent(&host, &["elicitation"]);
        ask(&client, &session, json!({"path": "a"})).await.unwrap();
        ask(&client, &session, json!({"path": "b"})).await.unwrap();
        assert_eq!(client.methods().len(), 1);
        session.close().await;
        host.close().await;
    }
    {
        let host = deck.open();
        call(&agent(&host), "fake", "wipe", json!({"path": "c"})).await.unwrap();
        host.close().await;
    }
    assert_eq!(approved(&deck), ["ok always"; 3]);
}

#[tokio::test]
async fn without_a_client_that_can_ask_a_command_approves_one_retry() {
    let (deck, record) = destructive();
    let host = deck.open();
    let session = agent(&host);
    let error = call(&session, "fake", "wipe", json!({"path": "a"})).await.unwrap_err();
    let id = waiting_id(&error);
    let hint = error.hint.unwrap();
    assert!(hint.contains(&format!("capdeck approve {id}")), "{hint}");
    let again = call(&session, "fake", "wipe", json!({"path": "a"})).await.unwrap_err();
    assert_eq!(waiting_id(&again), id);
    assert_eq!(record.calls(), 0);

    // The person approves from another process; a restart is not needed.
    approve(&deck.open(), &id, ApprovalDuration::Once);
    let other = call(&session, "fake", "wipe", json!({"path": "b"})).await.unwrap_err();
    assert_ne!(waiting_id(&other), id);
    let client = ScriptedClient::new("somebody else");
    let foreign = client.agent(&host, &[]);
    let error = ask(&client, &foreign, json!({"path": "a"})).await.unwrap_err();
    assert_ne!(waiting_id(&error), id);
    assert_eq!(record.calls(), 0);

    // Another spelling of the same arguments is the same call.
    let same = call_listed(
        &session,
        "call_tool",
        json!({"name": "fake__wipe", "data": {"path": "\u{61}"}}),
    );
    assert!(same.await.unwrap().is_some());
    assert_eq!(record.calls(), 1);
    let used = call(&session, "fake", "wipe", json!({"path": "a"})).await.unwrap_err();
    assert_ne!(waiting_id(&used), id);
    host.close().await;
}

#[tokio::test]
async fn a_client_that_cannot_answer_after_all_leaves_the_command() {
    let (deck, record) = destructive();
    let host = deck.open();
    let client = ScriptedClient::answering("ada", None);
    let session = client.agent(&host, &["elicitation"]);
    let error = ask(&client, &session, json!({})).await.unwrap_err();
    approve(&host, &waiting_id(&error), ApprovalDuration::Always);
    ask(&client, &session, json!({"path": "x"})).await.unwrap();
    assert_eq!(record.calls(), 1);
    session.close().await;
    host.close().await;
}

#[tokio::test]
async fn an_edited_approval_opens_nothing() {
    let (deck, record) = destructive();
    let host = deck.open();
    let session = agent(&host);
    let error = call(&session, "fake", "wipe", json!({"path": "a"})).await.unwrap_err();
    let file = deck.dirs.state().join("approvals/calls.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let now = format!("\"approvedAt\": \"{}\"", Timestamp::now());
    let forged = text.replace("\"approvedAt\": null", &now);
    assert_ne!(forged, text);
    std::fs::write(&file, forged).unwrap();
    let refused = call(&session, "fake", "wipe", json!({"path": "a"})).await.unwrap_err();
    assert_ne!(waiting_id(&refused), waiting_id(&error));

    std::fs::write(&file, "not JSON").unwrap();
    let refused = call(&session, "fake", "wipe", json!({"path": "a"})).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::ApprovalRequired);
    assert!(refused.message.contains("calls.json"), "{refused}");
    assert_eq!(record.calls(), 0);
    host.close().await;
}

#[tokio::test]
async fn cancelling_ends_the_question() {
    struct Silent;
    #[async_trait::async_trait]
    impl capdeck_host::CallerHandle for Silent {
        fn wants_progress(&self) -> bool {
            false
        }
        fn progress(&self, _: capdeck_host::RawMembers) {}
        fn notify(&self, _: &str, _: Option<capdeck_host::RawMembers>) {}
        async fn request(
            &self,
            _: &str,
            _: Option<capdeck_host::RawMembers>,
        ) -> Result<Box<serde_json::value::RawValue>, CallError> {
            std::future::pending().await
        }
    }
    let (deck, record) = destructive();
    let host = deck.open();
    let session = ScriptedClient::new("ada").agent(&host, &["elicitation"]);
    let asking = capdeck_host::CallContext { caller: Arc::new(Silent), ..context() };
    let asked = request("fake", "wipe", json!({}));
    let cancel = asking.cancel.clone();
    let (outcome, ()) =
        tokio::join!(calls::call(session.request(&asking), &asked), async move { cancel.cancel() });
    assert_eq!(outcome.unwrap_err().code, ErrorCode::Cancelled);
    assert_eq!(record.calls(), 0);
    session.close().await;
    host.close().await;
}

#[tokio::test]
async fn the_person_at_the_command_line_approves_their_own_call() {
    let (deck, record) = destructive();
    let (host, session) = deck.operator();
    // A surface that asks the person itself leaves nothing to approve behind.
    let later =
        ToolRequest { consent: CallConsent::AskedLater, ..request("fake", "wipe", json!({})) };
    let error = calls::call(session.request(&context()), &later).await.unwrap_err();
    assert_eq!((error.code, error.data), (ErrorCode::ApprovalRequired, None));
    assert_eq!(ApprovalStore::new(&host.settings().state_dir).list(Timestamp::now()).unwrap(), []);
    // A call that cannot ask may be an agent's: it waits, and is informed what the person does.
    let error = call(&session, "fake", "wipe", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ApprovalRequired);
    let [waiting] = ApprovalStore::new(&host.settings().state_dir)
        .list(Timestamp::now())
        .unwrap()
        .try_into()
        .unwrap();
    let hint = format!("the person runs: capdeck approve {};", waiting.id);
    assert!(error.hint.unwrap().starts_with(&hint));
    let expected =
        ToolRequest { consent: CallConsent::Given, ..request("fake", "wipe", json!({})) };
    calls::call(session.request(&context()), &expected).await.unwrap();
    assert_eq!(record.calls(), 1);
    host.close().await;
}

#[tokio::test]
async fn every_way_to_a_tool_passes_the_gate() {
    let (deck, record) = destructive();
    let (program, arguments) = FakePlan {
        extra_tools: vec![json!({"name": "wipe", "annotations": {"destructiveHint": true}})],
        ..FakePlan::default()
    }
    .command();
    let member = caplet(&json!({
        "name": "Inner", "description": "A server inside a set",
        "mcpServer": {"command": program, "args": arguments},
    }));
    let set = caplet(&json!({
        "name": "Toolkit", "description": "A set of the test",
        "capletSet": {"capletsRoot": "./members"},
    }));
    let deck = deck
        .file("config/toolkit/CAPLET.md", &set)
        .file("config/toolkit/members/inner.md", &member);
    let host = deck.open();
    let wrapper = json!({"operation": "call_tool", "name": "wipe", "args": {}});
    for (exposure, name, arguments) in [
        (None, "call_tool", json!({"name": "fake__wipe", "data": {}})),
        (None, "call_tool", json!({"name": "toolkit__inner__wipe", "data": {}})),
        (Some("direct"), "fake__wipe", json!({})),
        (Some("direct"), "toolkit__inner", wrapper.clone()),
        (Some("progressive"), "fake", wrapper),
    ] {
        let exposure = exposure.map(|name| serde_json::from_value(json!(name)).unwrap());
        let session = crate::deck::agent_with(&host, exposure);
        let error = call_listed(&session, name, arguments).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ApprovalRequired, "{name} {error:?}");
    }
    let client = ScriptedClient::new("ada");
    let scope = SessionScope::Transparent(CapabilityId::new("fake").unwrap());
    let session = client.session(&host, scope, &[]);
    let error = ask(&client, &session, json!({})).await.unwrap_err();
    waiting_id(&error);
    assert_eq!(record.calls(), 0);
    session.close().await;
    host.close().await;
}

#[tokio::test]
async fn a_transparent_call_before_any_list_is_decided_by_the_definition() {
    let (deck, record) = destructive();
    let host = deck.open();
    let client = ScriptedClient::answering("ada", decision("no"));
    let scope = SessionScope::Transparent(CapabilityId::new("fake").unwrap());
    let session = client.session(&host, scope, &["elicitation"]);
    let error = ask(&client, &session, json!({})).await.unwrap_err();
    assert_eq!((error.code, record.calls()), (ErrorCode::Denied, 0));
    session.close().await;
    host.close().await;
}

#[tokio::test]
async fn a_secret_of_the_definition_is_not_shown_to_the_person() {
    let secret = "canary-9d1f-value";
    let tool = json!({"name": "wipe", "annotations": {"destructiveHint": true}});
    let plan = FakePlan { extra_tools: vec![tool], ..FakePlan::default() };
    let deck = Deck::new()
        .server("fake", &plan, json!({"env": {"TOKEN": "${CANARY}"}}))
        .variable("CANARY", secret);
    let host = deck.open();
    let client = ScriptedClient::answering("ada", decision("no"));
    let session = client.agent(&host, &["elicitation"]);
    let long = format!("{}{secret}", "x".repeat(190));
    let arguments = json!({"path": format!("a {secret} b"), "long": long, "hid\u{200B}den": 1});
    ask(&client, &session, arguments.clone()).await.unwrap_err();
    let answered = client.received();
    let message = answered[0].params["message"].as_str().unwrap();
    assert!(message.contains("a [redacted] b") && message.contains("‹U+200B›"), "{message}");
    assert!(!message.contains("canary"), "{message}");
    call(&agent(&host), "fake", "wipe", arguments).await.unwrap_err();
    assert!(!everything_below(deck.dirs.state()).contains("canary"));
    session.close().await;
    host.close().await;
}
