//! Capsules between real processes: several agents, each with a host of its own.

use capdeck_host::{
    CapsuleAuthor, CapsuleCaller, CapsuleService as _, CapsuleServiceExt as _,
    CreateCapsuleRequest, LocalCapsuleService, StoreOptions,
};
use capdeck_test::{StdioClient, TestDirs};
use serde_json::{Value, json};

use crate::capdeck;

/// Makes a capsule, as no one else has the folder yet.
fn make_capsule(dirs: &TestDirs, name: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let service =
            LocalCapsuleService::open(&dirs.data(), StoreOptions::default()).await.unwrap();
        let name = name.to_owned();
        let create = CreateCapsuleRequest { name, description: None, visibility: None };
        let caller = CapsuleCaller::local(CapsuleAuthor::client("test"));
        service.ask(caller.request(None, create)).await.unwrap();
        service.close().await;
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

/// The entry that the client is notified of next.
fn updated(agent: &mut StdioClient) -> String {
    let reported = agent.incoming("notifications/resources/updated");
    reported["params"]["uri"].as_str().unwrap().to_owned()
}

#[test]
fn a_subscription_hears_of_a_write_through_another_host() {
    let dirs = TestDirs::new();
    make_capsule(&dirs, "Team");
    let mut writer = agent(&dirs);
    write(&mut writer, "docs://a", "one");
    let mut reader = capdeck(&dirs).serve(&["--capsule", "team"]);
    reader.initialize();
    let mut watch = |uri: &str| {
        let subscribed = reader.request("resources/subscribe", json!({ "uri": uri }));
        assert!(subscribed.get("result").is_some(), "{subscribed}");
    };
    // The one who missed something is notified of everything it watches, `docs://a` first. A write is informed alone.
    watch("docs://a");
    watch("docs://b");
    write(&mut writer, "docs://b", "two");
    assert_eq!(updated(&mut reader), "docs://b");
    // The host that had the capsules is killed; the subscription goes on, and says that it may have missed something.
    drop(writer);
    assert_eq!([updated(&mut reader), updated(&mut reader)], ["docs://a", "docs://b"]);
    let mut next = agent(&dirs);
    write(&mut next, "docs://b", "three");
    assert_eq!(updated(&mut reader), "docs://b");
}

#[test]
fn the_deck_on_stdio_has_entries_as_resources_and_hears_of_other_hosts() {
    let dirs = TestDirs::new();
    make_capsule(&dirs, "Team");
    let (mut one, mut other) = (agent(&dirs), agent(&dirs));
    write(&mut one, "docs://a", "from one");
    write(&mut one, "skills://review", "Review it.");
    let listed = other.request("resources/list", json!({}))["result"]["resources"].clone();
    let uris: Vec<&str> =
        listed.as_array().unwrap().iter().map(|one| one["uri"].as_str().unwrap()).collect();
    assert_eq!(uris, ["capsol://team/docs/a", "capsol://team/skills/review"]);
    let uri = json!({ "uri": "capsol://team/docs/a" });
    other.request("resources/subscribe", uri.clone());
    write(&mut one, "docs://a", "changed by one");
    assert_eq!(updated(&mut other), "capsol://team/docs/a");
    let read = other.request("resources/read", uri);
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("changed by one"));
    let got = other.request("prompts/get", json!({ "name": "capsules__team.review" }));
    assert!(got.to_string().contains("Review it."), "{got}");
}

#[test]
fn capsules_alone_are_their_tools_under_their_own_names() {
    let dirs = TestDirs::new();
    make_capsule(&dirs, "Team");
    make_capsule(&dirs, "Other");
    let mut agent = capdeck(&dirs).serve(&["--only", "capsules"]);
    agent.initialize();
    assert_eq!(
        tools(&mut agent),
        ["capsol_read", "capsol_write", "capsol_signal", "capsol_capsules", "capsol_memory"]
    );
    let mut call = |tool: &str, arguments: Value| {
        let answer = agent.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        answer["result"].clone()
    };
    let undecided = call("capsol_write", json!({ "uri": "docs://a", "content": "x" }));
    assert_eq!(undecided["structuredContent"]["error"]["code"], "capsule_required", "{undecided}");
    call("capsol_capsules", json!({ "action": "mount", "capsule": "other" }));
    let written = call("capsol_write", json!({ "uri": "docs://a", "content": "x" }));
    assert_eq!(written["structuredContent"]["version"], 1, "{written}");
    let read = call("capsol_read", json!({ "uri": "docs://a", "capsule": "other" }));
    assert!(read["content"][0]["text"].as_str().unwrap().contains("TRUST PREAMBLE"), "{read}");
    let unknown = agent.request("tools/call", json!({ "name": "capsol_nothing", "arguments": {} }));
    assert!(unknown.to_string().contains("capsol_nothing"), "{unknown}");
}

#[test]
fn an_attached_host_has_the_capsules_of_the_other_until_it_has_its_own() {
    let (there, here) = (TestDirs::new(), TestDirs::new());
    for dirs in [&there, &here] {
        dirs.write_config(&json!({ "options": { "exposure": "direct" } }));
    }
    make_capsule(&there, "Theirs");
    let host = capdeck(&there).up(&[]);
    let mut client = capdeck(&here).attach(&[&host.url]);
    client.initialize();
    write(&mut client, "docs://a", "through the other host");
    assert_eq!(body(&mut client, "docs://a"), "through the other host");
    let capsules = call(&mut client, "capsol_capsules", json!({ "action": "list" }));
    assert_eq!(capsules["structuredContent"]["capsules"][0]["id"], "theirs", "{capsules}");
    assert_eq!(here.data().read_dir().unwrap().count(), 0, "nothing is kept here");
    let (status, _) = client.close();
    assert!(status.success());
    make_capsule(&here, "Ours");
    let mut client = capdeck(&here).attach(&[&host.url]);
    client.initialize();
    let capsules = call(&mut client, "capsol_capsules", json!({ "action": "list" }));
    assert_eq!(capsules["structuredContent"]["capsules"][0]["id"], "ours", "{capsules}");
}

#[test]
fn a_call_of_capsules_ends_after_its_own_time() {
    let dirs = TestDirs::new();
    make_capsule(&dirs, "Team");
    // A process that has the folder and answers no one: others wait for it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _held =
        runtime.block_on(LocalCapsuleService::open(&dirs.data(), StoreOptions::default())).unwrap();
    let arguments = ["call", "capsules", "capsol_read", "--timeout-ms", "200"];
    let done = capdeck(&dirs).args(arguments).run();
    assert_ne!(done.code, Some(0), "{done:?}");
    assert!(done.stderr.contains("no answer within 200 ms"), "{done:?}");
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
