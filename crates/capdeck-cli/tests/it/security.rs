//! What must hold of the programs that this one starts. The numbers are those of `docs/design/043-security-test-list.md`.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    time::{Duration, Instant},
};

use capdeck_test::{FakePlan, TestDirs};
use serde_json::{Value, json};

use crate::{auth, capdeck, provider::Provider};

const KEY: &str = "canary-admin-key-0123456789";

#[expect(clippy::disallowed_methods, reason = "programs are found where the machine has them")]
fn machine_path() -> String {
    std::env::var("PATH").unwrap()
}

/// What a server that was started by `capdeck up` tells about itself.
fn environment(dirs: &TestDirs, plan: &FakePlan) -> Value {
    dirs.write_config(&json!({"mcpServers": {"fake": plan.deck_entry()}}));
    let host = capdeck(dirs)
        .env("CAPDECK_ADMIN_KEY", KEY)
        .env("CAPDECK_ATTACH_KEY", "canary-of-another-host")
        .env("AWS_SECRET_ACCESS_KEY", "canary-of-somebody")
        .up(&["--exposure", "direct"]);
    let mut client = host.client("/mcp");
    client.headers.push(("Authorization".to_owned(), format!("Bearer {KEY}")));
    client.initialize();
    let answer =
        client.request("tools/call", json!({"name": "fake__environment", "arguments": {}}));
    serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap()
}

#[test]
fn security_17_a_server_sees_no_secret_of_the_host() {
    let dirs = TestDirs::new();
    let seen = environment(&dirs, &FakePlan::default());
    assert!(seen["env"]["PATH"].is_string(), "{seen}");
    let text = seen.to_string();
    for secret in ["canary", "CAPDECK_ADMIN", "CAPDECK_ATTACH", "AWS_"] {
        assert!(!text.contains(secret), "`{secret}`: {text}");
    }
}

#[test]
fn security_17_a_server_is_started_by_words_without_a_shell() {
    let dirs = TestDirs::new();
    let trap = dirs.root().join("trap");
    let text = format!("$(touch {0}) `touch {0}` ; touch {0} & $HOME *", trap.display());
    let instructions = Some(text.clone());
    let seen = environment(&dirs, &FakePlan { instructions, ..FakePlan::default() });
    let words = seen["args"].as_array().unwrap();
    assert!(words.iter().any(|word| word.as_str().unwrap().contains(&text)), "{seen}");
    assert!(!trap.exists(), "nothing of it was a command");
}

#[test]
fn security_09_a_page_is_opened_without_a_shell() {
    let provider = Provider::start();
    let dirs = auth::deck(&provider, ", scopes: ['a;b', '$(id)']");
    let (folder, reported) = (dirs.root().join("bin"), dirs.root().join("reported"));
    for name in ["xdg-open", "open"] {
        let text = format!(
            "#!/bin/sh\necho \"$#\" > {0}.part\nprintf %s \"$1\" >> {0}.part\nmv {0}.part {0}\n",
            reported.display()
        );
        let program = dirs.write(format!("bin/{name}"), text);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", folder.display(), machine_path());
    let waiting = auth::login_with(&dirs, &[], &[("PATH", &path), ("DISPLAY", ":9")]);
    let deadline = Instant::now() + Duration::from_secs(30);
    while !reported.exists() {
        assert!(Instant::now() < deadline, "no page was opened");
        std::thread::sleep(Duration::from_millis(5));
    }
    let opened = fs::read_to_string(&reported).unwrap();
    assert_eq!(opened, format!("1\n{}", waiting.address()), "the address is one word");
    assert!(opened.contains('&'), "a shell would have cut it");
    waiting.visit();
    let (code, outcome) = waiting.outcome();
    assert_eq!(code, Some(0), "{outcome}");
}
