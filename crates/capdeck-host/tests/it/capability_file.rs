//! A project's capability file: its skills are set up, its sub-agents are views, and what no skill requires is for the shell.

use std::sync::Arc;

use capdeck_definition::Exposure;
use capdeck_host::{
    ClientProfile, ErrorCode, Host, NoCaller, Principal, Session, SessionContinuity, SessionScope,
    SessionSettings, TaskForm, TrustStore, ViewPolicy, listing,
};
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::deck::{Deck, agent_with, call, call_listed, context, listed, text};

const TOOLS: &str = r#"
tools:
  - { id: echo, type: mcp, def: { server: "@fake", tool: echo } }
  - { id: params, type: mcp, def: { server: fake, tool: params } }
  - { id: headers, type: mcp, def: { server: fake, tool: headers } }
"#;

const SKILLS: &str = r#"
skills:
  - { id: talking, type: installed, def: { requires: ["@fake.echo", params] } }
  - { id: reading, type: installed, def: { requires: [fake.params] } }
  - { id: thinking, type: installed }
"#;

const SUBAGENTS: &str = r#"
subagents:
  - { id: talker, description: Talks, skills: [talking], tools: ["@fake.echo", "@fake.headers"] }
  - { id: idle, skills: [talking, reading] }
"#;

/// A trusted project with these parts of a capability file. The server is in the person's own config, too.
fn project(parts: &[&str]) -> Deck {
    let plan = FakePlan::default();
    let entry = plan.deck_entry();
    let server = json!([{ "id": "fake", "type": "mcp",
        "def": { "cmd": entry["command"], "args": entry["args"] } }]);
    let file = format!("servers: {server}\n{}", parts.concat());
    Deck::of(&plan).file("project/capabilities.yaml", &file)
}

fn open(deck: &Deck) -> Host {
    let host = deck.open();
    let hash = host.deck().project_hash.clone().unwrap();
    TrustStore::new(&deck.dirs.state()).trust(&deck.dirs.project(), &hash).unwrap();
    host.reload();
    host
}

fn in_view(host: &Host, name: &str, exposure: Exposure) -> Arc<Session> {
    host.session(SessionSettings {
        scope: SessionScope::Deck(ViewPolicy { exposure: Some(exposure), view: Some(name.into()) }),
        client_name: "sub-agent".to_owned(),
        principal: Principal::local(),
        client: ClientProfile::default(),
        listener: Arc::new(NoCaller),
        tasks: TaskForm::Awaited,
        continuity: SessionContinuity::Connection,
        access: None,
        shares_files: true,
    })
}

async fn set_up(session: &Session, skills: Value) -> Value {
    let asked = json!({ "skills": skills });
    let answer = call_listed(session, "setup_tools", asked).await.unwrap().unwrap();
    answer["structuredContent"].clone()
}

async fn error_of(session: &Session, name: &str) -> ErrorCode {
    let asked = json!({"name": name, "data": {}});
    call_listed(session, "call_tool", asked).await.unwrap_err().code
}

#[tokio::test]
async fn skills_are_set_up_by_their_ids() {
    let deck = project(&[TOOLS, SKILLS]);
    let host = open(&deck);
    let session = agent_with(&host, Some(Exposure::OnDemand));
    assert_eq!(listed(&session).await, ["setup_tools", "call_tool"]);
    let tools = session.view().tools().get().to_owned();
    assert!(tools.contains("Here: talking, reading, @fake."), "{tools}");
    let received = set_up(&session, json!(["reading"])).await;
    assert_eq!(received["tools"], json!(["fake.params()"]));
    let asked = json!({"name": "fake.echo", "data": {}});
    let error = call_listed(&session, "call_tool", asked).await.unwrap_err();
    assert!(error.message.contains("is not activated"), "{error}");
    assert_eq!(error.hint.unwrap(), "first call `setup_tools` with {\"skills\":[\"talking\"]}");
    let received = set_up(&session, json!(["talking", "thinking"])).await;
    assert_eq!(received["activeSkills"], json!(["reading", "talking", "thinking"]));
    assert_eq!(received["tools"], json!(["fake.echo()", "fake.params()"]));
    let asked = json!({"name": "echo", "data": {"a": 1}});
    let answer = call_listed(&session, "call_tool", asked).await.unwrap().unwrap();
    assert_eq!(text(&answer), r#"{"a":1}"#);
    host.close().await;
}

#[tokio::test]
async fn what_no_skill_requires_is_for_the_shell() {
    let deck = project(&[TOOLS, SKILLS]);
    let host = open(&deck);
    let session = agent_with(&host, Some(Exposure::Direct));
    let names = listed(&session).await;
    assert!(names.contains(&"fake__echo".to_owned()), "{names:?}");
    assert!(!names.contains(&"fake__headers".to_owned()), "{names:?}");
    assert!(call_listed(&session, "fake__headers", json!({})).await.unwrap().is_none());
    let on_demand = agent_with(&host, Some(Exposure::OnDemand));
    assert!(!set_up(&on_demand, json!(["@fake"])).await.to_string().contains("headers"));
    assert_eq!(error_of(&on_demand, "fake.headers").await, ErrorCode::ToolNotFound);
    assert!(call(&host.operator(), "fake", "headers", json!({})).await.is_ok());
    host.close().await;
}

#[tokio::test]
async fn what_has_nothing_to_offer_is_not_named() {
    let command = "  - { id: greet, type: command, def: { run: { cmd: echo hi } } }\n";
    let deck = project(&[TOOLS, command, SKILLS]);
    let host = open(&deck);
    for exposure in [Exposure::Direct, Exposure::Search, Exposure::Progressive] {
        let view =
            listing::discovered_view(&agent_with(&host, Some(exposure)).request(&context())).await;
        let received = view.instructions().unwrap();
        assert!(received.contains("fake") && !received.contains("commands"), "{received}");
    }
    assert!(call(&host.operator(), "commands", "greet", json!({})).await.is_ok());
    host.close().await;
}

#[tokio::test]
async fn without_requirements_everything_is_shown() {
    let deck = project(&[TOOLS]);
    let host = open(&deck);
    let names = listed(&agent_with(&host, Some(Exposure::Direct))).await;
    for tool in ["fake__echo", "fake__params", "fake__headers"] {
        assert!(names.contains(&tool.to_owned()), "{names:?}");
    }
    host.close().await;
}

#[tokio::test]
async fn a_sub_agent_has_the_tools_it_declares() {
    let deck = project(&[TOOLS, SKILLS, SUBAGENTS]);
    let host = open(&deck);
    assert!(
        host.has_view("talker", None)
            && host.has_view("idle", None)
            && !host.has_view("nobody", None)
    );
    // Also one that no skill requires, and none of the skill's that it does not declare.
    let direct = in_view(&host, "talker", Exposure::Direct);
    assert_eq!(listed(&direct).await, ["fake__echo", "fake__headers"]);
    let on_demand = in_view(&host, "talker", Exposure::OnDemand);
    let received = set_up(&on_demand, json!(["talking"])).await;
    assert_eq!(received["tools"], json!(["fake.echo()"]));
    for name in ["fake.params", "params", "fake.environment"] {
        assert_eq!(error_of(&on_demand, name).await, ErrorCode::ToolNotFound, "{name}");
    }
    let unknown = json!({"skills": ["reading"]});
    let error = call_listed(&on_demand, "setup_tools", unknown).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::RequestInvalid, "a skill of somebody else");
    assert!(listed(&in_view(&host, "idle", Exposure::Direct)).await.is_empty());
    host.close().await;
}

#[tokio::test]
async fn an_untrusted_file_names_nothing() {
    let deck = project(&[TOOLS, SKILLS, SUBAGENTS]);
    let host = deck.open();
    assert!(!host.has_view("talker", None));
    let session = agent_with(&host, Some(Exposure::OnDemand));
    let error = call_listed(&session, "setup_tools", json!({"skills": ["talking"]})).await;
    assert_eq!(error.unwrap_err().code, ErrorCode::RequestInvalid);
    host.close().await;
}
