//! Capsules between real processes: several agents, each with a host of its own.

use capdeck_host::{
    Author, CapsuleCaller, CapsuleDesk as _, CapsuleOperation, LocalDesk, StoreOptions,
};
use capdeck_test::{StdioClient, TestDirs};
use serde_json::{Value, json};

use crate::capdeck;

/// Makes a capsule, as nobody else has the folder yet.
fn make_capsule(dirs: &TestDirs, name: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let desk = LocalDesk::open(&dirs.data(), StoreOptions::default()).await.unwrap();
        let name = name.to_owned();
        let create = CapsuleOperation::CreateCapsule { name, description: None, visibility: None };
        let caller = CapsuleCaller::local(Author::client("test"));
        desk.ask(caller.request(None, create)).await.unwrap();
        desk.close().await;
    });
}

/// An agent with its own `capdeck serve`, offered everything tool by tool.
fn agent(dirs: &TestDirs) -> StdioClient {
    let mut agent = capdeck(dirs).serve(&["--exposure", "direct"]);
    agent.initialize();
    agent
}

fn tools(agent: &mut StdioClient) -> Vec<String> {
    let listed = agent.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn call(agent: &mut StdioClient, tool: &str, arguments: Value) -> Value {
    let name = format!("capsules__{tool}");
    let answer = agent.request("tools/call", json!({ "name": name, "arguments": arguments }));
    assert!(answer.get("error").is_none(), "{answer}");
    answer["result"].clone()
}

fn write(agent: &mut StdioClient, uri: &str, content: &str) -> Value {
    let written = call(agent, "capsol_write", json!({ "uri": uri, "content": content }));
    assert_ne!(written["isError"], true, "{written}");
    written
}

fn body(agent: &mut StdioClient, uri: &str) -> String {
    let read = call(agent, "capsol_read", json!({ "uri": uri }));
    read["structuredContent"]["body"].as_str().unwrap().to_owned()
}

#[test]
fn two_hosts_share_a_capsule() {
    let dirs = TestDirs::new();
    make_capsule(&dirs, "Team");
    let (mut one, mut other) = (agent(&dirs), agent(&dirs));
    write(&mut one, "docs://a", "from one");
    assert_eq!(body(&mut other, "docs://a"), "from one");
    write(&mut other, "docs://b", "from the other");
    assert_eq!(body(&mut one, "docs://b"), "from the other");
}

#[test]
fn a_subscription_hears_of_a_write_through_another_host() {
    let dirs = TestDirs::new();
    make_capsule(&dirs, "Team");
    let mut writer = agent(&dirs);
    write(&mut writer, "docs://a", "one");
    let mut reader = capdeck(&dirs).serve(&["--capsule", "team"]);
    reader.initialize();
    let subscribed = reader.request("resources/subscribe", json!({ "uri": "docs://a" }));
    assert!(subscribed.get("result").is_some(), "{subscribed}");
    write(&mut writer, "docs://a", "two");
    let updated = reader.incoming("notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "docs://a");
    // The host that had the capsules is killed; the subscription goes on.
    drop(writer);
    let mut next = agent(&dirs);
    write(&mut next, "docs://a", "three");
    reader.incoming("notifications/resources/updated");
}

#[test]
fn a_killed_host_loses_nothing_and_the_next_one_takes_over() {
    let dirs = TestDirs::new();
    make_capsule(&dirs, "Team");
    let (mut one, mut other) = (agent(&dirs), agent(&dirs));
    write(&mut one, "docs://a", "kept");
    assert_eq!(body(&mut other, "docs://a"), "kept");
    // Dropping kills it, without any word of parting.
    drop(one);
    write(&mut other, "docs://b", "after the death of the first");
    assert_eq!(body(&mut other, "docs://a"), "kept");
    let mut third = agent(&dirs);
    assert_eq!(body(&mut third, "docs://b"), "after the death of the first");
    // One that ends in good order leaves no socket, and the last one goes on.
    let (status, _) = other.close();
    assert!(status.success());
    assert_eq!(body(&mut third, "docs://a"), "kept");
}

#[test]
fn the_first_capsule_appears_in_a_running_deck() {
    let dirs = TestDirs::new();
    let mut agent = agent(&dirs);
    assert!(!tools(&mut agent).iter().any(|name| name.starts_with("capsules__")));
    assert_eq!(dirs.data().read_dir().unwrap().count(), 0);
    make_capsule(&dirs, "Team");
    agent.incoming("notifications/tools/list_changed");
    let capsol: Vec<String> =
        tools(&mut agent).into_iter().filter(|name| name.starts_with("capsules__")).collect();
    assert_eq!(capsol.len(), 5, "{capsol:?}");
    write(&mut agent, "docs://a", "x");
}

#[test]
fn capsules_are_commands_and_tools_of_the_deck() {
    let dirs = TestDirs::new();
    make_capsule(&dirs, "Team");
    let sh = |arguments: &[&str]| {
        let done = capdeck(&dirs).args(["sh", "capsules"]).args(arguments).run();
        assert_eq!(done.code, Some(0), "{done:?}");
        done.stdout
    };
    sh(&["capsol_write", "--uri", "skills://deploy", "--content", "How to deploy the web shop."]);
    assert!(sh(&["capsol_read", "--uri", "skills://deploy"]).contains("How to deploy"));
    let listed = capdeck(&dirs).args(["tools", "capsules"]).run();
    assert!(listed.stdout.contains("capsol_signal"), "{listed:?}");
    let found = capdeck(&dirs).args(["search", "deploy", "web", "shop", "--json"]).run();
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(found["entries"][0]["uri"], "skills://deploy");
    assert_eq!(found["entries"][0]["kind"], "skill");
    let code = "const read = await caplets.capsules.capsol_read({ uri: 'skills://deploy' }); \
                return read.body;";
    let ran = capdeck(&dirs).args(["run", "-e", code]).run();
    assert!(ran.stdout.contains("How to deploy the web shop."), "{ran:?}");
}
