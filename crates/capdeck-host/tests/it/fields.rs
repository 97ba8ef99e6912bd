//! Choosing fields of a result: with a schema, without one, and from a result that was kept as an artifact.

use capdeck_host::{CallError, Session, ToolRequest, calls};
use serde_json::{Value, json};

use crate::deck::{Deck, agent, call_listed, caplet, context, request, text, value};

fn deck(max_output_bytes: u32) -> Deck {
    let rows = r#"seq 2000 | awk 'BEGIN{printf "{\"rows\":["} {printf "%s{\"id\":%d,\"name\":\"n%d\"}", (NR>1?",":""), $1, $1} END{print "],\"total\":2000}"}'"#;
    let action = |command: &str, output: &str| json!({"command": "sh", "args": ["-c", command], "output": {"type": output}});
    let file = caplet(&json!({
        "name": "Tools", "description": "Answers with JSON",
        "cliTools": {"maxOutputBytes": max_output_bytes, "actions": {
            "rows": action(rows, "json"),
            "words": action("echo plain words", "text"),
        }},
    }));
    Deck::new().file("config/tools.md", &file)
}

async fn chosen(session: &Session, tool: &str, fields: &[&str]) -> Result<Value, CallError> {
    let fields = fields.iter().map(|&field| field.to_owned()).collect();
    let asked = ToolRequest { fields, ..request("tools", tool, json!({})) };
    calls::call(session.request(&context()), &asked).await.map(|answer| value(&answer))
}

fn ids() -> Value {
    (1..=2000).map(|id| json!({"id": id})).collect()
}

#[tokio::test]
async fn a_tool_without_a_schema_is_cut_by_its_data() {
    let deck = deck(1_000_000);
    let (host, session) = deck.operator();
    let stored = chosen(&session, "rows", &["json.rows.id", "exitCode"]).await.unwrap();
    assert_eq!(stored["structuredContent"], json!({"exitCode": 0, "json": {"rows": ids()}}));
    assert_eq!(serde_json::from_str::<Value>(text(&stored)).unwrap(), stored["structuredContent"]);
    let stored = chosen(&session, "words", &["stdout", "nope", "stdout.deep"]).await.unwrap();
    assert_eq!(stored["structuredContent"], json!({"stdout": "plain words\n"}));
    let said = stored["content"][1]["text"].as_str().unwrap();
    assert!(
        said.starts_with("[not in this result: `nope`, `stdout.deep`; it has: exitCode"),
        "{said}"
    );
    for wrong in ["", "a..b", "rows.0.id", "*"] {
        let error = chosen(&session, "rows", &[wrong]).await.unwrap_err();
        assert_eq!(error.code.as_str(), "REQUEST_INVALID", "{wrong}");
    }
    host.close().await;
}

#[tokio::test]
async fn a_result_that_was_kept_as_an_artifact_is_read_from_there() {
    let deck = deck(500);
    let (host, session) = deck.operator();
    let whole = chosen(&session, "rows", &[]).await.unwrap();
    assert_eq!(whole["structuredContent"]["truncated"], true);
    let stored = chosen(&session, "rows", &["json.rows.id", "json.total"]).await.unwrap();
    assert_eq!(stored["structuredContent"], json!({"json": {"rows": ids(), "total": 2000}}));
    host.close().await;
}

#[tokio::test]
async fn agents_choose_fields_in_call_tool() {
    let deck = deck(500);
    let host = deck.open();
    let session = agent(&host);
    let asked = json!({"name": "tools__rows", "fields": ["json.total"]});
    let stored = call_listed(&session, "call_tool", asked).await.unwrap().unwrap();
    assert_eq!(stored["structuredContent"], json!({"json": {"total": 2000}}));
    let wrong = json!({"name": "tools__rows", "fields": "json.total"});
    let error = call_listed(&session, "call_tool", wrong).await.unwrap_err();
    assert_eq!(error.code.as_str(), "REQUEST_INVALID");
    host.close().await;
}
