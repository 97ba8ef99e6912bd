//! Writing entries: conditions, patches, and a real editor.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use capdeck_test::{CapdeckOutput, TestDirs};
use serde_json::json;

use crate::{
    capdeck,
    capsule::{root, team, write},
    json, run, shown,
    terminal::Terminal,
};

fn body(dirs: &TestDirs, uri: &str) -> String {
    json(dirs, &["capsule", "read", "team", uri])["body"].as_str().unwrap().to_owned()
}

#[test]
fn a_conflict_has_its_own_exit_code_and_both_changes() {
    let dirs = team();
    write(&dirs, "docs://a", "one\ntwo\nthree\n", &["--if-version", "0"]).success();
    write(&dirs, "docs://a", "ONE\ntwo\nthree\n", &["--if-version", "1"]).success();
    let late = write(&dirs, "docs://a", "one\ntwo\nTHREE\n", &["--if-version", "1"]);
    insta::assert_snapshot!(shown(&dirs, &late), @r"
    exit 4
    --- stdout
    --- stderr
    error: `docs://a` is in version 2, not 1: it was written meanwhile
    both changes fit together:
    ONE
    two
    THREE
    hint: merge, then write with: capdeck capsule write team docs://a --if-version 2 FILE
    ");
    let late = write(&dirs, "docs://a", "uno\ntwo\nthree\n", &["--if-version", "1", "--json"]);
    assert_eq!(late.code, Some(4), "{late:?}");
    let error = &late.json()["error"];
    assert_eq!(error["code"], "VERSION_CONFLICT");
    assert_eq!(
        (&error["details"]["current_version"], &error["details"]["expected_version"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(error["details"]["proposal"]["conflicts"], 1);
    let there = write(&dirs, "docs://a", "x", &["--if-version", "0"]);
    assert!(there.code == Some(4) && there.stderr.contains("is there already"), "{there:?}");
    let gone = write(&dirs, "docs://none", "x", &["--if-version", "3"]);
    assert!(
        gone.code == Some(4) && gone.stderr.contains("`docs://none` no longer exists"),
        "{gone:?}"
    );
    let exists = write(&dirs, "docs://a", "x", &["--new", "--json"]);
    assert_eq!((exists.code, &exists.json()["error"]["code"]), (Some(1), &json!("EXISTS")));
    assert_eq!(body(&dirs, "docs://a"), "ONE\ntwo\nthree\n");
    let deleted = run(&dirs, &["capsule", "rm", "team", "docs://a", "--if-version", "1"]);
    assert_eq!(deleted.code, Some(4), "{deleted:?}");
}

#[test]
fn what_is_said_about_an_entry_is_kept() {
    let dirs = team();
    let picture = dirs.write("project/picture.png", b"\x89PNG");
    let words = [
        "--title",
        "The plan",
        "--tag",
        "q1",
        "--tag",
        "team",
        "--risk-class",
        "structural",
        "--anchor",
        "src/plan.rs",
        "--commit",
        "0123abc",
        "--blob",
        picture.to_str().unwrap(),
        "--mime",
        "image/png",
    ];
    write(&dirs, "docs://plan", "See src/other.rs", &words).success();
    let facts = json(&dirs, &["capsule", "show", "team", "docs://plan"]);
    assert_eq!((&facts["title"], &facts["tags"]), (&json!("The plan"), &json!(["q1", "team"])));
    assert_eq!(
        (&facts["risk_class"], &facts["anchors_detected"]),
        (&json!("structural"), &json!(true))
    );
    assert_eq!(facts["commit_at_write"], "0123abc (claimed)");
    assert!(facts["file_anchors"].to_string().contains("src/plan.rs"), "{facts}");
    assert_eq!(facts["blob"]["mime"], "image/png");
    assert!(facts.get("body").is_none(), "{facts}");
    let blob =
        capdeck(&dirs).args(["capsule", "read", "team", "docs://plan", "--blob", "--json"]).run();
    assert_eq!(blob.success().json()["bytes"], 4);
    // What is not said again stays; what is taken away goes.
    write(&dirs, "docs://plan", "new", &["--no-blob"]).success();
    let facts = json(&dirs, &["capsule", "show", "team", "docs://plan"]);
    assert_eq!((&facts["title"], facts.get("blob")), (&json!("The plan"), None));
    json(&dirs, &["capsule", "rm", "team", "docs://plan", "--purge", "--yes"]);
    // What is new is kept: its entry may be on its way.
    assert_eq!(json(&dirs, &["capsule", "collect", "team"])["kept"], 1);
    let blob = fs::read_dir(root(&dirs).join("blobs")).unwrap().next().unwrap().unwrap().path();
    fs::File::options()
        .write(true)
        .open(&blob)
        .unwrap()
        .set_modified(SystemTime::UNIX_EPOCH)
        .unwrap();
    let collected = run(&dirs, &["capsule", "collect", "team"]).success();
    assert_eq!(collected.stderr, "removed 1 (4 bytes), kept 0\n");
    assert!(!blob.exists());
}

#[test]
fn parts_are_changed_all_or_none() {
    let dirs = team();
    write(&dirs, "docs://a", "# A\nv1\n", &[]).success();
    let steps = json!([
        {"op": "replace", "find": "v1", "with": "v2"},
        {"op": "append", "text": "end"},
    ]);
    let file = dirs.write("project/steps.json", steps.to_string());
    for typed in [steps.to_string(), format!("@{}", file.display())] {
        write(&dirs, "docs://a", "# A\nv1\n", &[]).success();
        run(&dirs, &["capsule", "write", "team", "docs://a", "--patch", &typed]).success();
        assert_eq!(body(&dirs, "docs://a"), "# A\nv2\nend");
    }
    let failed = run(
        &dirs,
        &["capsule", "write", "team", "docs://a", "--patch", &steps.to_string(), "--json"],
    );
    assert_eq!((failed.code, &failed.json()["error"]["code"]), (Some(1), &json!("PATCH_FAILED")));
    run(&dirs, &["capsule", "write", "team", "docs://a", "--append", "more"]).success();
    assert_eq!(body(&dirs, "docs://a"), "# A\nv2\nend\nmore");
    let stdin = capdeck(&dirs).args(["capsule", "write", "team", "docs://a", "--patch", "-"]);
    stdin.stdin(r#"[{"op":"section","heading":"A","text":"all new"}]"#).run().success();
    assert!(body(&dirs, "docs://a").contains("all new"));
}

/// A program that acts as an editor: a shell script that gets the file as `$1`.
fn editor(dirs: &TestDirs, script: &str) -> PathBuf {
    let path = dirs.write("editor with blank.sh", format!("#!/bin/sh\nset -e\n{script}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Runs `capsule edit` with that editor. Drafts go to a folder of the test.
fn edit(dirs: &TestDirs, script: &str, words: &[&str]) -> CapdeckOutput {
    let command = format!("'{}' --wait", editor(dirs, &format!("shift\n{script}")).display());
    fs::create_dir_all(drafts(dirs)).unwrap();
    let started = capdeck(dirs).env("VISUAL", command).env("EDITOR", "false");
    let started = started.env("TMPDIR", drafts(dirs)).env("CAPDECK", env!("CARGO_BIN_EXE_capdeck"));
    started.args(["capsule", "edit", "team"]).args(words).run()
}

fn drafts(dirs: &TestDirs) -> PathBuf {
    dirs.root().join("drafts")
}

/// Every file that is left of an editing.
fn left(dirs: &TestDirs) -> Vec<PathBuf> {
    let folders = fs::read_dir(drafts(dirs)).unwrap().map(|one| one.unwrap().path());
    let mut files: Vec<PathBuf> = folders
        .flat_map(|folder| fs::read_dir(folder).unwrap().map(|one| one.unwrap().path()))
        .collect();
    files.sort();
    files
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

#[test]
fn an_editor_changes_and_makes_entries() {
    let dirs = team();
    write(&dirs, "docs://a/plan", "one\n", &["--title", "Plan"]).success();
    // The file has the entry's name, and no one else can read it.
    let script = r#"test "$(stat -c %a "$1")" = 600 && test "$(stat -c %a "$(dirname "$1")")" = 700
        test "$(basename "$1")" = plan.md && test "$(cat "$1")" = one && echo two >> "$1"; echo shown"#;
    let done = edit(&dirs, script, &["docs://a/plan"]).success();
    assert_eq!(done.stdout, "", "what an editor shows is not data");
    assert!(
        done.stderr.ends_with("wrote version 2 of docs://a/plan (structural)\n"),
        "{}",
        done.stderr
    );
    assert_eq!(body(&dirs, "docs://a/plan"), "one\ntwo\n");
    assert_eq!(json(&dirs, &["capsule", "show", "team", "docs://a/plan"])["title"], "Plan");
    let made =
        edit(&dirs, r#"test ! -s "$1" && echo new > "$1""#, &["notes://fresh", "--json"]).success();
    assert_eq!((&made.json()["version"], &made.json()["created"]), (&json!(1), &json!(true)));
    assert!(left(&dirs).is_empty());
}

#[test]
fn an_unchanged_text_is_not_written() {
    let dirs = team();
    write(&dirs, "docs://a", "one\n", &[]).success();
    let same = edit(&dirs, r#"touch "$1""#, &["docs://a"]).success();
    assert!(same.stderr.contains("unchanged: nothing was written"), "{}", same.stderr);
    let same = edit(&dirs, "true", &["docs://a", "--json"]).success();
    assert_eq!(same.json(), json!({"uri": "docs://a", "version": 1, "unchanged": true}));
    edit(&dirs, "true", &["docs://never"]).success();
    assert_eq!(json(&dirs, &["capsule", "list", "team"])["items"].as_array().unwrap().len(), 1);
    assert!(left(&dirs).is_empty());
}

#[test]
fn an_editor_that_fails_writes_nothing_and_loses_nothing() {
    let dirs = team();
    write(&dirs, "docs://a", "one\n", &[]).success();
    let failed = edit(&dirs, "exit 3", &["docs://a", "--json"]);
    assert_eq!((failed.code, &failed.json()["error"]["code"]), (Some(1), &json!("EDITOR_FAILED")));
    assert!(left(&dirs).is_empty());
    let failed = edit(&dirs, r#"echo typed > "$1"; exit 3"#, &["docs://a"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let [kept] = left(&dirs).try_into().unwrap();
    assert!(failed.stderr.contains(kept.to_str().unwrap()), "{}", failed.stderr);
    assert_eq!(fs::read_to_string(&kept).unwrap(), "typed\n");
    assert_eq!(body(&dirs, "docs://a"), "one\n");
    let missing = capdeck(&dirs).env("EDITOR", "no-such-editor").env("TMPDIR", drafts(&dirs));
    let missing = missing.args(["capsule", "edit", "team", "docs://a"]).run();
    assert!(
        missing.code == Some(1) && missing.stderr.contains("set VISUAL or EDITOR"),
        "{missing:?}"
    );
    let removed = edit(&dirs, r#"rm "$1""#, &["docs://a"]);
    assert_eq!(removed.code, Some(1), "{removed:?}");
    // What the capsule refuses is kept, too.
    write(&dirs, "api-data://pets", "[]", &[]).success();
    let refused = edit(
        &dirs,
        r#"test "$(basename "$1")" = pets.json; echo '[' > "$1""#,
        &["api-data://pets"],
    );
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let kept = left(&dirs).into_iter().find(|path| name(path) == "pets.yours.json").unwrap();
    assert!(
        refused.stderr.contains("not JSON") && refused.stderr.contains(kept.to_str().unwrap()),
        "{}",
        refused.stderr
    );
    assert_eq!(fs::read_to_string(kept).unwrap(), "[\n");
}

/// Another person writes while the editor is open; the capsule is free for them.
const MEANWHILE: &str = r#"printf 'ONE\ntwo\nthree\n' | "$CAPDECK" capsule write team docs://a -q"#;

#[test]
fn a_write_during_the_editing_is_not_overwritten() {
    let dirs = team();
    write(&dirs, "docs://a", "one\ntwo\nthree\n", &[]).success();
    let script = format!("{MEANWHILE}\nprintf 'one\\ntwo\\nTHREE\\n' > \"$1\"");
    let late = edit(&dirs, &script, &["docs://a"]);
    assert_eq!(late.code, Some(4), "{late:?}");
    let files = left(&dirs);
    let find = |wanted: &str| files.iter().find(|path| name(path) == wanted).unwrap();
    let (yours, merged) = (find("a.yours.md"), find("a.merged.md"));
    assert_eq!(fs::read_to_string(yours).unwrap(), "one\ntwo\nTHREE\n");
    assert_eq!(fs::read_to_string(merged).unwrap(), "ONE\ntwo\nTHREE\n");
    for path in [yours, merged] {
        assert!(late.stderr.contains(path.to_str().unwrap()), "{}", late.stderr);
    }
    assert_eq!(body(&dirs, "docs://a"), "ONE\ntwo\nthree\n");
    // The hint works unchanged.
    let hint = late.stderr.lines().find(|line| line.starts_with("hint: ")).unwrap();
    let command = hint.split("capdeck capsule ").nth(1).unwrap();
    let words: Vec<&str> = ["capsule"].into_iter().chain(command.split(' ')).collect();
    run(&dirs, &words).success();
    assert_eq!(body(&dirs, "docs://a"), "ONE\ntwo\nTHREE\n");
    let late = edit(&dirs, &script, &["docs://a", "--json"]);
    assert_eq!(late.code, Some(4), "{late:?}");
    let details = &late.json()["error"]["details"];
    assert!(Path::new(details["merge"].as_str().unwrap()).exists() && details["kept"].is_string());
}

#[test]
fn a_person_is_offered_the_merge() {
    let dirs = team();
    fs::create_dir_all(drafts(&dirs)).unwrap();
    for (answer, typed, expected) in [
        ("y", r"one\ntwo\nTHREE\n", "ONE\ntwo\nTHREE\n"),
        ("n", r"one\ntwo\nTHREE\n", "ONE\ntwo\nthree\n"),
        ("y", r"uno\ntwo\nthree\n", "decided\ntwo\nthree\n"),
    ] {
        write(&dirs, "docs://a", "one\ntwo\nthree\n", &[]).success();
        // The first time the person types; after that the merge is looked at, and decided where that is needed.
        let seen = dirs.root().join("seen");
        fs::remove_file(&seen).ok();
        let script = format!(
            "if test -e '{seen}'; then if grep -q uno \"$1\"; then printf 'decided\\ntwo\\nthree\\n' > \"$1\"; fi; exit 0; fi\n\
             touch '{seen}'\n{MEANWHILE}\nprintf '{typed}' > \"$1\"",
            seen = seen.display(),
        );
        let editor = editor(&dirs, &script);
        let variables = [
            ("VISUAL", format!("'{}'", editor.display())),
            ("TMPDIR", drafts(&dirs).display().to_string()),
            ("CAPDECK", env!("CARGO_BIN_EXE_capdeck").to_owned()),
        ];
        let mut terminal =
            Terminal::start_with(&dirs, &["capsule", "edit", "team", "docs://a"], &variables);
        terminal.wait_for("[y/N] ");
        terminal.answer(answer);
        let (code, _) = terminal.end();
        assert_eq!(code, Some(if answer == "y" { 0 } else { 4 }), "{answer} {typed}");
        assert_eq!(body(&dirs, "docs://a"), expected);
    }
}
