//! `capdeck capsule`: making, reading, finding, sharing and deleting.

use std::{fs, path::PathBuf};

use capdeck_test::{CapdeckOutput, TestDirs};
use serde_json::{Value, json};

use crate::{capdeck, json, run, shown};

/// A data folder with one capsule.
pub(crate) fn team() -> TestDirs {
    let dirs = TestDirs::new();
    json(&dirs, &["capsule", "new", "Team", "--description", "What our agents know"]);
    dirs
}

/// Writes an entry through the command line.
pub(crate) fn write(dirs: &TestDirs, uri: &str, body: &str, more: &[&str]) -> CapdeckOutput {
    let written = capdeck(dirs).args(["capsule", "write", "team", uri]).args(more);
    written.stdin(body).run()
}

/// The files of the capsule.
pub(crate) fn root(dirs: &TestDirs) -> PathBuf {
    dirs.data().join("boxes/team/.capsol")
}

/// Fails as expected, and tells why.
fn refused(dirs: &TestDirs, words: &[&str], code: i32, name: &str) -> Value {
    let finished = capdeck(dirs).arg("capsule").args(words).arg("--json").stdin("x").run();
    assert_eq!(finished.code, Some(code), "{words:?}: {finished:?}");
    let error = finished.json()["error"].clone();
    assert_eq!(error["code"], name, "{words:?}: {error}");
    error
}

#[test]
fn a_first_capsule_is_made_filled_and_read() {
    let dirs = TestDirs::new();
    let none = run(&dirs, &["capsule", "list"]);
    insta::assert_snapshot!(shown(&dirs, &none), @r"
    exit 0
    --- stdout
    --- stderr
    there are no capsules; make one with: capdeck capsule new NAME
    ");
    assert_eq!(fs::read_dir(dirs.data()).unwrap().count(), 0, "looking makes nothing");
    let made = run(&dirs, &["capsule", "new", "Our Team"]);
    insta::assert_snapshot!(shown(&dirs, &made), @r"
    exit 0
    --- stdout
    --- stderr
    Created capsule our-team
    write to it with: capdeck capsule write our-team docs://readme FILE
    ");
    dirs.write("project/readme.md", "# Read me\n\nOur plan is in src/plan.rs\n");
    let written = run(&dirs, &["capsule", "write", "our-team", "docs://readme", "readme.md"]);
    insta::assert_snapshot!(shown(&dirs, &written), @r"
    exit 0
    --- stdout
    --- stderr
    created version 1 of docs://readme (specific_code: it cites files)
    ");
    let read = run(&dirs, &["capsule", "read", "Our Team", "docs://readme"]).success().stdout;
    assert!(read.starts_with("━━━ TRUST PREAMBLE ━━━\nrisk_class: specific_code\n"), "{read}");
    let client = concat!("capdeck@", env!("CARGO_PKG_VERSION"));
    let written_by = format!("written_by: local\nclient: {client} (claimed)\n");
    assert!(read.contains(&written_by) && read.contains("  src/plan.rs"), "{read}");
    let raw = run(&dirs, &["capsule", "read", "our-team", "docs://readme", "--raw"]).success();
    assert_eq!(raw.stdout, "# Read me\n\nOur plan is in src/plan.rs\n");
    let facts = json(&dirs, &["capsule", "read", "our-team", "docs://readme"]);
    assert_eq!((&facts["version"], &facts["title"]), (&json!(1), &json!("Read me")));
    assert_eq!(facts["body"], raw.stdout);
    assert_eq!(facts["file_anchors"], json!(["src/plan.rs"]));
    // A file is what it says: plain, where people expect it.
    let file = dirs.data().join("boxes/our-team/.capsol/knowledge/docs/readme.md");
    assert!(fs::read_to_string(file).unwrap().ends_with(&raw.stdout));
}

#[test]
fn listings_have_one_shape() {
    let dirs = team();
    for (uri, body) in [("docs://a", "# First\n"), ("docs://b/c", "plain"), ("notes://n", "x")] {
        write(&dirs, uri, body, &["--tag", "shown"]).success();
    }
    let capsules = json(&dirs, &["capsule", "list"]);
    assert_eq!(capsules["items"].as_array().unwrap().len(), 1);
    let item = &capsules["items"][0];
    assert_eq!((&item["id"], &item["entries"]), (&json!("team"), &json!(3)));
    assert_eq!((&item["name"], &item["role"]), (&json!("Team"), &json!("owner")));
    let uris = |words: &[&str]| -> Vec<String> {
        let page = json(&dirs, &[&["capsule", "list", "team"], words].concat());
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| item["uri"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(uris(&[]), ["docs://a", "docs://b/c", "notes://n"]);
    assert_eq!(uris(&["--scheme", "notes"]), ["notes://n"]);
    assert_eq!(uris(&["--prefix", "docs://b"]), ["docs://b/c"]);
    assert_eq!(uris(&["--latest", "--limit", "1"]), ["notes://n"]);
    assert_eq!(uris(&["--tag", "other"]), [""; 0]);
    assert_eq!(uris(&["--since", "1h"]).len(), 3);
    let first = json(&dirs, &["capsule", "list", "team", "--limit", "2"]);
    let cursor = first["nextCursor"].as_str().unwrap();
    assert_eq!(uris(&["--limit", "2", "--cursor", cursor]), ["notes://n"]);
    let listed = run(&dirs, &["capsule", "list", "team", "--scheme", "docs"]).success().stdout;
    let columns = |line: &str| {
        line.split("  ")
            .map(|cell| cell.trim().to_owned())
            .filter(|cell| !cell.is_empty())
            .collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = listed.lines().map(columns).collect();
    assert_eq!(rows[0], ["URI", "VERSION", "WRITTEN", "BY", "TITLE"]);
    assert_eq!((rows[2][0].as_str(), rows[2][4].as_str(), rows.len()), ("docs://b/c", "b/c", 3));
    let overview = json(&dirs, &["capsule", "show", "team"]);
    assert_eq!(overview["description"], "What our agents know");
    assert_eq!(overview["schemes"][0], json!({"scheme": "docs", "entries": 2}));
    let entry = run(&dirs, &["capsule", "show", "team", "docs://a"]).success().stdout;
    assert!(entry.contains("title     First\nversion   1\nclass     structural\n"), "{entry}");
    assert!(run(&dirs, &["capsule", "show", "team"]).success().stdout.contains("docs://      2\n"));
    json(&dirs, &["capsule", "update", "team", "--name", "Crew", "--visibility", "discoverable"]);
    let item = &json(&dirs, &["capsule", "list"])["items"][0];
    assert_eq!((&item["id"], &item["name"]), (&json!("team"), &json!("Crew")));
    assert_eq!(item["visibility"], "discoverable");
    let nothing = run(&dirs, &["capsule", "update", "crew"]);
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
}

#[test]
fn the_past_can_be_seen_and_brought_back() {
    let dirs = team();
    write(&dirs, "docs://a", "one\ntwo\n", &[]).success();
    let alone = run(&dirs, &["capsule", "diff", "team", "docs://a"]);
    assert!(alone.code == Some(1) && alone.stderr.contains("one version only"), "{alone:?}");
    write(&dirs, "docs://a", "one\nthree\n", &[]).success();
    let history = json(&dirs, &["capsule", "history", "team", "docs://a"]);
    let versions: Vec<u64> = history["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["version"].as_u64().unwrap())
        .collect();
    assert_eq!(versions, [2, 1]);
    let diff = run(&dirs, &["capsule", "diff", "team", "docs://a"]);
    insta::assert_snapshot!(shown(&dirs, &diff), @r"
    exit 0
    --- stdout
    --- docs://a@1
    +++ docs://a@2
    @@ -1,2 +1,2 @@
     one
    -two
    +three
    --- stderr
    ");
    let same = run(&dirs, &["capsule", "diff", "team", "docs://a", "2", "2"]);
    assert!(same.stdout.is_empty() && same.stderr.contains("say the same"), "{same:?}");
    let restored = json(&dirs, &["capsule", "restore", "team", "docs://a", "1"]);
    assert_eq!(restored["version"], 3);
    assert_eq!(json(&dirs, &["capsule", "read", "team", "docs://a"])["body"], "one\ntwo\n");
    assert_eq!(
        json(&dirs, &["capsule", "read", "team", "docs://a", "--version", "2"])["body"],
        "one\nthree\n"
    );

    let deleted = run(&dirs, &["capsule", "rm", "team", "docs://a"]);
    insta::assert_snapshot!(shown(&dirs, &deleted), @r"
    exit 0
    --- stdout
    --- stderr
    deleted docs://a, which was in version 3
    bring it back with: capdeck capsule restore team docs://a
    ");
    refused(&dirs, &["read", "team", "docs://a"], 1, "NOT_FOUND");
    let gone = json(&dirs, &["capsule", "deleted", "team"]);
    assert_eq!(
        (&gone["items"][0]["uri"], &gone["items"][0]["version"]),
        (&json!("docs://a"), &json!(3))
    );
    assert_eq!(json(&dirs, &["capsule", "restore", "team", "docs://a"])["version"], 4);
    refused(&dirs, &["restore", "team", "docs://a"], 2, "USAGE");
    refused(&dirs, &["restore", "team", "docs://a", "9"], 1, "NOT_FOUND");
    // For good only when that is confirmed.
    refused(&dirs, &["rm", "team", "docs://a", "--purge"], 2, "USAGE");
    json(&dirs, &["capsule", "rm", "team", "docs://a", "--purge", "--yes"]);
    assert!(json(&dirs, &["capsule", "deleted", "team"])["items"].as_array().unwrap().is_empty());
    refused(&dirs, &["restore", "team", "docs://a", "1"], 1, "NOT_FOUND");
    refused(&dirs, &["rm", "team"], 2, "USAGE");
    json(&dirs, &["capsule", "rm", "team", "--yes"]);
    assert!(json(&dirs, &["capsule", "list"])["items"].as_array().unwrap().is_empty());
    refused(&dirs, &["list", "team"], 1, "NOT_FOUND");
    // What was kept aside goes by its id.
    refused(&dirs, &["rm", "team", "--purge"], 2, "USAGE");
    assert_eq!(json(&dirs, &["capsule", "rm", "team", "--purge", "--yes"])["purged"], 1);
    refused(&dirs, &["rm", "team", "--purge", "--yes"], 1, "NOT_FOUND");
}

#[test]
fn entries_are_found_by_what_they_say() {
    let dirs = team();
    write(&dirs, "docs://login", "How people sign in, and what a session is", &["--tag", "auth"])
        .success();
    write(&dirs, "notes://odd", "A session ends at midnight", &[]).success();
    let found = json(&dirs, &["capsule", "search", "team", "sesion"]);
    assert_eq!(found["total"], 2, "{found}");
    let found = json(&dirs, &["capsule", "search", "team", "session", "--tag", "auth"]);
    assert_eq!(found["items"][0]["uri"], "docs://login");
    assert!(found["items"][0]["snippet"].as_str().unwrap().contains("session"));
    let shown = run(&dirs, &["capsule", "search", "team", "midnight"]).success().stdout;
    assert_eq!(shown, "URI          FOUND\nnotes://odd  A session ends at midnight\n");
    let none = run(&dirs, &["capsule", "search", "team", "unrelated"]);
    assert!(none.code == Some(0) && none.stderr.contains("nothing matches"), "{none:?}");
    refused(&dirs, &["search", "team", "x", "--scheme", "nothing"], 1, "UNKNOWN_SCHEME");
}

#[test]
fn schemes_can_be_added_and_removed() {
    let dirs = team();
    refused(&dirs, &["write", "team", "runbooks://deploy"], 1, "UNKNOWN_SCHEME");
    let added = run(
        &dirs,
        &[
            "capsule",
            "schemes",
            "add",
            "team",
            "runbooks",
            "--format",
            "text",
            "--prompts",
            "--description",
            "What to do when",
        ],
    );
    assert_eq!(added.success().stderr, "added runbooks:// to team\n");
    write(&dirs, "runbooks://deploy", "push", &[]).success();
    let listed = json(&dirs, &["capsule", "schemes", "team"]);
    let scheme = listed["items"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&scheme["name"], &scheme["prompt_source"]), (&json!("runbooks"), &json!(true)));
    let table = run(&dirs, &["capsule", "schemes", "team"]).success().stdout;
    assert!(table.contains("runbooks://  text      yes      capsule  What to do when"), "{table}");
    refused(&dirs, &["schemes", "remove", "team", "runbooks"], 1, "SCHEME_IN_USE");
    refused(&dirs, &["schemes", "add", "team", "docs"], 2, "INVALID_SCHEME");
    refused(&dirs, &["schemes", "add", "team", "Bad Name"], 2, "INVALID_SCHEME");
    json(&dirs, &["capsule", "rm", "team", "runbooks://deploy", "--purge", "--yes"]);
    json(&dirs, &["capsule", "schemes", "remove", "team", "runbooks"]);
    refused(&dirs, &["write", "team", "runbooks://deploy"], 1, "UNKNOWN_SCHEME");
}

#[test]
fn a_token_is_shown_once_and_kept_nowhere() {
    let dirs = team();
    let made = run(
        &dirs,
        &[
            "capsule",
            "share",
            "team",
            "--role",
            "reader",
            "--allow",
            "docs://",
            "--deny",
            "docs://secret",
            "--expires",
            "30d",
            "--for",
            "the build",
        ],
    )
    .success();
    let token = made.stdout.trim();
    assert!(token.starts_with("cap_sh_") && token.len() > 40, "{token}");
    let listed = json(&dirs, &["capsule", "share", "list", "team"]);
    let share = &listed["items"][0];
    assert_eq!((&share["role"], &share["name"]), (&json!("reader"), &json!("the build")));
    assert_eq!(share["uri_prefixes"], json!(["docs://"]));
    assert_eq!(share["denied_prefixes"], json!(["docs://secret"]));
    assert!(!listed.to_string().contains(token) && share.get("token_sha256").is_none());
    let table = run(&dirs, &["capsule", "share", "list", "team"]).success().stdout;
    assert!(table.contains("docs:// but not docs://secret"), "{table}");
    for entry in fs::read_dir(dirs.data()).unwrap() {
        let path = entry.unwrap().path();
        assert!(
            !fs::read_to_string(&path).unwrap_or_default().contains(token),
            "{}",
            path.display()
        );
    }
    let id = share["id"].as_str().unwrap();
    assert!(made.stderr.contains(&format!("capdeck capsule share revoke {id}")), "{}", made.stderr);
    json(&dirs, &["capsule", "share", "revoke", id]);
    assert!(
        json(&dirs, &["capsule", "share", "list", "team"])["items"].as_array().unwrap().is_empty()
    );
    refused(&dirs, &["share", "revoke", id], 1, "NOT_FOUND");
    refused(&dirs, &["share", "team", "--role", "reader", "--allow", "docs"], 2, "INVALID_URI");
    refused(&dirs, &["share", "team"], 2, "USAGE");
    refused(&dirs, &["share", "team", "--role", "king"], 2, "USAGE");
    refused(&dirs, &["share", "team", "--role", "reader", "--expires", "2020-01-01"], 2, "USAGE");
}

#[test]
fn bad_input_is_reported_and_nothing_is_touched() {
    let dirs = team();
    write(&dirs, "docs://Case", "x", &[]).success();
    let long = format!("docs://{}", "a".repeat(300));
    for uri in [
        "docs://../../boxes",
        "docs://a//b",
        "docs://%2e%2e/x",
        "docs://a\\b",
        "docs:///etc/passwd",
        "docs://con",
        "docs://a.tmp",
        "docs://_x",
        "docs",
        "Docs://a",
        "docs://",
        &long,
        "docs://a b",
    ] {
        refused(&dirs, &["write", "team", uri], 2, "INVALID_URI");
    }
    for command in ["read", "show", "edit", "history", "diff", "rm"] {
        refused(&dirs, &[command, "team", "docs://../../boxes"], 2, "INVALID_URI");
    }
    refused(&dirs, &["write", "team", "docs://case"], 1, "EXISTS");
    let error = refused(&dirs, &["write", "team", "api-data://pets"], 1, "INVALID_JSON");
    assert!(error["message"].as_str().unwrap().contains("api-data://pets"), "{error}");
    let large = write(&dirs, "docs://large", &"x".repeat((1 << 20) + 1), &["--json"]);
    assert_eq!((large.code, &large.json()["error"]["code"]), (Some(1), &json!("TOO_LARGE")));
    let binary = capdeck(&dirs)
        .args(["capsule", "write", "team", "docs://b"])
        .stdin(b"\xff\xfe".to_vec())
        .run();
    assert!(binary.code == Some(2) && binary.stderr.contains("not UTF-8"), "{binary:?}");
    refused(&dirs, &["write", "team", "docs://b", "no-such-file"], 1, "FILE_ERROR");
    refused(&dirs, &["write", "team", "docs://b", "--patch", "{}"], 2, "USAGE");
    refused(&dirs, &["write", "team", "docs://b", "--commit", "HEAD; rm"], 2, "INVALID_INPUT");
    refused(&dirs, &["write", "team", "docs://b", "--risk-class", "harmless"], 2, "USAGE");
    let without = run(&dirs, &["capsule", "write", "team", "docs://Case"]);
    assert!(without.code == Some(2) && without.stderr.contains("no content"), "{without:?}");
    refused(&dirs, &["read", "team", "docs://none"], 1, "NOT_FOUND");
    refused(&dirs, &["read", "nobody", "docs://none"], 1, "NOT_FOUND");
    refused(&dirs, &["new", "team"], 1, "EXISTS");
    refused(&dirs, &["new", ""], 2, "INVALID_INPUT");
    refused(&dirs, &["list", "team", "--cursor", "nonsense"], 1, "BAD_CURSOR");
    let entries = json(&dirs, &["capsule", "list", "team"]);
    assert_eq!(entries["items"].as_array().unwrap().len(), 1, "{entries}");
    assert!(!root(&dirs).parent().unwrap().join("boxes").exists());
    let hint = run(&dirs, &["capsule", "read", "team", "docs://none"]).stderr;
    assert_eq!(
        hint,
        "error: there is no entry `docs://none`\nhint: see what is there with: capdeck capsule list team\n"
    );
}

#[test]
fn a_data_folder_that_cannot_be_used_is_reported() {
    let dirs = TestDirs::new();
    let file = dirs.write("a-file", "");
    for place in [file.clone(), file.join("below")] {
        let finished = capdeck(&dirs)
            .env("CAPDECK_DATA_DIR", &place)
            .args(["capsule", "new", "x", "--json"])
            .run();
        assert_eq!(finished.code, Some(1), "{finished:?}");
        assert_eq!(finished.json()["error"]["code"], "IO_FAILED");
        assert!(finished.stdout.contains(place.to_str().unwrap()), "{}", finished.stdout);
    }
    let dirs = team();
    fs::write(dirs.data().join("boxes.json"), "no list").unwrap();
    let finished = run(&dirs, &["capsule", "list"]);
    assert!(finished.code == Some(1) && finished.stderr.contains("boxes.json"), "{finished:?}");
    // A folder of the capsule that became a file: the write fails, and what was there stays.
    let dirs = team();
    write(&dirs, "docs://a", "kept", &[]).success();
    fs::write(root(&dirs).join("knowledge/notes"), "in the way").unwrap();
    let failed = write(&dirs, "notes://n", "x", &["--json"]);
    assert_eq!((failed.code, &failed.json()["error"]["code"]), (Some(1), &json!("UNSAFE_PATH")));
    assert!(failed.stdout.contains("knowledge/notes"), "{failed:?}");
    fs::remove_file(root(&dirs).join("knowledge/notes")).unwrap();
    assert_eq!(json(&dirs, &["capsule", "read", "team", "docs://a"])["body"], "kept");
}

#[test]
fn a_disk_without_room_loses_nothing() {
    let dirs = team();
    write(&dirs, "docs://a", "kept", &[]).success();
    let body = dirs.write("project/large.md", "x".repeat(200_000));
    // No file may grow beyond some blocks, and the signal about it is ignored: every larger write fails.
    let script = format!(
        "trap '' XFSZ; ulimit -f 64; exec '{}' capsule write team docs://a '{}' --json",
        env!("CARGO_BIN_EXE_capdeck"),
        body.display()
    );
    let mut command = std::process::Command::new("sh");
    let output = dirs.isolate(&mut command).arg("-c").arg(script).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let reported: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reported["error"]["code"], "STORAGE_FULL", "{reported}");
    let read = json(&dirs, &["capsule", "read", "team", "docs://a"]);
    assert_eq!((&read["body"], &read["version"]), (&json!("kept"), &json!(1)));
    assert_eq!(json(&dirs, &["capsule", "verify"])["clean"], true);
    write(&dirs, "docs://a", "goes on", &["--if-version", "1"]).success();
}

#[test]
fn strict_recording_is_asked_for_by_a_variable() {
    let dirs = team();
    write(&dirs, "docs://a", "x", &[]).success();
    let logs = root(&dirs).join("logs");
    fs::rename(&logs, logs.with_extension("moved")).unwrap();
    fs::create_dir(&logs).unwrap();
    // Nothing can be written where the day's file should be; nor tomorrow, should it be midnight.
    for days in 0..2 {
        let day = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24 * days);
        fs::create_dir(logs.join(format!("{}.jsonl", day.strftime("%Y-%m-%d")))).unwrap();
    }
    let read = || capdeck(&dirs).args(["capsule", "read", "team", "docs://a", "--json"]);
    assert_eq!(read().run().success().json()["body"], "x");
    let strict = read().env("CAPDECK_AUDIT_STRICT", "1").run();
    let error = &strict.json()["error"];
    assert_eq!((strict.code, &error["code"]), (Some(1), &json!("AUDIT_FAILED")), "{error}");
    assert!(!strict.stdout.contains("body"), "{strict:?}");
    let other = read().env("CAPDECK_AUDIT_STRICT", "0").run();
    assert_eq!(other.code, Some(0), "{other:?}");
}

#[test]
fn names_and_addresses_are_completed_without_a_trace() {
    let dirs = team();
    write(&dirs, "docs://plan/one", "x", &[]).success();
    write(&dirs, "notes://n", "x", &[]).success();
    let before = fs::read_dir(root(&dirs).join("logs")).unwrap().count();
    let complete = |line: &[&str]| -> Vec<String> {
        let asked = capdeck(&dirs).env("CAPDECK_COMPLETE", "fish").arg("--").arg("capdeck");
        let answer = asked.args(line).run().success().stdout;
        answer.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    };
    assert_eq!(complete(&["capsule", "read", "te"]), ["team"]);
    assert_eq!(complete(&["capsule", "read", "team", "no"]), ["notes://"]);
    assert_eq!(complete(&["capsule", "read", "team", "docs://p"]), ["docs://plan/one"]);
    assert_eq!(complete(&["capsule", "schemes", "add", "t"]), ["team"]);
    assert_eq!(complete(&["audit", "tail", "t"]), ["team"]);
    let audit = json(&dirs, &["audit", "query", "team", "--action", "list"]);
    assert!(audit["items"].as_array().unwrap().is_empty(), "{audit}");
    assert_eq!(fs::read_dir(root(&dirs).join("logs")).unwrap().count(), before);
}
