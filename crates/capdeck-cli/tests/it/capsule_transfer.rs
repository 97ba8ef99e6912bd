//! Capsules as files, and files as entries.

use std::{fs, process::Command};

use capdeck_test::TestDirs;
use serde_json::{Value, json};

use crate::{
    capdeck,
    capsule::{root, team, write},
    json, run, shown,
};

fn filled() -> TestDirs {
    let dirs = team();
    let picture = dirs.write("picture.png", b"\x89PNG");
    json(&dirs, &["capsule", "schemes", "add", "team", "runbooks", "--prompts"]);
    let blob = ["--blob", picture.to_str().unwrap(), "--mime", "image/png"];
    write(&dirs, "docs://plan", "See src/plan.rs\n", &blob).success();
    write(
        &dirs,
        "docs://plan",
        "See src/plan.rs and src/b.rs\n",
        &["--title", "Plan", "--tag", "q1"],
    )
    .success();
    write(&dirs, "runbooks://deploy", "push", &["--risk-class", "structural"]).success();
    write(&dirs, "api-data://pets", "[1]", &[]).success();
    dirs
}

/// What an export keeps of every entry.
fn kept(dirs: &TestDirs, capsule: &str) -> Vec<Value> {
    let listed = json(dirs, &["capsule", "list", capsule]);
    let fields =
        ["uri", "body", "title", "tags", "risk_class", "promotion_reason", "file_anchors", "blob"];
    listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            let read = json(dirs, &["capsule", "read", capsule, item["uri"].as_str().unwrap()]);
            fields.iter().map(|field| read[*field].clone()).collect()
        })
        .collect()
}

#[test]
fn an_export_comes_back_whole() {
    let dirs = filled();
    let before = kept(&dirs, "team");
    let tar = run(&dirs, &["capsule", "export", "team", "backup.tar"]);
    insta::assert_snapshot!(shown(&dirs, &tar), @r"
    exit 0
    --- stdout
    --- stderr
    wrote 3 entries to [ROOT]/project/backup.tar
    ");
    let exported = json(&dirs, &["capsule", "export", "team", "files"]);
    assert_eq!((&exported["entries"], &exported["blobs"]), (&json!(3), &json!(1)));
    for (source, capsule) in [("backup.tar", "One"), ("files", "Two")] {
        json(&dirs, &["capsule", "new", capsule]);
        let plan = run(&dirs, &["capsule", "import", capsule, source, "--dry-run"]);
        if capsule == "One" {
            insta::assert_snapshot!(shown(&dirs, &plan), @r"
            exit 0
            --- stdout
            URI                VERSION  OUTCOME  FILE
            api-data://pets    1        created  api-data/pets.json
            docs://plan        1        created  docs/plan.md
            runbooks://deploy  1        created  runbooks/deploy.md
            --- stderr
            would add the schemes: runbooks
            would write 3 entries
            ");
        }
        assert!(kept(&dirs, capsule).is_empty(), "a rehearsal writes nothing");
        let done = json(&dirs, &["capsule", "import", capsule, source]);
        assert_eq!((&done["schemes"], &done["dry_run"]), (&json!(["runbooks"]), &json!(false)));
        assert_eq!(kept(&dirs, capsule), before);
        let again = run(&dirs, &["capsule", "import", capsule, source]).success();
        assert!(
            again.stderr.contains("wrote 0 entries, 3 said the same already"),
            "{}",
            again.stderr
        );
        assert_eq!(json(&dirs, &["capsule", "verify", capsule])["clean"], true);
    }
    // Nothing is overwritten.
    let there = run(&dirs, &["capsule", "export", "team", "backup.tar"]);
    assert!(there.code == Some(2) && there.stderr.contains("is there already"), "{there:?}");
    let there = run(&dirs, &["capsule", "export", "team", "files"]);
    assert!(there.code == Some(2) && there.stderr.contains("is not empty"), "{there:?}");
}

#[test]
fn a_repository_has_a_commit_for_every_version() {
    let dirs = filled();
    let exported = run(&dirs, &["capsule", "export", "team", "history", "--as", "git"]).success();
    assert!(exported.stderr.starts_with("wrote 4 versions to "), "{}", exported.stderr);
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        let output =
            command.arg("-C").arg(dirs.project().join("history")).args(words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(git(&["rev-list", "--count", "main"]).trim(), "4");
    assert_eq!(git(&["status", "--porcelain"]), "");
    assert_eq!(
        git(&["log", "--format=%s", "-1", "--", "docs/plan.md"]).trim(),
        "docs://plan version 2"
    );
    let file = dirs.project().join("history/docs/plan.md");
    assert_eq!(fs::read_to_string(file).unwrap(), "See src/plan.rs and src/b.rs\n");
    json(&dirs, &["capsule", "new", "empty"]);
    run(&dirs, &["capsule", "export", "empty", "nothing", "--as", "git"]).success();
    let refused = run(&dirs, &["capsule", "export", "team", "history", "--as", "git"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

#[test]
fn folders_instructions_and_skills_come_in() {
    let dirs = team();
    dirs.write("project/AGENTS.md", "# Agents\n");
    dirs.write("project/docs/guide/start.md", "Begin");
    dirs.write("project/docs/logo.png", "x");
    dirs.write("project/skills/review/SKILL.md", "Review.");
    dirs.write("project/skills/review/check.sh", "true");
    let taken = run(&dirs, &["capsule", "import", "team", "AGENTS.md"]);
    insta::assert_snapshot!(shown(&dirs, &taken), @r"
    exit 0
    --- stdout
    URI                VERSION  OUTCOME  FILE
    guidance://agents  1        created  [ROOT]/project/AGENTS.md
    --- stderr
    wrote 1 entry
    ");
    let docs = run(&dirs, &["capsule", "import", "team", "docs", "--scheme", "docs"]).success();
    assert!(docs.stdout.contains("docs://guide/start"), "{}", docs.stdout);
    assert!(
        docs.stderr.contains("logo.png: `docs://` takes files that end in `.md`"),
        "{}",
        docs.stderr
    );
    let skills = json(&dirs, &["capsule", "import", "team", "skills", "--skills"]);
    assert_eq!(skills["entries"][0]["uri"], "skills://review");
    json(&dirs, &["capsule", "import", "team", "AGENTS.md", "--uri", "docs://agents"]);
    dirs.write("project/AGENTS.md", "# Changed\n");
    let kept = json(
        &dirs,
        &["capsule", "import", "team", "AGENTS.md", "--uri", "docs://agents", "--dry-run"],
    );
    assert_eq!(
        (&kept["entries"][0]["version"], &kept["entries"][0]["outcome"]),
        (&json!(2), &json!("replaced"))
    );
    let kept = run(&dirs, &["capsule", "import", "team", "AGENTS.md", "--keep"]);
    assert!(kept.code == Some(1) && kept.stderr.contains("version 1 and is kept"), "{kept:?}");
    assert_eq!(json(&dirs, &["capsule", "read", "team", "docs://agents"])["body"], "# Agents\n");
}

#[test]
fn sources_that_cannot_be_taken_are_reported() {
    let dirs = team();
    dirs.write("project/folder/a.md", "x");
    dirs.write("project/notes.md", "x");
    dirs.write("project/bad.tar", "no archive at all ".repeat(100));
    for (words, code, message) in [
        (&["folder"][..], 2, "say what is in it with --scheme"),
        (&["notes.md"], 2, "--uri docs://readme"),
        (&["missing.tar"], 1, "missing.tar"),
        (&["bad.tar"], 2, "it is no tar archive, or damaged"),
        (&["folder", "--scheme", "nothing"], 1, "no scheme `nothing://`"),
        (&["notes.md", "--uri", "docs://../x"], 2, "is no entry address"),
        (&["folder", "--uri", "docs://x"], 2, "not an ordinary file"),
        (&["folder", "--skills", "--scheme", "docs"], 2, "cannot be used with"),
    ] {
        let refused = run(&dirs, &[&["capsule", "import", "team"], words].concat());
        assert_eq!(refused.code, Some(code), "{words:?}: {refused:?}");
        assert!(refused.stderr.contains(message), "{words:?}: {}", refused.stderr);
    }
    // Links lead nowhere.
    let secret = dirs.write("secret.md", "secret");
    std::os::unix::fs::symlink(&secret, dirs.project().join("folder/link.md")).unwrap();
    std::os::unix::fs::symlink("/etc", dirs.project().join("folder/etc")).unwrap();
    json(&dirs, &["capsule", "import", "team", "folder", "--scheme", "docs"]);
    let entries = json(&dirs, &["capsule", "list", "team"]);
    assert_eq!(entries["items"].as_array().unwrap().len(), 1, "{entries}");
}

#[test]
fn a_damaged_entry_is_found() {
    let dirs = filled();
    let sound = run(&dirs, &["capsule", "verify"]).success().stdout;
    assert!(sound.starts_with("team: OK, 3 entries, 4 versions, 1 blob, "), "{sound}");
    let history = root(&dirs).join("history/docs/plan/@1.md");
    fs::remove_file(history).unwrap();
    let blob = fs::read_dir(root(&dirs).join("blobs")).unwrap().next().unwrap().unwrap().path();
    fs::write(blob, "other").unwrap();
    let damaged = run(&dirs, &["capsule", "verify", "team"]);
    assert_eq!(damaged.code, Some(1), "{damaged:?}");
    assert!(damaged.stdout.starts_with("team: damaged, "), "{}", damaged.stdout);
    assert_eq!(damaged.stdout.matches("problem:").count(), 2, "{}", damaged.stdout);
    let report = capdeck(&dirs).args(["capsule", "verify", "team", "--json"]).run();
    assert_eq!((report.code, &report.json()["clean"]), (Some(1), &json!(false)));
    assert_eq!(report.json()["items"][0]["problems"].as_array().unwrap().len(), 2);
}

#[test]
fn the_record_tells_who_did_what_and_shows_changes() {
    let dirs = filled();
    run(&dirs, &["capsule", "read", "team", "docs://none"]);
    run(&dirs, &["capsule", "read", "team", "docs://../x"]);
    let lines = json(&dirs, &["audit", "query", "team", "--action", "write"]);
    let actions: Vec<&str> = lines["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["uri"].as_str().unwrap())
        .collect();
    assert_eq!(actions, ["docs://plan", "docs://plan", "runbooks://deploy", "api-data://pets"]);
    assert_eq!(
        (&lines["items"][1]["capsule"], &lines["items"][1]["version"]),
        (&json!("team"), &json!(2))
    );
    assert!(!lines.to_string().contains("src/plan.rs"), "no contents: {lines}");
    let failed = json(&dirs, &["audit", "query", "--outcome", "error"]);
    assert_eq!(failed["items"][0]["error_code"], "not_found");
    assert_eq!(failed["items"][1]["error_code"], "invalid_uri");
    for (words, count) in [
        (&["--agent", "nobody"][..], 0),
        (&["--prefix", "docs://", "--action", "write"], 2),
        (&["--since", "1h", "--action", "write", "--limit", "3"], 3),
        (&["--until", "1h"], 0),
    ] {
        let found = json(&dirs, &[&["audit", "query", "team"], words].concat());
        assert_eq!(found["items"].as_array().unwrap().len(), count, "{words:?}: {found}");
    }
    let made = json(&dirs, &["audit", "query", "--action", "capsule"]);
    assert_eq!(
        (&made["items"][0]["action"], &made["items"][0]["capsule"]),
        (&json!("capsule.create"), &json!("team"))
    );
    let tail = run(&dirs, &["audit", "tail", "-n", "2"]).success().stdout;
    assert_eq!(tail.lines().count(), 3, "{tail}");
    assert!(tail.starts_with("AT ") && tail.contains("  team "), "{tail}");
    let sound = run(&dirs, &["audit", "verify"]).success().stdout;
    assert!(sound.starts_with("team: OK, ") && sound.contains(" head "), "{sound}");

    let log = fs::read_dir(root(&dirs).join("logs")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replacen("write.replace", "read", 1)).unwrap();
    let changed = run(&dirs, &["audit", "verify", "team"]);
    assert_eq!(changed.code, Some(1), "{changed:?}");
    assert!(
        changed.stdout.contains("it was changed: its hash does not match"),
        "{}",
        changed.stdout
    );
    let report = capdeck(&dirs).args(["audit", "verify", "--json"]).run();
    assert_eq!((report.code, &report.json()["clean"]), (Some(1), &json!(false)));
    assert_eq!(run(&dirs, &["capsule", "verify"]).code, Some(1), "a verification looks there, too");
    let wrong = run(&dirs, &["audit", "query", "--since", "whenever"]);
    assert!(wrong.code == Some(2) && wrong.stderr.contains("7d or 12h"), "{wrong:?}");
    assert_eq!(run(&dirs, &["audit", "tail", "nobody"]).code, Some(1));
}

#[test]
fn commands_go_through_a_running_host() {
    let dirs = filled();
    let host = capdeck(&dirs).up(&[]);
    // The host has the folder from its first use of a capsule, so that no one else can open it.
    host.client("/mcp/team").initialize();
    assert!(dirs.data().join("desk.sock").exists());
    write(&dirs, "docs://during", "x", &[]).success();
    assert_eq!(json(&dirs, &["capsule", "read", "team", "docs://during"])["version"], 1);
    json(&dirs, &["capsule", "export", "team", "during.tar"]);
    json(&dirs, &["capsule", "new", "Copy"]);
    let copied = json(&dirs, &["capsule", "import", "copy", "during.tar"]);
    assert_eq!(copied["entries"].as_array().unwrap().len(), 4);
    let late = write(&dirs, "docs://during", "y", &["--if-version", "0"]);
    assert_eq!(late.code, Some(4), "{late:?}");
    assert_eq!(json(&dirs, &["audit", "verify"])["clean"], true);
}
