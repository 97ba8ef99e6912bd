//! Planted secrets of every origin never come out: in no output of any command, no log, no file.

use std::{fs, path::Path};

use capdeck_test::{CapdeckRun, FakePlan, TestDirs};
use serde_json::{Value, json};

use crate::{auth::sign_in, capdeck, provider::Provider};

/// From the environment, from the vault, as a client's secret. Tokens are `canary-access-…`.
const FROM_ENVIRONMENT: &str = "canary-environment/1+a";
pub(crate) const FROM_VAULT: &str = "canary-vault/2+b";
const CLIENT_SECRET: &str = "canary-client/3+c";

/// Every kind of backend that repeats its input, and every place that can hold a secret.
fn deck(provider: &Provider) -> TestDirs {
    let dirs = TestDirs::new();
    let (program, arguments) = FakePlan::default().command();
    let url = &provider.url;
    let get =
        |path: &str| json!({"description": "Gets $env:MY_SECRET.", "method": "GET", "path": path});
    let api = |auth: Value, path: &str| {
        json!({
            "name": "API", "description": "An API that tells what it was sent.", "baseUrl": url, "auth": auth,
            "actions": {"get": get(path)},
        })
    };
    let secret = json!({"A": "$env:MY_SECRET", "B": "${vault:STORED}"});
    let oauth = json!({
        "type": "oauth2", "clientId": "client-1", "clientSecret": "$env:CLIENT", "scopes": ["read"],
    });
    dirs.write_config(&json!({
        "policy": [{"allow": {}}],
        "mcpServers": {"server": {"command": program, "args": arguments, "env": secret}},
        "cliTools": {"shell": {
            "name": "Shell", "description": "A shell that tells what it was given.", "env": secret,
            "actions": {
                "tell": {"command": "sh", "args": ["-c", "echo $A $B; echo $A $B >&2; exit $0", "0"]},
                "fail": {"command": "sh", "args": ["-c", "echo $A $B; echo $A $B >&2; exit 1"]},
                "nowhere": {"command": "/nowhere/$vault:STORED/$env:MY_SECRET"},
                "long": {"command": "sh", "args": ["-c", "i=0; while [ $i -lt 9000 ]; do echo $A$B; i=$((i+1)); done"]},
            },
        }},
        "httpApis": {
            "bearer": api(json!({"type": "bearer", "token": "$vault:STORED"}), "/echo"),
            "header": api(json!({"type": "headers", "headers": {"x-key": "$env:MY_SECRET"}}), "/echo"),
            "missing": api(json!({"type": "bearer", "token": "$vault:NOT_THERE $env:MY_SECRET"}), "/echo"),
            "items": api(oauth, "/items"),
        },
    }));
    dirs
}

/// The binary with the secrets in its environment, saying all it can.
pub(crate) fn loud(dirs: &TestDirs) -> CapdeckRun {
    capdeck(dirs)
        .env("CAPDECK_LOG", "trace")
        .env("MY_SECRET", FROM_ENVIRONMENT)
        .env("CLIENT", CLIENT_SECRET)
}

pub(crate) fn assert_clean(place: &str, text: &str) {
    for secret in ["canary", "%2F1%2Ba", "%2F2%2Bb", "%2F3%2Bc"] {
        assert!(!text.contains(secret), "`{secret}` is in {place}:\n{text}");
    }
}

pub(crate) fn assert_clean_files(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            assert_clean_files(&path);
        } else if path.is_file() {
            // Sockets hold nothing.
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            assert_clean(&path.display().to_string(), &text);
        }
    }
}

#[test]
fn no_secret_comes_out_of_any_command() {
    let provider = Provider::start();
    let dirs = deck(&provider);
    let granted = ["server", "shell", "bearer"].map(|id| ["--grant", id]);
    let set = loud(&dirs).args(["vault", "set", "STORED"]).args(granted.concat());
    let set = set.stdin(FROM_VAULT).run().success();
    assert_clean("vault set", &format!("{}{}", set.stdout, set.stderr));
    sign_in_loudly(&dirs);

    let calls = [
        ("server", "environment"),
        ("shell", "tell"),
        ("shell", "fail"),
        ("shell", "nowhere"),
        ("shell", "long"),
        ("bearer", "get"),
        ("header", "get"),
        ("missing", "get"),
        ("items", "get"),
    ];
    let mut redacted = 0;
    let mut commands: Vec<Vec<&str>> =
        calls.iter().map(|(id, tool)| vec!["call", id, tool]).collect();
    for (id, tool) in calls {
        commands.push(vec!["describe", id, tool]);
        commands.push(vec!["why", id, tool]);
    }
    for id in ["server", "shell", "bearer", "header", "missing", "items"] {
        commands.extend([vec!["inspect", id], vec!["tools", id], vec!["check", id]]);
    }
    for line in [
        "list --all",
        "search secret",
        "doctor",
        "validate",
        "budget",
        "approvals",
        "pins list",
        "pins diff",
        "auth status",
        "auth refresh items",
        "vault list",
        "vault get STORED",
        "vault rekey",
        "trust",
        "untrust",
        "approve nothing",
        "setup shell --yes",
        "init",
        "schema caplet",
        "schema config",
        "completions bash",
        "completions zsh",
        "artifacts list",
        "artifacts prune",
        "artifacts read capdeck://artifacts/shell/none/none",
        "artifacts delete capdeck://artifacts/shell/none/none",
        "add openapi described --spec ./missing-$env:MY_SECRET.json --token-env MY_SECRET",
        "add mcp remote --url https://mcp.example/$env:MY_SECRET --token-env MY_SECRET --print",
        "add http web --base-url https://api.example --action get:GET:/x --token-env MY_SECRET --print",
        "auth login items --no-open --device",
        "auth login shell",
        "vault grant shell STORED",
        "vault revoke shell STORED",
        "call shell tell",
        "auth logout items",
        "call items get",
        "vault delete STORED",
    ] {
        commands.push(line.split(' ').collect());
    }
    for words in commands {
        for format in [&[][..], &["--json"]] {
            let done = loud(&dirs).args(&words).args(format).run();
            assert_ne!(done.code, Some(255), "{words:?}: {done:?}");
            assert_clean(
                &format!("{words:?} {format:?}"),
                &format!("{}{}", done.stdout, done.stderr),
            );
            redacted += usize::from(done.stdout.contains("[redacted]"));
        }
    }
    assert!(redacted >= 12, "the backends did repeat their secrets ({redacted})");
    // What a shell's completion offers for the words so far.
    for words in ["call ", "call shell ", "vault get ", "auth login ", "artifacts read "] {
        let asking = loud(&dirs).env("CAPDECK_COMPLETE", "fish").args(["--", "capdeck"]);
        let offered = asking.args(words.split(' ')).run().success();
        assert_clean(words, &format!("{}{}", offered.stdout, offered.stderr));
    }
    assert_clean_files(&dirs.state());
    assert_clean_files(&dirs.cache());
    assert_clean_files(&dirs.config());
}

#[test]
fn no_secret_comes_out_of_a_running_host() {
    let provider = Provider::start();
    let dirs = deck(&provider);
    let granted = ["server", "shell", "bearer"].map(|id| ["--grant", id]);
    let set = loud(&dirs).args(["vault", "set", "STORED"]).args(granted.concat());
    set.stdin(FROM_VAULT).run().success();
    sign_in_loudly(&dirs);
    let mut client = loud(&dirs).serve(&[]);
    client.initialize();
    let mut redacted = 0;
    for name in [
        "server__environment",
        "shell__tell",
        "shell__fail",
        "shell__long",
        "bearer__get",
        "header__get",
        "items__get",
    ] {
        let call = json!({"name": "call_tool", "arguments": {"name": name, "data": {}}});
        let answer = client.request("tools/call", call).to_string();
        assert_clean(name, &answer);
        redacted += usize::from(answer.contains("[redacted]"));
    }
    assert_eq!(redacted, 7, "every backend repeats what it is given");
    assert_clean("tools/list", &client.request("tools/list", json!({})).to_string());
    client.close();
    assert_clean_files(&dirs.state());
    assert_clean_files(&dirs.cache());
}

/// Signs in with the secrets in the environment.
fn sign_in_loudly(dirs: &TestDirs) {
    sign_in(dirs, &[("CLIENT", CLIENT_SECRET), ("MY_SECRET", FROM_ENVIRONMENT)]);
}
