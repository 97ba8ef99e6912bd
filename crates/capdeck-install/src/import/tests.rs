use serde_json::{Value, json};

use super::*;
use crate::client::AgentClient;

fn take(client: &str, entry: &Value) -> Result<ImportedServer, String> {
    let client = AgentClient::find(client).unwrap();
    let mut document = crate::edit::ConfigDocument::parse("", client.format).unwrap();
    let container = client.container(&document);
    let mut path = container.clone();
    path.push("My Server".into());
    document.set(&path, entry.clone()).unwrap();
    import_server(&client.servers(&document)[0], &ClientInputs::default())
}

#[test]
fn every_form_becomes_the_same_fields() {
    let program = json!({ "command": "npx", "args": ["-y", "pkg"], "env": { "MODE": "fast" } });
    for (client, entry) in [
        ("cursor", json!({ "command": "npx", "args": ["-y", "pkg"], "env": { "MODE": "fast" } })),
        (
            "opencode",
            json!({ "type": "local", "command": ["npx", "-y", "pkg"], "environment": { "MODE": "fast" }, "enabled": true }),
        ),
        (
            "goose",
            json!({ "type": "stdio", "cmd": "npx", "args": ["-y", "pkg"], "envs": { "MODE": "fast" }, "enabled": true, "timeout": 300 }),
        ),
        (
            "codex",
            json!({ "command": "npx", "args": ["-y", "pkg"], "env": { "MODE": "fast" }, "startup_timeout_sec": 5 }),
        ),
        (
            "zed",
            json!({ "source": "custom", "command": { "path": "npx", "args": ["-y", "pkg"], "env": { "MODE": "fast" } } }),
        ),
    ] {
        let mut fields = take(client, &entry).unwrap().fields;
        for key in ["transport", "callTimeoutMs", "startupTimeoutMs"] {
            fields.as_object_mut().unwrap().remove(key);
        }
        assert_eq!(fields, program, "{client}");
    }
    for (client, entry) in [
        ("windsurf", json!({ "serverUrl": "https://x.test/mcp" })),
        ("gemini-cli", json!({ "httpUrl": "https://x.test/mcp" })),
        ("goose", json!({ "type": "streamable_http", "uri": "https://x.test/mcp" })),
        ("opencode", json!({ "type": "remote", "url": "https://x.test/mcp", "headers": {} })),
    ] {
        let taken = take(client, &entry).unwrap();
        assert_eq!(taken.fields["url"], "https://x.test/mcp", "{client}");
        assert_eq!(taken.summary, "Tools of the MCP server `My Server` at x.test.");
        assert_eq!(taken.id, "My-Server");
    }
}

#[test]
fn secrets_are_taken_out_wherever_they_stand() {
    let entry = json!({
        "command": "srv",
        "args": ["--api-key", "k1", "--token=t1", "ghp_0123456789", "plain"],
        "env": { "SERVICE_TOKEN": "e1", "FROM_ENV_TOKEN": "${env:MINE}", "MODE": "fast" },
    });
    let taken = take("cursor", &entry).unwrap();
    let expected = json!({
        "command": "srv",
        "args": ["--api-key", "${vault:MY_SERVER_API_KEY}", "--token=${vault:MY_SERVER_TOKEN}", "${vault:MY_SERVER_ARGUMENT}", "plain"],
        "env": { "SERVICE_TOKEN": "${vault:MY_SERVER_SERVICE_TOKEN}", "FROM_ENV_TOKEN": "${MINE}", "MODE": "fast" },
    });
    assert_eq!(taken.fields, expected);
    let values: Vec<(&str, &str)> =
        taken.secrets.iter().map(|secret| (secret.name.as_str(), secret.value.as_str())).collect();
    assert_eq!(
        values,
        [
            ("MY_SERVER_SERVICE_TOKEN", "e1"),
            ("MY_SERVER_API_KEY", "k1"),
            ("MY_SERVER_TOKEN", "t1"),
            ("MY_SERVER_ARGUMENT", "ghp_0123456789"),
        ]
    );
    assert!(!format!("{taken:?}").contains("ghp_0123456789"));

    let header = json!({ "command": "npx", "args": ["mcp-remote", "https://x.test", "--header", "Authorization: Bearer h2", "-e", "KEY=v"] });
    let taken = take("cursor", &header).unwrap();
    assert_eq!(
        taken.fields["args"],
        json!([
            "mcp-remote",
            "https://x.test",
            "--header",
            "${vault:MY_SERVER_HEADER}",
            "-e",
            "${vault:MY_SERVER_E}"
        ])
    );
    let remote = json!({ "url": "https://x.test/mcp?api_key=q1&page=2", "headers": { "Authorization": "Bearer h1" } });
    let taken = take("cursor", &remote).unwrap();
    assert_eq!(taken.fields["url"], "https://x.test/mcp?api_key=${vault:MY_SERVER_API_KEY}&page=2");
    assert_eq!(
        taken.fields["auth"],
        json!({ "type": "bearer", "token": "${vault:MY_SERVER_AUTHORIZATION}" })
    );
    let codex = json!({ "url": "https://x.test/mcp", "bearer_token_env_var": "X_TOKEN", "tool_timeout_sec": 5 });
    let taken = take("codex", &codex).unwrap();
    assert_eq!(taken.fields["auth"], json!({ "type": "bearer", "token": "${X_TOKEN}" }));
    assert_eq!(taken.fields["callTimeoutMs"], 5000);
    assert!(taken.ignored.is_empty(), "{:?}", taken.ignored);
    let passed = json!({ "command": "x", "env": { "A": "1" }, "env_vars": ["A", "B_TOKEN"] });
    let env = json!({ "A": "1", "B_TOKEN": "${B_TOKEN}" });
    assert_eq!(take("codex", &passed).unwrap().fields["env"], env);
    let asked = json!({ "command": "x", "env": { "API_KEY": "${input:api-key}" } });
    let taken = take("vscode", &asked).unwrap();
    assert_eq!(taken.fields["env"]["API_KEY"], "${vault:MY_SERVER_API_KEY}");
    assert_eq!(taken.missing[0].name, "MY_SERVER_API_KEY");
    assert!(taken.secrets.is_empty());
    let both = json!({ "url": "https://x.test/mcp", "http_headers": { "X-Team": "a" }, "env_http_headers": { "X-Key": "K" } });
    let headers = json!({ "type": "headers", "headers": { "X-Team": "a", "X-Key": "${K}" } });
    assert_eq!(take("codex", &both).unwrap().fields["auth"], headers);
    assert!(taken.secrets.is_empty());
}

#[test]
fn the_choice_of_tools_is_taken_along() {
    for (client, lists, tools) in [
        (
            "codex",
            json!({ "enabled_tools": ["a", "b"], "disabled_tools": ["b"] }),
            json!({ "exactly": ["a", "b"], "except": ["b"] }),
        ),
        (
            "gemini-cli",
            json!({ "includeTools": ["a", "shell(git)"] }),
            json!({ "exactly": ["a", "shell"] }),
        ),
        ("qwen-code", json!({ "excludeTools": ["a"] }), json!({ "except": ["a"] })),
        ("kiro", json!({ "disabledTools": ["a"] }), json!({ "except": ["a"] })),
        ("copilot-cli", json!({ "tools": ["a"] }), json!({ "exactly": ["a"] })),
        ("copilot-cli", json!({ "tools": ["*"] }), Value::Null),
    ] {
        let mut entry = json!({ "command": "x" });
        entry.as_object_mut().unwrap().extend(lists.as_object().unwrap().clone());
        let taken = take(client, &entry).unwrap();
        assert_eq!(taken.fields["tools"], tools, "{client}");
        assert!(taken.ignored.is_empty(), "{client}: {:?}", taken.ignored);
    }
    // What is uncertain is named.
    let unclear = json!({ "command": "x", "enabled_tools": [], "disabled_tools": "a" });
    assert_eq!(take("codex", &unclear).unwrap().ignored, ["enabled_tools", "disabled_tools"]);
}

#[test]
fn values_that_people_write_carelessly_are_understood() {
    let entry = json!({ "command": "x", "args": ["--port", 80], "env": { "N": 5, "ON": true }, "cwd": null, "headers": null });
    let taken = take("cursor", &entry).unwrap();
    let expected =
        json!({ "command": "x", "args": ["--port", "80"], "env": { "N": "5", "ON": "true" } });
    assert_eq!(taken.fields, expected);
    for client in ["gemini-cli", "qwen-code", "iflow-cli"] {
        let entry = json!({ "command": "x", "env": { "SERVICE_TOKEN": "$MINE" } });
        let taken = take(client, &entry).unwrap();
        assert_eq!(taken.fields["env"], json!({ "SERVICE_TOKEN": "${MINE}" }), "{client}");
    }
    // Elsewhere a dollar sign is a dollar sign.
    let plain = json!({ "command": "x", "env": { "PRICE": "$MINE" } });
    assert_eq!(take("cursor", &plain).unwrap().fields["env"]["PRICE"], "$MINE");
    let both = json!({ "url": "https://x.test/mcp", "headers": { "Authorization": "Bearer h1", "X-Toolsets": "repos" } });
    let headers = json!({ "Authorization": "Bearer ${vault:MY_SERVER_AUTHORIZATION}", "X-Toolsets": "repos" });
    assert_eq!(take("cursor", &both).unwrap().fields["auth"]["headers"], headers);
}

#[test]
fn what_cannot_be_taken_says_why() {
    for (client, entry, reason) in [
        (
            "vscode",
            json!({ "command": "x", "args": ["${command:key}"] }),
            "it uses `command`, which only the client knows",
        ),
        (
            "goose",
            json!({ "type": "builtin", "name": "developer" }),
            "it is part of the client itself",
        ),
        ("cursor", json!({ "note": 1 }), "it names neither a program nor an address"),
        ("cursor", json!({ "command": "a", "url": "b" }), "it names both a program and an address"),
        ("cursor", json!({ "type": "ws", "url": "wss://x" }), "its `type` is not known: `ws`"),
        ("cursor", json!("x"), "it is not a map"),
        (
            "cursor",
            json!({ "url": "https://me:canary@x.test/mcp" }),
            "its address holds a password; give that in a header",
        ),
        (
            "opencode",
            json!({ "type": "local", "command": ["x"], "environment": { "K": "{file:./k}" } }),
            "it reads a file into its configuration",
        ),
    ] {
        assert_eq!(take(client, &entry).unwrap_err(), reason, "{entry}");
    }
}
