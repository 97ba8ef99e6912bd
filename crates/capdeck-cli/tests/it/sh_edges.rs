//! `capdeck sh` where credentials, users, formatters and completions come in.

use std::{
    fs::{self, Permissions},
    io::Read as _,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        net::UnixStream,
    },
    path::{Path, PathBuf},
    thread,
};

use capdeck_test::{FakePlan, TestDirs};
use serde_json::json;

use crate::{capdeck, refusals::refused_things, run};

#[test]
fn refused_credentials_end_with_code_3() {
    let dirs = TestDirs::new();
    refused_things(&dirs);
    let call = || capdeck(&dirs).env("API_TOKEN", "canary-1").args(["sh", "things", "list"]).run();
    let check = |how: &str| {
        let finished = call();
        assert_eq!(finished.code, Some(3), "{how}: {}", finished.stderr);
        assert!(finished.stderr.contains("does not accept our credentials"), "{}", finished.stderr);
        assert_eq!(finished.stdout, "", "{how}");
        assert!(!finished.stderr.contains("canary"), "{how}: {}", finished.stderr);
    };
    check("without a host");
    let _host = capdeck(&dirs).env("API_TOKEN", "canary-2").up(&[]);
    check("through a host");
}

#[test]
fn raw_results_pass_by_the_formatter() {
    let dirs = TestDirs::new();
    let (program, arguments) = FakePlan::default().command();
    let file = json!({
        "servers": [{ "id": "fake", "type": "mcp", "def": { "cmd": program, "args": arguments } }],
        "tools": [{ "id": "shout", "type": "mcp",
            "def": { "server": "@fake", "tool": "echo", "formatter": { "cmd": "tr a-z A-Z" } } }],
    });
    dirs.write("project/capabilities.yaml", file.to_string());
    run(&dirs, &["trust", "--yes"]).success();
    let check = |how: &str| {
        let said = |words: &[&str]| capdeck(&dirs).arg("sh").args(words).run().success().stdout;
        assert_eq!(said(&["fake", "shout", "--a", "b"]), "{\"A\":\"B\"}\n", "{how}");
        assert_eq!(said(&["fake", "shout", "--a", "b", "--raw"]), "{\"a\":\"b\"}\n", "{how}");
        assert_eq!(said(&["--raw", "fake", "shout", "--a", "b"]), "{\"a\":\"b\"}\n", "{how}");
    };
    check("without a host");
    let _host = capdeck(&dirs).up(&[]);
    check("through a host");
}

/// What a process of this user hears at the socket before it says anything. The kernel notes who connects per thread.
fn greeting(socket: &Path, user: u32) -> Vec<u8> {
    let socket = socket.to_owned();
    let hearing = thread::spawn(move || {
        rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(user)).unwrap();
        let mut stream = UnixStream::connect(socket).unwrap();
        let mut received = vec![0; 64];
        let length = stream.read(&mut received).unwrap_or(0);
        received.truncate(length);
        received
    });
    hearing.join().unwrap()
}

#[test]
fn another_user_is_refused_at_the_socket() {
    let dirs = TestDirs::new();
    let _host = capdeck(&dirs).up(&[]);
    let folder = dirs.state().join("sh");
    let is_socket = |path: &PathBuf| path.extension().is_some_and(|end| end == "sock");
    let paths = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let socket = paths.into_iter().find(is_socket).unwrap();
    let own = fs::metadata(&socket).unwrap().uid();
    assert!(!greeting(&socket, own).is_empty());
    if own != 0 {
        // Only the superuser can be another user.
        return;
    }
    // Even where the permissions let everybody in.
    for path in socket.ancestors().take_while(|path| path.starts_with(dirs.root())) {
        fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    }
    assert_eq!(greeting(&socket, 65_534), Vec::<u8>::new());
    assert!(!greeting(&socket, own).is_empty());
}

#[test]
fn commands_in_no_group_are_completed_and_suggested_as_words_by_themselves() {
    let dirs = TestDirs::new();
    dirs.write(
        "project/capabilities.yaml",
        "tools:\n  - { id: sayHello, type: command, def: { run: { cmd: \"echo {tone}\", args: [{ name: tone, type: string }] } } }\n  \
         - { id: log, type: command, group: repo, def: { run: { cmd: echo log } } }\n",
    );
    run(&dirs, &["trust", "--yes"]).success();
    let complete = |line: &[&str]| -> Vec<String> {
        let asked = capdeck(&dirs).env("CAPDECK_COMPLETE", "fish").args(["--", "capdeck", "sh"]);
        let answer = asked.args(line).run().success().stdout;
        answer.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    };
    let words = complete(&[""]);
    assert!(words.contains(&"say-hello".to_owned()), "{words:?}");
    assert!(words.contains(&"repo".to_owned()), "{words:?}");
    assert!(!words.contains(&"commands".to_owned()), "{words:?}");
    for word in ["say-hello", "sayHello"] {
        assert_eq!(complete(&[word, "--to"]), ["--tone"], "{word}");
    }
    assert_eq!(complete(&["repo", ""]).first().map(String::as_str), Some("log"));
    let typo = run(&dirs, &["sh", "say-helo"]);
    assert_eq!(typo.code, Some(2));
    assert!(typo.stderr.contains("did you mean `say-hello`?"), "{}", typo.stderr);
}
