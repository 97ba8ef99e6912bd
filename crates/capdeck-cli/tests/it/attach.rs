//! `capdeck attach`: two hosts, two decks, one client.

use capdeck_test::{FakePlan, StdioClient, TestDirs};
use serde_json::{Value, json};

use crate::{capdeck, echo_file, run, shown};

/// A deck of one server, offered tool by tool.
fn remote_deck(shadowing: &str) -> TestDirs {
    let dirs = TestDirs::new();
    let mut entry = FakePlan::default().deck_entry();
    entry["shadowing"] = json!(shadowing);
    dirs.write_config(&json!({"options": {"exposure": "direct"}, "mcpServers": {"fake": entry}}));
    dirs
}

/// The person's own deck, with a command of the same id.
fn local_deck() -> TestDirs {
    let dirs = TestDirs::new();
    dirs.write_config(&json!({"options": {"exposure": "direct"}}));
    dirs.write("config/fake.md", echo_file("Local fake"));
    dirs.write("config/own.md", echo_file("My own"));
    dirs
}

fn names(client: &mut StdioClient) -> Vec<String> {
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn shadowing_decides_who_is_offered() {
    for (shadowing, remote, local) in
        [("forbid", true, false), ("allow", false, true), ("namespace", true, true)]
    {
        let (there, here) = (remote_deck(shadowing), local_deck());
        let host = capdeck(&there).up(&[]);
        let mut client = capdeck(&here).attach(&[&host.url]);
        client.initialize();
        let names = names(&mut client);
        let has = |end: &str| names.iter().any(|name| name.contains("fake") && name.ends_with(end));
        assert_eq!((has("__echo"), has("__say")), (remote, local), "{shadowing}: {names:?}");
        assert!(names.iter().any(|name| name == "own__say"), "{names:?}");
        let is_bare = |name: &&String| name.starts_with("fake__");
        assert_eq!(names.iter().any(|name| is_bare(&name)), shadowing != "namespace", "{names:?}");
        client.close();
    }
}

#[test]
fn nothing_is_lost_on_the_way() {
    let (there, here) = (remote_deck("forbid"), local_deck());
    let host = capdeck(&there).up(&[]);
    let mut direct = capdeck(&there).serve(&[]);
    let mut attached = capdeck(&here).attach(&[&host.url]);
    direct.initialize();
    attached.initialize();
    let tools = |client: &mut StdioClient| {
        let listed = client.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap().clone();
        let is_fake = |tool: &Value| tool["name"].as_str().unwrap().starts_with("fake__");
        tools.into_iter().filter(is_fake).collect::<Vec<_>>()
    };
    assert_eq!(tools(&mut attached), tools(&mut direct));
    for method in ["resources/list", "prompts/list", "resources/templates/list"] {
        // The local deck has resources of its own.
        let listed = |client: &mut StdioClient| {
            let answer = client.request(method, json!({}))["result"].clone();
            let lists = answer.as_object().unwrap().values().filter_map(Value::as_array);
            let all = lists.flatten().filter(|item| item.to_string().contains("fake"));
            all.cloned().collect::<Vec<_>>()
        };
        assert_eq!(listed(&mut attached), listed(&mut direct), "{method}");
    }
    let call = json!({"name": "fake__echo", "arguments": {"n": 12_345_678_901_234_567_890_u64, "x": {"y": [null]}}});
    let answer = |client: &mut StdioClient| {
        client.request("tools/call", call.clone())["result"]["content"].clone()
    };
    assert_eq!(answer(&mut attached), answer(&mut direct));
    let failing = json!({"name": "fake__tool_error", "arguments": {}});
    assert_eq!(attached.request("tools/call", failing)["result"]["isError"], true);
}

#[test]
fn why_knows_what_attaching_hides() {
    for (shadowing, from, replaces) in [
        ("forbid", "the host that this one is attached to", "your file"),
        ("allow", "your file", "the host that this one is attached to"),
    ] {
        let (there, here) = (remote_deck(shadowing), local_deck());
        let host = capdeck(&there).up(&[]);
        let reported = run(&here, &["why", "fake", "--attach", &host.url]).success().stdout;
        let line = |name: &str| {
            let lines = reported.lines().filter(|line| line.trim_start().starts_with(name));
            lines.map(str::to_owned).collect::<String>()
        };
        assert!(line("from").contains(from), "{shadowing}: {reported}");
        assert!(line("replaces").contains(replaces), "{shadowing}: {reported}");
    }
    let (there, here) = (remote_deck("namespace"), local_deck());
    let host = capdeck(&there).up(&[]);
    let reported = run(&here, &["why", "fake", "--attach", &host.url]);
    assert_eq!(reported.code, Some(1), "{}", reported.stderr);
    for name in ["`local-", "`remote-"] {
        assert!(reported.stderr.contains(name), "{}", reported.stderr);
    }
    let unreachable = run(&here, &["why", "fake", "--attach", "http://127.0.0.1:1"]);
    assert!(unreachable.stderr.contains("nothing answers there"), "{}", unreachable.stderr);
    assert_eq!(run(&here, &["why", "fake", "--key-file", "key"]).code, Some(2));
}

#[test]
fn a_list_that_changes_under_a_client_is_reported() {
    let (there, here) = (remote_deck("forbid"), local_deck());
    let host = capdeck(&there).up(&[]);
    for capabilities in [json!({}), json!({"elicitation": {}})] {
        let mut client = capdeck(&here).attach(&[&host.url]);
        client.initialize_with(capabilities);
        assert!(names(&mut client).iter().all(|name| name != "fake__brand_new"));
        let call = json!({"name": "fake__change_tools", "arguments": {"name": "brand_new"}});
        client.request("tools/call", call);
        client.incoming("notifications/tools/list_changed");
        assert!(names(&mut client).iter().any(|name| name == "fake__brand_new"));
    }
}

#[test]
fn changes_and_restarts_of_the_host_are_followed() {
    let (there, here) = (remote_deck("forbid"), local_deck());
    let host = capdeck(&there).up(&[]);
    let port = host.url.rsplit(':').next().unwrap().to_owned();
    let mut client = capdeck(&here).attach(&[&host.url]);
    client.initialize();
    // A client that never asked for a list gets no notification.
    assert!(names(&mut client).iter().all(|name| name != "new__say"));
    there.write("config/new.md", echo_file("New there"));
    client.incoming("notifications/tools/list_changed");
    assert!(names(&mut client).iter().any(|name| name == "new__say"));
    drop(host);
    let refused =
        client.request("tools/call", json!({"name": "new__say", "arguments": {"text": "a"}}));
    assert_ne!(refused["result"]["isError"], false, "{refused}");
    there.write("config/newer.md", echo_file("Newer there"));
    let _again = capdeck(&there).up_at(&port);
    client.incoming("notifications/tools/list_changed");
    let call = json!({"name": "newer__say", "arguments": {"text": "back"}});
    let answer = client.request("tools/call", call);
    assert!(answer["result"].to_string().contains("back"), "{answer}");
}

#[test]
fn the_key_is_needed_and_never_shown() {
    let (there, here) = (remote_deck("forbid"), local_deck());
    let host = capdeck(&there).env("CAPDECK_ADMIN_KEY", "canary-key-1-of-sixteen").up(&[]);
    let without = run(&here, &["attach", &host.url, "--dry-run"]);
    assert_eq!(without.code, Some(3), "{}", without.stderr);
    assert!(without.stderr.contains("wants a key"), "{}", without.stderr);
    let wrong = capdeck(&here).env("CAPDECK_ATTACH_KEY", "canary-key-2-of-sixteen");
    let wrong = wrong.args(["attach", &host.url, "--dry-run", "-vv"]).run();
    assert_eq!(wrong.code, Some(3), "{}", wrong.stderr);
    let key = here.write("key", "canary-key-1-of-sixteen\n");
    let words =
        ["attach", &host.url, "--dry-run", "--json", "-vv", "--key-file", key.to_str().unwrap()];
    let right = run(&here, &words).success();
    for text in [&without.stderr, &wrong.stderr, &right.stdout, &right.stderr] {
        assert!(!text.contains("canary-key"), "{text}");
    }
    let items = right.json()["items"].clone();
    let fake = items.as_array().unwrap().iter().find(|item| item["id"] == "fake").unwrap().clone();
    assert_eq!(fake["source"]["kind"], "remote");
    assert_eq!(fake["shadows"][0]["kind"], "user-file");

    let mut client = capdeck(&here).attach(&[&host.url, "--key-file", key.to_str().unwrap()]);
    client.initialize();
    let call = json!({"name": "fake__echo", "arguments": {"a": "b"}});
    assert!(client.request("tools/call", call)["result"].to_string().contains("b"));
}

#[test]
fn addresses_that_lead_nowhere_are_reported() {
    let here = local_deck();
    insta::assert_snapshot!(shown(&here, &run(&here, &["attach", "http://127.0.0.1:1"])), @r"
    exit 1
    --- stdout
    --- stderr
    error: cannot reach http://127.0.0.1:1: nothing answers there
    hint: is `capdeck up` running there?
    ");
    for (url, part) in [
        ("127.0.0.1:7717", "is not"),
        ("ftp://127.0.0.1", "is not the address of a web server"),
        ("http://me:secret@127.0.0.1", "holds a password"),
    ] {
        let finished = run(&here, &["attach", url]);
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
        assert!(finished.stderr.contains(part), "{}", finished.stderr);
    }
    let other =
        capdeck_test::FakeApi::start(|_| capdeck_test::FakeApiReply::json(&json!({"hello": 1})));
    let finished = run(&here, &["attach", other.url()]);
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    assert!(finished.stderr.contains("there is no Capdeck host at"), "{}", finished.stderr);
}
