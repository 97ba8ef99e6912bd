//! `capdeck serve`: MCP on stdio.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use capdeck_test::{FakePlan, TestDirs};
use serde_json::{Value, json};

use crate::{capdeck, echo_file, run, terminal::Terminal};

#[test]
fn the_deck_is_served_until_stdin_ends() {
    let dirs = TestDirs::new();
    let mut client = capdeck(&dirs).serve(&[]);
    client.initialize();
    let tools = client.request("tools/list", json!({}));
    let names: Vec<_> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["code_mode", "search", "describe", "call_tool", "call_read_only"]);
    let (status, stderr) = client.close();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn one_capability_is_served_as_it_is() {
    let dirs = TestDirs::new();
    dirs.write_config(&json!({"mcpServers": {"fake": FakePlan::default().deck_entry()}}));
    let mut client = capdeck(&dirs).serve(&["--only", "fake"]);
    let answer = client.initialize();
    assert_eq!(answer["serverInfo"]["name"], "fake");
    let answer = client.request("tools/call", json!({"name": "echo", "arguments": {"a": 1}}));
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"a":1}"#);
    client.close();
}

#[test]
fn one_capsule_is_served_and_its_anchors_are_checked_in_the_project() {
    let dirs = TestDirs::new();
    let capsule = json!([{"id": "team", "name": "Team", "created_at": "2026-01-01T00:00:00Z"}]);
    dirs.write("data/boxes.json", capsule.to_string());
    let body = "# Hello\n\nIt is in src/there.rs, not in src/gone.rs.\n";
    dirs.write("data/boxes/team/.capsol/knowledge/docs/hello.md", body);
    dirs.write("work/.capdeck/config.json", "{}");
    dirs.write("work/src/there.rs", "");
    let project = dirs.root().join("work");
    let arguments = ["--capsule", "team", "--project", project.to_str().unwrap()];
    let mut client = capdeck(&dirs).serve(&arguments);
    let hello = client.initialize();
    assert_eq!(hello["serverInfo"]["title"], "Capsule Team");
    let read = client.request("resources/read", json!({"uri": "docs://hello"}));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("src/there.rs (present)\n"), "{text}");
    assert!(text.contains("src/gone.rs (MISSING)\n"), "{text}");
    let (status, stderr) = client.close();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_capsule_that_is_not_there_is_refused_and_nothing_is_made() {
    let dirs = TestDirs::new();
    let finished = capdeck(&dirs).args(["serve", "--capsule", "nobody"]).run();
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("there is no capsule `nobody`"), "{finished:?}");
    assert_eq!(std::fs::read_dir(dirs.data()).unwrap().count(), 0);
}

#[test]
fn an_exposure_can_be_forced() {
    let dirs = TestDirs::new();
    dirs.write("config/echo.md", echo_file("Echo"));
    for (mode, first) in [
        ("direct", "echo__say"),
        ("expose-all", "echo__say"),
        ("progressive", "echo"),
        ("search", "search"),
        ("on-demand", "setup_tools"),
    ] {
        let mut client = capdeck(&dirs).serve(&["--exposure", mode]);
        client.initialize();
        let tools = client.request("tools/list", json!({}));
        assert_eq!(tools["result"]["tools"][0]["name"], first, "{mode}");
        client.close();
    }
}

#[test]
fn where_nothing_is_offered_a_call_names_the_shell() {
    let dirs = TestDirs::new();
    dirs.write("config/echo.md", echo_file("Echo"));
    let mut client = capdeck(&dirs).serve(&["--exposure", "none"]);
    client.initialize();
    let tools = client.request("tools/list", json!({}));
    assert_eq!(tools["result"]["tools"], json!([]));
    let answer = client.request("tools/call", json!({"name": "echo__say", "arguments": {}}));
    assert_eq!(answer["result"]["isError"], true);
    let hint = &answer["result"]["structuredContent"]["error"]["hint"];
    assert_eq!(hint, "use the shell: capdeck sh echo say");
    client.close();
}

#[test]
fn a_view_is_served_alone() {
    let dirs = TestDirs::new();
    dirs.write_config(&json!({
        "mcpServers": {"fake": FakePlan::default().deck_entry()},
        "views": {"reviewer": {"tools": ["fake.echo"]}},
    }));
    let mut client = capdeck(&dirs).serve(&["--view", "reviewer", "--exposure", "direct"]);
    client.initialize();
    let tools = client.request("tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap();
    assert_eq!((tools.len(), &tools[0]["name"]), (1, &json!("fake__echo")));
    client.close();
    let finished = run(&dirs, &["serve", "--view", "reviwer"]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("there is no view `reviwer`"), "{}", finished.stderr);
    assert!(finished.stderr.contains("did you mean `reviewer`?"), "{}", finished.stderr);
}

#[test]
fn what_cannot_be_served_fails_at_once() {
    let dirs = TestDirs::new();
    let unknown = run(&dirs, &["serve", "--only", "machin"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("did you mean `machine`?"), "{}", unknown.stderr);
    dirs.write("project/.capdeck/echo.md", echo_file("Echo"));
    let untrusted = run(&dirs, &["serve", "--only", "echo"]);
    assert_eq!(untrusted.code, Some(1));
    assert!(untrusted.stderr.contains("capdeck trust"), "{}", untrusted.stderr);
    let shell_only = echo_file("Quiet").replacen("---\n", "---\nexposure: none\n", 1);
    dirs.write("config/quiet.md", shell_only);
    let refused = run(&dirs, &["serve", "--only", "quiet"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("capdeck sh quiet"), "{}", refused.stderr);
    assert_eq!(run(&dirs, &["serve", "--exposure", "telepathy"]).code, Some(2));
    let unknown = run(&dirs, &["serve", "--only", "quiet,quite"]);
    assert!(unknown.stderr.contains("did you mean `quiet`?"), "{}", unknown.stderr);
    assert_eq!(run(&dirs, &["serve", "--only", "machine", "--view", "x"]).code, Some(2));
}

#[test]
fn several_capabilities_can_be_all_that_is_served() {
    let dirs = TestDirs::new();
    for id in ["one", "two", "three"] {
        dirs.write(format!("config/{id}.md"), echo_file(id));
    }
    let mut client = capdeck(&dirs).serve(&["--only", "one,two", "--exposure", "direct"]);
    client.initialize();
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["one__say", "two__say"]);
    let refused =
        client.request("tools/call", json!({"name": "three__say", "arguments": {"text": "x"}}));
    assert!(refused.get("error").is_some() || refused["result"]["isError"] == true, "{refused}");
    client.close();
}

#[test]
fn a_signal_ends_it_cleanly() {
    let dirs = TestDirs::new();
    let plan = FakePlan { ignore_sigterm: true, ignore_stdin_close: true, ..FakePlan::default() };
    dirs.write_config(&json!({"mcpServers": {"fake": plan.deck_entry()}}));
    for signal in ["-TERM", "-INT"] {
        let mut client = capdeck(&dirs).serve(&["--exposure", "direct"]);
        client.initialize();
        let answer = client.request("tools/call", json!({"name": "fake__environment"}));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        let server = serde_json::from_str::<Value>(text).unwrap()["pid"].as_u64().unwrap();
        let kill = Command::new("kill").args([signal, &client.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let (status, _) = client.ended();
        assert_eq!(status.code(), Some(0), "{signal}");
        assert!(!std::path::Path::new(&format!("/proc/{server}")).exists(), "the server is gone");
    }
}

/// Longer than anything here may take.
const EXIT_TIMEOUT: Duration = Duration::from_secs(120);

/// What the process held at most, in MiB.
fn peak_memory(child: &Child) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() / 1024
}

/// Waits until the audit trail has this many calls: what a call gave is known then, read or not.
fn wait_for_calls(dirs: &TestDirs, count: usize) {
    let deadline = Instant::now() + EXIT_TIMEOUT;
    loop {
        let days = dirs.state().join("audit").read_dir().into_iter().flatten();
        let lines = days.filter_map(|day| std::fs::read_to_string(day.unwrap().path()).ok());
        if lines.map(|text| text.lines().count()).sum::<usize>() >= count {
            return;
        }
        assert!(Instant::now() < deadline, "waited too long for {count} calls");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_client_that_does_not_read_costs_little_and_does_not_hold_up_the_end() {
    let dirs = TestDirs::new();
    dirs.write_config(&json!({"mcpServers": {"fake": FakePlan::default().deck_entry()}}));
    let mut child = capdeck(&dirs).serve_unread(&["--only", "fake"]);
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut send = |id: u64, method: &str, params: Value| {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(stdin, "{message}").unwrap();
    };
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "deaf", "version": "1"}});
    send(1, "initialize", hello);
    stdout.read_line(&mut String::new()).unwrap();
    send(2, "logging/setLevel", json!({"level": "debug"}));
    stdout.read_line(&mut String::new()).unwrap();
    let before = peak_memory(&child);

    // From here on there is no reader: 40 MB of log messages, and some answers.
    let flood = json!({"name": "flood", "arguments": {"count": 2000, "bytes": 20_000}});
    send(3, "tools/call", flood);
    for id in 4..40 {
        let big = json!({"name": "big_result", "arguments": {"bytes": 20_000}});
        send(id, "tools/call", big);
    }
    wait_for_calls(&dirs, 37);
    let grown = peak_memory(&child) - before;
    assert!(grown < 25, "it holds {grown} MiB for a client that does not read");

    drop(stdin);
    let (sender, ended) = mpsc::channel();
    let mut ending = child;
    thread::spawn(move || sender.send(ending.wait().unwrap()).ok());
    let status = ended.recv_timeout(EXIT_TIMEOUT).expect("it ends without a reader");
    assert_eq!(status.code(), Some(0));
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    let whole: Vec<&str> = rest.split_inclusive('\n').filter(|line| line.ends_with('\n')).collect();
    assert!(whole.iter().all(|line| serde_json::from_str::<Value>(line).is_ok()));
}

#[test]
fn serve_at_a_terminal_says_what_it_waits_for() {
    let dirs = TestDirs::new();
    let mut person = Terminal::start(&dirs, &["serve"]);
    person.wait_for("waiting for an MCP client on stdin");
    person.wait_for("capdeck connect");
    person.interrupt();
    assert_eq!(person.end().0, Some(130));
    // A client's pipe is no terminal.
    let piped = capdeck(&dirs).arg("serve").stdin("").run();
    assert_eq!(piped.stderr, "");
}
