//! `capdeck sh`, with and without a running host.

use std::{fs, os::unix::net::UnixListener, path::PathBuf};

use capdeck_test::{FakePlan, RunningHost, TestDirs};
use serde_json::{Value, json};

use crate::{approvals::destructive, capdeck, echo_file, run, shown, terminal::Terminal};

fn deck() -> TestDirs {
    let dirs = TestDirs::new();
    dirs.write_config(&json!({"mcpServers": {"fakeServer": FakePlan::default().deck_entry()}}));
    dirs.write("config/echo.md", echo_file("Echo"));
    dirs
}

/// Every test here must hold both ways.
fn both(dirs: &TestDirs, check: impl Fn(&str)) {
    check("without a host");
    let _host = capdeck(dirs).up(&[]);
    assert_eq!(sockets(dirs).len(), 1);
    check("through a host");
}

fn sockets(dirs: &TestDirs) -> Vec<PathBuf> {
    let found = fs::read_dir(dirs.state().join("sh")).into_iter().flatten();
    let paths = found.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "sock")).collect()
}

/// Ends a host without any chance to clean up.
fn kill(host: RunningHost) {
    drop(host);
}

#[test]
fn groups_tools_and_calls() {
    let dirs = deck();
    both(&dirs, |how| {
        let listed = run(&dirs, &["sh"]).success();
        let groups: Vec<&str> =
            listed.stdout.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(groups, ["echo", "fake-server"], "{how}");
        let tools = run(&dirs, &["sh", "fakeServer", "--json"]).success().json();
        let words: Vec<&Value> =
            tools["items"].as_array().unwrap().iter().map(|item| &item["command"]).collect();
        assert!(words.contains(&&json!("tool-error")), "{how}: {words:?}");
        for group in ["fake-server", "fakeServer", "fake_server"] {
            let said = run(&dirs, &["sh", group, "echo", "--word", "5"]).success();
            assert_eq!(said.stdout, "{\"word\":\"5\"}\n", "{how}");
            assert_eq!(said.stderr, "", "{how}");
        }
        // Read as a value, which may not become an option of the program.
        let refused = run(&dirs, &["sh", "echo.say", "--text=--x"]);
        assert_eq!(refused.code, Some(2), "{how}");
        assert!(refused.stderr.contains("argument `text` begins with `-`"), "{}", refused.stderr);
    });
}

#[test]
fn exit_codes_say_what_happened() {
    let dirs = deck();
    both(&dirs, |how| {
        for (words, code, stderr) in [
            (&["echo", "say", "--text", "a"][..], 0, ""),
            (
                &["fake-server", "tool-error"],
                1,
                "error: `fakeServer.tool_error` reported a failure",
            ),
            (&["ecko"], 2, "error: there is no group `ecko`\nhint: did you mean `echo`?"),
            (
                &["echo", "sya", "--text", "a"],
                2,
                "error: `echo` has no tool `sya`\nhint: did you mean `say`?",
            ),
            (&["echo", "say"], 2, "error: missing: --text <string>"),
            (
                &["echo", "say", "--txet", "a"],
                2,
                "error: there is no flag `--txet` here\nhint: did you mean `--text`?",
            ),
            (
                &["echo", "say", "--text", "a", "--times", "x"],
                2,
                "error: `--times` takes an integer, not `x`",
            ),
            (&["echo", "say", "a"], 2, "error: `a` is not a flag"),
            (
                &["echo", "--text", "a"],
                2,
                "error: there is no flag `--text` here\nhint: name the tool first",
            ),
            (&["--text", "a"], 2, "error: there is no flag `--text` here"),
        ] {
            let finished = capdeck(&dirs).arg("sh").args(words).run();
            assert_eq!(finished.code, Some(code), "{how}: {words:?}: {}", finished.stderr);
            assert!(finished.stderr.starts_with(stderr), "{how}: {words:?}: {}", finished.stderr);
            assert_eq!(finished.stdout.is_empty(), code != 0, "{how}: {words:?}");
        }
        let wrong = run(&dirs, &["sh", "echo", "say", "--json"]);
        assert_eq!((wrong.code, wrong.json()["error"]["code"].clone()), (Some(2), json!("USAGE")));
    });
}

#[test]
fn a_typo_runs_nothing_else() {
    let dirs = deck();
    let made = dirs.root().join("made");
    for words in [&["touch", made.to_str().unwrap()][..], &["sh", "-c", "true"]] {
        let finished = capdeck(&dirs).arg("sh").args(words).run();
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    }
    assert!(!made.exists());
}

#[test]
fn values_come_from_stdin_and_files() {
    let dirs = deck();
    dirs.write("project/words.txt", "from a file");
    both(&dirs, |how| {
        let piped = capdeck(&dirs).args(["sh", "echo", "say", "--text", "-"]).stdin("piped").run();
        assert_eq!(piped.success().stdout, "piped\n", "{how}");
        let file = run(&dirs, &["sh", "echo", "say", "--text", "@words.txt"]).success();
        assert_eq!(file.stdout, "from a file\n", "{how}");
        let whole = capdeck(&dirs).args(["sh", "echo", "say", "--args", "-"]);
        assert_eq!(whole.stdin(r#"{"text": "whole"}"#).run().success().stdout, "whole\n");
        let twice = run(&dirs, &["sh", "echo", "say", "--text", "-", "--args", "-"]);
        assert_eq!(twice.code, Some(2));
        assert!(twice.stderr.contains("--text has read stdin already"), "{}", twice.stderr);
    });
}

#[test]
fn json_is_the_whole_result_and_text_is_unchanged() {
    let dirs = deck();
    both(&dirs, |how| {
        let big = r#"{"n": 12345678901234567890}"#;
        let text = run(&dirs, &["sh", "fake-server", "echo", "--args", big]).success().stdout;
        assert_eq!(text.replace(' ', ""), "{\"n\":12345678901234567890}\n", "{how}");
        let whole =
            run(&dirs, &["sh", "fake-server", "echo", "--a", "b", "--json"]).success().json();
        assert_eq!(whole["content"][0]["type"], "text", "{how}");
        let before = run(&dirs, &["sh", "--json", "fake-server", "echo", "--", "--json", "b"]);
        assert_eq!(before.success().json()["content"][0]["text"], "{\"json\":\"b\"}", "{how}");
        let failed = run(&dirs, &["sh", "fake-server", "tool-error", "--json"]);
        assert_eq!(
            (failed.code, failed.json()["isError"].clone()),
            (Some(1), json!(true)),
            "{how}"
        );
        let part = run(&dirs, &["sh", "fake-server", "structured", "--field", "nope"]);
        assert_ne!(part.code, Some(0), "{how}");
    });
}

#[test]
fn a_dry_run_calls_nothing() {
    let dirs = destructive();
    both(&dirs, |how| {
        let words = ["sh", "files", "remove", "--path", "x", "--dry-run"];
        insta::allow_duplicates! {
            insta::assert_snapshot!(shown(&dirs, &run(&dirs, &words)), @r#"
            exit 0
            --- stdout
            capability  files
            tool        remove
            arguments   {"path":"x"}
            approval    you would be asked
            --- stderr
            "#);
        }
        let preview = capdeck(&dirs).args(words).arg("--json").run().success().json();
        let expected = json!({"capability": "files", "tool": "remove", "asks": true, "arguments": {"path": "x"}});
        assert_eq!(preview, expected, "{how}");
    });
    let audit = fs::read_to_string(dirs.state().join("audit.jsonl")).unwrap_or_default();
    assert!(!audit.contains("\"remove\""), "{audit}");
}

#[test]
fn a_call_that_needs_a_word_waits_for_it() {
    let dirs = destructive();
    both(&dirs, |how| {
        let refused = run(&dirs, &["sh", "files", "remove", "--path", "x", "--json"]);
        assert_eq!(refused.code, Some(1), "{how}");
        assert_eq!(refused.json()["error"]["code"], "APPROVAL_REQUIRED", "{how}");
        let done = run(&dirs, &["sh", "files", "remove", "--path", "x", "--yes"]).success();
        assert_eq!(done.stdout, "removed x\n", "{how}");
        let before = run(&dirs, &["sh", "-y", "files", "remove", "--path", "x"]).success();
        assert_eq!(before.stdout, "removed x\n", "{how}");
    });
}

#[test]
fn help_shows_types_choices_and_defaults() {
    let dirs = TestDirs::new();
    dirs.write(
        "config/issues.md",
        "---\nname: Issues\ndescription: The issues of a project.\ncliTools:\n  actions:\n    createIssue:\n      \
         description: Creates an issue.\n      command: echo\n      args: [$input.title]\n      inputSchema:\n        \
         type: object\n        properties:\n          title: { type: string, description: What it is about. }\n          \
         state: { enum: [open, closed], default: open }\n          labels: { type: array, items: { type: string } }\n          \
         maxAge: { type: integer, minimum: 1 }\n          urgent: { type: boolean }\n          json: { type: string }\n        \
         required: [title]\n---\n",
    );
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["sh", "issues", "create-issue", "--help"])), @r"
    exit 0
    --- stdout
    Usage: capdeck sh issues create-issue --title <string> [--flags]

    Creates an issue.

    Flags:
      --title <string>                  What it is about.
                                        [required]
      --state <open|closed>             [default open]
      --labels <string> …               [may be repeated, or `a,b`]
      --max-age <integer>               [at least 1]
      --urgent, --no-urgent
      --json <string>

    Flags of `sh` itself: --args, --dry-run, --field, --help, --raw, --timeout-ms
    The tool has its own --json; those of `sh` go before the group: capdeck sh --json …
    --- stderr
    ");
    let whole = run(&dirs, &["sh", "issues", "create-issue", "--help", "--title"]);
    assert_eq!(whole.code, Some(0));
    let own = run(&dirs, &["sh", "--help"]).success().stdout;
    assert!(own.contains("--dry-run") && own.contains("capdeck sh machine now"), "{own}");
}

#[test]
fn two_tools_typed_alike_are_distinguished_by_their_names() {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let extra_tools = vec![tool("readFile"), tool("read_file")];
    let plan = FakePlan { behaviours: false, extra_tools, ..FakePlan::default() };
    let dirs = TestDirs::new();
    dirs.write_config(&json!({"mcpServers": {"fake": plan.deck_entry()}}));
    let finished = run(&dirs, &["sh", "fake", "read-file"]);
    insta::assert_snapshot!(shown(&dirs, &finished), @r"
    exit 2
    --- stdout
    --- stderr
    error: several tools of `fake` are called `read-file`
    hint: write the name as it is, one of: `readFile`, `read_file`
    ");
    let dry = run(&dirs, &["sh", "fake", "readFile", "--dry-run", "--json"]).success().json();
    assert_eq!(dry["tool"], "readFile");
}

#[test]
fn commands_of_the_capability_file_are_grouped_as_it_says() {
    let dirs = TestDirs::new();
    dirs.write(
        "project/capabilities.yaml",
        "providers: [cursor]\nskills: []\ntools:\n  - id: sayHello\n    type: command\n    description: Says hello.\n    def:\n      \
         run: { cmd: \"echo hello {name}\", args: [{ name: name, type: string }] }\n  - id: show_log\n    type: command\n    \
         group: myRepo\n    description: Shows the log.\n    def:\n      run: { cmd: echo log }\n",
    );
    for words in [&["say-hello"][..], &["my-repo", "show-log"], &["my-repo.show-log"]] {
        let refused = run(&dirs, &[&["sh"], words].concat());
        assert_eq!(refused.code, Some(1), "{}", refused.stderr);
        assert!(refused.stderr.contains("capdeck trust"), "{}", refused.stderr);
    }
    run(&dirs, &["trust"]).success();
    both(&dirs, |how| {
        let listed = run(&dirs, &["sh", "--json"]).success().json();
        assert_eq!(listed["commands"][0]["command"], "say-hello", "{how}: {listed}");
        assert_eq!(listed["items"][0]["command"], "my-repo", "{how}: {listed}");
        let said = run(&dirs, &["sh", "say-hello", "--name", "you"]).success();
        assert_eq!(said.stdout, "hello you\n", "{how}");
        assert_eq!(run(&dirs, &["sh", "my-repo", "show-log", "--raw"]).success().stdout, "log\n");
        let lacking = run(&dirs, &["sh", "sayHello"]);
        assert_eq!(lacking.code, Some(2), "{how}: {}", lacking.stderr);
        assert!(lacking.stderr.contains("capdeck sh say-hello --help"), "{}", lacking.stderr);
    });
}

#[test]
fn one_server_serves_many_commands_through_a_host() {
    let dirs = TestDirs::new();
    let record = dirs.root().join("record.jsonl");
    let plan = FakePlan { record: Some(record.clone()), ..FakePlan::default() };
    dirs.write_config(&json!({"mcpServers": {"fake": plan.deck_entry()}}));
    let _host = capdeck(&dirs).up(&[]);
    for _ in 0..5 {
        run(&dirs, &["sh", "fake", "echo", "--a", "b"]).success();
    }
    let text = fs::read_to_string(&record).unwrap();
    assert_eq!(text.lines().filter(|line| line.contains("\"started\"")).count(), 1);
}

#[test]
fn a_killed_host_leaves_a_socket_that_is_no_trouble() {
    let dirs = deck();
    kill(capdeck(&dirs).up(&[]));
    assert_eq!(sockets(&dirs).len(), 1, "a killed host cannot tidy up");
    let said = run(&dirs, &["sh", "echo", "say", "--text", "a"]).success();
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("a\n", ""));
    // The next host takes the place over.
    let host = capdeck(&dirs).up(&[]);
    run(&dirs, &["sh", "echo", "say", "--text", "a"]).success();
    drop(host);
}

#[test]
fn a_host_that_stops_takes_its_socket_along() {
    let dirs = deck();
    let mut host = capdeck(&dirs).up(&[]);
    host.stop();
    assert!(sockets(&dirs).is_empty());
}

#[test]
fn a_second_host_does_not_steal_the_socket() {
    let dirs = deck();
    let first = capdeck(&dirs).up(&[]);
    let log = dirs.root().join("second.log");
    let mut second = capdeck(&dirs).stderr_to(&log).up(&[]);
    second.stop();
    assert!(fs::read_to_string(&log).unwrap().contains("another host already serves"));
    assert_eq!(sockets(&dirs).len(), 1);
    run(&dirs, &["sh", "echo", "say", "--text", "a"]).success();
    drop(first);
}

#[test]
fn each_project_has_its_own_host() {
    let dirs = deck();
    let other = dirs.root().join("other");
    for (folder, id) in [(dirs.project(), "here"), (other.clone(), "there")] {
        fs::create_dir_all(folder.join(".capdeck")).unwrap();
        fs::write(folder.join(format!(".capdeck/{id}.md")), echo_file(id)).unwrap();
        capdeck(&dirs).current_dir(&folder).args(["trust", "--yes"]).run();
    }
    let _host = capdeck(&dirs).up(&[]);
    let listed = |folder: PathBuf| run_in(&dirs, folder, &["sh", "--json"])["items"].to_string();
    assert!(listed(dirs.project()).contains("\"here\""));
    let there = listed(other.clone());
    assert!(there.contains("\"there\"") && !there.contains("\"here\""), "{there}");
    let _second = capdeck(&dirs).current_dir(&other).up(&[]);
    assert_eq!(sockets(&dirs).len(), 2);
    assert!(listed(other).contains("\"there\""));
}

fn run_in(dirs: &TestDirs, folder: PathBuf, words: &[&str]) -> Value {
    capdeck(dirs).current_dir(folder).args(words).run().success().json()
}

#[test]
fn a_host_of_another_version_is_left_alone() {
    let dirs = deck();
    // Where the socket is, a host tells by making it.
    let mut host = capdeck(&dirs).up(&[]);
    let path = sockets(&dirs).remove(0);
    host.stop();
    let listener = UnixListener::bind(&path).unwrap();
    let greeting = std::thread::spawn(move || {
        use std::io::Write as _;
        let (mut stream, _) = listener.accept().unwrap();
        let text = br#"{"protocol":99,"version":"9.9.9"}"#;
        stream.write_all(&u32::try_from(text.len()).unwrap().to_be_bytes()).unwrap();
        stream.write_all(text).unwrap();
    });
    let said = run(&dirs, &["sh", "echo", "say", "--text", "a"]).success();
    assert_eq!(said.stdout, "a\n");
    assert!(said.stderr.contains("capdeck 9.9.9"), "{}", said.stderr);
    greeting.join().unwrap();
}

#[test]
fn approvals_and_questions_reach_the_terminal() {
    let dirs = destructive();
    dirs.write_config(&json!({"mcpServers": {"fake": FakePlan::default().deck_entry()}}));
    both(&dirs, |how| {
        let mut person = Terminal::start(&dirs, &["sh", "files", "remove", "--path", "x"]);
        person.wait_for("requires approval. Call it with {\"path\":\"x\"}? [y/N]");
        person.answer("y");
        assert_eq!(person.end(), (Some(0), "removed x\n".to_owned()), "{how}");

        let mut person = Terminal::start(&dirs, &["sh", "files", "remove", "--path", "x"]);
        person.wait_for("[y/N]");
        person.answer("");
        assert_eq!(person.end(), (Some(1), String::new()), "{how}");

        let mut person = Terminal::start(&dirs, &["sh", "fake", "ask-elicitation"]);
        person.wait_for("`fake` asks: Who are you?");
        person.wait_for("name (string)");
        person.answer("Ada");
        let (code, said) = person.end();
        assert!(code == Some(0) && said.contains("Ada"), "{how}: {said}");

        // The one who leaves in the middle of a question is not held up by it.
        let mut person = Terminal::start(&dirs, &["sh", "files", "remove", "--path", "x"]);
        person.wait_for("[y/N]");
        person.interrupt();
        assert_eq!(person.end(), (Some(130), String::new()), "{how}");

        let mut person = Terminal::start(&dirs, &["sh", "fake", "ask-elicitation"]);
        person.wait_for("name (string)");
        person.interrupt();
        assert_eq!(person.end(), (Some(130), String::new()), "{how}");
    });
}

#[test]
fn interrupting_a_command_cancels_the_call() {
    let dirs = TestDirs::new();
    let record = dirs.root().join("record.jsonl");
    let plan = FakePlan { record: Some(record.clone()), ..FakePlan::default() };
    dirs.write_config(&json!({"mcpServers": {"fake": plan.deck_entry()}}));
    let _host = capdeck(&dirs).up(&[]);
    let seen = |what: &str| {
        let text = fs::read_to_string(&record).unwrap_or_default();
        text.lines().any(|line| line.contains(what))
    };
    let person = Terminal::start(&dirs, &["sh", "fake", "hang"]);
    until(|| seen("\"tools/call\""));
    person.interrupt();
    assert_eq!(person.end(), (Some(130), String::new()));
    until(|| seen("notifications/cancelled"));
}

#[test]
fn a_host_that_dies_in_a_call_leaves_an_error_and_no_second_call() {
    let dirs = TestDirs::new();
    let record = dirs.root().join("record.jsonl");
    let plan = FakePlan { record: Some(record.clone()), ..FakePlan::default() };
    dirs.write_config(&json!({"mcpServers": {"fake": plan.deck_entry()}}));
    let host = capdeck(&dirs).up(&[]);
    let calls = || {
        let text = fs::read_to_string(&record).unwrap_or_default();
        text.lines().filter(|line| line.contains("\"tools/call\"")).count()
    };
    let command = {
        let dirs = &dirs;
        std::thread::scope(|scope| {
            let calling = scope.spawn(move || run(dirs, &["sh", "fake", "hang"]));
            until(|| calls() == 1);
            kill(host);
            calling.join().unwrap()
        })
    };
    assert_eq!(command.code, Some(1), "{}", command.stderr);
    assert!(command.stderr.contains("the host stopped before it responded"), "{}", command.stderr);
    assert_eq!(calls(), 1);
}

/// Waits for something that happens in another process.
fn until(mut happened: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !happened() {
        assert!(std::time::Instant::now() < deadline, "it did not happen");
        std::thread::yield_now();
    }
}
