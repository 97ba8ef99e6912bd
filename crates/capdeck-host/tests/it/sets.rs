//! Sets: one capability made of others, each of them an ordinary capability.

use capdeck_definition::Exposure;
use capdeck_host::{RawMembers, listing, prompts, resources, transparent};
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::{
    deck::{
        Deck, agent, agent_with, call, call_listed, caplet, context, listed, local_session, raw,
        saying, text, value,
    },
    record::lines,
};

fn server(plan: &FakePlan) -> String {
    let (program, arguments) = plan.command();
    caplet(&json!({
        "name": "Inner", "description": "A server inside a set",
        "mcpServer": {"command": program, "args": arguments},
    }))
}

fn set(exposure: &str) -> String {
    caplet(&json!({
        "name": "Toolkit", "description": "A set of the test", "exposure": exposure,
        "capletSet": {"capletsRoot": "./members"},
    }))
}

fn deck(exposure: &str) -> Deck {
    Deck::new()
        .file("config/toolkit/CAPLET.md", &set(exposure))
        .file("config/toolkit/members/sayer.md", &saying("inner"))
        .file("config/toolkit/members/fake.md", &server(&FakePlan::default()))
}

#[tokio::test]
async fn a_set_offers_one_wrapper_per_member() {
    let deck = deck("direct");
    let host = deck.open();
    let session = agent(&host);
    assert_eq!(listed(&session).await, ["toolkit__fake", "toolkit__sayer"]);
    let asked = json!({"operation": "call_tool", "name": "say", "args": {}});
    let answer = call_listed(&session, "toolkit__sayer", asked).await.unwrap().unwrap();
    assert_eq!(answer["structuredContent"]["stdout"], "inner");
    let tools = call_listed(&session, "toolkit__fake", json!({"operation": "tools"})).await;
    let tools = &tools.unwrap().unwrap()["structuredContent"];
    assert_eq!(tools["caplets"]["id"], "toolkit__fake");
    let prompt = json!({"operation": "get_prompt", "name": "greet", "args": {"who": "Ada"}});
    let answer = call_listed(&session, "toolkit__fake", prompt).await.unwrap().unwrap();
    assert!(answer.to_string().contains("Greet Ada"), "members' prompts are reachable");
    host.close().await;
}

#[tokio::test]
async fn a_progressive_set_nests_its_members_wrappers() {
    let deck = deck("progressive");
    let host = deck.open();
    let session = agent(&host);
    assert_eq!(listed(&session).await, ["toolkit"]);
    let inner = json!({"operation": "call_tool", "name": "say", "args": {}});
    let asked = json!({"operation": "call_tool", "name": "sayer", "args": inner});
    let answer = call_listed(&session, "toolkit", asked).await.unwrap().unwrap();
    assert_eq!(answer["structuredContent"]["stdout"], "inner");
    host.close().await;
}

#[tokio::test]
async fn a_nested_call_is_checked_and_audited_like_any_other() {
    let deck = deck("direct");
    {
        let host = deck.open();
        let session = agent(&host);
        let call_inner =
            |tool: &str, args: Value| json!({"operation": "call_tool", "name": tool, "args": args});
        call_listed(&session, "toolkit__sayer", call_inner("say", json!({}))).await.unwrap();
        let wrong = call_inner("structured", json!({"nope": 1}));
        let error = call_listed(&session, "toolkit__fake", wrong).await.unwrap_err();
        assert_eq!(error.code.as_str(), "REQUEST_INVALID");
        host.close().await;
    }
    let folder = deck.dirs.state().join("audit");
    let file = folder.read_dir().unwrap().next().unwrap().unwrap().path();
    let written: Vec<(String, String, String)> = lines(&file)
        .iter()
        .map(|line| {
            let part = |key: &str| line[key].as_str().unwrap().to_owned();
            (part("capability"), part("tool"), part("outcome"))
        })
        .collect();
    let expected = [
        ("toolkit__sayer", "say", "ok"),
        ("toolkit", "sayer", "ok"),
        ("toolkit__fake", "structured", "REQUEST_INVALID"),
        ("toolkit", "fake", "REQUEST_INVALID"),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(one, two, three)| ((*one).to_owned(), (*two).to_owned(), (*three).to_owned()))
        .collect();
    assert_eq!(written, expected);
}

#[tokio::test]
async fn search_finds_members_tools_and_calls_them() {
    let deck = deck("search");
    let host = deck.open();
    let session = agent(&host);
    let found = call_listed(&session, "search", json!({"query": "answers with its arguments"}));
    let found = found.await.unwrap().unwrap();
    let name = &found["structuredContent"]["items"][0]["name"];
    assert_eq!(name, "toolkit__fake__echo");
    let asked = json!({"name": name, "data": {"a": 1}});
    let answer = call_listed(&session, "call_tool", asked).await.unwrap().unwrap();
    assert_eq!(text(&answer), r#"{"a":1}"#);
    host.close().await;
}

#[tokio::test]
async fn members_share_the_fate_of_their_set() {
    let deck = deck("none");
    let host = deck.open();
    let session = agent(&host);
    for id in ["toolkit", "toolkit__sayer"] {
        let error = call(&session, id, "say", json!({})).await.unwrap_err();
        assert_eq!(error.code.as_str(), "DENIED", "{id}: {error}");
    }
    host.close().await;

    let disabled = set("direct").replace("./members\"", "./members\",\"disabled\":true");
    deck.dirs.write("config/toolkit/CAPLET.md", disabled);
    let host = deck.open();
    let error = call(&host.operator(), "toolkit__sayer", "say", json!({})).await.unwrap_err();
    assert_eq!(error.code.as_str(), "SERVER_NOT_FOUND");
    host.close().await;
}

#[tokio::test]
async fn a_cycle_of_sets_is_one_quarantined_entry() {
    let inner = caplet(&json!({
        "name": "Back", "description": "Leads back to where it came from",
        "capletSet": {"capletsRoot": "../../.."},
    }));
    let deck = deck("direct").file("config/toolkit/members/back/CAPLET.md", &inner);
    let host = deck.open();
    let catalog = host.catalog();
    let quarantined: Vec<&str> =
        catalog.quarantined().iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(quarantined, ["toolkit__back"]);
    assert!(catalog.quarantined()[0].reason.contains("leads back"));
    let session = agent_with(&host, Some(Exposure::Direct));
    assert_eq!(listed(&session).await, ["toolkit__fake", "toolkit__sayer"]);
    let error = session.snapshot().capability("toolkit__back").unwrap_err();
    assert_eq!(error.code.as_str(), "CONFIG_INVALID");
    assert!(error.hint.unwrap().starts_with("the person runs: capdeck validate "));
    host.close().await;
}

#[tokio::test]
async fn a_set_whose_file_breaks_keeps_its_members() {
    let deck = deck("direct");
    let host = deck.open();
    let session = agent(&host);
    assert_eq!(listed(&session).await.len(), 2);
    deck.dirs.write("config/toolkit/CAPLET.md", "---\nname: [broken\n---\n");
    host.reload();
    assert_eq!(listed(&session).await, ["toolkit__fake", "toolkit__sayer"]);
    let asked = json!({"operation": "call_tool", "name": "say", "args": {}});
    let answer = call_listed(&session, "toolkit__sayer", asked).await.unwrap().unwrap();
    assert_eq!(answer["structuredContent"]["stdout"], "inner");
    host.close().await;
}

/// The members of an object, as a request has them.
fn params(value: &Value) -> RawMembers {
    let members = value.as_object().unwrap().iter();
    members.map(|(key, value)| (key.clone(), raw(value))).collect()
}

#[tokio::test]
async fn a_direct_set_lists_its_members_resources_and_prompts() {
    let deck = deck("direct");
    let host = deck.open();
    let session = agent(&host);
    listed(&session).await;
    assert!(host.catalog().get("toolkit__fake").unwrap().discovery.is_none(), "tools need nobody");
    let view = listing::discovered_offers(&session.request(&context())).await;
    let resources = value(&view.resources());
    let uri = "caplets://toolkit__fake/resources/fake%3A%2F%2Fnote";
    let found = resources.as_array().unwrap().iter().find(|one| one["uri"] == uri);
    let origin = &found.unwrap_or_else(|| panic!("{resources}"))["_meta"]["caplets"];
    assert_eq!(origin, &json!({"capletId": "toolkit__fake", "downstreamUri": "fake://note"}));
    let prompts = value(&view.prompts());
    assert_eq!(prompts[0]["name"], "toolkit__fake__greet");
    let templates = value(&view.resource_templates());
    let template = templates[0]["uriTemplate"].as_str().unwrap().to_owned();
    assert!(template.starts_with("caplets://toolkit__fake/resources/{encodedUri}?template="));

    // By the deck's URI and, while it means one thing, by the server's own.
    for uri in [uri, "fake://note", "caplets://toolkit__fake/resources/fake%3A%2F%2Fitems%2F7"] {
        let read =
            resources::read(&session.request(&context()), uri, RawMembers::new()).await.unwrap();
        assert!(value(&read)["contents"][0]["text"].is_string(), "{uri}");
    }
    let asked = params(&json!({"name": "toolkit__fake__greet", "arguments": {"who": "Ada"}}));
    let prompt =
        prompts::get(&session.request(&context()), "toolkit__fake__greet", asked).await.unwrap();
    assert_eq!(value(&prompt)["messages"][0]["content"]["text"], "Greet Ada");
    for reference in [
        json!({"type": "ref/prompt", "name": "toolkit__fake__greet"}),
        json!({"type": "ref/resource", "uri": template}),
    ] {
        let asked = params(&json!({"ref": reference, "argument": {"name": "who", "value": "an"}}));
        let answer = prompts::complete(&session.request(&context()), asked).await.unwrap();
        assert_eq!(value(&answer)["completion"]["values"], json!(["anna", "anton"]));
    }
    for wrong in ["caplets://toolkit__nobody/resources/x", "caplets://toolkit/resources/x"] {
        let error = resources::read(&session.request(&context()), wrong, RawMembers::new())
            .await
            .unwrap_err();
        assert_eq!(error.code.as_str(), "RESOURCE_NOT_FOUND", "{wrong}");
    }
    host.close().await;
}

#[tokio::test]
async fn members_resources_and_prompts_are_reached_in_every_other_view() {
    for (exposure, name) in [("progressive", "toolkit"), ("search", "call_tool")] {
        let deck = deck(exposure);
        let host = deck.open();
        let session = agent(&host);
        let ask = async |inner: Value| {
            let outer = match name {
                "call_tool" => json!({"name": "toolkit__fake", "data": inner}),
                _ => json!({"operation": "call_tool", "name": "fake", "args": inner}),
            };
            call_listed(&session, name, outer).await.unwrap().unwrap()
        };
        let listed = ask(json!({"operation": "resources"})).await;
        assert_eq!(listed["structuredContent"]["result"]["items"][0]["id"], "toolkit__fake");
        let read = ask(json!({"operation": "read_resource", "uri": "fake://items/7"})).await;
        assert_eq!(read["contents"][0]["text"], "item 7", "{exposure}");
        let asked = json!({"operation": "get_prompt", "name": "greet", "args": {"who": "Ada"}});
        assert!(ask(asked).await.to_string().contains("Greet Ada"), "{exposure}");
        host.close().await;
    }
}

#[tokio::test]
async fn a_set_served_alone_has_its_members_resources() {
    let deck = deck("search").server("other", &FakePlan::default(), json!({}));
    let host = deck.open();
    let id = capdeck_host::CapabilityId::new("toolkit").unwrap();
    let session = local_session(&host, capdeck_host::SessionScope::Transparent(id));
    let facts = transparent::server_facts(&session.request(&context()), "toolkit").await.unwrap();
    for offered in ["tools", "resources", "prompts", "completions"] {
        assert!(facts.capabilities.contains_key(offered), "{offered}");
    }
    let ask = async |method: &str, asked: Value| {
        let answer = transparent::answer(
            &session.request(&context()),
            "toolkit",
            method,
            Some(params(&asked)),
        )
        .await;
        answer.map(|answer| value(&answer))
    };
    let inner = json!({"operation": "call_tool", "name": "say", "args": {}});
    let answer = call(&session, "toolkit", "sayer", inner).await.unwrap();
    assert_eq!(answer["structuredContent"]["stdout"], "inner");
    let resources = ask("resources/list", json!({})).await.unwrap();
    let uri = resources["resources"][0]["uri"].as_str().unwrap().to_owned();
    assert!(uri.starts_with("caplets://toolkit__fake/resources/"), "{uri}");
    assert!(ask("resources/read", json!({"uri": uri})).await.is_ok());
    let prompts = ask("prompts/list", json!({})).await.unwrap();
    assert_eq!(prompts["prompts"][0]["name"], "toolkit__fake__greet");
    let asked = json!({"name": "toolkit__fake__greet", "arguments": {"who": "Ada"}});
    assert!(ask("prompts/get", asked).await.unwrap().to_string().contains("Greet Ada"));
    let other = json!({"uri": "caplets://other/resources/fake%3A%2F%2Fnote"});
    let error = ask("resources/read", other).await.unwrap_err();
    assert_eq!(error.code.as_str(), "RESOURCE_NOT_FOUND", "what is not in the set is not there");
    assert_eq!(
        ask("tasks/list", json!({})).await.unwrap_err().code.as_str(),
        "UNSUPPORTED_OPERATION"
    );
    host.close().await;
}
