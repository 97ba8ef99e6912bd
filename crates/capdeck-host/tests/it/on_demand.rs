//! The on-demand view: set up what the task needs, then call it; wrong arguments teach the right ones.

use std::sync::Arc;

use capdeck_definition::Exposure;
use capdeck_host::{
    ClientProfile, ErrorCode, Host, NoCaller, Principal, Session, SessionContinuity, SessionScope,
    SessionSettings, TaskForm, ViewPolicy,
};
use capdeck_test::{FakePlan, fake::FakeFault};
use serde_json::{Value, json};

use crate::deck::{Deck, agent_with, call, call_listed, listed, saying, text};

/// A tool whose schema says what it takes.
fn forecast() -> Value {
    json!({"name": "forecast", "description": "Tells the weather of the next days",
        "inputSchema": {"type": "object", "required": ["city"], "properties": {
            "city": {"type": "string"}, "days": {"type": "integer", "maximum": 7}}}})
}

fn even(name: &str) -> Value {
    json!({"name": name, "description": "Takes even numbers",
        "inputSchema": {"type": "object", "properties": {"number": {"type": "integer"}}}})
}

fn plan() -> FakePlan {
    let extra_tools = vec![forecast(), even("even_result"), even("even_params")];
    FakePlan { extra_tools, ..FakePlan::default() }
}

fn deck() -> Deck {
    Deck::of(&plan()).file("config/sayer.md", &saying("hi"))
}

fn on_demand(host: &Host) -> Arc<Session> {
    agent_with(host, Some(Exposure::OnDemand))
}

/// A client without sessions.
fn modern(host: &Host) -> Arc<Session> {
    host.session(SessionSettings {
        scope: SessionScope::Deck(ViewPolicy::offering(Some(Exposure::OnDemand))),
        client_name: "test-agent".to_owned(),
        principal: Principal::local(),
        client: ClientProfile::default(),
        listener: Arc::new(NoCaller),
        tasks: TaskForm::Awaited,
        continuity: SessionContinuity::Requests,
        access: None,
        shares_files: true,
    })
}

async fn set_up(session: &Session, skills: Value) -> Value {
    let asked = json!({ "skills": skills });
    let answer = call_listed(session, "setup_tools", asked).await.unwrap().unwrap();
    let received: Value = serde_json::from_str(text(&answer)).unwrap();
    assert_eq!(received, answer["structuredContent"], "text and structure say the same");
    received
}

async fn call_tool(session: &Session, name: &str, data: Value) -> Value {
    let asked = json!({ "name": name, "data": data });
    call_listed(session, "call_tool", asked).await.unwrap().unwrap()
}

/// What a refused call says to do.
async fn refused(session: &Session, name: &str) -> (ErrorCode, String, String) {
    let asked = json!({ "name": name, "data": {} });
    let error = call_listed(session, "call_tool", asked).await.unwrap_err();
    (error.code, error.message, error.hint.unwrap_or_default())
}

#[tokio::test]
async fn exactly_two_tools_are_listed_and_they_name_what_there_is() {
    let deck = deck();
    let host = deck.open();
    let session = on_demand(&host);
    assert_eq!(listed(&session).await, ["setup_tools", "call_tool"]);
    let view = session.view();
    assert!(view.tokens() <= 200, "{} tokens", view.tokens());
    assert!(view.tools().get().contains("Here: @fake, @sayer."), "{}", view.tools());
    let received = view.instructions().unwrap();
    assert_eq!(received, "Call `setup_tools` with what the task needs, then `call_tool`.");
    host.close().await;
}

#[tokio::test]
async fn setting_up_answers_with_signatures_and_allows_the_calls() {
    let deck = deck();
    let host = deck.open();
    let session = on_demand(&host);
    let (code, message, hint) = refused(&session, "fake.forecast").await;
    assert_eq!(code, ErrorCode::Denied);
    assert_eq!(message, "`fake.forecast` is not activated for this client");
    assert_eq!(hint, "first call `setup_tools` with {\"skills\":[\"@fake\"]}");

    let received = set_up(&session, json!(["fake"])).await;
    let keys: Vec<&String> = received.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["success", "message", "skills", "activeSkills", "tools", "hint"]);
    assert_eq!(received["skills"], json!(["fake"]));
    assert_eq!(received["activeSkills"], json!(["@fake"]));
    let tools = received["tools"].as_array().unwrap();
    let has = |start: &str| tools.iter().any(|tool| tool.as_str().unwrap().starts_with(start));
    assert!(has("fake.forecast(city, days?"), "{tools:?}");
    assert!(tools.iter().all(|tool| tool.as_str().unwrap().starts_with("fake.")), "{tools:?}");

    for name in ["fake.forecast", "fake_forecast", "fake__forecast", "@fake.forecast", "forecast"] {
        let answer = call_tool(&session, name, json!({"city": "Oslo"})).await;
        assert_eq!(text(&answer), r#"{"city":"Oslo"}"#, "{name}");
    }
    let quoted = call_tool(&session, "forecast", json!("{\"city\": \"Oslo\"}")).await;
    assert_eq!(text(&quoted), r#"{"city":"Oslo"}"#);

    // The rest waits until it is set up, too; what was set up stays.
    assert!(refused(&session, "sayer.say").await.1.contains("is not activated"));
    let received = set_up(&session, json!("@sayer")).await;
    assert_eq!(received["activeSkills"], json!(["@fake", "@sayer"]));
    assert!(received["tools"].as_array().unwrap().contains(&json!("sayer.say()")), "{received}");
    let answer = call_tool(&session, "say", json!({})).await;
    assert_eq!(answer["structuredContent"]["stdout"], "hi");
    host.close().await;
}

/// Signatures of many tools leave out what `describe` shows, and `describe` is not listed here.
#[tokio::test]
async fn a_tool_is_described_through_call_tool() {
    let deck = deck();
    let host = deck.open();
    let session = on_demand(&host);
    let described = call_tool(&session, "describe", json!({"name": "fake.forecast"})).await;
    assert_eq!(described["structuredContent"]["tool"]["inputSchema"], forecast()["inputSchema"]);
    assert!(text(&described).contains("Tells the weather"), "{described}");
    let asked = json!({ "name": "describe", "data": {"name": "fake.nothing"} });
    let error = call_listed(&session, "call_tool", asked).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ToolNotFound);
    host.close().await;
}

/// A deck's own tool of that name is called.
#[tokio::test]
async fn a_tool_called_describe_is_that_tool() {
    let own = json!({"name": "describe", "inputSchema": {"type": "object"}});
    let deck = Deck::of(&FakePlan { extra_tools: vec![own], ..FakePlan::default() });
    let host = deck.open();
    let session = on_demand(&host);
    set_up(&session, json!(["@fake"])).await;
    let answer = call_tool(&session, "describe", json!({"name": "x"})).await;
    assert_eq!(text(&answer), r#"{"name":"x"}"#);
    host.close().await;
}

#[tokio::test]
async fn a_result_passes_as_it_is() {
    let deck = deck();
    let host = deck.open();
    let (session, operator) = (on_demand(&host), host.operator());
    set_up(&session, json!(["@fake"])).await;
    for tool in ["odd_content", "structured", "tool_error"] {
        let through = call_tool(&session, &format!("fake.{tool}"), json!({})).await;
        assert_eq!(through, call(&operator, "fake", tool, json!({})).await.unwrap(), "{tool}");
    }
    host.close().await;
}

#[tokio::test]
async fn every_failure_of_validation_answers_with_the_schema() {
    let deck = Deck::new();
    let record = deck.record("calls");
    let plan = FakePlan { record: record.path(), ..plan() };
    let deck = deck.server("fake", &plan, json!({}));
    let host = deck.open();
    let session = on_demand(&host);
    set_up(&session, json!(["@fake"])).await;
    for (tool, data, says, reaches_the_server) in [
        ("forecast", json!({"days": 3}), "city", false),
        ("forecast", json!({"city": "Oslo", "days": 9}), "days", false),
        ("forecast", json!("no JSON"), "must be a JSON object", false),
        ("forecast", json!([1]), "must be a JSON object", false),
        ("even_result", json!({"number": 3}), "must be even", true),
        ("even_params", json!({"number": 3}), "is odd", true),
    ] {
        let before = record.calls();
        let answer = call_tool(&session, &format!("fake.{tool}"), data.clone()).await;
        assert_eq!(answer["isError"], true, "{tool} {data}");
        let received: Value = serde_json::from_str(text(&answer)).unwrap();
        let keys: Vec<&String> = received.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["error", "tool", "schema", "hint"], "{received}");
        assert!(received["error"].as_str().unwrap().contains(says), "{received}");
        assert_eq!(received["tool"], format!("fake.{tool}"));
        let schema = if tool == "forecast" { forecast() } else { even(tool) };
        assert_eq!(received["schema"], schema["inputSchema"]);
        assert_eq!(record.calls() > before, reaches_the_server, "{tool} {data}");
    }
    // With the schema at hand the second attempt is right.
    assert_eq!(
        text(&call_tool(&session, "forecast", json!({"city": "Oslo"})).await),
        r#"{"city":"Oslo"}"#
    );
    assert_eq!(
        text(&call_tool(&session, "even_result", json!({"number": 2})).await),
        r#"{"number":2}"#
    );
    host.close().await;
}

#[tokio::test]
async fn what_one_client_set_up_is_its_own() {
    let deck = deck();
    let host = deck.open();
    let (first, second) = (on_demand(&host), on_demand(&host));
    set_up(&first, json!(["@fake", "@sayer"])).await;
    assert!(refused(&second, "fake.echo").await.1.contains("is not activated"));
    assert_eq!(set_up(&second, json!(["@sayer"])).await["activeSkills"], json!(["@sayer"]));
    host.close().await;
}

#[tokio::test]
async fn requests_that_stand_alone_need_no_setting_up_and_leave_nothing_behind() {
    let deck = deck();
    let host = deck.open();
    let session = modern(&host);
    assert_eq!(text(&call_tool(&session, "echo", json!({"a": 1})).await), r#"{"a":1}"#);
    let received = set_up(&session, json!(["@sayer"])).await;
    assert_eq!(received["activeSkills"], json!(["@sayer"]));
    let received = set_up(&session, json!(["@fake"])).await;
    assert_eq!(received["activeSkills"], json!(["@fake"]), "nothing is remembered");
    host.close().await;
}

#[tokio::test]
async fn wrong_names_are_answered_with_the_right_ones() {
    let deck = deck();
    let host = deck.open();
    let session = on_demand(&host);
    for (asked, says) in [
        (json!({"skills": ["@fakee"]}), "did you mean `@fake`? there are: @fake, @sayer"),
        (json!({"skills": ["zzz"]}), "there are: @fake, @sayer"),
        (json!({}), "there are: @fake, @sayer"),
        (json!({"skills": [1]}), "there are: @fake, @sayer"),
        (json!({"skills": ["@sayer"], "more": 1}), "there are: @fake, @sayer"),
    ] {
        let error = call_listed(&session, "setup_tools", asked.clone()).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::RequestInvalid, "{asked}");
        assert_eq!(error.hint.as_deref(), Some(says), "{asked}");
    }
    // One wrong name, and nothing of it counts.
    call_listed(&session, "setup_tools", json!({"skills": ["@sayer", "zzz"]})).await.unwrap_err();
    assert!(refused(&session, "sayer.say").await.1.contains("is not activated"));
    let received = set_up(&session, json!([])).await;
    assert_eq!(
        (&received["tools"], &received["hint"]),
        (&json!([]), &json!("there are: @fake, @sayer"))
    );

    set_up(&session, json!(["@fake"])).await;
    for (name, near) in [
        ("fake.forcast", "did you mean `fake.forecast`?"),
        ("forcast", "did you mean `fake.forecast`?"),
    ] {
        let (code, _, hint) = refused(&session, name).await;
        assert_eq!((code, hint.as_str()), (ErrorCode::ToolNotFound, near), "{name}");
    }
    let (_, message, hint) = refused(&session, "qqqq").await;
    assert_eq!(message, "there is no tool `qqqq`");
    assert_eq!(hint, "use a name that `setup_tools` returned");
    host.close().await;
}

#[tokio::test]
async fn a_name_of_several_tools_is_not_guessed() {
    let deck = Deck::new().server("one", &plan(), json!({})).server("two", &plan(), json!({}));
    let host = deck.open();
    let session = on_demand(&host);
    set_up(&session, json!(["@one", "@two"])).await;
    let (code, message, hint) = refused(&session, "forecast").await;
    assert_eq!(code, ErrorCode::RequestInvalid);
    assert_eq!(message, "`forecast` is the name of several tools");
    assert_eq!(hint, "use one of: one.forecast, two.forecast");
    host.close().await;
}

#[tokio::test]
async fn the_real_name_is_not_a_way_around() {
    let deck = deck();
    let host = deck.open();
    let session = on_demand(&host);
    set_up(&session, json!(["@fake"])).await;
    for name in ["fake__echo", "fake.echo"] {
        let error = call_listed(&session, name, json!({})).await.unwrap_err();
        assert_eq!(error.message, format!("`{name}` is not listed here"));
        let hint = error.hint.unwrap();
        assert_eq!(hint, "use `setup_tools` with `@fake`, then `call_tool` with name `fake.echo`");
    }
    for name in ["search", "describe", "code_mode"] {
        assert!(call_listed(&session, name, json!({})).await.unwrap().is_none(), "{name}");
    }
    host.close().await;
}

#[tokio::test]
async fn a_policy_holds_here_as_everywhere() {
    let deny = json!([{"deny": {"tool": "forecast"}}]);
    let deck = deck().config("policy", deny);
    let host = deck.open();
    let session = on_demand(&host);
    let received = set_up(&session, json!(["@fake"])).await;
    assert!(!received.to_string().contains("forecast"), "{received}");
    for name in ["fake.forecast", "forecast"] {
        assert_eq!(refused(&session, name).await.0, ErrorCode::ToolNotFound, "{name}");
    }
    host.close().await;
}

#[tokio::test]
async fn a_server_that_cannot_list_is_reported_and_the_rest_is_set_up() {
    let broken = FakePlan { list: FakeFault::Error, ..FakePlan::default() };
    let deck = deck().server("broken", &broken, json!({}));
    let host = deck.open();
    let session = on_demand(&host);
    let received = set_up(&session, json!(["@broken", "@sayer"])).await;
    assert_eq!(received["tools"], json!(["sayer.say()"]));
    assert_eq!(received["unavailable"][0]["capability"], "broken");
    host.close().await;
}

#[tokio::test]
async fn it_stands_beside_other_ways() {
    let deck = Deck::new().server("fake", &plan(), json!({"exposure": "on_demand"})).server(
        "found",
        &plan(),
        json!({}),
    );
    let host = deck.open();
    let session = agent_with(&host, None);
    assert_eq!(
        listed(&session).await,
        ["search", "describe", "call_tool", "call_read_only", "setup_tools"]
    );
    assert!(refused(&session, "fake.echo").await.1.contains("is not activated"));
    assert_eq!(text(&call_tool(&session, "found.echo", json!({"a": 1})).await), r#"{"a":1}"#);
    let found = call_listed(&session, "search", json!({"query": "echo"})).await.unwrap().unwrap();
    assert!(!found.to_string().contains("fake__echo"), "{found}");
    host.close().await;
}
