//! `capdeck vault`, from keeping a value to a capability that uses it.

use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    process::Stdio,
};

use capdeck_test::{CapdeckOutput, TestDirs};
use serde_json::{Value, json};

use crate::{capdeck, json, run, shown};

const CANARY: &str = "canary/4711+vault";

/// A capability that prints what it was given of the vault.
const TELLS: &str = "---\nname: Tells\ndescription: Tells how long its key is.\ncliTools:\n  actions:\n    tell:\n      \
    description: Tells it.\n      command: sh\n      args: [-c, 'printf \"%s %s\" \"${#KEY}\" \"$KEY\"']\n      \
    env: { KEY: $vault:MY_KEY }\n---\n";

fn set(dirs: &TestDirs, words: &[&str], value: &str) -> CapdeckOutput {
    capdeck(dirs).args(["vault", "set"]).args(words).stdin(value).run()
}

fn tells() -> TestDirs {
    let dirs = TestDirs::new();
    dirs.write("config/tells.md", TELLS);
    dirs
}

fn call(dirs: &TestDirs) -> CapdeckOutput {
    run(dirs, &["call", "tells", "tell"])
}

#[test]
fn a_capability_reads_what_it_was_granted_and_no_one_else_sees_it() {
    let dirs = tells();
    let refused = call(&dirs);
    insta::assert_snapshot!(shown(&dirs, &refused), @r"
    exit 1
    --- stdout
    --- stderr
    error: there is no vault entry for `MY_KEY`
    hint: run: capdeck vault set MY_KEY --grant tells
    ");

    let kept = set(&dirs, &["MY_KEY"], &format!("{CANARY}\n"));
    insta::assert_snapshot!(shown(&dirs, &kept), @r"
    exit 0
    --- stdout
    --- stderr
    Saved MY_KEY
    no capability may read it yet; grant it with: capdeck vault grant CAPABILITY MY_KEY
    ");
    let refused = call(&dirs);
    insta::assert_snapshot!(shown(&dirs, &refused), @r"
    exit 1
    --- stdout
    --- stderr
    error: `tells` in `[ROOT]/config/tells.md` may not read vault entry `MY_KEY`
    hint: run: capdeck vault grant tells MY_KEY
    ");
    let doctor = json(&dirs, &["doctor"]);
    let finding = doctor["items"].as_array().unwrap().iter().find(|one| one["check"] == "vault");
    assert_eq!(finding.unwrap()["fix"], "run: capdeck vault grant tells MY_KEY", "{doctor}");

    let granted = run(&dirs, &["vault", "grant", "tells", "MY_KEY"]);
    insta::assert_snapshot!(shown(&dirs, &granted), @r"
    exit 0
    --- stdout
    --- stderr
    tells in [ROOT]/config/tells.md reads MY_KEY as $vault:MY_KEY
    ");
    let reported = call(&dirs);
    insta::assert_snapshot!(shown(&dirs, &reported), @r"
    exit 0
    --- stdout
    17 [redacted]
    --- stderr
    ");

    run(&dirs, &["vault", "revoke", "tells", "MY_KEY"]).success();
    assert_eq!(call(&dirs).code, Some(1));
}

#[test]
fn facts_are_shown_and_the_value_only_on_request() {
    let dirs = tells();
    set(&dirs, &["OTHER", "--grant", "tells", "--as", "MY_KEY"], CANARY).success();
    let facts = json(&dirs, &["vault", "get", "OTHER"]);
    assert_eq!(facts["bytes"], CANARY.len());
    assert_eq!(facts["value"], Value::Null);
    let path = dirs.config().canonicalize().unwrap().join("tells.md");
    let grant = json!({
        "capability": "tells", "reference": "MY_KEY", "name": "OTHER",
        "source": {"kind": "user-file", "path": path},
    });
    assert_eq!(facts["grants"], json!([grant]));
    let text = run(&dirs, &["vault", "get", "OTHER"]).success();
    assert!(!text.stdout.contains("canary") && text.stdout.contains("tells (as MY_KEY)"));
    let shown = run(&dirs, &["vault", "get", "OTHER", "--show"]).success();
    assert_eq!(shown.stdout, format!("{CANARY}\n"));
    assert_eq!(json(&dirs, &["vault", "get", "OTHER", "--show"])["value"], CANARY);

    let replaced = capdeck(&dirs).args(["vault", "set", "OTHER", "--json"]).stdin("canary-2").run();
    assert_eq!(replaced.success().json()["replaced"], true);
    assert_eq!(call(&dirs).code, Some(0), "a new value keeps the grants");
    assert_eq!(json(&dirs, &["vault", "delete", "OTHER"])["deleted"], true);
    let listed = json(&dirs, &["vault", "list"]);
    assert_eq!(
        listed,
        json!({"items": [{"name": "OTHER", "problem": "there is no value", "grants": [grant]}]})
    );
    assert_eq!(call(&dirs).code, Some(1));
    let revoked = json(&dirs, &["vault", "revoke", "tells", "OTHER"]);
    assert_eq!(revoked, json!({"revoked": [grant]}));
    assert_eq!(json(&dirs, &["vault", "list"]), json!({"items": []}));
}

#[test]
fn mistakes_are_reported_with_what_to_do() {
    let dirs = tells();
    set(&dirs, &["KEPT"], CANARY).success();
    for (words, code, message, hint) in [
        (&["get", "GONE"][..], 1, "there is no vault entry `GONE`", "capdeck vault set GONE"),
        (
            &["get", "my-key"],
            2,
            "`my-key` is not a valid name for a vault entry",
            "call it `MY_KEY`",
        ),
        (&["delete", "GONE"], 1, "there is no vault entry `GONE`", "capdeck vault list"),
        (&["grant", "tell", "KEPT"], 1, "there is no capability `tell`", "tells"),
        (
            &["grant", "tells", "KEPT", "--as", "a b"],
            2,
            "is not a valid name for a vault reference",
            "",
        ),
        (&["revoke", "tells", "KEPT"], 1, "has no grant for vault entry", "capdeck vault list"),
        (&["set", "lower"], 2, "`lower` is not a valid name for a vault entry", "call it `LOWER`"),
        (&["set", "EMPTY"], 2, "the value cannot be saved: it is empty", "on stdin"),
        (&["set", "KEPT", "--grant", "nobody"], 1, "there is no capability `nobody`", ""),
        (&["set", "KEPT", "canary-as-argument"], 2, "unexpected argument", ""),
    ] {
        let failed = run(&dirs, &[&["vault"], words].concat());
        assert_eq!(failed.code, Some(code), "{words:?}: {failed:?}");
        assert!(failed.stderr.contains(message), "{words:?}: {}", failed.stderr);
        assert!(failed.stderr.contains(hint), "{words:?}: {}", failed.stderr);
    }
    assert_eq!(run(&dirs, &["vault", "get", "KEPT", "--show"]).stdout, format!("{CANARY}\n"));
    let short = set(&dirs, &["SHORT"], "1234").success();
    assert!(short.stderr.contains("cannot be recognised"), "{}", short.stderr);
}

#[test]
fn the_same_id_in_another_file_is_not_granted() {
    let dirs = tells();
    set(&dirs, &["MY_KEY", "--grant", "tells"], CANARY).success();
    assert_eq!(call(&dirs).code, Some(0));
    dirs.write("project/.capdeck/tells.md", TELLS);
    run(&dirs, &["trust"]).success();
    let refused = capdeck(&dirs).args(["call", "tells", "tell", "--json"]).run();
    let error = &refused.json()["error"];
    assert_eq!(error["details"]["unresolved"][0]["code"], "ungranted", "{error}");
    assert_eq!(error["hint"], "run: capdeck vault grant tells MY_KEY");
    run(&dirs, &["vault", "grant", "tells", "MY_KEY"]).success();
    assert_eq!(call(&dirs).code, Some(0));
}

#[test]
fn the_key_comes_from_where_the_environment_says() {
    const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
    let dirs = tells();
    let caplets = dirs
        .write("home/.local/state/caplets/vault/vault-key", format!("caplets-vault-key-v1.{KEY}"));
    fs::set_permissions(&caplets, fs::Permissions::from_mode(0o600)).unwrap();
    set(&dirs, &["MY_KEY", "--grant", "tells"], CANARY).success();
    assert!(!dirs.state().join("vault/key").exists());
    fs::set_permissions(&caplets, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = capdeck(&dirs).args(["call", "tells", "tell", "--json"]).run();
    let error = &refused.json()["error"];
    assert_eq!(error["details"]["unresolved"][0]["code"], "invalid-key-source", "{error}");
    assert_eq!(error["hint"], format!("run: chmod 600 {}", caplets.display()));
    let failed = run(&dirs, &["vault", "get", "MY_KEY"]);
    assert_eq!(failed.code, Some(2), "{failed:?}");

    let file = dirs.write("key", KEY);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let file = file.to_str().unwrap();
    for (name, value) in [
        ("CAPLETS_ENCRYPTION_KEY", KEY),
        ("CAPLETS_ENCRYPTION_KEY_FILE", file),
        ("CAPDECK_KEY_FILE", file),
    ] {
        let reported = capdeck(&dirs).env(name, value).args(["call", "tells", "tell"]).run();
        assert_eq!(reported.code, Some(0), "{name}: {reported:?}");
        // No child and no definition gets at it.
        dirs.write("config/leak.md", TELLS.replace("$vault:MY_KEY", &format!("$env:{name}")));
        let leaked = capdeck(&dirs).env(name, value).args(["call", "leak", "tell"]).run();
        assert_eq!(leaked.code, Some(1), "{leaked:?}");
    }
    let other = KEY.replace("AAE", "BBE");
    let wrong = capdeck(&dirs).env("CAPLETS_ENCRYPTION_KEY", other);
    let wrong = wrong.args(["call", "tells", "tell", "--json"]).run();
    let error = &wrong.json()["error"];
    assert_eq!(error["details"]["unresolved"][0]["code"], "unavailable", "{error}");
}

#[test]
fn a_running_host_goes_on_through_a_new_key_and_a_new_value() {
    let dirs = tells();
    set(&dirs, &["MY_KEY", "--grant", "tells"], CANARY).success();
    let mut client = capdeck(&dirs).serve(&[]);
    client.initialize();
    let mut length = || {
        let arguments = json!({"name": "tells__tell", "data": {}});
        let call = json!({"name": "call_tool", "arguments": arguments});
        let answer = client.request("tools/call", call);
        let text = answer["result"]["structuredContent"]["stdout"].as_str().unwrap_or_default();
        text.split(' ').next().unwrap().to_owned()
    };
    assert_eq!(length(), CANARY.len().to_string());
    let done = json(&dirs, &["vault", "rekey"]);
    assert_eq!(done["files"], 2);
    assert_eq!(length(), CANARY.len().to_string());
    assert_eq!(json(&dirs, &["vault", "get", "MY_KEY", "--show"])["value"], CANARY);
}

#[test]
fn what_is_typed_at_a_terminal_is_not_shown() {
    let dirs = TestDirs::new();
    let controller = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR).unwrap();
    rustix::pty::grantpt(&controller).unwrap();
    rustix::pty::unlockpt(&controller).unwrap();
    let name = rustix::pty::ptsname(&controller, Vec::new()).unwrap();
    let terminal = fs::File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_capdeck"));
    dirs.isolate(&mut command).args(["vault", "set", "TYPED"]);
    let stdio = || Stdio::from(terminal.try_clone().unwrap());
    let mut child = command.stdin(stdio()).stderr(stdio()).stdout(Stdio::null()).spawn().unwrap();
    drop(terminal);
    let mut controller = fs::File::from(controller);
    let mut said = String::new();
    let mut buffer = [0; 1024];
    while !said.contains("(not shown): ") {
        let count = controller.read(&mut buffer).unwrap();
        said.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    // Longer than a line of a terminal may be, with a slip of the finger.
    let value = format!("canary-{}", "x".repeat(5_000));
    let mut writer = controller.try_clone().unwrap();
    let typed = format!("{value}é\u{7f}\n");
    let typing = std::thread::spawn(move || writer.write_all(typed.as_bytes()).unwrap());
    while !said.contains("Saved") {
        let count = controller.read(&mut buffer).unwrap();
        said.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    typing.join().unwrap();
    assert!(child.wait().unwrap().success());
    assert!(!said.contains("canary") && !said.contains("xxx"), "{said}");
    assert_eq!(json(&dirs, &["vault", "get", "TYPED", "--show"])["value"], value);
}

#[test]
fn a_keyring_that_is_not_there_is_reported_and_the_key_stays_where_it_is() {
    let dirs = tells();
    set(&dirs, &["MY_KEY"], CANARY).success();
    let key = fs::read_to_string(dirs.state().join("vault/key")).unwrap();
    let nowhere = format!("unix:path={}", dirs.state().join("no-bus").display());
    let away = || capdeck(&dirs).env("DBUS_SESSION_BUS_ADDRESS", &nowhere);
    let refused = away().args(["vault", "rekey", "--to", "keyring", "--json"]).run();
    let error = &refused.json()["error"];
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert_eq!(error["code"], "INVALID_KEY_SOURCE", "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("the system's keyring cannot be used: "), "{message}");
    assert_eq!(fs::read_to_string(dirs.state().join("vault/key")).unwrap(), key);
    let done = away().args(["vault", "rekey", "--to", "file", "--json"]).run().success().json();
    assert_eq!((&done["home"], &done["files"]), (&json!("file"), &json!(1)));
    let wrong = run(&dirs, &["vault", "rekey", "--to", "somewhere"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}
