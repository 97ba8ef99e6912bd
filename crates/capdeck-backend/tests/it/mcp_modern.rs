//! MCP servers of the modern era, and finding out which era a server speaks.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use capdeck_backend::{
    CallContext, CallError, CallerHandle, ClientProfile, ConnectOptions, Connection, EraHint,
    ErrorCode, ToolCall,
};
use capdeck_catalog::RawMembers;
use capdeck_test::{FakeEra, FakePlan, RunningFake, fake::FakeFault};
use serde_json::{Value, json, value::RawValue};

use crate::{
    mcp::{PLENTY, answer, connect_heard, object},
    people::Person,
    support::{Deck, call, context, definition},
};

fn plan(era: FakeEra) -> FakePlan {
    FakePlan { era, ..FakePlan::default() }
}

fn local(plan: &FakePlan) -> Value {
    let (program, arguments) = plan.command();
    json!({"kind": "mcp", "command": program, "args": arguments, "startupTimeoutMs": 20_000})
}

fn remote(fake: &RunningFake) -> Value {
    json!({"kind": "mcp", "url": fake.url, "startupTimeoutMs": 20_000})
}

/// What a fake server has received, by method.
async fn received(connection: &Arc<dyn Connection>) -> Vec<Value> {
    let result = call(connection, "received", json!({}), &context(PLENTY)).await.unwrap();
    answer(&result).as_array().unwrap().clone()
}

fn count(messages: &[Value], method: &str) -> usize {
    messages.iter().filter(|message| message["method"] == method).count()
}

async fn request(
    connection: &Arc<dyn Connection>,
    method: &str,
    params: Value,
    context: &CallContext,
) -> Result<Value, CallError> {
    let params = Some(object(&params.to_string()));
    let result = connection.request(method, params, context).await?;
    Ok(serde_json::from_str(result.get()).unwrap())
}

#[tokio::test]
async fn each_server_is_spoken_to_in_its_era() {
    for (era, revision) in [
        (FakeEra::Legacy, "2025-11-25"),
        (FakeEra::Modern, "2026-07-28"),
        (FakeEra::Both, "2026-07-28"),
    ] {
        let fake = plan(era).start_http();
        for backend in [local(&plan(era)), remote(&fake)] {
            let (listener, caller) = (Person::new(), Person::new());
            let deck = Deck::new(&[]);
            let connection = connect_heard(&deck, backend, &listener).await;
            let facts = connection.server().unwrap();
            assert_eq!(facts.protocol_version, revision);
            assert_eq!(facts.server_info["name"].get(), r#""fake""#);
            let found = connection.discover(&context(PLENTY)).await.unwrap();
            assert!(found.tools.iter().any(|tool| tool.name() == "echo"));
            assert_eq!((found.prompts.len(), found.resources.len()), (1, 1));
            let echoed = call(&connection, "echo", json!({"n": 1}), &context(PLENTY)).await;
            assert_eq!(answer(&echoed.unwrap()), json!({"n": 1}));
            let calls = caller.calls(PLENTY);
            call(&connection, "progress", json!({"steps": 2}), &calls).await.unwrap();
            assert_eq!(caller.rest().await.len(), 2);
            let asked = call(&connection, "ask_elicitation", json!({}), &calls).await.unwrap();
            assert_eq!(answer(&asked)["result"]["action"], "accept");
            assert_eq!(caller.next().await, "elicitation/create");
            call(&connection, "change_tools", json!({"name": "fresh"}), &calls).await.unwrap();
            assert_eq!(listener.next().await, "notifications/tools/list_changed");
            connection.close().await;
        }
    }
}

#[tokio::test]
async fn a_modern_server_may_ask_in_every_way() {
    let fake = plan(FakeEra::Modern).start_http();
    let profile = ClientProfile {
        info: None,
        capabilities: object(r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#),
    };
    let deck = Deck::new(&[]);
    for backend in [local(&plan(FakeEra::Modern)), remote(&fake)] {
        let options = ConnectOptions { client: profile.clone(), ..ConnectOptions::default() };
        let connection = deck.connector.connect(&definition(backend), options).await.unwrap();
        let caller = Person::new();
        let calls = caller.calls(PLENTY);
        for (tool, questions) in [
            ("ask_sampling", 1),
            ("ask_roots", 1),
            ("ask_url", 1),
            ("ask_all", 3),
            ("ask_twice", 2),
            ("ask_without_state", 1),
            ("ask_to_wait", 0),
        ] {
            call(&connection, tool, json!({}), &calls).await.unwrap();
            assert_eq!(caller.rest().await.len(), questions, "{tool}");
        }
        let prompt =
            request(&connection, "prompts/get", json!({"name": "interview"}), &calls).await;
        assert!(
            prompt.unwrap()["messages"][0]["content"]["text"].as_str().unwrap().contains("accept")
        );
        let read = json!({"uri": "fake://question"});
        request(&connection, "resources/read", read, &calls).await.unwrap();
        assert_eq!(caller.rest().await, ["elicitation/create", "elicitation/create"]);
        let error = call(&connection, "ask_forever", json!({}), &calls).await.unwrap_err();
        assert!(error.message.contains("after 16 rounds"), "{error}");
        let error = call(&connection, "ask_roots", json!({}), &context(PLENTY)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::UnsupportedCapability);
        assert!(error.message.contains("needs an answer to `roots/list`"), "{error}");
    }
}

/// A caller that takes questions as results.
struct Modern;

#[async_trait]
impl CallerHandle for Modern {
    fn wants_progress(&self) -> bool {
        false
    }

    fn progress(&self, _params: RawMembers) {}

    fn notify(&self, _method: &str, _params: Option<RawMembers>) {}

    async fn request(
        &self,
        method: &str,
        _params: Option<RawMembers>,
    ) -> Result<Box<RawValue>, CallError> {
        let message = format!("`{method}` was asked, not handed back");
        Err(CallError::new(ErrorCode::InternalError, message))
    }

    fn takes_input_required(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn questions_are_handed_back_to_callers_that_take_them() {
    let deck = Deck::new(&[]);
    let listener = Person::new();
    let connection = connect_heard(&deck, local(&plan(FakeEra::Modern)), &listener).await;
    let context = CallContext { caller: Arc::new(Modern), ..CallContext::detached(PLENTY) };
    let asked = call(&connection, "ask_elicitation", json!({}), &context).await.unwrap();
    assert_eq!(asked["resultType"], "input_required");
    assert_eq!(asked["inputRequests"]["name"]["method"], "elicitation/create");
    let responses = json!({"name": {"action": "decline"}});
    let rest = json!({"inputResponses": responses, "requestState": asked["requestState"]});
    let again = ToolCall {
        name: "ask_elicitation",
        arguments: None,
        meta: None,
        rest: object(&rest.to_string()),
        unformatted: false,
    };
    let done = connection.call_tool(again, &context).await.unwrap();
    let done: Value = serde_json::from_str(done.get()).unwrap();
    assert_eq!(answer(&done)["result"]["action"], "decline");
}

#[tokio::test]
async fn every_request_says_whom_it_speaks_for() {
    let deck = Deck::new(&[]);
    let connection = deck.connect(local(&plan(FakeEra::Modern))).await.unwrap();
    let seen = async |client: Option<&Arc<ClientProfile>>, level: Option<&str>| {
        let context = CallContext {
            client: client.cloned(),
            log_level: level.map(str::to_owned),
            ..CallContext::detached(PLENTY)
        };
        let params = answer(&call(&connection, "params", json!({}), &context).await.unwrap());
        let meta = |key: &str| params["_meta"][format!("io.modelcontextprotocol/{key}")].clone();
        (meta("clientInfo")["name"].clone(), meta("clientCapabilities"), meta("logLevel"))
    };
    assert_eq!(seen(None, None).await, (json!("capdeck"), json!({}), Value::Null));
    let ada = Arc::new(ClientProfile {
        info: Some(object(r#"{"name":"ada","version":"1"}"#)),
        capabilities: object(r#"{"sampling":{"x-odd":[1]}}"#),
    });
    let hers = json!({"sampling": {"x-odd": [1]}});
    assert_eq!(seen(Some(&ada), Some("error")).await, (json!("ada"), hers.clone(), json!("error")));
    let context = CallContext { client: Some(Arc::clone(&ada)), ..CallContext::detached(PLENTY) };
    let wrong = request(&connection, "logging/setLevel", json!({"level": "loud"}), &context).await;
    assert_eq!(wrong.unwrap_err().code, ErrorCode::RequestInvalid);
    request(&connection, "logging/setLevel", json!({"level": "debug"}), &context).await.unwrap();
    assert_eq!(seen(Some(&ada), None).await, (json!("ada"), hers.clone(), json!("debug")));
    assert_eq!(seen(Some(&ada), Some("alert")).await, (json!("ada"), hers, json!("alert")));
    assert_eq!(seen(None, None).await.2, Value::Null);
    let error = call(&connection, "ask_elicitation", json!({}), &context).await.unwrap_err();
    let failure = error.rpc.unwrap();
    assert_eq!(failure.code, -32021);
    assert!(failure.data.unwrap().get().contains(r#""requiredCapabilities":{"elicitation""#));
}

#[tokio::test]
async fn log_messages_reach_the_call_that_wants_them() {
    for era in [FakeEra::Legacy, FakeEra::Modern] {
        let deck = Deck::new(&[]);
        let caller = Person::new();
        let connection = deck.connect(local(&plan(era))).await.unwrap();
        let wants =
            |level: &str| CallContext { log_level: Some(level.to_owned()), ..caller.calls(PLENTY) };
        for _ in 0..2 {
            call(&connection, "log", json!({}), &wants("info")).await.unwrap();
            assert_eq!(caller.next().await, "notifications/message", "{era:?}");
        }
        let messages = received(&connection).await;
        let reported = count(&messages, "logging/setLevel");
        assert_eq!(reported, usize::from(era == FakeEra::Legacy), "announced once");
        if era == FakeEra::Modern {
            call(&connection, "log", json!({}), &caller.calls(PLENTY)).await.unwrap();
            assert!(caller.rest().await.is_empty());
        }
    }
}

#[tokio::test]
async fn a_resource_is_watched_until_it_no_longer_is() {
    let fake = plan(FakeEra::Modern).start_http();
    for (backend, era) in [
        (local(&plan(FakeEra::Legacy)), FakeEra::Legacy),
        (local(&plan(FakeEra::Modern)), FakeEra::Modern),
        (remote(&fake), FakeEra::Modern),
    ] {
        let (deck, listener) = (Deck::new(&[]), Person::new());
        let connection = connect_heard(&deck, backend, &listener).await;
        let note = json!({"uri": "fake://note"});
        let plenty = context(PLENTY);
        let touch = async || {
            call(&connection, "touch_resource", note.clone(), &plenty).await.unwrap();
        };
        for _ in 0..2 {
            request(&connection, "resources/subscribe", note.clone(), &plenty).await.unwrap();
        }
        touch().await;
        assert_eq!(listener.next().await, "notifications/resources/updated");
        request(&connection, "resources/unsubscribe", note.clone(), &plenty).await.unwrap();
        let messages = received(&connection).await;
        if era == FakeEra::Legacy {
            assert_eq!(count(&messages, "resources/subscribe"), 1);
            assert_eq!(count(&messages, "resources/unsubscribe"), 1);
        } else {
            touch().await;
            call(&connection, "change_tools", json!({"name": "mark"}), &plenty).await.unwrap();
            assert_eq!(listener.next().await, "notifications/tools/list_changed");
            assert!(!messages.iter().any(|message| message["method"] == "resources/subscribe"));
        }
        connection.close().await;
    }
}

#[tokio::test]
async fn a_program_that_does_not_take_the_probe_is_spoken_to_as_of_old() {
    for discover in [
        FakeFault::Hang,
        FakeFault::Crash,
        FakeFault::WrongId,
        FakeFault::BadJson,
        FakeFault::Error,
    ] {
        let backend = local(&FakePlan { discover, ..FakePlan::default() });
        let connection = Deck::new(&[]).connect(backend).await.unwrap();
        assert_eq!(connection.server().unwrap().protocol_version, "2025-11-25", "{discover:?}");
    }
}

#[tokio::test]
async fn the_definition_decides_when_it_names_an_era() {
    let deck = Deck::new(&[]);
    let fixed = |era: FakeEra, choice: &str| {
        let mut backend = local(&plan(era));
        backend["protocolEra"] = json!(choice);
        backend
    };
    let both = deck.connect(fixed(FakeEra::Both, "legacy")).await.unwrap();
    assert_eq!(both.server().unwrap().protocol_version, "2025-11-25");
    assert_eq!(count(&received(&both).await, "server/discover"), 0);
    let error = deck.connect(fixed(FakeEra::Modern, "legacy")).await.unwrap_err();
    assert_eq!(error.rpc.unwrap().code, -32022);
    let error = deck.connect(fixed(FakeEra::Legacy, "modern")).await.unwrap_err();
    assert_eq!(error.rpc.unwrap().code, -32601);
}

#[tokio::test]
async fn a_server_whose_era_is_known_is_not_asked_and_a_wrong_guess_is_mended() {
    let fake = plan(FakeEra::Modern).start_http();
    for (backend, legacy_first, revision, probes, refuses_other_era) in [
        (local(&plan(FakeEra::Legacy)), true, "2025-11-25", 0, false),
        (local(&plan(FakeEra::Modern)), true, "2026-07-28", 1, true),
        (remote(&fake), true, "2026-07-28", 1, true),
        (local(&plan(FakeEra::Legacy)), false, "2025-11-25", 1, true),
        (local(&plan(FakeEra::Both)), true, "2025-11-25", 0, false),
        (local(&plan(FakeEra::Both)), false, "2026-07-28", 1, false),
    ] {
        let options = ConnectOptions {
            era: EraHint { legacy_first, is_only_era: false },
            ..ConnectOptions::default()
        };
        let deck = Deck::new(&[]);
        let connection = deck.connector.connect(&definition(backend), options).await.unwrap();
        let facts = connection.server().unwrap();
        assert_eq!(facts.protocol_version, revision);
        assert_eq!(facts.refuses_other_era, refuses_other_era, "{legacy_first} {revision}");
        assert_eq!(count(&received(&connection).await, "server/discover"), probes, "{revision}");
    }
}

#[tokio::test]
async fn a_modern_call_that_is_given_up_is_cancelled_where_it_runs() {
    let deck = Deck::new(&[]);
    let connection = deck.connect(local(&plan(FakeEra::Modern))).await.unwrap();
    let short = context(Duration::from_millis(100));
    let error = call(&connection, "hang", json!({}), &short).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ToolCallTimeout);
    assert_eq!(count(&received(&connection).await, "notifications/cancelled"), 1);
    let fake = plan(FakeEra::Modern).start_http();
    let connection = deck.connect(remote(&fake)).await.unwrap();
    let error = call(&connection, "hang", json!({}), &short).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ToolCallTimeout);
    let messages = received(&connection).await;
    assert_eq!(count(&messages, "notifications/cancelled"), 0, "closing says it");
    assert_eq!(count(&messages, "notifications/initialized"), 0);
}
