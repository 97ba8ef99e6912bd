//! `capdeck get`, `update` and `remove`.

use std::{fs, path::Path, process::Command};

use capdeck_test::TestDirs;
use serde_json::json;

use crate::{capdeck, echo_file, json, run, shown};

/// Runs git without personal settings.
fn git(folder: &Path, words: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.com"])
        .args(words)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn commit(dirs: &TestDirs, message: &str) {
    let folder = dirs.root().join("repo");
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-q", "-m", message]);
}

/// A repository with `echo`, and its address.
fn repository(dirs: &TestDirs) -> String {
    dirs.write("repo/caplets/echo.md", echo_file("Echo"));
    dirs.write("repo/caplets/tool/CAPLET.md", echo_file("Tool"));
    dirs.write("repo/caplets/tool/notes.txt", "beside it");
    git(&dirs.root().join("repo"), &["init", "-q", "-b", "main"]);
    commit(dirs, "one");
    format!("file://{}", dirs.root().join("repo").display())
}

#[test]
fn packages_come_from_a_folder() {
    let dirs = TestDirs::new();
    dirs.write("project/shared/echo.md", echo_file("Echo"));
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["get", "./shared", "--dry-run"])), @r"
    exit 0
    --- stdout
    --- stderr
    install echo from [ROOT]/project/shared
      + runs echo $input.text
      + changes through echo.say
    nothing was written
    ");
    assert!(!dirs.config().join("echo.md").exists());
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["get", "./shared"])), @r"
    exit 0
    --- stdout
    --- stderr
    install echo from [ROOT]/project/shared
      + runs echo $input.text
      + changes through echo.say
    wrote [ROOT]/config/echo.md
    This replaces the starter deck (`authoring`, `machine`); bring it back with: capdeck init --starter
    ");
    assert_eq!(run(&dirs, &["call", "echo", "say", "text=hi"]).success().stdout, "hi\n");
    let again = json(&dirs, &["get", "./shared"]);
    assert_eq!(
        (&again["items"][0]["action"], &again["items"][0]["written"]),
        (&json!("nothing"), &json!(false))
    );
    run(&dirs, &["remove", "echo"]).success();
    assert_eq!(fs::read_dir(dirs.config()).unwrap().count(), 0);
}

#[test]
fn an_update_that_can_do_more_waits_for_approval() {
    let dirs = TestDirs::new();
    let address = repository(&dirs);
    let got = json(&dirs, &["get", &format!("{address}#main")]);
    assert_eq!(got["items"].as_array().unwrap().len(), 2);
    assert_eq!(got["items"][0]["source"]["commit"].as_str().unwrap().len(), 40);
    assert_eq!(fs::read_to_string(dirs.config().join("tool/notes.txt")).unwrap(), "beside it");

    dirs.write(
        "repo/caplets/echo.md",
        echo_file("Echo").replace("Says the words", "Repeats the words"),
    );
    commit(&dirs, "two");
    let updated = json(&dirs, &["update"]);
    let actions: Vec<&str> = updated["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["action"].as_str().unwrap())
        .collect();
    assert_eq!(actions, ["update", "update"], "the commit of both is new");
    assert!(fs::read_to_string(dirs.config().join("echo.md")).unwrap().contains("Repeats"));

    dirs.write("repo/caplets/echo.md", echo_file("Echo").replace("command: echo", "command: rm"));
    commit(&dirs, "three");
    let refused = run(&dirs, &["update", "echo"]);
    assert_eq!(refused.code, Some(1));
    for expected in [
        "+ runs rm $input.text",
        "- runs echo $input.text",
        "+      command: rm",
        "the person reads what is new, then runs in a terminal: capdeck update echo",
    ] {
        assert!(refused.stderr.contains(expected), "{expected}: {}", refused.stderr);
    }
    assert!(fs::read_to_string(dirs.config().join("echo.md")).unwrap().contains("command: echo"));
    let answer = run(&dirs, &["update", "echo", "--json"]);
    let item = &answer.json()["error"]["details"]["items"][0];
    assert_eq!((&item["widens"], &item["written"]), (&json!(true), &json!(false)));
    run(&dirs, &["update", "echo", "--yes"]).success();
    assert!(fs::read_to_string(dirs.config().join("echo.md")).unwrap().contains("command: rm"));
}

#[test]
fn edits_are_never_lost() {
    let dirs = TestDirs::new();
    let address = repository(&dirs);
    run(&dirs, &["get", &format!("{address}#main"), "echo"]).success();
    let edited = echo_file("Mine");
    dirs.write("config/echo.md", &edited);
    dirs.write("repo/caplets/echo.md", echo_file("Echo").replace("Says", "Tells"));
    commit(&dirs, "two");
    for words in
        [&["update"][..], &["update", "--yes"], &["remove", "echo"], &["remove", "echo", "--yes"]]
    {
        let refused = run(&dirs, words);
        assert_eq!(refused.code, Some(1), "{words:?}");
        assert!(
            refused.stderr.contains("it was edited after it was installed"),
            "{}",
            refused.stderr
        );
        assert_eq!(fs::read_to_string(dirs.config().join("echo.md")).unwrap(), edited);
    }
    run(&dirs, &["update", "--force"]).success();
    assert!(fs::read_to_string(dirs.config().join("echo.md")).unwrap().contains("Tells"));
    dirs.write("config/own.md", &edited);
    let removed = run(&dirs, &["remove", "own"]).success();
    assert!(removed.stderr.contains("undo: capdeck remove --undo own"), "{}", removed.stderr);
}

#[test]
fn a_tag_is_kept_and_a_commit_works_offline() {
    let dirs = TestDirs::new();
    let address = repository(&dirs);
    git(&dirs.root().join("repo"), &["tag", "v1.0.0"]);
    dirs.write("repo/caplets/echo.md", echo_file("Later"));
    commit(&dirs, "two");
    let tagged = format!("{address}#v1.0.0");
    let got = json(&dirs, &["get", &tagged, "echo"]);
    let commit = got["items"][0]["source"]["commit"].as_str().unwrap().to_owned();
    assert!(fs::read_to_string(dirs.config().join("echo.md")).unwrap().contains("name: Echo"));
    fs::rename(dirs.root().join("repo"), dirs.root().join("away")).unwrap();
    let offline = run(&dirs, &["update", "--json"]);
    assert_eq!(
        (offline.code, &offline.json()["error"]["code"]),
        (Some(1), &json!("SOURCE_UNAVAILABLE"))
    );
    run(&dirs, &["remove", "echo"]).success();
    run(&dirs, &["get", &format!("{address}#{commit}"), "echo"]).success();
    assert!(fs::read_to_string(dirs.config().join("echo.md")).unwrap().contains("name: Echo"));
}

#[test]
fn what_cannot_be_got_is_reported_and_nothing_is_written() {
    let dirs = TestDirs::new();
    let address = repository(&dirs);
    dirs.write("repo/sub/other.md", echo_file("Other"));
    dirs.write("repo/caplets/bad.md", "---\nname: Bad\n---\n");
    commit(&dirs, "two");
    let main = format!("{address}#main");
    for (words, code, expected) in [
        (&["get", &main, "ecco"][..], 1, "the source has no `ecco`; it has: bad, echo, tool"),
        (&["get", &main], 1, "`bad` is left alone: its definition has errors"),
        (&["get", &main, "--path", "../.."], 2, "the folder must be inside the source"),
        (&["get", &main, "--path", "nowhere"], 1, "there is no folder `nowhere`"),
        (&["get", &format!("{address}#nothing")], 1, "has no tag, branch or commit `nothing`"),
        (&["get", "./nowhere"], 1, "there is no folder"),
        (&["get", "word"], 2, "a repository is `owner/repo`"),
        (&["update", "echo"], 1, "`echo` is not a package"),
    ] {
        let refused = run(&dirs, words);
        assert_eq!(refused.code, Some(code), "{words:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(expected), "{words:?}: {}", refused.stderr);
        assert_eq!(fs::read_dir(dirs.config()).unwrap().count(), 0, "{words:?}");
    }
    let refused = run(&dirs, &["get", &main]);
    let rest = format!("nothing was written; get the rest with: capdeck get {main} echo tool");
    assert!(refused.stderr.contains(&rest), "{}", refused.stderr);
    run(&dirs, &["get", &main, "--path", "sub"]).success();
    assert!(dirs.config().join("other.md").exists());
}

#[test]
fn a_projects_deck_takes_packages_that_wait_for_trust() {
    let dirs = TestDirs::new();
    dirs.write("shared/echo.md", echo_file("Echo"));
    let source = dirs.root().join("shared");
    let got =
        capdeck(&dirs).args(["get", source.to_str().unwrap(), "--project-deck"]).run().success();
    assert!(got.stderr.contains("capdeck trust"), "{}", got.stderr);
    assert!(dirs.project().join(".capdeck/echo.md").exists());
    assert!(dirs.project().join(".capdeck/capdeck.lock.json").exists());
    run(&dirs, &["remove", "echo", "--project-deck"]).success();
    assert!(!dirs.project().join(".capdeck/echo.md").exists());
}

#[test]
fn the_lock_of_caplets_in_a_project_is_read() {
    let dirs = TestDirs::new();
    repository(&dirs);
    let address = format!("file://{}", dirs.root().join("repo").display());
    dirs.write("project/.caplets/echo.md", echo_file("Echo"));
    let lock = json!({ "version": 1, "entries": [{
        "id": "echo", "destination": ".caplets/echo.md", "kind": "file",
        "source": { "type": "git", "repository": address, "path": "caplets/echo.md" },
        "installedHash": "x", "installedAt": "2026-01-01", "updatedAt": "2026-01-01",
    }] });
    dirs.write("project/.caplets.lock.json", lock.to_string());
    let own = run(&dirs, &["update", "--dry-run"]).success();
    assert!(own.stderr.contains("capdeck update --project-deck"), "{}", own.stderr);
    let updated = json(&dirs, &["update", "--project-deck", "--dry-run", "--yes"]);
    assert_eq!(updated["items"][0]["id"], "echo", "{updated:#}");

    dirs.write("repo/caplets/echo.md", echo_file("Newer"));
    commit(&dirs, "two");
    json(&dirs, &["update", "--project-deck", "--yes", "--force"]);
    let text = fs::read_to_string(dirs.project().join(".caplets/echo.md")).unwrap();
    assert!(text.contains("Newer"), "{text}");
    json(&dirs, &["remove", "echo", "--project-deck", "--yes"]);
    assert!(!dirs.project().join(".caplets/echo.md").exists());
}
