//! What is written down about calls, and what never is.

use capdeck_host::{CallAuditProblem, LastFailure, check, subscriptions};
use std::process::Command;

use capdeck_definition::Exposure;
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::{
    deck::{Deck, agent, agent_with, call, call_listed, caplet, context, everything_below},
    record::{lines, until},
};

const CANARY: &str = "canary-7f3a9c51-do-not-show";

pub(crate) fn written(deck: &Deck) -> Vec<Value> {
    let folder = deck.dirs.state().join("audit");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().flat_map(|file| lines(file)).collect()
}

#[tokio::test]
async fn one_line_per_call_without_arguments_or_results() {
    let hidden = caplet(&json!({
        "name": "Hidden", "description": "Not for agents", "exposure": "none",
        "cliTools": {"actions": {"say": {"command": "true"}}},
    }));
    let deck = Deck::of(&FakePlan::default()).file("config/hidden.md", &hidden);
    {
        let host = deck.open();
        let session = agent(&host);
        let secret = json!({"password": "hunter2-in-arguments"});
        call(&session, "fake", "echo", secret).await.unwrap();
        call(&session, "fake", "tool_error", json!({})).await.unwrap();
        call(&session, "fake", "rpc_error", json!({})).await.unwrap_err();
        call(&session, "fake", "structured", json!({"nope": 1})).await.unwrap_err();
        call(&session, "fake", "nope", json!({})).await.unwrap_err();
        call(&session, "hidden", "say", json!({})).await.unwrap_err();
        call(&session, "nobody", "say", json!({})).await.unwrap_err();
        call_listed(&session, "call_tool", json!({"name": "fake__echo"})).await.unwrap();
        host.close().await;
    }
    let lines = written(&deck);
    let received: Vec<[&str; 5]> = lines
        .iter()
        .map(|line| {
            ["client", "capability", "tool", "outcome", "approved"]
                .map(|key| line[key].as_str().unwrap_or_default())
        })
        .collect();
    assert_eq!(
        received,
        [
            ["test-agent", "fake", "echo", "ok", "policy"],
            ["test-agent", "fake", "tool_error", "tool_error", "policy"],
            ["test-agent", "fake", "rpc_error", "DOWNSTREAM_TOOL_ERROR", "policy"],
            ["test-agent", "fake", "structured", "REQUEST_INVALID", ""],
            ["test-agent", "fake", "nope", "TOOL_NOT_FOUND", ""],
            ["test-agent", "hidden", "say", "DENIED", "refused"],
            ["test-agent", "nobody", "say", "SERVER_NOT_FOUND", ""],
            ["test-agent", "fake", "echo", "ok", "policy"],
        ]
    );
    let keys: Vec<&String> = lines[0].as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "at",
            "session",
            "client",
            "method",
            "capability",
            "tool",
            "outcome",
            "approved",
            "elapsedMs"
        ]
    );
    let session = &lines[0]["session"];
    assert!(lines.iter().all(|line| line["session"] == *session));
    assert!(!everything_below(deck.dirs.state()).contains("hunter2"));
}

/// A server that repeats its token everywhere: stderr, results, errors and their data.
fn gossip() -> Value {
    let script = r#"
echo "starting with $TOKEN" >&2
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"gossip","version":"1"},"instructions":"use %s"}}\n' "$id" "$TOKEN" ;;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"tell","description":"signed in with %s","inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}},{"name":"die","inputSchema":{"type":"object"}}]}}\n' "$id" "$TOKEN" ;;
    *'"fail"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32050,"message":"%s is not valid","data":{"token":"%s"}}}\n' "$id" "$TOKEN" "$TOKEN" ;;
    *'"die"'*) echo "dying with $TOKEN" >&2; exit 9 ;;
    *'"tell"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"the token is %s"}]}}\n' "$id" "$TOKEN" ;;
  esac
done
"#;
    json!({"name": "Gossip", "description": "Repeats its token everywhere", "command": "sh",
        "args": ["-c", script], "env": {"TOKEN": "${GOSSIP_TOKEN}"}})
}

#[tokio::test]
async fn a_secret_is_nowhere_to_be_seen() {
    assert!(Command::new("sh").args(["-c", "true"]).status().unwrap().success());
    let locked = FakePlan {
        http_required_header: Some(("authorization".to_owned(), format!("Bearer {CANARY}"))),
        http_call_status: Some(500),
        ..FakePlan::default()
    }
    .start_http();
    let deck = Deck::new()
        .entry("mcpServers", "gossip", gossip())
        .entry(
            "mcpServers",
            "remote",
            json!({"name": "Remote", "description": "A server over HTTP", "url": locked.url,
                "auth": {"type": "bearer", "token": "$env:GOSSIP_TOKEN"}}),
        )
        .entry(
            "cliTools",
            "tools",
            json!({"name": "Tools", "description": "Prints its environment",
                "env": {"API_KEY": "${GOSSIP_TOKEN}"},
                "actions": {"print": {"command": "sh", "args": ["-c", "echo $API_KEY; echo $API_KEY >&2; exit 3"]}}}),
        )
        .variable("GOSSIP_TOKEN", CANARY);
    let mut shown = String::new();
    {
        let host = deck.open();
        let session = agent(&host);
        for (id, tool) in [
            ("gossip", "tell"),
            ("gossip", "fail"),
            ("gossip", "die"),
            ("gossip", "nope"),
            ("remote", "echo"),
            ("tools", "print"),
        ] {
            let outcome = call(&session, id, tool, json!({})).await;
            assert!(tool != "tell" || outcome.is_ok(), "{outcome:?}");
            if let Err(error) = &outcome {
                // What a client is shown of an error, the remote's own words included.
                shown.push_str(&format!("{error:?}\n"));
                if let Some(remote) = &error.rpc {
                    shown.push_str(&format!("{} {:?}\n", remote.message, remote.data));
                }
            }
            shown.push_str(&format!("{outcome:?}\n"));
        }
        for id in ["gossip", "remote", "tools"] {
            let report = check::check(&session.request(&context()), id).await;
            shown.push_str(&report.to_json().to_string());
            shown.push_str(&format!("{:?}", LastFailure::of(&host, id)));
            let id = capdeck_host::CapabilityId::new(id).unwrap();
            shown.push_str(&host.process_log(&id).unwrap_or_default());
            shown.push_str(&format!("{:?}", host.catalog().get(id.as_str())));
        }
        let found = call_listed(&session, "search", json!({"query": "signed in"})).await;
        shown.push_str(&format!("{found:?}"));
        host.close().await;
    }
    assert!(shown.contains("[redacted]"), "the secret was met: {shown}");
    for (place, text) in [
        ("answers", shown),
        ("state", everything_below(deck.dirs.state())),
        ("cache", everything_below(deck.dirs.cache())),
    ] {
        if let Some(at) = text.find(CANARY) {
            let around: String = text.chars().skip(at.saturating_sub(300)).take(400).collect();
            panic!("the secret is in {place}: …{around}…");
        }
    }
}

#[tokio::test]
async fn subscriptions_are_written_down_without_queries() {
    let deck = Deck::of(&FakePlan::default());
    {
        let host = deck.open();
        let session = agent_with(&host, Some(Exposure::Direct));
        let note = "caplets://fake/resources/fake%3A%2F%2Fnote";
        subscriptions::subscribe_listed(&session.request(&context()), note).await.unwrap();
        subscriptions::unsubscribe_listed(&session.request(&context()), note).await.unwrap();
        let unknown = "fake://nobody?key=hunter2";
        subscriptions::subscribe_listed(&session.request(&context()), unknown).await.unwrap_err();
        subscriptions::subscribe(&session.request(&context()), "nobody", "fake://note")
            .await
            .unwrap_err();
        session.note_listening("");
        host.close().await;
    }
    let received: Vec<[String; 4]> = written(&deck)
        .iter()
        .map(|line| {
            ["method", "capability", "tool", "outcome"]
                .map(|key| line[key].as_str().unwrap().to_owned())
        })
        .collect();
    let note = "caplets://fake/resources/fake%3A%2F%2Fnote";
    assert_eq!(
        received,
        [
            ["resources/subscribe", "fake", note, "ok"],
            ["resources/unsubscribe", "fake", note, "ok"],
            ["resources/subscribe", "", "fake://nobody", "RESOURCE_NOT_FOUND"],
            ["resources/subscribe", "nobody", "fake://note", "SERVER_NOT_FOUND"],
            ["subscriptions/listen", "", "", "ok"],
        ]
    );
}

#[tokio::test]
async fn whether_calls_run_unaudited_is_for_the_deck_to_say() {
    for (mode, runs) in
        [(None, true), (Some("lenient"), true), (Some("strict"), false), (Some("odd"), false)]
    {
        let mut deck = Deck::of(&FakePlan::default());
        if let Some(mode) = mode {
            deck = deck.config("audit", json!(mode));
        }
        let host = deck.open();
        let session = agent(&host);
        let folder = deck.dirs.state().join("audit");
        call(&session, "fake", "echo", json!({"before": 1})).await.unwrap();
        let has_line = || folder.is_dir() && !written(&deck).is_empty();
        until("the first line", || has_line().then_some(())).await;
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::write(&folder, "in the way").unwrap();
        // Where calls go on, they are what shows that the trail is not written.
        let first = call(&session, "fake", "echo", json!({"during": 1})).await;
        let problem = until("the problem", || CallAuditProblem::of(&host)).await;
        assert_eq!(problem.refuses_calls, !runs, "{mode:?}");
        let second = call(&session, "fake", "echo", json!({"during": 2})).await;
        for outcome in [first, second] {
            match outcome {
                Ok(_) => assert!(runs, "{mode:?}"),
                Err(error) => {
                    assert!(!runs, "{mode:?}: {error}");
                    assert_eq!(error.code.as_str(), "DENIED");
                    assert!(error.message.contains("audit trail"), "{error}");
                    assert!(error.hint.unwrap().contains("`lenient`"));
                }
            }
        }
        // What was not written waits until it can be.
        std::fs::remove_file(&folder).unwrap();
        let wanted = if runs { 3 } else { 1 };
        call(&session, "fake", "echo", json!({"after": 1})).await.unwrap();
        let is_made = |line: &Value| line["outcome"] == "ok";
        let made = || written(&deck).iter().filter(|line| is_made(line)).count();
        until("the lines", || (folder.is_dir() && made() == wanted).then_some(())).await;
        session.close().await;
        host.close().await;
    }
}
