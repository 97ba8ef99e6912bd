//! Sets whose members are APIs that describe themselves.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    thread,
};

use serde_json::{Value, json};

use crate::deck::{Deck, agent, call_listed, caplet, listed};

/// A server that answers every request with its first line; gives its address. It ends with the test.
fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let mut first = String::new();
            reader.read_line(&mut first).unwrap();
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).unwrap() > 2 {
                if let Some(value) = line.strip_prefix("content-length: ") {
                    length = value.trim_end().parse().unwrap();
                }
                line.clear();
            }
            std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink()).unwrap();
            let body = json!({ "asked": first.trim_end() }).to_string();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
            let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            reader.get_mut().write_all(answer.as_bytes()).unwrap();
        }
    });
    url
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

fn deck(exposure: &str) -> Deck {
    let url = echo();
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
    let set = caplet(&json!({
        "name": "Outside", "description": "Everything outside", "exposure": exposure,
        "capletSet": {"capletsRoot": "./members"},
    }));
    Deck::new()
        .file("config/outside/CAPLET.md", &set)
        .file("config/outside/members/forest/CAPLET.md", &google)
        .file("config/outside/members/forest/forest.json", &document(&url))
        .file("config/outside/members/weather.md", &http)
}

fn tree() -> Value {
    json!({"path": {"treeId": "oak 1"}, "body": {"name": "root", "children": [{"name": "leaf"}]}})
}

#[tokio::test]
async fn members_are_listed_described_and_called_through_their_set() {
    let deck = deck("direct");
    let host = deck.open();
    let session = agent(&host);
    assert_eq!(listed(&session).await, ["outside__forest", "outside__weather"]);
    let through = async |member: &str, asked: Value| call_listed(&session, member, asked).await;
    let tools = through("outside__forest", json!({"operation": "tools"})).await.unwrap().unwrap();
    assert!(tools.to_string().contains("forest.trees.plant"), "{tools}");
    let described = json!({"operation": "describe_tool", "name": "forest.trees.plant"});
    let described = through("outside__forest", described).await.unwrap().unwrap();
    assert!(described.to_string().contains("#/$defs/Node"), "{described}");

    let plant = json!({"operation": "call_tool", "name": "forest.trees.plant", "args": tree()});
    let answer = through("outside__forest", plant).await.unwrap().unwrap();
    assert_eq!(answer["structuredContent"]["body"]["asked"], "POST /v1/trees/oak%201 HTTP/1.1");
    let rain = json!({"operation": "call_tool", "name": "rain", "args": {}});
    let answer = through("outside__weather", rain).await.unwrap().unwrap();
    assert_eq!(answer["structuredContent"]["body"]["asked"], "GET /rain HTTP/1.1");

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
    let deck = deck("search");
    let host = deck.open();
    let session = agent(&host);
    for (query, expected) in [
        ("plant a tree", "outside__forest__forest_trees_plant"),
        ("how much rain", "outside__weather__rain"),
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
