//! `capdeck install` and `clean`: a capability file in the files of agents, and everything taken back.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use capdeck_test::TestDirs;
use serde_json::json;

use crate::{capdeck, json, run, shown};

const FILE: &str = r#"
providers: [claude-code, codex]
servers:
  - id: notes
    type: mcp
    def: { cmd: notes-server, args: [--stdio] }
skills:
  - id: triage
    type: inline
    def: { content: "---\nname: triage\ndescription: Sorts\n---\nSort it.\n" }
rules:
  - { id: style, type: inline, content: Whole words., appliesTo: ["src/**"] }
hooks:
  - { id: guard, on: beforeShell, command: ./guard.sh }
"#;

fn with_file(text: &str) -> TestDirs {
    let dirs = TestDirs::new();
    dirs.write("project/capabilities.yaml", text);
    dirs.write("project/AGENTS.md", "# Mine\n");
    dirs
}

/// Every file of the project.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            for (path, content) in tree(&entry.path()) {
                files.insert(format!("{name}/{path}"), content);
            }
        } else {
            files.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    files
}

/// How many files there are, while they come and go.
fn count(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let count = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => count(&entry.path()),
        Ok(_) => 1,
        Err(_) => 0,
    };
    entries.map(count).sum()
}

#[test]
fn what_would_happen_is_shown_then_agreed_to_then_done_then_taken_back() {
    let dirs = with_file(FILE);
    let before = tree(&dirs.project());
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["install", "--dry-run"])));
    assert_eq!(tree(&dirs.project()), before);

    let refused = run(&dirs, &["install"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("runs in a terminal: capdeck install\n"), "{}", refused.stderr);
    assert!(refused.stderr.contains("hook `guard` runs ./guard.sh"), "{}", refused.stderr);
    assert!(refused.stderr.contains("server `notes` starts notes-server --stdio"));
    assert_eq!(tree(&dirs.project()), before);

    let installed = json(&dirs, &["install", "--yes"]);
    assert_eq!(installed["applied"], true);
    assert_eq!(json(&dirs, &["untrust"])["wasTrusted"], true);
    run(&dirs, &["trust", "--yes"]).success();
    let first = tree(&dirs.project());
    let again = json(&dirs, &["install"]);
    assert_eq!((&again["items"], tree(&dirs.project())), (&json!([]), first));

    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["clean"])));
    assert_eq!(tree(&dirs.project()), before);
}

#[test]
fn a_server_that_is_down_is_a_warning_and_the_files_are_written() {
    let dirs = with_file(FILE);
    let finished = run(&dirs, &["install", "--yes", "--check"]);
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    assert!(finished.stderr.contains("`notes` does not answer"), "{}", finished.stderr);
    assert!(dirs.project().join(".mcp.json").is_file());
    assert_eq!(json(&dirs, &["install"])["items"], json!([]));
}

#[test]
fn agents_are_chosen_by_flag_file_or_last_run() {
    let dirs = with_file(&FILE.replace("providers: [claude-code, codex]", ""));
    let refused = run(&dirs, &["install", "--yes", "--json"]);
    assert_eq!((refused.code, &refused.json()["error"]["code"]), (Some(1), &json!("NO_PROVIDER")));
    let unknown = run(&dirs, &["install", "--yes", "-p", "clode", "--json"]).json();
    assert_eq!(unknown["error"]["code"], "UNKNOWN_PROVIDER");
    assert_eq!(json(&dirs, &["install", "--yes", "-p", "Cursor"])["providers"], json!(["cursor"]));
    assert_eq!(json(&dirs, &["install"])["providers"], json!(["cursor"]));
}

#[test]
fn problems_are_reported_together_and_nothing_is_written() {
    let bad = format!(
        "{FILE}options: {{ requiresCommands: [{{ cli: surely-not-here }}], security: {{ blockedPhrases: [whole words] }} }}\n"
    );
    let dirs = with_file(&bad);
    dirs.write("project/.mcp.json", "{ broken");
    let before = tree(&dirs.project());
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["install", "--yes"])));
    assert_eq!(tree(&dirs.project()), before);

    dirs.write("project/capabilities.yaml", "skills: [\n");
    let broken = run(&dirs, &["install", "--yes", "--json"]).json();
    assert_eq!(broken["error"]["code"], "CAPABILITY_FILE");
    let none = TestDirs::new();
    let none = run(&none, &["install", "--json"]).json();
    assert_eq!(none["error"]["code"], "NO_CAPABILITY_FILE");
}

#[test]
fn repositories_are_pinned_and_then_needed_no_more() {
    let dirs = with_file(
        "providers: [windsurf]\nskills: [{ id: web, type: github, def: { repo: 'team/skills@web' } }]\n",
    );
    let repo = dirs.root().join("hub/team/skills.git");
    fs::create_dir_all(repo.join("web")).unwrap();
    fs::write(repo.join("web/SKILL.md"), "---\nname: web\n---\n").unwrap();
    for words in [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "-m", "x"]] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.com", "-C"]).arg(&repo);
        assert!(git.args(words).status().unwrap().success());
    }
    // A person's own git configuration says where a site is.
    let install = |words: &[&str]| {
        let base = format!("url.file://{}/hub/.insteadOf", dirs.root().display());
        let command = capdeck(&dirs)
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", base)
            .env("GIT_CONFIG_VALUE_0", "https://github.com/");
        command.args(["install", "--yes"]).args(words).run()
    };
    assert_eq!(install(&["--frozen"]).code, Some(1));
    install(&[]).success();
    let skill = dirs.project().join(".windsurf/skills/web/SKILL.md");
    assert_eq!(fs::read_to_string(&skill).unwrap(), "---\nname: web\n---\n");
    assert!(dirs.project().join("capabilities.lock").is_file());

    fs::remove_dir_all(dirs.root().join("hub")).unwrap();
    fs::remove_dir_all(dirs.project().join(".windsurf")).unwrap();
    install(&["--frozen"]).success();
    assert!(skill.is_file());
    let moved = install(&["--update"]);
    assert_eq!(moved.code, Some(1));
    assert!(moved.stderr.contains("there is no repository"), "{}", moved.stderr);
}

#[test]
fn addresses_inside_are_not_asked_for_an_untrusted_project() {
    let dirs = with_file(
        "providers: [windsurf]\nrules: [{ id: r, type: remote, url: 'http://127.0.0.1:9/r.md' }]\n",
    );
    let refused = run(&dirs, &["install", "--yes"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("`127.0.0.1` is this machine"), "{}", refused.stderr);
}

/// Killed at many different moments, the next run always ends where an undisturbed one does.
#[test]
fn a_killed_run_is_finished_by_the_next() {
    let mut file = FILE.to_owned();
    for number in 0..40 {
        file = file.replace(
            "rules:\n",
            &format!("rules:\n  - {{ id: r{number}, type: inline, content: Rule {number}. }}\n"),
        );
    }
    let calm = with_file(&file);
    run(&calm, &["install", "--yes"]).success();
    let expected = tree(&calm.project());
    let dirs = with_file(&file);
    let before = tree(&dirs.project());
    run(&dirs, &["trust", "--yes"]).success();
    for files in [0, 1, 7, 23, 41] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_capdeck"));
        let mut child = dirs
            .isolate(&mut command)
            .current_dir(dirs.project())
            .args(["install", "--yes"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Once so many files are there, or it is done.
        while child.try_wait().unwrap().is_none() && count(&dirs.project()) < before.len() + files {
            std::thread::yield_now();
        }
        let _ended = child.kill();
        child.wait().unwrap();
        run(&dirs, &["install", "--yes"]).success();
        let state = |tree: BTreeMap<String, Vec<u8>>| tree.into_keys().collect::<Vec<_>>();
        assert_eq!(state(tree(&dirs.project())), state(expected.clone()), "after {files} files");
        run(&dirs, &["clean"]).success();
        assert_eq!(tree(&dirs.project()), before, "after {files} files");
    }
}
