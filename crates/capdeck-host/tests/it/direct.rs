//! The direct view: a server's own tools, resources, prompts and completions under names of the deck.

use std::process::Command;

use capdeck_definition::Exposure;
use capdeck_host::{RawMembers, listing, prompts, resources};
use capdeck_test::{FakePlan, StdioClient};
use serde_json::{Value, json, value::RawValue};

use crate::deck::{
    Deck, agent, agent_with, call, call_listed, caplet, context, listed, raw, saying, text, value,
};

/// What the server itself lists, as text.
fn servers_own_tools(plan: &FakePlan) -> Vec<RawMembers> {
    #[derive(serde::Deserialize)]
    struct Answer {
        result: List,
    }
    #[derive(serde::Deserialize)]
    struct List {
        tools: Vec<RawMembers>,
    }
    let (program, arguments) = plan.command();
    let mut command = Command::new(program);
    command.args(arguments);
    let mut client = StdioClient::start(command);
    client.initialize();
    client.send_request("tools/list", json!({}));
    let line = client.next_line();
    serde_json::from_str::<Answer>(&line).unwrap().result.tools
}

#[tokio::test]
async fn tools_are_the_servers_own_byte_for_byte() {
    let plan = FakePlan { tools: 3, ..FakePlan::default() };
    let own = servers_own_tools(&plan);
    let deck = Deck::of(&plan);
    let host = deck.open();
    let view =
        listing::discovered_view(&agent_with(&host, Some(Exposure::Direct)).request(&context()))
            .await;
    let shown: Vec<RawMembers> = serde_json::from_str(view.tools().get()).unwrap();
    assert_eq!(shown.len(), own.len());
    for (shown, own) in shown.iter().zip(&own) {
        let name = value(&own["name"]);
        assert_eq!(value(&shown["name"]), json!(format!("fake__{}", name.as_str().unwrap())));
        for (key, text) in own.iter().filter(|(key, _)| *key != "name" && *key != "_meta") {
            assert_eq!(shown[key].get(), text.get(), "{key} of {name}");
        }
        let meta = value(&shown["_meta"]);
        let origin = json!({"capletId": "fake", "downstreamName": name, "exposure": "direct"});
        assert_eq!(meta["caplets"], origin);
        if let Some(own) = own.get("_meta") {
            assert_eq!(meta["example.com/kept"], value(own)["example.com/kept"]);
        }
    }
    host.close().await;
}

/// Clients read the list as a whole, so that one tool they refuse would cost them all others.
#[tokio::test]
async fn a_tool_that_breaks_the_protocol_spoils_no_other() {
    let plan = FakePlan {
        tools: 1,
        behaviours: false,
        extra_tools: vec![
            json!({"name": "bare"}),
            json!({"name": "", "inputSchema": {"type": "object"}}),
            json!({"name": "odd", "description": null, "inputSchema": {"properties": {"a": true}}}),
        ],
        ..FakePlan::default()
    };
    let deck = Deck::of(&plan);
    let host = deck.open();
    let session = agent_with(&host, Some(Exposure::Direct));
    let view = listing::discovered_view(&session.request(&context())).await;
    let mut shown: Vec<Value> = serde_json::from_str(view.tools().get()).unwrap();
    let names: Vec<&str> = shown.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["fake__tool_00000", "fake__bare", "fake__odd"]);
    for tool in &mut shown {
        tool.as_object_mut().unwrap().remove("_meta");
    }
    let mended = json!([
        {"name": "fake__bare", "inputSchema": {"type": "object"}},
        {"name": "fake__odd", "inputSchema": {"properties": {"a": {}}, "type": "object"}},
    ]);
    assert_eq!(json!(shown[1..]), mended);
    let answer = call_listed(&session, "fake__bare", json!({"n": 1})).await.unwrap().unwrap();
    assert_eq!(text(&answer), r#"{"n":1}"#);
    host.close().await;
}

#[tokio::test]
async fn results_are_the_servers_own_byte_for_byte() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let session = agent_with(&host, Some(Exposure::Direct));
    let odd = call_listed(&session, "fake__odd_content", json!({})).await.unwrap().unwrap();
    assert_eq!(
        odd.to_string(),
        r#"{"content":[{"type":"text","text":"ordinary","x-unknown":{"kept":true}},{"type":"hologram","data":[1,2.5,1000.0],"mimeType":"model/x-fake"}],"x-result":"kept","_meta":{"example.com/trace":"abc"}}"#
    );
    let big = call_listed(&session, "fake__big_result", json!({"bytes": 9_000_000})).await;
    assert_eq!(text(&big.unwrap().unwrap()).len(), 9_000_000);
    host.close().await;
}

#[tokio::test]
async fn resources_and_templates_have_deck_uris_and_lead_back() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let session = agent_with(&host, Some(Exposure::Direct));
    let view = listing::discovered_view(&session.request(&context())).await;
    let note = "caplets://fake/resources/fake%3A%2F%2Fnote";
    assert_eq!(
        value(&view.resources()),
        json!([{
            "uri": note, "name": "note", "description": "A note", "mimeType": "text/plain",
            "x-unknown": 1,
            "_meta": {"caplets": {"capletId": "fake", "downstreamUri": "fake://note"}},
        }])
    );
    let template = "caplets://fake/resources/{encodedUri}?template=fake%3A%2F%2Fitems%2F%7Bid%7D";
    let real = "fake://items/{id}";
    assert_eq!(
        value(&view.resource_templates()),
        json!([{
            "uriTemplate": template, "name": "fake:item", "description": "An item by number",
            "_meta": {"caplets": {"capletId": "fake", "downstreamUriTemplate": real}},
        }])
    );
    let read = async |uri: &str| {
        resources::read(&session.request(&context()), uri, RawMembers::new()).await
    };
    for uri in [note, "fake://note"] {
        let answer = value(&read(uri).await.unwrap());
        assert_eq!(answer["contents"][0]["text"], "a note", "{uri}");
    }
    let item =
        "caplets://fake/resources/fake%3A%2F%2Fitems%2F7?template=fake%3A%2F%2Fitems%2F%7Bid%7D";
    assert_eq!(value(&read(item).await.unwrap())["contents"][0]["text"], "item 7");

    let error = read("caplets://fake/resources/fake%3A%2F%2Fgone").await.unwrap_err();
    assert_eq!(error.code.as_str(), "DOWNSTREAM_RESOURCE_ERROR");
    assert_eq!(error.rpc.unwrap().code, -32002);
    for wrong in ["fake://nobody", "caplets://other/resources/x", "capdeck://artifacts/none/1/x"] {
        let error = read(wrong).await.unwrap_err();
        assert_eq!(error.code.as_str(), "RESOURCE_NOT_FOUND", "{wrong}: {error}");
    }
    host.close().await;
}

#[tokio::test]
async fn prompts_and_completions_lead_back_too() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let session = agent_with(&host, Some(Exposure::Direct));
    let view = listing::discovered_view(&session.request(&context())).await;
    assert_eq!(
        value(&view.prompts()),
        json!([{
            "name": "fake__greet", "description": "Greets somebody",
            "arguments": [{"name": "who", "description": "Whom to greet", "required": true}],
            "_meta": {"caplets": {"capletId": "fake", "downstreamName": "greet"}},
        }])
    );
    let params = members(json!({"name": "fake__greet", "arguments": {"who": "Ada"}}));
    let prompt = prompts::get(&session.request(&context()), "fake__greet", params).await.unwrap();
    assert_eq!(value(&prompt)["messages"][0]["content"]["text"], "Greet Ada");
    let error =
        prompts::get(&session.request(&context()), "greet", RawMembers::new()).await.unwrap_err();
    assert_eq!(error.code.as_str(), "PROMPT_NOT_FOUND");

    let template = "caplets://fake/resources/{encodedUri}?template=fake%3A%2F%2Fitems%2F%7Bid%7D";
    for reference in [
        json!({"type": "ref/prompt", "name": "fake__greet"}),
        json!({"type": "ref/resource", "uri": template}),
    ] {
        let argument = json!({"name": "who", "value": "an"});
        let params = members(json!({"ref": reference, "argument": argument}));
        let answer = value(&prompts::complete(&session.request(&context()), params).await.unwrap());
        assert_eq!(answer["completion"]["values"], json!(["anna", "anton"]));
    }
    let params = members(json!({"ref": {"type": "ref/prompt", "name": "greet"}}));
    let error = prompts::complete(&session.request(&context()), params).await.unwrap_err();
    assert_eq!(error.code.as_str(), "REQUEST_INVALID");
    host.close().await;
}

#[tokio::test]
async fn names_are_always_legal_and_always_lead_back() {
    let odd =
        |name: &str| json!({"name": name, "description": "Odd", "inputSchema": {"type": "object"}});
    let long = "l".repeat(128);
    let names = ["a.b/c", "with space", "ünïcode", "b__c", long.as_str()];
    let plan = FakePlan {
        behaviours: false,
        extra_tools: names.iter().map(|name| odd(name)).collect(),
        ..FakePlan::default()
    };
    let twin = FakePlan { behaviours: false, extra_tools: vec![odd("c")], ..FakePlan::default() };
    let id = "i".repeat(64);
    let deck = Deck::new()
        .server("a", &plan, json!({}))
        .server("a__b", &twin, json!({}))
        .server(&id, &twin, json!({}))
        .config("options", json!({"exposure": "direct"}));
    let host = deck.open();
    let session = agent(&host);
    let shown = listed(&session).await;
    assert_eq!(shown.len(), names.len() + 2);
    let unique: std::collections::BTreeSet<&String> = shown.iter().collect();
    assert_eq!(unique.len(), shown.len(), "{shown:?}");
    for name in &shown {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        assert!(name.len() <= 64 && name.bytes().all(legal), "{name}");
        let answer = call_listed(&session, name, json!({"to": name})).await.unwrap().unwrap();
        assert_eq!(text(&answer), json!({"to": name}).to_string());
    }
    assert!(shown.contains(&"a__b__c".to_owned()), "{shown:?}");
    host.close().await;
}

#[tokio::test]
async fn a_capability_named_like_a_search_tool_keeps_its_tools() {
    let deck = Deck::new()
        .file("config/search.md", &saying("found"))
        .file(
            "config/other.md",
            &saying("other").replace("cliTools:", "exposure: search\ncliTools:"),
        )
        .config("options", json!({"exposure": "progressive"}));
    let host = deck.open();
    let session = agent(&host);
    let names = listed(&session).await;
    assert_eq!(&names[..4], ["search", "describe", "call_tool", "call_read_only"]);
    let wrapper = names.iter().find(|name| name.starts_with("search_x")).unwrap();
    let arguments = json!({"operation": "call_tool", "name": "say", "args": {}});
    let answer = call_listed(&session, wrapper, arguments).await.unwrap().unwrap();
    assert_eq!(answer["structuredContent"]["stdout"], "found");
    let session = agent_with(&host, Some(Exposure::Search));
    let found = call_listed(&session, "search", json!({"query": "say", "capability": "search"}));
    let found = found.await.unwrap().unwrap();
    assert_eq!(found["structuredContent"]["items"][0]["name"], "search__say");
    let arguments = json!({"name": "search__say", "data": {}});
    let answer = call_listed(&session, "call_tool", arguments).await.unwrap().unwrap();
    assert_eq!(answer["structuredContent"]["stdout"], "found");
    host.close().await;
}

#[tokio::test]
async fn command_line_actions_are_listed_and_large_output_is_an_artifact() {
    let file = caplet(&json!({
        "name": "Tools",
        "description": "Command-line tools of the test",
        "exposure": "direct",
        "cliTools": {"maxOutputBytes": 1000, "actions": {
            "greet": {"description": "Greets somebody", "command": "printf", "args": ["hello %s", "$input.who"],
                "inputSchema": {"type": "object", "required": ["who"],
                    "properties": {"who": {"type": "string"}}}},
            "flood": {"command": "seq", "args": ["5000"]},
        }},
    }));
    let deck = Deck::new().file("config/tools.md", &file);
    let host = deck.open();
    let session = agent(&host);
    assert_eq!(listed(&session).await, ["tools__flood", "tools__greet"]);
    let answer = call_listed(&session, "tools__greet", json!({"who": "Ada; rm -rf /"}));
    assert_eq!(text(&answer.await.unwrap().unwrap()), "hello Ada; rm -rf /");
    let flood = call(&session, "tools", "flood", json!({})).await.unwrap();
    let artifact = &flood["structuredContent"]["artifact"];
    let uri = artifact["uri"].as_str().unwrap();
    let whole =
        resources::read(&session.request(&context()), uri, RawMembers::new()).await.unwrap();
    let whole = value(&whole);
    let lines = whole["contents"][0]["text"].as_str().unwrap();
    assert_eq!((lines.lines().count(), lines.lines().last()), (5000, Some("5000")));
    host.close().await;
}

fn members(value: Value) -> RawMembers {
    let Value::Object(members) = value else { panic!("an object is needed") };
    members.iter().map(|(key, value)| (key.clone(), raw(value) as Box<RawValue>)).collect()
}

/// Prompts and skills name tools as other programs list them.
#[tokio::test]
async fn other_spellings_of_a_listed_tool_reach_it() {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let plan = FakePlan {
        behaviours: false,
        extra_tools: vec![tool("files.list"), tool("GET /pets/{id}"), tool("list_all")],
        ..FakePlan::default()
    };
    let more =
        FakePlan { behaviours: false, extra_tools: vec![tool("all")], ..FakePlan::default() };
    let deck =
        Deck::new().server("my-api", &plan, json!({})).server("my-api_list", &more, json!({}));
    let host = deck.open();
    let session = agent_with(&host, Some(Exposure::Direct));
    for name in
        ["my-api__files.list", "my-api__GET /pets/{id}", "my-api.files.list", "my-api_files_list"]
    {
        let answer = call_listed(&session, name, json!({"a": 1})).await.unwrap();
        let answer = answer.unwrap_or_else(|| panic!("`{name}` is not a tool"));
        assert_eq!(text(&answer), r#"{"a":1}"#, "{name}");
    }
    // Two tools may be meant, or the name would mean another tool in another deck.
    let several = call_listed(&session, "my-api_list_all", json!({})).await.unwrap_err();
    assert!(several.hint.unwrap().contains("my-api.list_all"), "{}", several.message);
    for name in ["files.list", "list_all", "my-api__nowhere"] {
        let unknown = call_listed(&session, name, json!({})).await;
        assert!(matches!(unknown, Ok(None) | Err(_)), "{name}");
    }
    host.close().await;
}
