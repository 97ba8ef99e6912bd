//! Views: a client of one has its part of the deck, on every path, and shares the servers with everybody else.

use std::sync::Arc;

use capdeck_definition::Exposure;
use capdeck_host::{
    CallConsent, ClientProfile, CodeRequest, ErrorCode, Host, NoCaller, Principal, Session,
    SessionChoice, SessionContinuity, SessionScope, SessionSettings, TaskForm, TypeCheck,
    ViewPolicy, artifacts, code_mode, forward, listing, prompts, resources, subscriptions,
};
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::deck::{
    Deck, agent_with, call, call_listed, caplet, context, listed, raw, saying, text,
};

/// A server of which the view has two tools, one of which it has all, and one of which it has nothing.
fn deck() -> Deck {
    deck_of(Deck::new(), &FakePlan::default())
}

fn deck_of(deck: Deck, part: &FakePlan) -> Deck {
    let whole = FakePlan { name: "whole".to_owned(), ..FakePlan::default() };
    deck.server("part", part, json!({}))
        .server("whole", &whole, json!({}))
        .file("config/other.md", &saying("secret"))
        .config(
            "views",
            json!({"reviewer": {"description": "Reads only", "capabilities": ["whole"],
                "tools": ["part.echo", "part.big_*"]}}),
        )
}

fn client(
    host: &Host,
    name: &str,
    exposure: Exposure,
    continuity: SessionContinuity,
) -> Arc<Session> {
    let policy = ViewPolicy { exposure: Some(exposure), view: Some(name.into()) };
    host.session(SessionSettings {
        scope: SessionScope::Deck(policy),
        client_name: "sub-agent".to_owned(),
        principal: Principal::local(),
        client: ClientProfile::default(),
        listener: Arc::new(NoCaller),
        tasks: TaskForm::Awaited,
        continuity,
        access: None,
        shares_files: true,
    })
}

fn reviewer(host: &Host, exposure: Exposure) -> Arc<Session> {
    client(host, "reviewer", exposure, SessionContinuity::Connection)
}

/// Everything else in the deck, in the words that a leak would use.
fn assert_no_leak(what: &str, said: &str) {
    for name in ["other", "environment", "secret", "chatter"] {
        let shown = said.replace("whole.", "whole__").replace(&format!("whole__{name}"), "");
        assert!(!shown.contains(&format!("part__{name}")), "{what} tells of part__{name}: {said}");
        assert!(!shown.contains(&format!("part.{name}")), "{what} tells of part.{name}: {said}");
        if name == "other" || name == "secret" {
            assert!(!shown.contains(name), "{what} tells of {name}: {said}");
        }
    }
}

async fn names_of(session: &Session, capability: &str) -> Vec<String> {
    let mine = listed(session).await.into_iter();
    let names = mine.filter_map(|name| name.strip_prefix(capability).map(str::to_owned));
    names.collect()
}

#[tokio::test]
async fn a_list_has_the_view_and_nothing_else() {
    let deck = deck();
    let host = deck.open();
    let session = reviewer(&host, Exposure::Direct);
    assert_eq!(names_of(&session, "part__").await, ["echo", "big_result"]);
    assert!(names_of(&session, "whole__").await.len() > 20);
    assert!(names_of(&session, "other__").await.is_empty());
    assert!(agent_with(&host, Some(Exposure::Direct)).view().direct().len() == 3);
    let answer = call_listed(&session, "part__echo", json!({"a": 1})).await.unwrap().unwrap();
    assert_eq!(text(&answer), r#"{"a":1}"#);
    // A denied tool and one that does not exist cannot be distinguished.
    for name in ["part__environment", "part__no_such_tool", "other__say", "nobody__say"] {
        assert!(call_listed(&session, name, json!({})).await.unwrap().is_none(), "{name}");
    }
    let instructions = session.view().instructions().unwrap();
    assert_no_leak("instructions", &instructions);
    host.close().await;
}

#[tokio::test]
async fn search_describe_and_call_tool_stay_inside() {
    let deck = deck();
    let host = deck.open();
    let session = reviewer(&host, Exposure::Search);
    for query in ["environment", "says one word", "echo", "part", "chatter"] {
        let found = call_listed(&session, "search", json!({"query": query, "limit": 50})).await;
        assert_no_leak(query, &found.unwrap().unwrap().to_string());
    }
    for name in ["part__environment", "part.environment", "part_environment", "other.say", "say"] {
        for tool in ["describe", "call_tool"] {
            let error = call_listed(&session, tool, json!({"name": name})).await.unwrap_err();
            let is_unknown =
                matches!(error.code, ErrorCode::ToolNotFound | ErrorCode::ServerNotFound);
            assert!(is_unknown, "{tool} {name}: {error}");
            let hint = error.hint.unwrap_or_default();
            assert!(!hint.contains("part.environment") && !hint.contains("other"), "{hint}");
        }
    }
    let within = json!({"query": "say", "capability": "other"});
    let error = call_listed(&session, "search", within).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ServerNotFound);
    host.close().await;
}

#[tokio::test]
async fn setting_up_and_calling_on_demand_stay_inside() {
    let deck = deck();
    let host = deck.open();
    for continuity in [SessionContinuity::Connection, SessionContinuity::Requests] {
        let session = client(&host, "reviewer", Exposure::OnDemand, continuity);
        let asked = json!({"skills": ["@part", "@whole"]});
        let received = call_listed(&session, "setup_tools", asked).await.unwrap().unwrap();
        assert_no_leak("setup_tools", &received["structuredContent"].to_string());
        let error = call_listed(&session, "setup_tools", json!({"skills": ["@other"]})).await;
        let hint = error.unwrap_err().hint.unwrap();
        assert_eq!(hint, "there are: @part, @whole");
        let run = |name| call_listed(&session, "call_tool", json!({"name": name, "data": {}}));
        assert!(run("part.echo").await.unwrap().is_some());
        assert_eq!(run("part.environment").await.unwrap_err().code, ErrorCode::ToolNotFound);
        assert_eq!(run("other.say").await.unwrap_err().code, ErrorCode::ToolNotFound);
        assert_eq!(run("say").await.unwrap_err().code, ErrorCode::ToolNotFound);
    }
    host.close().await;
}

#[tokio::test]
async fn a_wrapper_has_the_same_part() {
    let deck = deck();
    let host = deck.open();
    let session = reviewer(&host, Exposure::Progressive);
    assert_eq!(listed(&session).await, ["part", "whole"]);
    let ask = |asked: Value| call_listed(&session, "part", asked);
    let tools = ask(json!({"operation": "tools"})).await.unwrap().unwrap();
    assert_no_leak("tools", &tools.to_string());
    for asked in [
        json!({"operation": "resources"}),
        json!({"operation": "resource_templates"}),
        json!({"operation": "prompts"}),
        json!({"operation": "search_resources", "query": "note"}),
    ] {
        let answer = ask(asked.clone()).await.unwrap().unwrap();
        let items = &answer["structuredContent"]["result"]["items"];
        assert_eq!(items, &json!([]), "{asked}: {answer}");
    }
    for asked in [
        json!({"operation": "call_tool", "name": "environment", "args": {}}),
        json!({"operation": "describe_tool", "name": "environment"}),
        json!({"operation": "read_resource", "uri": "fake://note"}),
        json!({"operation": "get_prompt", "name": "greet", "args": {"who": "you"}}),
        json!({"operation": "complete", "ref": {"type": "prompt", "name": "greet"},
            "argument": {"name": "who", "value": "a"}}),
    ] {
        match ask(asked.clone()).await {
            Err(error) => assert_eq!(error.kind(), capdeck_host::ErrorKind::NotFound, "{asked}"),
            Ok(answer) => panic!("{asked} was answered: {answer:?}"),
        }
    }
    host.close().await;
}

#[tokio::test]
async fn resources_prompts_completions_and_subscriptions_are_of_whole_capabilities_only() {
    let deck = deck();
    let host = deck.open();
    let session = reviewer(&host, Exposure::Direct);
    let view = listing::discovered_offers(&session.request(&context())).await;
    for shown in [view.resources(), view.resource_templates(), view.prompts()] {
        let shown = shown.get();
        assert!(shown.contains("whole") && !shown.contains("\"capletId\":\"part\""), "{shown}");
    }
    let context = context();
    let of = |id: &str| format!("caplets://{id}/resources/fake%3A%2F%2Fnote");
    let read = resources::read(&session.request(&context), &of("whole"), raw_object(&json!({})))
        .await
        .unwrap();
    assert!(read.get().contains("a note"), "{read}");
    subscriptions::subscribe_listed(&session.request(&context), &of("whole")).await.unwrap();
    for id in ["part", "other", "nobody"] {
        let uri = of(id);
        let error = resources::read(&session.request(&context), &uri, raw_object(&json!({}))).await;
        assert_eq!(error.unwrap_err().code, ErrorCode::ResourceNotFound, "{id}");
        let error =
            subscriptions::subscribe_listed(&session.request(&context), &uri).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ResourceNotFound, "{id}");
        let name = format!("{id}__greet");
        let asked = raw_object(&json!({"name": name, "arguments": {"who": "you"}}));
        let error = prompts::get(&session.request(&context), &name, asked).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::PromptNotFound, "{id}");
        let asked = raw_object(&json!({"ref": {"type": "ref/prompt", "name": name},
            "argument": {"name": "who", "value": "a"}}));
        let error = prompts::complete(&session.request(&context), asked).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::RequestInvalid, "{id}");
        // Nothing passes by asking the server itself.
        let asked = Some(raw_object(&json!({"uri": "fake://note"})));
        let error = forward::forward(&session.request(&context), id, "resources/read", asked)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), capdeck_host::ErrorKind::NotFound, "{id}");
        assert!(
            subscriptions::subscribe(&session.request(&context), id, "fake://note").await.is_err(),
            "{id}"
        );
    }
    host.close().await;
}

#[tokio::test]
async fn code_has_the_same_part() {
    let deck = deck();
    let host = deck.open();
    let session = reviewer(&host, Exposure::CodeMode);
    let run = |code: &str| {
        let request = CodeRequest {
            code: code.to_owned(),
            timeout: None,
            session: SessionChoice::Once,
            check: TypeCheck::default(),
            consent: CallConsent::NotAsked,
        };
        let session = session.clone();
        async move { code_mode::run(&session.request(&context()), request).await.unwrap() }
    };
    let received =
        |report: &capdeck_host::RunReport| serde_json::to_value(&report.envelope).unwrap();
    let works = received(&run("return await caplets.part.echo({ a: 1 })").await);
    assert_eq!(works["ok"], true, "{works}");
    for code in [
        "return Object.keys(caplets)",
        "return (await caplets.search('environment says one word', { limit: 50 })).items",
        "return await caplets.types('part')",
        "return await caplets.part.tools()",
        "return await caplets.part.resources()",
    ] {
        assert_no_leak(code, &received(&run(code).await)["value"].to_string());
    }
    for code in [
        "return await caplets.part.callTool('environment', {})",
        "return await caplets.part.environment()",
        "return await caplets.part.describeTool('environment')",
        "return await caplets.part.readResource('fake://note')",
        "return await caplets.other.say()",
        "return await caplets['other'].callTool('say', {})",
        "return await caplets.types('other')",
    ] {
        let report = received(&run(code).await);
        let is_refused = report["ok"] == false || report["value"]["ok"] == false;
        assert!(is_refused, "{code}: {report}");
    }
    host.close().await;
}

#[tokio::test]
async fn artifacts_of_others_do_not_exist() {
    let limit = json!({"resultBytes": 2048});
    let deck = deck().config("options", limit);
    let host = deck.open();
    let operator = agent_with(&host, Some(Exposure::Direct));
    let uri = |answer: &Value| {
        let received = answer.to_string();
        let (_, tail) =
            received.split_once("capdeck://artifacts/").unwrap_or_else(|| panic!("{received}"));
        let path = tail.split(|c| "\"?\\` ".contains(c)).next().unwrap();
        format!("capdeck://artifacts/{path}")
    };
    let big = json!({"bytes": 10_000});
    let theirs = uri(&call(&operator, "part", "big_result", big.clone()).await.unwrap());
    let session = reviewer(&host, Exposure::Direct);
    assert!(
        artifacts::read(&session.snapshot(), &theirs).await.is_err(),
        "another client's, of the same server"
    );
    let mine = uri(&call(&session, "part", "big_result", big.clone()).await.unwrap());
    assert!(artifacts::read(&session.snapshot(), &mine).await.is_ok());
    let whole = uri(&call(&operator, "whole", "big_result", big).await.unwrap());
    assert!(
        artifacts::read(&session.snapshot(), &whole).await.is_ok(),
        "of a server that it has all of"
    );
    // A tool is not asked to read for a client what the client may not read.
    let error = call(&session, "part", "echo", json!({"file": theirs})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ResourceNotFound);
    assert!(call(&session, "part", "echo", json!({"file": mine})).await.is_ok());
    host.close().await;
}

#[tokio::test]
async fn servers_are_shared_with_everybody_else() {
    let deck = Deck::new();
    let record = deck.record("starts");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck_of(deck, &plan);
    let host = deck.open();
    let main = agent_with(&host, Some(Exposure::Direct));
    call(&main, "part", "echo", json!({})).await.unwrap();
    for _ in 0..3 {
        let session = reviewer(&host, Exposure::Direct);
        call(&session, "part", "echo", json!({})).await.unwrap();
        session.close().await;
    }
    call(&main, "part", "echo", json!({})).await.unwrap();
    assert_eq!(record.starts().len(), 1, "one process for the deck and its views");
    host.close().await;
}

#[tokio::test]
async fn a_view_that_does_not_exist_has_nothing() {
    let deck = deck();
    let host = deck.open();
    assert!(
        host.has_view("reviewer", None)
            && !host.has_view("Reviewer", None)
            && !host.has_view("", None)
    );
    for exposure in [Exposure::Direct, Exposure::Search, Exposure::OnDemand] {
        let session = client(&host, "nobody", exposure, SessionContinuity::Connection);
        assert!(listed(&session).await.is_empty());
        let error = call(&session, "part", "echo", json!({})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ServerNotFound);
    }
    host.close().await;
}

#[tokio::test]
async fn a_view_follows_the_files() {
    let deck = deck();
    let host = deck.open();
    let session = reviewer(&host, Exposure::Direct);
    assert_eq!(names_of(&session, "part__").await, ["echo", "big_result"]);
    let deck = deck.config("views", json!({"reviewer": {"tools": ["part.echo"]}}));
    host.reload();
    assert_eq!(listed(&session).await, ["part__echo"]);
    let _deck = deck.config("views", json!({}));
    host.reload();
    assert!(listed(&session).await.is_empty(), "a view that was removed has nothing");
    host.close().await;
}

#[tokio::test]
async fn a_view_of_a_sets_member_has_that_member() {
    let inner = caplet(&json!({"name": "Inner", "description": "Says a word",
        "cliTools": {"actions": {"say": {"command": "printf", "args": ["inner"]}}}}));
    let deck = Deck::new()
        .file("config/nested/one.md", &inner)
        .file("config/nested/two.md", &inner)
        .entry(
            "capletSets",
            "nest",
            json!({"name": "Nest", "description": "Two of a kind",
            "capletsRoot": "nested"}),
        )
        .config("views", json!({"half": {"capabilities": ["nest__one"]}}));
    let host = deck.open();
    let session = client(&host, "half", Exposure::Search, SessionContinuity::Connection);
    let run = |name| call_listed(&session, "call_tool", json!({"name": name, "data": {}}));
    assert!(run("nest__one.say").await.unwrap().is_some());
    assert!(run("nest__two.say").await.is_err());
    assert!(run("nest.two").await.is_err());
    host.close().await;
}

fn raw_object(object: &Value) -> capdeck_host::RawMembers {
    let members = object.as_object().unwrap().iter();
    members.map(|(key, member)| (key.clone(), raw(member))).collect()
}
