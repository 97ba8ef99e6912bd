//! `capdeck up`: HTTP for agents, a banner for people, a clean end.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    process::{Command, Stdio},
};

use capdeck_auth::inbound::AdminKey;
use capdeck_test::{FakePlan, HttpClient, RunningHost, TestDirs};
use serde_json::{Value, json};

use crate::{capdeck, run, shown, terminal::Terminal};

#[test]
fn with_nothing_configured_it_serves_the_starter_deck() {
    let dirs = TestDirs::new();
    let host = capdeck(&dirs).up(&[]);
    let mut client = host.client("/mcp");
    client.initialize();
    let found = client.request(
        "tools/call",
        json!({"name": "call_tool", "arguments": {"name": "machine__now", "data": {"zone": "UTC"}}}),
    );
    let text = found["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("+0000"), "{found}");
}

#[test]
fn the_exposure_can_be_chosen() {
    let dirs = TestDirs::new();
    let host = capdeck(&dirs).up(&["--exposure", "direct"]);
    let mut client = host.client("/mcp");
    client.initialize();
    let tools = client.request("tools/list", json!({}));
    let names: Vec<_> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"machine__now"), "{names:?}");
}

#[test]
fn it_tells_where_it_listens_and_ends_on_sigterm_with_its_children() {
    let dirs = TestDirs::new();
    let record = dirs.root().join("record.jsonl");
    let plan = FakePlan {
        record: Some(record.clone()),
        ignore_sigterm: true,
        ignore_stdin_close: true,
        ..FakePlan::default()
    };
    dirs.write_config(&json!({"mcpServers": {"fake": plan.deck_entry()}}));
    let mut command = Command::new(env!("CARGO_BIN_EXE_capdeck"));
    dirs.isolate(&mut command).args(["up", "--port", "0", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!((&first["pid"], &first["capabilities"]), (&json!(child.id()), &json!(1)));
    assert_eq!(first["mcp"], json!(format!("{}/mcp", first["url"].as_str().unwrap())));

    let mut client = capdeck_test::HttpClient::new(first["mcp"].as_str().unwrap());
    client.initialize();
    client.request("tools/call", json!({"name": "call_tool", "arguments": {"name": "fake__echo"}}));
    let started = std::fs::read_to_string(&record).unwrap();
    let line = started.lines().find(|line| line.contains("\"started\"")).unwrap();
    let server = serde_json::from_str::<Value>(line).unwrap()["started"].as_u64().unwrap();

    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    // Not even an entry is left: the host waited for its children, however stubborn, before it ended.
    assert!(!std::path::Path::new(&format!("/proc/{server}")).exists(), "the server is gone");
}

#[test]
fn ctrl_c_at_a_terminal_is_130_and_the_same_signal_of_a_program_is_not() {
    let dirs = TestDirs::new();
    let mut person = Terminal::start(&dirs, &["up", "--port", "0"]);
    person.wait_for("Stop with Ctrl-C");
    person.interrupt();
    assert_eq!(person.end().0, Some(130));

    let mut command = Command::new(env!("CARGO_BIN_EXE_capdeck"));
    dirs.isolate(&mut command).args(["up", "--port", "0", "--json"]).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    let stopped = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(stopped.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// What `up` prints for people, without what differs from run to run.
fn banner(dirs: &TestDirs, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capdeck"));
    dirs.isolate(&mut command).args(["up", "--port", "0"]).args(arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut banner = String::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        banner.push_str(&format!("{line}\n"));
        if line.contains("Ctrl-C") {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let port: String = banner
        .split("127.0.0.1:")
        .nth(1)
        .unwrap()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    banner.replace(&port, "[PORT]").replace(&dirs.state().display().to_string(), "[STATE]")
}

#[test]
fn the_banner_of_a_shared_host_sends_agents_to_the_sign_in() {
    let dirs = TestDirs::new();
    insta::assert_snapshot!(banner(&dirs, &["--auth", "required"]), @r#"
    The admin key of this host is in [STATE]/admin.key
    Capdeck serves http://127.0.0.1:[PORT]

      CAPABILITY  TOOLS  NAME
      authoring   5      Capdeck authoring
      machine     5      This machine

    This is the starter deck. Begin your own with: capdeck init

    Dashboard: http://127.0.0.1:[PORT]/

    Paste this into an MCP client:

      {
        "mcpServers": {
          "capdeck": {
            "type": "http",
            "url": "http://127.0.0.1:[PORT]/mcp"
          }
        }
      }

    The client opens a page in the browser, where you choose what it can use.
    An agent without a browser enrolls: POST http://127.0.0.1:[PORT]/v1/agent-enrollments
    The admin key is for people, to sign in to the dashboard. Do not give it to agents.

    Stop with Ctrl-C.
    "#);
}

#[test]
fn the_banner_has_what_to_paste() {
    let dirs = TestDirs::new();
    insta::assert_snapshot!(banner(&dirs, &[]), @r#"
    Capdeck serves http://127.0.0.1:[PORT]

      CAPABILITY  TOOLS  NAME
      authoring   5      Capdeck authoring
      machine     5      This machine

    This is the starter deck. Begin your own with: capdeck init

    Dashboard: http://127.0.0.1:[PORT]/

    Paste this into an MCP client:

      {
        "mcpServers": {
          "capdeck": {
            "type": "http",
            "url": "http://127.0.0.1:[PORT]/mcp"
          }
        }
      }

    Stop with Ctrl-C.
    "#);
}

#[test]
fn a_port_in_use_is_exit_2_with_a_way_out() {
    let dirs = TestDirs::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let finished = run(&dirs, &["up", "--port", &port]);
    insta::assert_snapshot!(shown(&dirs, &finished).replace(&port, "[PORT]"), @r"
    exit 2
    --- stdout
    --- stderr
    error: port [PORT] of 127.0.0.1 is already in use
    hint: is capdeck already running? Pick a free port with: capdeck up --port 0
    ");
}

#[test]
fn other_machines_need_a_key() {
    let dirs = TestDirs::new();
    let refused =
        run(&dirs, &["up", "--host", "0.0.0.0", "--port", "0", "--auth", "local", "--json"]);
    let code = &refused.json()["error"]["code"];
    assert_eq!((refused.code, code), (Some(2), &json!("AUTH_NOT_LOCAL")));

    let host =
        capdeck(&dirs).env("CAPDECK_ADMIN_KEY", "canary-key-of-sixteen").up(&["--host", "0.0.0.0"]);
    let mut client = host.client("/mcp");
    let reply = client.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(reply.status, 401);
}

#[test]
fn a_key_that_no_client_could_sign_in_with_is_refused_at_the_start() {
    let dirs = TestDirs::new();
    for wrong in ["canary-key", "canary key with spaces"] {
        let refused = capdeck(&dirs).env("CAPDECK_ADMIN_KEY", wrong);
        let refused = refused.args(["up", "--port", "0", "--json"]).run();
        let error = &refused.json()["error"];
        assert_eq!((refused.code, &error["code"]), (Some(2), &json!("BAD_ADMIN_KEY")));
        assert!(error["hint"].as_str().unwrap().contains("openssl rand"), "{error}");
        assert!(!refused.stderr.contains("canary") && !error.to_string().contains("canary"));
        let doctor = capdeck(&dirs).env("CAPDECK_ADMIN_KEY", wrong);
        let doctor = doctor.args(["doctor", "--json"]).run();
        assert_eq!(doctor.code, Some(1));
        assert!(doctor.stdout.contains("CAPDECK_ADMIN_KEY cannot be used"), "{}", doctor.stdout);
    }
}

#[test]
fn the_secret_of_a_provider_is_looked_up_before_anybody_signs_in() {
    let dirs = TestDirs::new();
    let oidc = json!({
        "issuer": "http://127.0.0.1:9/tenant", "clientId": "capdeck", "clientSecret": "$vault:OIDC_SECRET",
    });
    dirs.write_config(&json!({"serve": {"oidc": oidc}}));
    let refused = run(&dirs, &["up", "--port", "0", "--json"]);
    let error = &refused.json()["error"];
    assert_eq!((refused.code, &error["code"]), (Some(2), &json!("NO_CLIENT_SECRET")));
    assert_eq!(error["hint"], "run: capdeck vault set OIDC_SECRET");
    let doctor = run(&dirs, &["doctor", "--json"]);
    assert!(
        doctor.stdout.contains("`serve.oidc.clientSecret` cannot be used"),
        "{}",
        doctor.stdout
    );

    capdeck(&dirs).args(["vault", "set", "OIDC_SECRET"]).stdin("canary-secret\n").run().success();
    let doctor = run(&dirs, &["doctor", "--json"]);
    assert!(doctor.stdout.contains("operators may sign in at http://127.0.0.1:9/tenant"));
    let host = capdeck(&dirs).up(&[]);
    let ways = host.client("/api/sign-in").send("GET", "/api/sign-in", &[], b"");
    assert_eq!(ways.body, r#"{"provider":{"label":"127.0.0.1"}}"#);
}

#[test]
fn a_host_for_others_makes_its_own_key_and_keeps_it_to_itself() {
    let dirs = TestDirs::new();
    let log = dirs.root().join("log");
    let host = capdeck(&dirs).stderr_to(&log).up(&["--host", "0.0.0.0"]);
    let file = dirs.state().join("admin.key");
    let key = AdminKey::load(&file).unwrap().unwrap();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let refused = host.client("/mcp").post(ping);
    assert_eq!(refused.status, 401);
    let challenge = refused.header("www-authenticate").unwrap().to_owned();
    assert!(challenge.contains("resource_metadata="), "{challenge}");
    let mut owner = host.client("/mcp");
    owner.headers.push(("Authorization".to_owned(), format!("Bearer {}", key.reveal())));
    owner.initialize();
    drop(host);
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(!said.contains(key.reveal()), "there is no terminal: {said}");
    assert!(said.contains("admin.key"), "{said}");

    let again = TestDirs::new();
    let log = again.root().join("log");
    let shown = capdeck(&again).env("CAPSOL_PRINT_ADMIN_KEY", "1").stderr_to(&log);
    let host = shown.up(&["--auth", "required"]);
    let file = std::fs::read_to_string(again.state().join("admin.key")).unwrap();
    let said = std::fs::read_to_string(&log).unwrap();
    let line = said.lines().find(|line| line.trim().starts_with("cap_ad_")).unwrap();
    assert_eq!(line, file.trim_end(), "the line is the key and nothing else");
    // The line of the file and the line of the terminal sign in as they are.
    for pasted in [file.as_str(), line, file.trim_end()] {
        let body = json!({"key": pasted}).to_string();
        let headers = [("Content-Type", "application/json")];
        let reply = host.client("/api/login").send("POST", "/api/login", &headers, body.as_bytes());
        assert_eq!(reply.status, 200, "{pasted:?}: {reply:?}");
    }
}

#[test]
fn item_24_a_second_host_serves_without_the_registry_and_says_where_it_is() {
    let dirs = TestDirs::new();
    let first = capdeck(&dirs).up(&[]);
    let register = |host: &RunningHost| {
        let headers = [("Content-Type", "application/json")];
        let body = br#"{"redirect_uris": ["http://127.0.0.1:9/cb"]}"#;
        host.client("/oauth/register").send("POST", "/oauth/register", &headers, body)
    };
    assert!(!dirs.data().join("registry").exists(), "nothing is made before it is needed");
    assert_eq!(register(&first).status, 201);
    drop(first);
    let first = capdeck(&dirs).up(&[]);
    let second = capdeck(&dirs).up(&[]);
    assert_eq!(register(&second).status, 503);
    let me = second.client("/api/me").send("GET", "/api/me", &[], b"");
    let me: serde_json::Value = serde_json::from_str(&me.body).unwrap();
    assert_eq!(me["registry"]["available"], false);
    let place = me["registry"]["served_at"].as_str().unwrap();
    let there = HttpClient::new(&format!("{place}/api/me")).send("GET", "/api/me", &[], b"");
    assert!(there.body.contains(r#""available":true"#), "{place}: {}", there.body);
    second.client("/mcp").initialize();
    assert_eq!(register(&first).status, 201);
}

#[test]
fn the_address_comes_from_flag_environment_or_file() {
    let dirs = TestDirs::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let is_tried =
        |finished: &capdeck_test::CapdeckOutput| finished.stderr.contains(&format!("port {port} "));
    dirs.write_config(&json!({"serve": {"port": port}}));
    assert!(is_tried(&run(&dirs, &["up"])));
    assert!(is_tried(&capdeck(&dirs).arg("up").env("CAPDECK_PORT", port.to_string()).run()));
    let bad = capdeck(&dirs).arg("up").env("CAPDECK_PORT", "many").run();
    assert_eq!(bad.code, Some(2));
    // The flag wins over both.
    let host = capdeck(&dirs).env("CAPDECK_PORT", port.to_string()).up(&[]);
    assert!(!host.url.ends_with(&format!(":{port}")));
}

#[test]
fn tokens_are_refused_in_addresses_and_never_logged() {
    let dirs = TestDirs::new();
    let log = dirs.root().join("log");
    let mut host = capdeck(&dirs).env("CAPDECK_LOG", "trace").stderr_to(&log).up(&[]);
    for (path, bearer, status) in [
        ("/mcp?token=cap_sh_canary", None, 410),
        ("/health?a=1&access_token=canary", None, 410),
        ("/mcp/team", Some("Bearer cap_sh_canary"), 401),
        ("/mcp", Some("Bearer canary"), 401),
    ] {
        let headers: Vec<_> = bearer.iter().map(|value| ("Authorization", *value)).collect();
        let reply = host.client(path).send("POST", path, &headers, b"{}");
        assert_eq!(reply.status, status, "{path} {reply:?}");
    }
    let mut client = host.client("/mcp");
    client.initialize();
    client.request("resources/read", json!({"uri": "nothing://here"}));
    host.stop();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("nothing://here") && !log.contains("canary"), "{log}");
}
