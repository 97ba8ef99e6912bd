//! Capsules on disks that are full or cannot be written, audits that were cut, and what is said about it.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use capdeck_test::{CapdeckRun, TestDirs};
use serde_json::{Value, json};

use crate::{
    capdeck,
    capsule::{root, team, write},
    json, run,
};

/// The binary with something else mounted on its data folder; none where this system does not allow that.
fn capdeck_with(dirs: &TestDirs, mount: &str) -> Option<CapdeckRun> {
    let namespace = ["--user", "--map-root-user", "--mount"];
    let allowed = Command::new("unshare").args(namespace).arg("true").status();
    if !allowed.is_ok_and(|status| status.success()) {
        #[expect(clippy::print_stderr, reason = "what was skipped is said")]
        {
            eprintln!("skipped: this system has no namespaces for users");
        }
        return None;
    }
    let script = dirs.root().join("mounted.sh");
    let (data, program) = (dirs.data(), env!("CARGO_BIN_EXE_capdeck"));
    let text = format!(
        "#!/bin/sh\nexec unshare {} sh -c 'D=\"{}\"; {mount} && exec \"{program}\" \"$@\"' sh \"$@\"\n",
        namespace.join(" "),
        data.display(),
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
    Some(CapdeckRun::at(script, dirs))
}

/// The binary with a data folder that cannot be written.
fn read_only(dirs: &TestDirs) -> Option<CapdeckRun> {
    capdeck_with(dirs, "mount --bind \"$D\" \"$D\" && mount -o remount,bind,ro \"$D\"")
}

#[test]
fn a_data_folder_that_cannot_be_written_is_read() {
    let dirs = team();
    write(&dirs, "docs://plan", "the plan", &[]).success();
    let export = dirs.root().join("export.tar");
    let export = export.to_str().unwrap();
    for words in [
        &["capsule", "read", "team", "docs://plan"][..],
        &["capsule", "list"],
        &["capsule", "list", "team"],
        &["capsule", "search", "team", "plan"],
        &["capsule", "history", "team", "docs://plan"],
        &["capsule", "export", "team", export],
        &["capsule", "verify"],
        &["audit", "verify"],
        &["audit", "tail", "team"],
    ] {
        let Some(command) = read_only(&dirs) else { return };
        let finished = command.args(words).run();
        assert_eq!(finished.code, Some(0), "{words:?}: {finished:?}");
    }
    for words in [
        &["capsule", "write", "team", "docs://plan"][..],
        &["capsule", "rm", "team", "docs://plan", "--yes"],
        &["capsule", "new", "other"],
        &["capsule", "schemes", "add", "team", "runbooks"],
    ] {
        let Some(command) = read_only(&dirs) else { return };
        let refused = command.args(words).arg("--json").stdin("other").run();
        assert_eq!(refused.code, Some(1), "{words:?}: {refused:?}");
        let error = refused.json()["error"].clone();
        assert_eq!(error["code"], "READ_ONLY", "{words:?}: {error}");
        assert!(error["message"].as_str().unwrap().contains("cannot be written"), "{error}");
    }
    // Nothing is read unrecorded where recording is required.
    let Some(command) = read_only(&dirs) else { return };
    let strict = command.env("CAPDECK_AUDIT_STRICT", "1");
    let refused = strict.args(["capsule", "read", "team", "docs://plan", "--json"]).run();
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.json()["error"]["hint"].as_str().unwrap().contains("CAPDECK_AUDIT_STRICT"));
    // Doctor says that it cannot be written.
    let Some(command) = read_only(&dirs) else { return };
    let examined = command.args(["doctor", "--json"]).run();
    assert_eq!(examined.code, Some(1), "{examined:?}");
    assert!(examined.stdout.contains("the data folder cannot be written"), "{examined:?}");
    let read = run(&dirs, &["capsule", "read", "team", "docs://plan", "--raw"]).success();
    assert_eq!(read.stdout, "the plan");
}

/// Asks the interface of a running host.
fn ask(host: &capdeck_test::RunningHost, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let json = [("content-type", "application/json")];
    let reply = host.client("/v1").send(method, path, &json, body.as_bytes());
    (reply.status, serde_json::from_str(&reply.body).unwrap_or_default())
}

#[test]
fn a_full_disk_is_507_and_the_host_is_not_ready() {
    let dirs = TestDirs::new();
    let mount = "mount -t tmpfs -o size=2m none \"$D\"";
    let Some(command) = capdeck_with(&dirs, mount) else { return };
    let host = command.up(&[]);
    assert_eq!(ask(&host, "GET", "/ready", &Value::Null).0, 200);
    let (status, made) = ask(&host, "POST", "/v1/capsules", &json!({ "name": "team" }));
    assert_eq!(status, 201, "{made}");
    assert_eq!(ask(&host, "GET", "/ready", &Value::Null).0, 200);
    let content = "full ".repeat(40_000);
    let mut refused = None;
    for number in 0..20 {
        let path = format!("/v1/capsules/team/entries/docs/entry{number}");
        let (status, answer) = ask(&host, "PUT", &path, &json!({ "content": content }));
        if ![200, 201].contains(&status) {
            refused = Some((status, answer));
            break;
        }
    }
    let (status, problem) = refused.expect("two megabytes were never full");
    assert_eq!((status, &problem["code"]), (507, &json!("storage_full")), "{problem}");
    // What was refused may have made room again; now nothing is left, seen from within the host's own mounts.
    let below = dirs.data().strip_prefix("/").unwrap().to_owned();
    let inside = PathBuf::from(format!("/proc/{}/root", host.id())).join(below);
    let mut filler = fs::File::create(inside.join("filler")).unwrap();
    while std::io::Write::write_all(&mut filler, &[0; 4096]).is_ok() {}
    let send = json!({ "kind": "note", "text": "x".repeat(4_000) });
    let full = (0..200).map(|_| ask(&host, "POST", "/v1/capsules/team/signals", &send));
    let (status, problem) = full.into_iter().find(|(status, _)| *status >= 300).unwrap();
    assert_eq!((status, &problem["code"]), (507, &json!("storage_full")), "{problem}");
    while std::io::Write::write_all(&mut filler, &[0; 4096]).is_ok() {}
    // What was found out a few seconds ago is still said.
    let deadline = Instant::now() + Duration::from_secs(60);
    let (status, ready) = loop {
        let answer = ask(&host, "GET", "/ready", &Value::Null);
        if answer.0 != 200 || Instant::now() > deadline {
            break answer;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!((status, &ready["status"]), (503, &json!("unavailable")), "{ready}");
    assert!(ready["reason"].as_str().unwrap().contains("No space left"), "{ready}");
    // What is there can be read.
    let (status, read) = ask(&host, "GET", "/v1/capsules/team/entries/docs/entry0", &Value::Null);
    assert_eq!(status, 200, "{read}");
}

#[test]
fn one_broken_capsule_is_named_and_the_host_stays_ready() {
    let dirs = team();
    json(&dirs, &["capsule", "new", "Broken"]);
    write(&dirs, "docs://good", "good", &[]).success();
    fs::write(root(&dirs).join("knowledge/docs/bad.md"), b"\xff").unwrap();
    break_capsule(&dirs, "broken");
    let host = capdeck(&dirs).up(&[]);
    let (status, ready) = ask(&host, "GET", "/ready", &Value::Null);
    assert_eq!((status, &ready["status"]), (200, &json!("ready")), "{ready}");
    let degraded = ready["degraded"].as_array().unwrap();
    let named: Vec<_> = degraded.iter().map(|one| one["capsule"].as_str().unwrap()).collect();
    assert_eq!(named, ["broken", "team"], "{ready}");
    assert!(degraded[1]["problem"].as_str().unwrap().contains("docs://bad"), "{ready}");
    let (status, listed) = ask(&host, "GET", "/v1/capsules?counts=true", &Value::Null);
    assert_eq!(status, 200, "{listed}");
    assert!(listed["items"][0]["problem"].as_str().unwrap().contains("knowledge"), "{listed}");
    assert_eq!(listed["items"][1]["entries"], 1, "{listed}");
    // The same by command, from the host that has the folder.
    let examined = capdeck(&dirs).args(["doctor", "--json"]).run();
    assert_eq!(examined.code, Some(1), "{examined:?}");
    let report = examined.json();
    let of_capsules = report["items"].as_array().unwrap().iter();
    let of_capsules: Vec<_> = of_capsules.filter(|item| item["check"] == "capsules").collect();
    assert_eq!(of_capsules.len(), 2, "{report}");
    assert_eq!(of_capsules[0]["status"], "error", "{report}");
    assert_eq!(of_capsules[0]["fix"], "see all of it with: capdeck capsule verify broken");
    assert_eq!(of_capsules[1]["status"], "warning", "{report}");
}

/// The only file of the capsule's log.
fn log_of(dirs: &TestDirs) -> PathBuf {
    let logs = root(dirs).join("logs");
    logs.read_dir().unwrap().next().unwrap().unwrap().path()
}

fn keep_lines(path: &Path, keep: impl Fn(usize) -> bool) {
    let text = fs::read_to_string(path).unwrap();
    let kept = text.lines().enumerate().filter(|(number, _)| keep(*number));
    let kept: String = kept.map(|(_, line)| format!("{line}\n")).collect();
    fs::write(path, kept).unwrap();
}

#[test]
fn an_audit_that_was_cut_emptied_or_removed_is_named() {
    type Damage<'a> = &'a dyn Fn(&Path);
    let cases: [(Damage<'_>, &str); 5] = [
        (
            &|log| keep_lines(log, |_| false),
            "the log was emptied or removed: lines 1 to 4 are missing",
        ),
        (
            &|log| fs::remove_file(log).unwrap(),
            "the log was emptied or removed: lines 1 to 4 are missing",
        ),
        (
            &|log| keep_lines(log, |number| number >= 2),
            "the log was cut at its beginning: lines 1 to 2 are missing",
        ),
        (
            &|log| keep_lines(log, |number| number < 2),
            "its number is 5, expected 3: lines are missing or were added",
        ),
        (
            &|log| fs::remove_dir_all(log.parent().unwrap()).unwrap(),
            "the log was emptied or removed: lines 1 to 4 are missing",
        ),
    ];
    for (damage, expected) in cases {
        let dirs = team();
        for number in 0..4 {
            write(&dirs, "docs://plan", &number.to_string(), &[]).success();
        }
        damage(&log_of(&dirs));
        // The verification is a call of its own, so its line comes after what is missing.
        for words in [&["audit", "verify", "team"][..], &["capsule", "verify", "team"]] {
            let verified = run(&dirs, words);
            assert_eq!(verified.code, Some(1), "{expected}: {verified:?}");
        }
        let again = run(&dirs, &["audit", "verify", "team"]);
        let cut = expected.replace("emptied or removed", "cut at its beginning");
        assert!(
            again.stdout.contains(expected) || again.stdout.contains(&cut),
            "{expected}: {again:?}"
        );
    }
}

#[test]
fn old_days_are_pruned_and_not_missed() {
    let dirs = team();
    write(&dirs, "docs://plan", "x", &[]).success();
    let log = log_of(&dirs);
    fs::rename(&log, log.with_file_name("2020-01-01.jsonl")).unwrap();
    write(&dirs, "docs://plan", "y", &[]).success();
    let pruned = json(&dirs, &["audit", "prune", "team", "--before", "2021-01-01"]);
    assert_eq!(pruned["items"], json!([{ "capsule": "team", "files": 1, "lines": 1 }]));
    run(&dirs, &["audit", "verify", "team"]).success();
    let tail = run(&dirs, &["audit", "tail", "team"]).success().stdout;
    assert!(tail.contains("audit.prune") && !tail.contains("version 1"), "{tail}");
    // Nothing is left to prune, of the registry's own record either.
    run(&dirs, &["audit", "prune", "--before", "2021-01-01"]).success();
    run(&dirs, &["audit", "verify"]).success();
}

#[test]
fn reserved_scheme_names_are_refused() {
    let dirs = team();
    for name in ["http", "file", "capsol", "con", "docs"] {
        let refused =
            capdeck(&dirs).args(["capsule", "schemes", "add", "team", name, "--json"]).run();
        assert_ne!(refused.code, Some(0), "{name}: {refused:?}");
        assert_eq!(refused.json()["error"]["code"], "INVALID_SCHEME", "{name}: {refused:?}");
    }
    // By the environment, too.
    let listed = capdeck(&dirs).args(["capsule", "list"]).env("CAPSOL_SCHEMES", "https").run();
    assert_ne!(listed.code, Some(0), "{listed:?}");
    assert!(listed.stderr.contains("`https://` is reserved"), "{listed:?}");
}

/// Makes a capsule that cannot be opened: its folder of entries is a file.
fn break_capsule(dirs: &TestDirs, name: &str) {
    let knowledge = dirs.data().join(format!("boxes/{name}/.capsol/knowledge"));
    fs::remove_dir_all(&knowledge).ok();
    fs::create_dir_all(knowledge.parent().unwrap()).unwrap();
    fs::write(knowledge, "in the way").unwrap();
}

#[test]
fn an_entry_called_like_a_part_of_the_store_costs_nothing() {
    let dirs = team();
    json(&dirs, &["capsule", "new", "Other"]);
    write(&dirs, "skills://x/y", "body", &[]).success();
    for _ in 0..2 {
        write(&dirs, "docs://a", "body", &[]).success();
        write(&dirs, "docs://a/x", "body", &[]).success();
    }
    json(&dirs, &["capsule", "schemes", "add", "team", "x"]);
    write(&dirs, "x://x/x", "body", &[]).success();
    for words in [
        &["capsule", "read", "team", "skills://x/y"][..],
        &["capsule", "history", "team", "docs://a"],
        &["capsule", "list", "team"],
        &["capsule", "search", "team", "body"],
        &["capsule", "list"],
        &["capsule", "verify"],
        &["audit", "verify"],
        &["doctor"],
    ] {
        run(&dirs, words).success();
    }
    run(&dirs, &["capsule", "rm", "team", "docs://a", "--purge", "--yes"]).success();
    run(&dirs, &["capsule", "verify"]).success();
}

#[test]
fn a_capsule_that_cannot_be_opened_costs_only_itself() {
    let dirs = team();
    json(&dirs, &["capsule", "new", "Broken"]);
    write(&dirs, "docs://a", "body", &[]).success();
    break_capsule(&dirs, "broken");
    let listed = run(&dirs, &["capsule", "list"]).success();
    assert!(listed.stdout.contains("unreadable") && listed.stdout.contains("team"), "{listed:?}");
    assert!(listed.stderr.contains("broken: `knowledge` inside the capsule"), "{listed:?}");
    for words in [&["capsule", "verify"][..], &["audit", "verify"]] {
        let checked = run(&dirs, words);
        assert_eq!(checked.code, Some(1), "{checked:?}");
        assert!(checked.stdout.contains("team: OK"), "{checked:?}");
        assert!(checked.stdout.contains("broken: cannot be checked: `knowledge`"), "{checked:?}");
    }
    let queried = run(&dirs, &["audit", "query"]).success();
    assert!(queried.stdout.contains("write.replace"), "{queried:?}");
    assert!(queried.stderr.contains("broken: `knowledge`"), "{queried:?}");
    // It can still be taken away.
    run(&dirs, &["capsule", "rm", "broken", "--yes"]).success();
    run(&dirs, &["capsule", "verify"]).success();
}
