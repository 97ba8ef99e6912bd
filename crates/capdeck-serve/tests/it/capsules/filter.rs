//! What a share does not reach does not exist, whichever way one asks (conformance list, items 4, 5, 6, 8, 22, 25).

use capdeck_host::{AuditFilter, RegistryAuditFilter, Role};
use capdeck_test::HttpClient;
use serde_json::{Value, json};

use super::stage::{Stage, call, each, error, facts};

fn filled() -> Stage {
    let stage = Stage::with(&["team"]);
    for (uri, body) in [
        ("docs://open", "the open plan"),
        ("docs://secret", "the secret plan"),
        ("docs://secret/a", "plan plan plan"),
        ("docs://secretary", "plan of the secretary"),
        ("skills://secret", "do secret things"),
        ("skills://open", "do open things"),
    ] {
        stage.write("team", uri, body);
    }
    stage
}

#[test]
fn spec_26_4_a_denied_prefix_is_absent_everywhere() {
    let stage = filled();
    let token = stage.share("team", Role::Writer, &[], &["docs://secret", "skills://secret"]);
    let mut guest = stage.guest("/mcp/team", &token);
    let open = ["docs://open", "docs://secretary", "skills://open"];
    let list = facts(&mut guest, "capsol_read", json!({"list": {}}));
    assert_eq!(each(&list["entries"], "uri"), open);
    let found = facts(&mut guest, "capsol_read", json!({"search": {"query": "plan"}}));
    assert_eq!(found["total"], 2);
    let overview = facts(&mut guest, "capsol_read", json!({}));
    let schemes = overview["schemes"].as_array().unwrap();
    assert!(schemes.contains(&json!({"scheme": "docs", "entries": 2})), "{overview}");
    assert_eq!(overview["recent"].as_array().unwrap().len(), 3);
    let signals = facts(&mut guest, "capsol_signal", json!({"action": "poll"}));
    assert_eq!(each(&signals["signals"], "uri").len(), 3);
    let mut listed = |method: &str, list: &str, key: &str| {
        each(&guest.request(method, json!({}))["result"][list], key)
    };
    assert_eq!(listed("resources/list", "resources", "uri"), open);
    assert_eq!(listed("prompts/list", "prompts", "name"), ["open"]);
    assert_eq!(listed("skills/list", "skills", "uri"), ["skill://open/SKILL.md"]);
    let completed = guest.request(
        "completion/complete",
        json!({"ref": {"type": "ref/resource", "uri": "docs://{+path}"},
            "argument": {"name": "path", "value": "sec"}}),
    );
    assert_eq!(completed["result"]["completion"]["values"], json!(["secretary"]));
}

#[test]
fn spec_26_5_and_6_deny_wins_and_prefixes_end_at_segments() {
    let stage = filled();
    let allow = ["docs://secret/a", "docs://open", "docs://secretary"];
    let token = stage.share("team", Role::Reader, &allow, &["docs://secret"]);
    let mut guest = stage.guest("/mcp/team", &token);
    let list = facts(&mut guest, "capsol_read", json!({"list": {}}));
    assert_eq!(each(&list["entries"], "uri"), ["docs://open", "docs://secretary"]);
}

#[test]
fn spec_26_8_hidden_and_missing_give_the_same_bytes() {
    let stage = filled();
    let token = stage.share("team", Role::Writer, &[], &["docs://secret", "skills://secret"]);
    let mut guest = stage.guest("/mcp/team", &token);
    let mut same = |ask: &dyn Fn(&mut HttpClient, &str) -> Value| {
        let hidden = ask(&mut guest, "secret").to_string().replace("secret", "NAME");
        let missing = ask(&mut guest, "secrex").to_string().replace("secrex", "NAME");
        assert_eq!(
            hidden.replace("\"id\":", "").replace(char::is_numeric, ""),
            missing.replace("\"id\":", "").replace(char::is_numeric, "")
        );
        assert!(hidden.contains("error"), "{hidden}");
    };
    same(&|guest, name| call(guest, "capsol_read", json!({"uri": format!("docs://{name}")})));
    same(&|guest, name| {
        call(guest, "capsol_read", json!({"uri": format!("docs://{name}"), "format": "history"}))
    });
    let patch = json!([{"op": "append", "text": "x"}]);
    same(&|guest, name| {
        call(guest, "capsol_write", json!({"uri": format!("docs://{name}"), "patch": patch}))
    });
    same(&|guest, name| guest.request("resources/read", json!({"uri": format!("docs://{name}")})));
    same(&|guest, name| guest.request("prompts/get", json!({"name": name})));
    same(&|guest, name| {
        guest.request("resources/read", json!({"uri": format!("skill://{name}/SKILL.md")}))
    });
}

#[test]
fn spec_26_22_each_tool_call_is_one_line_without_content() {
    let stage = filled();
    let token = stage.share("team", Role::Reader, &[], &["docs://secret"]);
    let mut guest = stage.guest("/mcp/team", &token);
    let before = stage.audit("team").len();
    for (tool, arguments) in [
        ("capsol_read", json!({"uri": "docs://open"})),
        ("capsol_read", json!({"uri": "docs://secret"})),
        ("capsol_read", json!({"search": {"query": "canary-query"}})),
        ("capsol_write", json!({"uri": "docs://new", "content": "canary-body"})),
        ("capsol_write", json!({"uri": "docs://../x", "content": "canary-body"})),
        ("capsol_memory", json!({"action": "set", "key": "k", "value": "canary-memory"})),
        ("capsol_signal", json!({"action": "send", "kind": "k", "text": "canary-signal"})),
        ("capsol_read", json!({"canary-argument": 1})),
        ("capsol_write", json!({"uri": 1, "content": "canary-body"})),
        ("capsol_read", json!({"uri": "docs://open", "capsule": "canary-capsule"})),
    ] {
        call(&mut guest, tool, arguments);
    }
    let lines = stage.audit("team");
    let new = &lines[before..];
    let reported: Vec<_> = new
        .iter()
        .map(|line| (line["action"].as_str().unwrap(), line["outcome"].as_str().unwrap()))
        .collect();
    assert_eq!(
        reported,
        [
            ("read", "ok"),
            ("read", "denied"),
            ("search", "ok"),
            ("write.create", "denied"),
            ("write.replace", "error"),
            ("memory.set", "ok"),
            ("signal.send", "ok"),
            ("read", "error"),
            ("write", "error"),
            ("read", "error"),
        ]
    );
    let text = json!(lines).to_string();
    assert!(!text.contains("canary") && !text.contains(&token.secret), "{text}");
}

#[test]
fn spec_26_22_looking_around_among_capsules_is_one_line_of_the_registry() {
    let stage = filled();
    let token = stage.share("team", Role::Reader, &[], &[]);
    let mut guest = stage.guest("/mcp", &token);
    let lines = || {
        let query = RegistryAuditFilter(AuditFilter::default());
        let lines = stage.ask(None, query).unwrap()["lines"].clone();
        lines.as_array().unwrap().clone()
    };
    let before = lines().len();
    for arguments in [
        json!({"action": "list"}),
        json!({"action": "discover"}),
        json!({"action": "mount", "capsule": "team"}),
        json!({"action": "mount", "capsule": "canary"}),
        json!({"action": "unmount"}),
    ] {
        call(&mut guest, "capsol_capsules", arguments);
    }
    let all = lines();
    let reported: Vec<_> = all[before..]
        .iter()
        .map(|line| [&line["action"], &line["outcome"], &line["capsule"]].map(Value::as_str))
        .collect();
    assert_eq!(
        reported,
        [
            [Some("capsule.list"), Some("ok"), None],
            [Some("capsule.discover"), Some("ok"), None],
            [Some("capsule.mount"), Some("ok"), Some("team")],
            [Some("capsule.mount"), Some("denied"), None],
            [Some("capsule.unmount"), Some("ok"), None],
        ]
    );
    let text = json!(all).to_string();
    assert!(!text.contains("canary") && !text.contains(&token.secret), "{text}");
}

#[test]
fn spec_26_25_of_two_writes_on_one_version_exactly_one_wins() {
    let stage = Stage::with(&["team"]);
    stage.write("team", "docs://a", "0");
    for version in 1..=5 {
        let outcomes: Vec<Value> = std::thread::scope(|scope| {
            let write = |body: &'static str| {
                let mut client = stage.client("/mcp/team");
                move || {
                    let write = json!({"uri": "docs://a", "content": body, "if_version": version});
                    call(&mut client, "capsol_write", write)
                }
            };
            let both = [scope.spawn(write("one")), scope.spawn(write("two"))];
            both.map(|thread| thread.join().unwrap()).into_iter().collect()
        });
        let lost: Vec<_> = outcomes.iter().filter(|result| result["isError"] == true).collect();
        assert_eq!(lost.len(), 1, "{outcomes:?}");
        let error = &lost[0]["structuredContent"]["error"];
        assert_eq!(error["code"], "version_conflict");
        assert_eq!(error["details"]["current_version"], version + 1);
    }
    let mut client = stage.client("/mcp/team");
    let none = error(
        &mut client,
        "capsol_write",
        json!({"uri": "docs://b", "content": "x", "if_version": 3}),
    );
    assert_eq!(none["details"]["current_version"], 0);
}
