//! Results too large for an agent: a head of the same shape, and a handle that reads on to the end.

use capdeck_definition::Exposure;
use capdeck_host::{RawMembers, Session, artifacts, calls, resources};
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::deck::{
    Deck, agent, agent_with, call, call_listed, caplet, context, local_session, request, value,
};

const ROWS: usize = 3000;

fn rows() -> Vec<Value> {
    (0..ROWS).map(|id| json!({"id": id, "name": format!("row number {id}")})).collect()
}

/// A deck with a tool that answers with many rows, and one that answers with a long text.
fn deck(result_bytes: Option<u32>, max_output_bytes: u32) -> Deck {
    let file = caplet(&json!({
        "name": "Tools", "description": "Answers at length",
        "cliTools": {"maxOutputBytes": max_output_bytes, "actions": {
            "rows": {"command": "cat", "args": ["rows.json"], "cwd": "./data", "output": {"type": "json"}},
            "text": {"command": "cat", "args": ["text.txt"], "cwd": "./data"},
        }},
    }));
    let deck = Deck::new()
        .file("config/tools.md", &file)
        .file("config/data/rows.json", &json!({"rows": rows(), "total": ROWS}).to_string())
        .file("config/data/text.txt", &"zeile mit ä\n".repeat(20_000));
    match result_bytes {
        Some(bytes) => deck.config("options", json!({"resultBytes": bytes})),
        None => deck,
    }
}

async fn call_tool(session: &Session, name: &str) -> Value {
    call_listed(session, "call_tool", json!({"name": name})).await.unwrap().unwrap()
}

/// The cut at a place.
fn cut<'a>(answer: &'a Value, at: &str) -> &'a Value {
    let cuts = answer["_meta"]["capdeck/page"]["cuts"].as_array().unwrap();
    cuts.iter()
        .find(|cut| cut["at"].as_str().unwrap().ends_with(at))
        .unwrap_or_else(|| panic!("{cuts:?}"))
}

#[tokio::test]
async fn a_long_list_is_read_on_by_its_handle_to_the_end() {
    let deck = deck(Some(20_000), 1_000_000);
    let host = deck.open();
    let session = agent(&host);
    let answer = call_tool(&session, "tools__rows").await;
    assert!(answer.to_string().len() < 24_000, "{}", answer.to_string().len());
    let head = answer["structuredContent"]["json"].clone();
    assert_eq!(head["total"], ROWS, "small members stay");
    let mut seen = head["rows"].as_array().unwrap().clone();
    assert!(seen.len() > 10 && seen.len() < ROWS);
    let first = cut(&answer, "/json/rows");
    assert_eq!((&first["shown"], &first["total"]), (&json!(seen.len()), &json!(ROWS)));
    let said = answer["content"].to_string();
    let how = r#"continue with: call_tool {\"name\":\"capdeck://artifacts/tools/"#;
    assert!(said.contains(how) && !said.contains("resource_link"), "{said}");
    let shape = answer["_meta"]["capdeck/page"]["typeScript"].as_str().unwrap();
    assert!(shape.contains("rows?: { id?: number; name?: string }[]"), "{shape}");

    let mut next = first["next"].as_str().map(str::to_owned);
    let mut is_resource = false;
    while let Some(uri) = next {
        let (text, facts) = if is_resource {
            let read = resources::read(&session.request(&context()), &uri, RawMembers::new())
                .await
                .unwrap();
            let read = value(&read)["contents"][0].clone();
            (read["text"].clone(), read["_meta"]["capdeck/artifact"].clone())
        } else {
            let read = call_tool(&session, &uri).await;
            (read["content"][0]["text"].clone(), read["_meta"]["capdeck/page"].clone())
        };
        seen.extend(serde_json::from_str::<Vec<Value>>(text.as_str().unwrap()).unwrap());
        next = facts["next"].as_str().map(str::to_owned);
        is_resource = seen.len() > ROWS / 2;
    }
    assert_eq!(seen, rows());
    host.close().await;
}

#[tokio::test]
async fn what_a_backend_kept_already_is_the_handle() {
    let deck = deck(Some(20_000), 4_000);
    let host = deck.open();
    let session = agent_with(&host, Some(Exposure::Progressive));
    for (tool, unit) in [("rows", "items"), ("text", "characters")] {
        let asked = json!({"operation": "call_tool", "name": tool, "args": {}});
        let answer = call_listed(&session, "tools", asked).await.unwrap().unwrap();
        if answer["_meta"]["capdeck/page"].is_null() {
            // What the backend itself cut to four thousand bytes fits as it is, and names its artifact.
            assert!(answer["structuredContent"]["artifact"]["uri"].is_string(), "{unit}");
        }
        let uri = answer["structuredContent"]["artifact"]["uri"].as_str().unwrap();
        let asked = json!({"operation": "call_tool", "name": format!("{uri}?from=0"), "args": {}});
        let read = call_listed(&session, "tools", asked).await.unwrap().unwrap();
        let cuts = &read["_meta"]["capdeck/page"]["cuts"];
        assert!(cuts.as_array().unwrap().iter().any(|cut| cut["unit"] == unit), "{tool}: {cuts}");
    }
    host.close().await;

    let deck = self::deck(Some(2_000), 6_000);
    let host = deck.open();
    let answer = call_tool(&agent(&host), "tools__text").await;
    assert!(answer.to_string().len() < 4_000, "{}", answer.to_string().len());
    let uri = answer["structuredContent"]["artifact"]["uri"].as_str().unwrap();
    assert_eq!(answer["_meta"]["capdeck/page"]["uri"], uri, "there is one artifact, not two");
    assert_eq!(artifacts::list(&host.operator().snapshot()).len(), 1);
    assert_eq!(cut(&answer, "")["total"], 20_000 * 12);
    host.close().await;
}

#[tokio::test]
async fn servers_results_pass_as_they_are_until_a_limit_is_set() {
    let big = "x".repeat(400_000);
    let plan = FakePlan::default();
    let deck = Deck::of(&plan);
    let host = deck.open();
    let asked = json!({"name": "fake__echo", "data": {"a": big}});
    let answer = call_listed(&agent(&host), "call_tool", asked.clone()).await.unwrap().unwrap();
    assert_eq!(answer["content"][0]["text"].as_str().unwrap().len(), big.len() + 8);
    assert!(answer.get("_meta").is_none());
    host.close().await;

    let deck = deck.config("options", json!({"resultBytes": 4096}));
    let host = deck.open();
    let answer = call_listed(&agent(&host), "call_tool", asked).await.unwrap().unwrap();
    assert!(answer.to_string().len() < 6_000, "{}", answer.to_string().len());
    let place = cut(&answer, "/content/0/text/a");
    assert_eq!((&place["unit"], &place["total"]), (&json!("characters"), &json!(big.len())));
    // A small result, the person's own call and a capability served alone are never cut.
    let small = call(&agent(&host), "fake", "echo", json!({"a": 1})).await.unwrap();
    assert!(small.get("_meta").is_none());
    let id = capdeck_host::CapabilityId::new("fake").unwrap();
    for session in
        [host.operator(), local_session(&host, capdeck_host::SessionScope::Transparent(id))]
    {
        let asked = request("fake", "echo", json!({"a": big}));
        let answer = value(&calls::call(session.request(&context()), &asked).await.unwrap());
        assert_eq!(answer["content"][0]["text"].as_str().unwrap().len(), big.len() + 8);
    }
    host.close().await;
}

#[tokio::test]
async fn without_a_limit_only_very_large_results_of_other_backends_are_cut() {
    let deck = deck(None, 1_000_000);
    let host = deck.open();
    let session = agent(&host);
    // Three thousand rows twice, as text and as JSON, are more than 256 KiB.
    assert!(call_tool(&session, "tools__rows").await["_meta"]["capdeck/page"].is_object());
    let whole = call(&host.operator(), "tools", "rows", json!({})).await.unwrap();
    assert_eq!(whole["structuredContent"]["json"]["rows"].as_array().unwrap().len(), ROWS);
    host.close().await;
}

#[tokio::test]
async fn wrong_places_are_refused() {
    let deck = deck(Some(20_000), 1_000_000);
    let host = deck.open();
    let session = agent(&host);
    let answer = call_tool(&session, "tools__rows").await;
    let uri = answer["_meta"]["capdeck/page"]["uri"].as_str().unwrap();
    for (wrong, code) in [
        ("?at=/nope", "REQUEST_INVALID"),
        ("?at=nope", "REQUEST_INVALID"),
        ("?at=/structuredContent/json/rows/99999", "REQUEST_INVALID"),
        ("?at=&from=-1", "REQUEST_INVALID"),
        ("?at=&offset=1", "REQUEST_INVALID"),
        ("x?at=", "RESOURCE_NOT_FOUND"),
    ] {
        let asked = json!({"name": format!("{uri}{wrong}")});
        let error = call_listed(&session, "call_tool", asked).await.unwrap_err();
        assert_eq!(error.code.as_str(), code, "{wrong}: {error}");
    }
    // Past the end there is nothing, and nothing more to come.
    let end = format!("{uri}?at=/structuredContent/json/rows&from=18446744073709551615");
    let read = call_tool(&session, &end).await;
    assert_eq!(read["content"], json!([{"type": "text", "text": "[]"}]));
    let foreign = json!({"name": uri.replace("/tools/", "/nobody/")});
    let error = call_listed(&session, "call_tool", foreign).await.unwrap_err();
    assert_eq!(error.code.as_str(), "RESOURCE_NOT_FOUND");
    host.close().await;
}

/// Codex cuts the middle out of a longer text, and shows its model the structured form alone where there is one.
#[tokio::test]
async fn a_known_agent_reads_a_large_result_in_parts_with_the_tool_that_it_has() {
    let rows = rows();
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let mut settings = capdeck_host::SessionSettings::local(
        capdeck_host::SessionScope::Deck(capdeck_host::ViewPolicy::offering(Some(
            Exposure::Search,
        ))),
        capdeck_host::ClientProfile::default(),
    );
    settings.client_name = "codex-mcp-client".to_owned();
    let session = host.session(settings);
    let mut asked = json!({"name": "fake__echo", "data": {"rows": rows}});
    let (mut seen, mut parts) = (Vec::new(), 0);
    loop {
        let answer = call_listed(&session, "call_tool", asked).await.unwrap().unwrap();
        assert!(answer["content"].to_string().len() < 12_000, "{}", answer["content"]);
        assert!(answer.get("structuredContent").is_none());
        let text = answer["content"][0]["text"].as_str().unwrap();
        let part: Value = serde_json::from_str(text).unwrap();
        let part = if parts == 0 { part["rows"].clone() } else { part };
        seen.extend(part.as_array().unwrap().clone());
        parts += 1;
        let Some(note) = answer["content"][1]["text"].as_str() else { break };
        let (_, call) = note.split_once("continue with: call_tool ").unwrap();
        asked = serde_json::from_str(call.trim_end_matches(']')).unwrap();
    }
    assert!(parts > 5, "{parts}");
    assert_eq!(seen, rows);
    session.close().await;
    host.close().await;
}
