//! `capdeck runs` and `capdeck test`: runs that wait, go on in another process, and are repeated.

use std::fs;

use capdeck_test::{StdioClient, TestDirs};
use serde_json::{Value, json};

use crate::{capdeck, json, run, shown};

/// A deck whose tools write down each time they are called; one of them asks for approval.
fn counted() -> TestDirs {
    let dirs = TestDirs::new();
    let log = dirs.root().join("calls.log");
    let action = |word: &str, hint: &str| {
        format!(
            "    {word}:\n      description: Says {word}.\n      command: sh\n      args: [-c, 'echo {word} >> {}; echo {word} $0', $input.path]\n      \
             annotations: {{ {hint}: true }}\n      inputSchema:\n        type: object\n        properties: {{ path: {{ type: string }} }}\n        required: [path]\n",
            log.display()
        )
    };
    dirs.write(
        "config/files.md",
        format!(
            "---\nname: Files\ndescription: Files of this folder.\ncliTools:\n  actions:\n{}{}---\n",
            action("read", "readOnlyHint"),
            action("remove", "destructiveHint")
        ),
    );
    dirs
}

/// The calls that were made, in order.
fn calls(dirs: &TestDirs) -> Vec<String> {
    let text = fs::read_to_string(dirs.root().join("calls.log")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

const CODE: &str = "const before = await caplets.files.read({ path: 'a' });\nconst done = await caplets.files.remove({ path: 'a', token: 'hush-hush-hush' });\nreturn [before, done];";

/// Runs code as an agent; the envelope.
pub(crate) fn run_code(client: &mut StdioClient, arguments: Value) -> Value {
    let answer = client.request("tools/call", json!({"name": "code_mode", "arguments": arguments}));
    answer["result"]["structuredContent"].clone()
}

/// The id of a paused run, and of the approval it waits for.
pub(crate) fn paused(envelope: &Value) -> (String, String) {
    assert_eq!(envelope["error"]["code"], "RUN_PAUSED", "{envelope:#}");
    let details = &envelope["error"]["details"];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&details["runId"]), text(&details["approvals"][0]["id"]))
}

#[test]
fn a_run_of_an_agent_waits_is_approved_and_goes_on_elsewhere() {
    let dirs = counted();
    let mut client = capdeck(&dirs).serve(&[]);
    client.initialize();
    let (id, approval) = paused(&run_code(&mut client, json!({ "code": CODE })));
    client.close();
    assert_eq!(calls(&dirs), ["read"]);
    let listed = json(&dirs, &["runs", "list", "--paused"]);
    assert_eq!(
        (&listed["items"][0]["id"], &listed["items"][0]["state"]),
        (&json!(id), &json!("paused"))
    );

    // Too early: it waits on.
    let early = run(&dirs, &["runs", "resume", &id, "--json"]);
    assert_eq!((early.code, &early.json()["error"]["code"]), (Some(1), &json!("RUN_PAUSED")));
    run(&dirs, &["approve", &approval]).success();
    let done = json(&dirs, &["runs", "resume", &id]);
    assert_eq!(done["ok"], true, "{done:#}");
    assert_eq!(calls(&dirs), ["read", "remove"]);
    let again = run(&dirs, &["runs", "resume", &id]);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("is not paused: it is done"), "{}", again.stderr);

    let shown = run(&dirs, &["runs", "show", &id]).success().stdout;
    assert!(shown.contains("files.remove") && shown.contains("done"), "{shown}");
    let shown = json(&dirs, &["runs", "show", &id]).to_string() + &shown;
    assert!(!shown.contains("hush-hush-hush"), "{shown}");
    // Repeating needs neither the deck nor its programs.
    fs::remove_file(dirs.config().join("files.md")).unwrap();
    assert_eq!(json(&dirs, &["runs", "replay", &id])["isSame"], true);
    assert_eq!(calls(&dirs), ["read", "remove"]);
}

#[test]
fn the_agent_itself_can_go_on() {
    let dirs = counted();
    let mut client = capdeck(&dirs).serve(&[]);
    client.initialize();
    let (id, approval) = paused(&run_code(&mut client, json!({ "code": CODE })));
    run(&dirs, &["approve", &approval]).success();
    let envelope = run_code(&mut client, json!({ "resume": id }));
    assert_eq!(envelope["ok"], true, "{envelope:#}");
    assert_eq!(calls(&dirs), ["read", "remove"]);
    client.close();
}

#[test]
fn a_run_of_the_person_goes_on_once_it_is_approved() {
    let dirs = counted();
    let waits = run(&dirs, &["run", "-e", CODE]);
    assert_eq!(waits.code, Some(1), "{}", waits.stderr);
    let id = json(&dirs, &["runs", "list"])["items"][0]["id"].as_str().unwrap().to_owned();
    let approval = json(&dirs, &["approvals"])["items"][0]["id"].as_str().unwrap().to_owned();
    let hint = format!(
        "the person runs: capdeck approve {approval}; then resume it with: capdeck runs resume {id}"
    );
    assert!(waits.stderr.contains(&hint), "{}", waits.stderr);
    run(&dirs, &["approve", &approval]).success();
    run(&dirs, &["runs", "resume", &id]).success();
    assert_eq!(calls(&dirs), ["read", "remove"]);
}

#[test]
fn a_recorded_run_is_a_test_that_passes_and_fails() {
    let dirs = counted();
    run(&dirs, &["run", "--yes", "-e", CODE]).success();
    let id = json(&dirs, &["runs", "list"])["items"][0]["id"].as_str().unwrap().to_owned();
    let test = run(&dirs, &["runs", "show", &id, "--as-test"]).success().stdout;
    let good = dirs.root().join("good.test.yaml");
    fs::write(&good, &test).unwrap();
    let bad = dirs.root().join("bad.test.yaml");
    fs::write(&bad, test.replace("return [before, done]", "return [done, before]")).unwrap();
    let (good, bad) = (good.to_str().unwrap(), bad.to_str().unwrap());
    let before = calls(&dirs);
    let passed = run(&dirs, &["test", good]).success();
    assert!(passed.stdout.starts_with("pass "), "{}", passed.stdout);
    let failed = run(&dirs, &["test", good, bad]);
    assert_eq!(failed.code, Some(1));
    assert!(failed.stdout.contains("FAIL"), "{}", failed.stdout);
    assert!(failed.stdout.contains("      `/0/stdout` is `"), "{}", failed.stdout);
    assert!(failed.stdout.contains("`, expected `"), "{}", failed.stdout);
    let reported = run(&dirs, &["test", bad, "--json"]).json();
    assert_eq!((&reported["failed"], &reported["items"][0]["passed"]), (&json!(1), &json!(false)));
    assert_eq!(calls(&dirs), before);
}

#[test]
fn bad_names_and_files_are_reported() {
    let dirs = TestDirs::new();
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["runs", "show", "abc"])), @r"
    exit 1
    --- stdout
    --- stderr
    error: there is no recorded run `abc`
    hint: see what is recorded with: capdeck runs list
    ");
    assert_eq!(json(&dirs, &["runs", "list"]), json!({"items": [], "problems": []}));
    dirs.write("state/runs/broken.json", "{ half");
    let listed = run(&dirs, &["runs", "list"]).success();
    assert!(
        listed.stderr.contains("the record of run `broken` cannot be read"),
        "{}",
        listed.stderr
    );
    assert_eq!(
        run(&dirs, &["runs", "replay", "broken", "--json"]).json()["error"]["code"],
        "RUN_UNREADABLE"
    );
    dirs.write("empty.yaml", "test: nothing\ncels: []\n");
    let file = dirs.root().join("empty.yaml");
    let refused = run(&dirs, &["test", file.to_str().unwrap()]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("is no test"), "{}", refused.stderr);
    dirs.write("broken.yaml", "test: x\n  cells: [");
    let file = dirs.root().join("broken.yaml");
    let refused = run(&dirs, &["test", file.to_str().unwrap()]).stderr;
    assert!(refused.contains("is no test: line 2 column 8: mapping values"), "{refused}");
    assert_eq!(refused.lines().count(), 2, "{refused}");
    assert_eq!(run(&dirs, &["test", "/no/such/file"]).code, Some(1));
    assert_eq!(run(&dirs, &["test"]).code, Some(2));
}
