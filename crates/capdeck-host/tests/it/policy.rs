//! What a policy allows, asks about and denies; a denied tool and an unknown one are the same to a client.

use std::sync::Arc;

use capdeck_definition::Exposure;
use capdeck_host::{CallError, CapabilityId, ErrorCode, Host, Session, SessionScope, transparent};
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::{
    audit::written,
    client::ScriptedClient,
    deck::{Deck, agent, agent_with, call, call_listed, listed, text, value},
};

fn deck(policy: Value) -> Deck {
    let wipe = |name: &str| json!({"name": name, "description": "Removes everything", "annotations": {"destructiveHint": true}});
    let plan = FakePlan {
        behaviours: false,
        everything: false,
        tools: 1,
        extra_tools: vec![wipe("wipe_all"), wipe("wipe_one")],
        ..FakePlan::default()
    };
    Deck::of(&plan).config("policy", policy)
}

/// What a client is informed, with the tool's name taken out.
fn received(error: &CallError, name: &str) -> String {
    let shown = format!("{:?} {} {:?} {:?}", error.code, error.message, error.hint, error.data);
    shown.replace(name, "NAME")
}

fn transparent(host: &Host, name: &str) -> (Arc<ScriptedClient>, Arc<Session>) {
    let client = ScriptedClient::new(name);
    let scope = SessionScope::Transparent(CapabilityId::new("fake").unwrap());
    let session = client.session(host, scope, &[]);
    (client, session)
}

#[tokio::test]
async fn an_allowed_tool_runs_whatever_it_says_of_itself() {
    let deck = deck(json!([{"allow": {"tool": "wipe_one"}}]));
    let host = deck.open();
    let session = agent(&host);
    call(&session, "fake", "wipe_one", json!({})).await.unwrap();
    let error = call(&session, "fake", "wipe_all", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ApprovalRequired);
    host.close().await;
}

#[tokio::test]
async fn a_harmless_tool_is_asked_about_when_a_rule_says_so() {
    let deck = deck(json!([{"ask": {"capability": "fa*"}}]));
    let host = deck.open();
    let error = call(&agent(&host), "fake", "tool_00000", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ApprovalRequired);
    host.close().await;
}

#[tokio::test]
async fn denied_and_unknown_look_alike() {
    let deck = deck(json!([{"deny": {"tool": "wipe_a*"}}]));
    {
        let host = deck.open();
        let session = agent(&host);
        let denied = call(&session, "fake", "wipe_all", json!({})).await.unwrap_err();
        let unknown = call(&session, "fake", "wipe_abc", json!({})).await.unwrap_err();
        assert_eq!(denied.code, ErrorCode::ToolNotFound);
        assert_eq!(received(&denied, "wipe_all"), received(&unknown, "wipe_abc"));

        let by_name = |name: &str| json!({"name": format!("fake__{name}")});
        for tool in ["describe", "call_tool"] {
            let denied = call_listed(&session, tool, by_name("wipe_all")).await.unwrap_err();
            let unknown = call_listed(&session, tool, by_name("wipe_abc")).await.unwrap_err();
            assert_eq!(received(&denied, "wipe_all"), received(&unknown, "wipe_abc"), "{tool}");
        }
        let found = call_listed(&session, "search", json!({"query": "wipe everything"})).await;
        let found = found.unwrap().unwrap().to_string();
        assert!(found.contains("wipe_one") && !found.contains("wipe_all"), "{found}");

        let progressive = agent_with(&host, Some(Exposure::Progressive));
        for operation in ["describe_tool", "call_tool"] {
            let asked = |name: &str| json!({"operation": operation, "name": name, "args": {}});
            let mut only = asked("wipe_all");
            let mut other = asked("wipe_abc");
            if operation == "describe_tool" {
                only.as_object_mut().unwrap().remove("args");
                other.as_object_mut().unwrap().remove("args");
            }
            let denied = call_listed(&progressive, "fake", only).await.unwrap_err();
            let unknown = call_listed(&progressive, "fake", other).await.unwrap_err();
            assert_eq!(
                received(&denied, "wipe_all"),
                received(&unknown, "wipe_abc"),
                "{operation}"
            );
        }
        let tools = call_listed(&progressive, "fake", json!({"operation": "tools"})).await;
        assert!(!tools.unwrap().unwrap().to_string().contains("wipe_all"));

        let direct = agent_with(&host, Some(Exposure::Direct));
        assert_eq!(listed(&direct).await, ["fake__tool_00000", "fake__wipe_one"]);
        let denied = call_listed(&direct, "fake__wipe_all", json!({})).await;
        let unknown = call_listed(&direct, "fake__wipe_abc", json!({})).await;
        let shown = |outcome: Result<Option<Value>, CallError>, name| match outcome {
            Ok(answer) => format!("{answer:?}"),
            Err(error) => received(&error, name),
        };
        assert_eq!(shown(denied, "wipe_all"), shown(unknown, "wipe_abc"));
        host.close().await;
    }
    let refused: Vec<Value> = written(&deck)
        .into_iter()
        .filter(|line| line["tool"] == "wipe_all" && line["method"] == "tools/call")
        .map(|line| line["approved"].clone())
        .collect();
    assert!(!refused.is_empty() && refused.iter().all(|one| one == "refused"), "{refused:?}");
}

#[tokio::test]
async fn the_transparent_endpoint_keeps_the_secret_too() {
    let deck = deck(json!([{"deny": {"tool": "wipe_a*"}}]));
    let host = deck.open();
    let (client, session) = transparent(&host, "ada");
    let list =
        transparent::answer(&session.request(&client.context()), "fake", "tools/list", None).await;
    let list = value(&list.unwrap());
    let names: Vec<&str> = list["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["tool_00000", "wipe_one"]);
    let denied = call(&session, "fake", "wipe_all", json!({})).await.unwrap_err();
    let unknown = call(&session, "fake", "wipe_abc", json!({})).await.unwrap_err();
    assert_eq!(received(&denied, "wipe_all"), received(&unknown, "wipe_abc"));
    session.close().await;
    host.close().await;
}

#[tokio::test]
async fn a_denied_capability_does_not_exist() {
    let deck = deck(json!([{"deny": {"capability": "fake"}}]));
    let host = deck.open();
    let session = agent(&host);
    let denied = call(&session, "fake", "tool_00000", json!({})).await.unwrap_err();
    let unknown = call(&session, "fakf", "tool_00000", json!({})).await.unwrap_err();
    assert_eq!(denied.code, ErrorCode::ServerNotFound);
    assert_eq!(received(&denied, "fake"), received(&unknown, "fakf"));
    assert_eq!(listed(&session).await, [""; 0]);
    host.close().await;
}

#[tokio::test]
async fn a_rule_can_be_about_one_client() {
    let deck = deck(json!([{"deny": {"principal": "agent-*"}}, {"allow": {}}]));
    let host = deck.open();
    let (_, denied) = transparent(&host, "agent-7");
    let (_, other) = transparent(&host, "editor");
    let error = call(&denied, "fake", "wipe_all", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ServerNotFound);
    let answer = call(&other, "fake", "wipe_all", json!({"x": 1})).await.unwrap();
    assert_eq!(text(&answer), "{\"x\":1}");
    denied.close().await;
    other.close().await;
    host.close().await;
}

#[tokio::test]
async fn views_are_shared_by_all_clients_the_policy_does_not_tell_apart() {
    let deck = deck(json!([{"deny": {"tool": "wipe_all"}}]));
    let host = deck.open();
    let view = |name: &str| ScriptedClient::new(name).agent(&host, &[]).view();
    assert!(Arc::ptr_eq(&view("one"), &view("two")));
    host.close().await;

    let deck = self::deck(json!([{"deny": {"tool": "wipe_all", "principal": "one"}}]));
    let host = deck.open();
    let view = |name: &str| ScriptedClient::new(name).agent(&host, &[]).view();
    assert!(!Arc::ptr_eq(&view("one"), &view("two")));
    assert!(Arc::ptr_eq(&view("two"), &view("three")));
    host.close().await;
}

#[tokio::test]
async fn a_broken_policy_keeps_its_last_good_form() {
    let deck = deck(json!([{"deny": {"tool": "wipe_all"}}, {"allow": {}}]));
    let host = deck.open();
    let session = agent(&host);
    call(&session, "fake", "wipe_one", json!({})).await.unwrap();
    deck.dirs.write("config/config.json", "{ broken");
    host.reload();
    call(&session, "fake", "wipe_one", json!({})).await.unwrap();
    let error = call(&session, "fake", "wipe_all", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ToolNotFound);
    host.close().await;
}
