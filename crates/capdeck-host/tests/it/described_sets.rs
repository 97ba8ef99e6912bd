//! Sets whose members are APIs that describe themselves.

use capdeck_test::{FakeApi, FakeApiReply, FakePlan};
use serde_json::{Value, json};

use crate::deck::{Deck, agent, call, call_listed, caplet, listed, saying};

/// An API that answers every request with its first line.
fn echo() -> FakeApi {
    FakeApi::start(|request| {
        let asked = format!("{} {}", request.method, request.target);
        match request.target.as_str() {
            "/graphql" => FakeApiReply::json(&json!({"data": {"person": {"name": "Ada"}}})),
            _ => FakeApiReply::json(&json!({ "asked": asked })),
        }
    })
}

/// A document with a method, and one that cannot be called.
fn document(url: &str) -> String {
    json!({
        "rootUrl": url, "servicePath": "v1/",
        "schemas": {"Node": {"type": "object", "properties": {
            "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "Node"}}}}},
        "resources": {"trees": {"methods": {
            "plant": {"id": "forest.trees.plant", "httpMethod": "POST", "path": "trees/{treeId}",
                "description": "Plants a tree of nodes in the forest.", "request": {"$ref": "Node"},
                "parameters": {"treeId": {"type": "string", "location": "path", "required": true}}},
            "lost": {"id": "forest.trees.lost", "httpMethod": "GET"},
        }}},
    })
    .to_string()
}

/// One member of each kind, and one that is broken. The API has to live as long as the deck.
fn deck(exposure: &str) -> (FakeApi, Deck) {
    let api = echo();
    let url = api.url();
    let google = caplet(&json!({
        "name": "Forest", "description": "Trees of the test",
        "googleDiscoveryApi": {"discoveryPath": "./forest.json", "network": "private",
            "auth": {"type": "none"}},
    }));
    let http = caplet(&json!({
        "name": "Weather", "description": "Rain and sun",
        "httpApi": {"baseUrl": url, "auth": {"type": "none"},
            "actions": {"rain": {"method": "GET", "path": "/rain", "description": "How much rain fell."}}},
    }));
    let openapi = caplet(&json!({
        "name": "Pets", "description": "Animals of the test",
        "openapiEndpoint": {"specPath": "./pets.json", "baseUrl": url, "auth": {"type": "none"}},
    }));
    let pets = json!({
        "openapi": "3.1.0",
        "paths": {
            "/pets/{id}": {"get": {"operationId": "getPet", "summary": "Finds one animal by its number",
                "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}]}},
            "/lost": {"get": {"operationId": "lost", "requestBody": {"$ref": "#/nowhere"}}},
        },
    });
    let graphql = caplet(&json!({
        "name": "People", "description": "Persons of the test",
        "graphqlEndpoint": {"schemaPath": "./people.graphql", "endpointUrl": format!("{url}/graphql"),
            "auth": {"type": "none"}},
    }));
    let (program, arguments) = FakePlan::default().command();
    let server = caplet(&json!({
        "name": "Fake", "description": "A server inside a set",
        "mcpServer": {"command": program, "args": arguments},
    }));
    let broken = caplet(&json!({
        "name": "Broken", "description": "An API without a description",
        "openapiEndpoint": {"auth": {"type": "none"}},
    }));
    let set = caplet(&json!({
        "name": "Outside", "description": "Everything outside", "exposure": exposure,
        "capletSet": {"capletsRoot": "./members"},
    }));
    let deck = Deck::new()
        .file("config/outside/CAPLET.md", &set)
        .file("config/outside/members/forest/CAPLET.md", &google)
        .file("config/outside/members/forest/forest.json", &document(url))
        .file("config/outside/members/weather.md", &http)
        .file("config/outside/members/pets/CAPLET.md", &openapi)
        .file("config/outside/members/pets/pets.json", &pets.to_string())
        .file("config/outside/members/people/CAPLET.md", &graphql)
        .file("config/outside/members/people/people.graphql", PEOPLE)
        .file("config/outside/members/fake.md", &server)
        .file("config/outside/members/sayer.md", &saying("inner"))
        .file("config/outside/members/broken.md", &broken);
    (api, deck)
}

const PEOPLE: &str = "type Query { \"Looks a person up by id\" person(id: ID!): Person } type Person { name: String }";

/// The members that work, in the order they are listed.
const MEMBERS: [&str; 6] = [
    "outside__fake",
    "outside__forest",
    "outside__people",
    "outside__pets",
    "outside__sayer",
    "outside__weather",
];

fn tree() -> Value {
    json!({"path": {"treeId": "oak 1"}, "body": {"name": "root", "children": [{"name": "leaf"}]}})
}

#[tokio::test]
async fn members_are_listed_described_and_called_through_their_set() {
    let (_api, deck) = deck("direct");
    let host = deck.open();
    let session = agent(&host);
    assert_eq!(listed(&session).await, MEMBERS);
    let through = async |member: &str, asked: Value| call_listed(&session, member, asked).await;
    let tools = through("outside__forest", json!({"operation": "tools"})).await.unwrap().unwrap();
    assert!(tools.to_string().contains("forest.trees.plant"), "{tools}");
    let described = json!({"operation": "describe_tool", "name": "forest.trees.plant"});
    let described = through("outside__forest", described).await.unwrap().unwrap();
    assert!(described.to_string().contains("#/$defs/Node"), "{described}");

    let plant = json!({"operation": "call_tool", "name": "forest.trees.plant", "args": tree()});
    let answer = through("outside__forest", plant).await.unwrap().unwrap();
    assert_eq!(answer["structuredContent"]["body"]["asked"], "POST /v1/trees/oak%201");
    let rain = json!({"operation": "call_tool", "name": "rain", "args": {}});
    let answer = through("outside__weather", rain).await.unwrap().unwrap();
    assert_eq!(answer["structuredContent"]["body"]["asked"], "GET /rain");

    let mut wrong = tree();
    wrong["body"]["children"][0]["colour"] = json!("green");
    let wrong = json!({"operation": "call_tool", "name": "forest.trees.plant", "args": wrong});
    let error = through("outside__forest", wrong).await.unwrap_err();
    assert_eq!(error.code.as_str(), "REQUEST_INVALID");

    // What could not be imported is known of the member, and stops nothing.
    let catalog = host.catalog();
    let known = catalog.get("outside__forest").unwrap().discovery.clone().unwrap();
    let problems: Vec<String> =
        known.problems.iter().map(|one| format!("{}: {}", one.place, one.reason)).collect();
    assert_eq!(problems, ["trees.lost: it has no `path`"]);
    host.close().await;
}

#[tokio::test]
async fn search_finds_the_tools_of_members() {
    let (_api, deck) = deck("search");
    let host = deck.open();
    let session = agent(&host);
    for (query, expected) in [
        ("plant a tree", "outside__forest__forest_trees_plant"),
        ("how much rain", "outside__weather__rain"),
        ("animal by its number", "outside__pets__getPet"),
        ("look a person up", "outside__people__query_person"),
        ("echo a text", "outside__fake__echo"),
        ("say", "outside__sayer__say"),
    ] {
        let found = call_listed(&session, "search", json!({"query": query})).await;
        let found = found.unwrap().unwrap();
        let name = found["structuredContent"]["items"][0]["name"].as_str().unwrap().to_owned();
        assert!(name.starts_with(expected), "{query}: {name}");
    }
    let found = call_listed(&session, "search", json!({"query": "plant"})).await.unwrap().unwrap();
    let name = &found["structuredContent"]["items"][0]["name"];
    let asked = json!({"name": name, "data": tree()});
    let answer = call_listed(&session, "call_tool", asked).await.unwrap().unwrap();
    assert_eq!(answer["structuredContent"]["status"], 200);
    host.close().await;
}

#[tokio::test]
async fn every_kind_is_described_and_called_through_its_set() {
    let (_api, deck) = deck("direct");
    let host = deck.open();
    let session = agent(&host);
    for (member, tool, arguments, place, expected) in [
        (
            "pets",
            "getPet",
            json!({"path": {"id": 7}}),
            "/structuredContent/body/asked",
            "GET /pets/7",
        ),
        (
            "people",
            "query_person",
            json!({"id": "1"}),
            "/structuredContent/body/data/person/name",
            "Ada",
        ),
        ("weather", "rain", json!({}), "/structuredContent/body/asked", "GET /rain"),
        (
            "forest",
            "forest.trees.plant",
            tree(),
            "/structuredContent/body/asked",
            "POST /v1/trees/oak%201",
        ),
        ("sayer", "say", json!({}), "/structuredContent/stdout", "inner"),
        ("fake", "echo", json!({"text": "hello"}), "/content/0/text", "{\"text\":\"hello\"}"),
    ] {
        let member = format!("outside__{member}");
        let through = async |asked: Value| {
            let answer = call_listed(&session, &member, asked).await;
            answer.unwrap_or_else(|error| panic!("{member}: {error}")).unwrap()
        };
        let described = through(json!({"operation": "describe_tool", "name": tool})).await;
        assert!(described.to_string().contains("inputSchema"), "{member}: {described}");
        let found = through(json!({"operation": "search_tools", "query": tool})).await;
        assert!(found.to_string().contains(tool), "{member}: {found}");
        let call = json!({"operation": "call_tool", "name": tool, "args": arguments});
        let answer = through(call).await;
        assert_eq!(answer.pointer(place), Some(&json!(expected)), "{member}: {answer}");
    }
    host.close().await;
}

#[tokio::test]
async fn resources_and_prompts_of_a_member_are_reached_through_its_set() {
    let (_api, deck) = deck("direct");
    let host = deck.open();
    let session = agent(&host);
    let fake = async |asked: Value| {
        call_listed(&session, "outside__fake", asked).await.unwrap().unwrap().to_string()
    };
    assert!(fake(json!({"operation": "resources"})).await.contains("fake://note"));
    let read = fake(json!({"operation": "read_resource", "uri": "fake://note"})).await;
    assert!(read.contains("a note"), "{read}");
    assert!(fake(json!({"operation": "prompts"})).await.contains("greet"));
    let prompt = json!({"operation": "get_prompt", "name": "greet", "args": {"who": "Ada"}});
    assert!(fake(prompt).await.contains("Greet Ada"));
    // APIs have neither, and say so.
    for operation in [
        json!({"operation": "read_resource", "uri": "fake://note"}),
        json!({"operation": "get_prompt", "name": "greet", "args": {}}),
    ] {
        let error = call_listed(&session, "outside__pets", operation).await.unwrap_err();
        assert!(!error.message.is_empty(), "{error}");
    }
    host.close().await;
}

#[tokio::test]
async fn a_broken_member_is_set_aside_and_costs_nothing_else() {
    let (_api, deck) = deck("direct");
    let host = deck.open();
    let session = agent(&host);
    let catalog = host.catalog();
    let quarantined: Vec<&str> =
        catalog.quarantined().iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(quarantined, ["outside__broken"]);
    assert!(
        catalog.quarantined()[0].reason.contains("spec"),
        "{}",
        catalog.quarantined()[0].reason
    );
    assert_eq!(listed(&session).await, MEMBERS);
    let error = call(&session, "outside__broken", "anything", json!({})).await.unwrap_err();
    assert!(error.message.contains("outside__broken"), "{error}");
    // What one member could not import is known of it, too.
    let asked = json!({"operation": "tools"});
    call_listed(&session, "outside__pets", asked).await.unwrap().unwrap();
    let catalog = host.catalog();
    let known = catalog.get("outside__pets").unwrap().discovery.clone().unwrap();
    assert_eq!(known.problems.len(), 1, "{:?}", known.problems);
    host.close().await;
}
