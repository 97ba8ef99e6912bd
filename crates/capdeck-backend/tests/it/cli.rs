//! What a command's end looks like to a caller.

use capdeck_backend::ErrorCode;
use serde_json::{Value, json};

use crate::support::{Deck, context, definition};

fn shell(script: &str) -> Value {
    json!({"kind": "cli", "actions": {"run": {"command": "sh", "args": ["-c", script]}}})
}

fn without_time(mut result: Value) -> Value {
    let elapsed = result["structuredContent"].as_object_mut().unwrap().remove("elapsedMs");
    assert!(elapsed.unwrap().is_u64());
    result
}

#[tokio::test]
async fn a_success_is_reported_with_its_output() {
    let result = Deck::new(&[]).call(shell("echo out; echo err >&2"), "run", json!({})).await;
    assert_eq!(
        without_time(result.unwrap()),
        json!({
            "content": [{"type": "text", "text": "out\n"}],
            "structuredContent": {"exitCode": 0, "stdout": "out\n", "stderr": "err\n"},
            "isError": false,
        })
    );
}

#[tokio::test]
async fn a_failure_is_reported_with_its_exit_and_its_words() {
    let deck = Deck::new(&[]);
    let result =
        deck.call(shell("echo out; echo err >&2; exit 3"), "run", json!({})).await.unwrap();
    assert_eq!(
        without_time(result),
        json!({
            "content": [{"type": "text", "text": "exit code 3\n\nerr\n\nout"}],
            "structuredContent": {"exitCode": 3, "stdout": "out\n", "stderr": "err\n"},
            "isError": true,
        })
    );
    let log = deck.connector.process_log("thing").unwrap();
    assert!(log.starts_with("run: err\nrun: exit code 3 after "), "{log}");
}

#[tokio::test]
async fn a_signal_is_named() {
    let result = Deck::new(&[]).call(shell("kill -9 $$"), "run", json!({})).await.unwrap();
    assert_eq!(result["content"][0]["text"], "ended by SIGKILL");
    assert_eq!(result["structuredContent"]["exitCode"], Value::Null);
    assert_eq!(result["structuredContent"]["signal"], "SIGKILL");
    assert_eq!(result["isError"], true);
}

#[tokio::test]
async fn json_output_is_read_and_bad_json_is_an_error() {
    for (script, expected_json, problem, is_error) in [
        (r#"echo '{"a":[1]}'"#, json!({"a": [1]}), false, false),
        ("true", Value::Null, false, false),
        ("echo nope", Value::Null, true, true),
        ("echo nope; exit 2", Value::Null, true, true),
    ] {
        let mut backend = shell(script);
        backend["actions"]["run"]["output"] = json!({"type": "json"});
        let result = Deck::new(&[]).call(backend, "run", json!({})).await.unwrap();
        let structured = &result["structuredContent"];
        assert_eq!(structured["json"], expected_json, "{script}");
        assert_eq!(structured["jsonParseError"].is_string(), problem, "{script}");
        assert_eq!(result["isError"], is_error, "{script}");
    }
}

#[tokio::test]
async fn arguments_reach_the_program_as_they_are() {
    let backend = json!({"kind": "cli", "actions": {"say": {
        "command": "printf", "args": ["%s|", "$input.value", "<$input.value>"],
        "inputSchema": {"type": "object", "properties": {"value": {"allowLeadingDash": true}}},
    }}});
    for value in [
        "plain",
        "two words",
        "; touch /tmp/pwned #",
        "$(id) `id` ${HOME} $HOME",
        "$env:PATH ${PATH} $vault:X $input.value",
        "'\" \\ * ? [a] ~ & | > <",
        "line\nbreak",
        "--version",
        "-n",
        "é 🦀",
        "",
    ] {
        let result =
            Deck::new(&[]).call(backend.clone(), "say", json!({"value": value})).await.unwrap();
        assert_eq!(result["structuredContent"]["stdout"], format!("{value}|<{value}>|"), "{value}");
    }
}

#[tokio::test]
async fn wrong_calls_are_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("started");
    let backend = json!({"kind": "cli", "actions": {
        "touch": {"command": "touch", "args": [marker, "$input.name"]},
        "bare": {"command": "touch", "args": [marker, "$input"]},
    }});
    for (tool, arguments, code, message) in [
        ("touch", json!({}), ErrorCode::RequestInvalid, "argument `name` is missing"),
        ("touch", json!({"name": null}), ErrorCode::RequestInvalid, "argument `name` is missing"),
        (
            "touch",
            json!({"name": ["a"]}),
            ErrorCode::RequestInvalid,
            "argument `name` must be a string, a number or a boolean",
        ),
        (
            "touch",
            json!({"name": "a\u{0}b"}),
            ErrorCode::RequestInvalid,
            "argument `name` holds a NUL character, which no program can be given",
        ),
        ("touch", json!([1]), ErrorCode::RequestInvalid, "the arguments are not a JSON object"),
        ("bare", json!({}), ErrorCode::ConfigInvalid, "`$input` names no argument: `$input`"),
        ("tuch", json!({}), ErrorCode::ToolNotFound, "there is no tool `tuch`"),
    ] {
        let error = Deck::new(&[]).call(backend.clone(), tool, arguments).await.unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (code, message));
    }
    assert!(!marker.exists());
}

#[tokio::test]
async fn a_missing_program_is_named_with_what_to_install() {
    let empty = tempfile::tempdir().unwrap();
    let plain_file = empty.path().join("plain");
    std::fs::write(&plain_file, "").unwrap();
    let path = empty.path().to_str().unwrap();
    for (command, message, hint) in [
        ("npx", "`npx` was not found on PATH".to_owned(), "install Node.js (https://nodejs.org)"),
        (
            "frobnicate",
            "`frobnicate` was not found on PATH".to_owned(),
            "install `frobnicate`, or give `command` the full path",
        ),
        (
            "/nowhere/at/all",
            "there is no such program: `/nowhere/at/all`".to_owned(),
            "correct `command` or install the program",
        ),
        (
            "plain",
            format!("this is not an executable file: `{}`", plain_file.display()),
            &format!("chmod +x {}", plain_file.display()),
        ),
    ] {
        let backend =
            json!({"kind": "cli", "env": {"PATH": path}, "actions": {"run": {"command": command}}});
        let deck = Deck::new(&[]);
        let error = deck.call(backend.clone(), "run", json!({})).await.unwrap_err();
        assert_eq!(error.message, message);
        assert_eq!(error.hint.as_deref(), Some(hint));
        assert_eq!(error.code, ErrorCode::ServerUnavailable);
        let [found] = deck.connector.check(&definition(backend)).try_into().unwrap();
        assert_eq!(found.message, message);
    }
}

#[tokio::test]
async fn a_child_sees_little_of_the_environment() {
    let backend = json!({
        "kind": "cli",
        "env": {"SHARED": "backend", "OWN": "$env:GIVEN"},
        "actions": {"run": {"command": "env", "env": {"SHARED": "action", "ARG": "$input.arg"}}},
    });
    let deck = Deck::new(&[("HOME", "/home/ada"), ("GIVEN", "yes"), ("OTHER_TOKEN", "canary-1")]);
    let result = deck.call(backend, "run", json!({"arg": "a"})).await.unwrap();
    let stdout = result["structuredContent"]["stdout"].as_str().unwrap();
    let mut lines: Vec<&str> = stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "ARG=a",
            "HOME=/home/ada",
            "OWN=yes",
            "PATH=/usr/local/bin:/usr/bin:/bin",
            "SHARED=action"
        ]
    );
}

#[tokio::test]
async fn a_project_bound_command_stays_in_its_project() {
    let outside = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    let root = project.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("inner")).unwrap();
    std::os::unix::fs::symlink(outside.path(), root.join("link")).unwrap();
    let deck = Deck::with_project(&[], Some(&root));
    for (cwd, expected) in [
        (None, Ok(root.clone())),
        (Some("inner"), Ok(root.join("inner"))),
        (Some("inner/../inner"), Ok(root.join("inner"))),
        (Some("link"), Err("the working folder is outside the project: `link`")),
        (Some(".."), Err("the working folder is outside the project: `..`")),
        (Some("/"), Err("the working folder is outside the project: `/`")),
    ] {
        let mut backend = json!({"kind": "cli", "actions": {"run": {"command": "pwd"}}});
        backend["cwd"] = json!(cwd);
        let mut bound = definition(backend);
        bound.project_bound = true;
        let connection = deck
            .connector
            .connect(&bound, capdeck_backend::ConnectOptions::default())
            .await
            .unwrap();
        let context = context(std::time::Duration::from_secs(20));
        let result = crate::support::call(&connection, "run", json!({}), &context).await;
        match expected {
            Ok(folder) => assert_eq!(
                result.unwrap()["structuredContent"]["stdout"],
                format!("{}\n", folder.display())
            ),
            Err(message) => {
                let error = result.unwrap_err();
                assert_eq!(error.message, message);
                assert_eq!(error.data, Some(json!({"reason": "invalid_cwd"})));
            }
        }
    }
}

#[tokio::test]
async fn tools_are_described_as_declared() {
    let backend = json!({"kind": "cli", "actions": {
        "zeta": {"command": "true"},
        "alpha": {
            "description": "First.",
            "useWhen": "Often.",
            "avoidWhen": "Never.",
            "command": "true",
            "inputSchema": {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}},
            "outputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true},
        },
    }});
    let connection = Deck::new(&[]).connect(backend).await.unwrap();
    let discovery = connection.discover(&context(std::time::Duration::from_secs(1))).await.unwrap();
    assert_eq!(
        serde_json::to_value(&discovery.tools).unwrap(),
        json!([
            {
                "name": "alpha",
                "description": "First.",
                "useWhen": "Often.",
                "avoidWhen": "Never.",
                "inputSchema": {
                    "properties": {"a": {"$ref": "#/$defs/A"}},
                    "$defs": {"A": {"type": "string"}},
                    "type": "object",
                },
                "outputSchema": {"type": "object"},
                "annotations": {"readOnlyHint": true},
            },
            {
                "name": "zeta",
                "description": "Run `true`",
                "inputSchema": {"type": "object", "additionalProperties": true},
            },
        ])
    );
}
