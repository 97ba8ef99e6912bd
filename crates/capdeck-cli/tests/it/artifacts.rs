//! `capdeck artifacts`: large results from the shell.

use std::fs;

use capdeck_test::TestDirs;
use serde_json::Value;

use crate::{json, run};

fn with_lines() -> TestDirs {
    let dirs = TestDirs::new();
    dirs.write(
        "config/lines.md",
        "---\nname: Lines\ndescription: Prints many lines.\ncliTools:\n  maxOutputBytes: 100\n  actions:\n    count:\n      \
         command: seq\n      args: [\"5000\"]\n---\n",
    );
    dirs
}

fn made(dirs: &TestDirs) -> String {
    let answer = json(dirs, &["call", "lines", "count"]);
    answer["structuredContent"]["artifact"]["uri"].as_str().unwrap().to_owned()
}

#[test]
fn they_are_listed_read_and_removed() {
    let dirs = with_lines();
    let empty = run(&dirs, &["artifacts", "list"]).success();
    assert_eq!((empty.stdout.as_str(), empty.stderr.trim()), ("", "no stored large results"));
    let uri = made(&dirs);
    let listed = json(&dirs, &["artifacts", "list"]);
    let item = &listed["items"][0];
    assert_eq!(item["uri"], uri.as_str());
    assert_eq!(
        (&item["capability"], &item["filename"]),
        (&Value::from("lines"), &Value::from("stdout.txt"))
    );
    assert_eq!(
        (item["byteLength"].as_u64(), item["sha256"].as_str().unwrap().len()),
        (Some(23893), 64)
    );
    assert!(item["createdAt"].as_str().unwrap().ends_with('Z'));
    assert_eq!(json(&dirs, &["artifacts", "list", "other"])["items"], serde_json::json!([]));
    let table = run(&dirs, &["artifacts", "list"]).success().stdout;
    assert!(table.contains("23.3 KiB") && table.contains(&uri), "{table}");

    let whole = run(&dirs, &["artifacts", "read", &uri]).success().stdout;
    assert!(whole.starts_with("1\n2\n") && whole.ends_with("5000\n"));
    let part = run(&dirs, &["artifacts", "read", &uri, "--offset", "2", "--length", "4"]).success();
    assert_eq!(part.stdout, "2\n3\n");
    let part = run(&dirs, &["artifacts", "read", &format!("{uri}?offset=2&length=4")]).success();
    assert_eq!(part.stdout, "2\n3\n");
    let place = run(&dirs, &["artifacts", "read", &format!("{uri}?from=2&count=4")]).success();
    assert_eq!(place.stdout, "2\n3\n");
    assert_eq!(place.stderr.trim(), format!("there is more: {uri}?at=&from=6"));
    let reported = json(&dirs, &["artifacts", "read", &uri, "--length", "2"]);
    assert_eq!(
        (&reported["text"], &reported["_meta"]["capdeck/artifact"]["size"]),
        (&Value::from("1\n"), &Value::from(23893))
    );

    let file = dirs.project().join("out.txt");
    fs::write(&file, "old").unwrap();
    let answer = json(&dirs, &["artifacts", "read", &uri, "-o", "out.txt"]);
    assert_eq!(answer["writtenBytes"], 23893);
    assert_eq!(fs::read_to_string(&file).unwrap(), whole);

    run(&dirs, &["artifacts", "delete", &uri]).success();
    let gone = run(&dirs, &["artifacts", "read", &uri]);
    assert_eq!(gone.code, Some(1));
    assert!(
        gone.stderr.contains("there is no such artifact, or it has expired"),
        "{}",
        gone.stderr
    );
}

#[test]
fn prune_removes_what_is_too_old_and_on_request_everything() {
    let dirs = with_lines();
    made(&dirs);
    let kept = json(&dirs, &["artifacts", "prune"]);
    assert_eq!((&kept["removed"], &kept["kept"]), (&Value::from(0), &Value::from(1)));
    let all = run(&dirs, &["artifacts", "prune", "--all"]).success();
    assert_eq!(all.stderr.trim(), "1 artifact removed (23.5 KiB); 0 kept (0 B)");
}

#[test]
fn wrong_words_are_refused() {
    let dirs = with_lines();
    let uri = made(&dirs);
    for (words, code, said) in [
        (&["artifacts", "read", "file:///etc/passwd"][..], 1, "not an artifact URI"),
        (&["artifacts", "read", "capdeck://artifacts/../../x"], 1, "not an artifact URI"),
        (&["artifacts", "read", &uri, "--offset", "-1"], 2, "unexpected argument"),
        (&["artifacts", "read", &uri, "--offset", "99999999"], 1, "ends at byte 23893"),
        (
            &["artifacts", "read", &format!("{uri}?offset=1"), "--length", "1"],
            2,
            "names a part already",
        ),
        (&["artifacts", "read", &uri, "-o", "no/such/folder/x"], 1, "cannot write"),
        (&["artifacts", "delete", "capdeck://artifacts/lines/1/x"], 1, "no such artifact"),
        (&["artifacts", "delete"], 2, "required"),
    ] {
        let finished = run(&dirs, words);
        assert_eq!(finished.code, Some(code), "{words:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(said), "{words:?}: {}", finished.stderr);
    }
}
