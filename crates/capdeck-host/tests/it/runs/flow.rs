//! Data that a script carries from one capability into a changing call of another.

use capdeck_test::FakePlan;
use serde_json::{Value, json};

use super::{approve, called, close, paused, resume};
use crate::{
    audit::written,
    code_mode::{coder, run, run_with},
    deck::Deck,
    record::Record,
};

const LETTER: &str = "the quarterly figures are not for anybody outside this room";

/// `notes` has data, `chat` takes it; and what `chat` received.
fn two_servers(flow: &str) -> (Deck, Record) {
    let deck = Deck::new();
    let record = deck.record("chat");
    let tool = |name: &str, read_only: bool| {
        json!({
            "name": name, "description": "Takes a text", "annotations": {"readOnlyHint": read_only},
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        })
    };
    let chat = FakePlan {
        extra_tools: vec![tool("post", false), tool("look_up", true)],
        record: record.path(),
        ..FakePlan::default()
    };
    let deck = deck.server("notes", &FakePlan::default(), json!({}));
    (deck.server("chat", &chat, json!({})).config("flow", json!(flow)), record)
}

/// A script that reads from `notes`; the letter is not in its text.
fn reading(then: &str) -> String {
    let words: Vec<&str> = LETTER.split(' ').collect();
    format!(
        "const letter = (await caplets.notes.echo({{ letter: {words:?}.join(' ') }})).letter; {then}"
    )
}

fn diagnostics(envelope: &Value) -> Vec<&str> {
    let all = envelope["diagnostics"].as_array().unwrap().iter();
    all.filter(|one| one["code"] == "DATA_FLOW")
        .map(|one| one["message"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_flow_is_reported_and_written_to_the_audit_trail() {
    let (deck, record) = two_servers("warn");
    {
        let host = deck.open();
        let session = coder(&host);
        let shown = ["`chat.post` was called with data from `notes`"];
        let code =
            reading("await caplets.chat.post({ text: `fyi: ${letter.slice(4, 40)}` }); return 1");
        let envelope = run(&session, &code).await;
        assert_eq!(
            (envelope["value"].as_u64(), diagnostics(&envelope).as_slice()),
            (Some(1), shown.as_slice())
        );
        // Reading calls, own texts, and data that goes back where it came from are nothing to tell.
        for harmless in [
            "await caplets.chat.look_up({ text: letter })",
            "await caplets.notes.echo({ letter })",
            "await caplets.chat.post({ text: 'a text of the script itself, long enough' })",
        ] {
            let envelope = run(&session, &reading(harmless)).await;
            assert_eq!(diagnostics(&envelope), [""; 0], "{harmless}");
        }
        // Data is followed from cell to cell.
        let first = run(&session, &reading("var kept = letter; return 1")).await;
        let id = &first["meta"]["sessionId"];
        let next = json!({"code": "await caplets.chat.post({ text: kept })", "sessionId": id});
        assert_eq!(diagnostics(&run_with(&session, next).await), shown);
        close(host, &session).await;
    }
    assert_eq!(called(&record), ["post", "look_up", "post", "post"]);
    let marked = |line: &&Value| line["dataFrom"] == json!(["notes"]);
    assert_eq!(written(&deck).iter().filter(marked).count(), 2);
}

#[tokio::test]
async fn a_flow_can_need_approval_and_the_run_waits_for_it() {
    let (deck, record) = two_servers("ask");
    let host = deck.open();
    let session = coder(&host);
    let code = reading("await caplets.chat.post({ text: letter }); return 'sent'");
    let envelope = run(&session, &code).await;
    let (id, approvals) = paused(&envelope);
    assert_eq!(record.calls(), 0);
    assert_eq!(diagnostics(&envelope).len(), 1);
    approve(&host, &approvals);
    let envelope = resume(&session, &id).await;
    assert_eq!(envelope["value"], "sent", "{envelope:#}");
    assert_eq!(called(&record), ["post"]);
    close(host, &session).await;
}

#[tokio::test]
async fn nothing_is_followed_unless_it_is_asked_for() {
    let (deck, record) = two_servers("off");
    let host = deck.open();
    let session = coder(&host);
    let envelope =
        run(&session, &reading("await caplets.chat.post({ text: letter }); return 1")).await;
    assert_eq!((envelope["value"].as_u64(), diagnostics(&envelope).len()), (Some(1), 0));
    assert_eq!(called(&record), ["post"]);
    close(host, &session).await;
}
