//! Calls of a script pass the same gate as any other, are written down like any other, and end with the run.

use std::sync::Arc;

use capdeck_definition::Exposure;
use capdeck_host::{
    CallConsent, CallContext, CodeRequest, ErrorCode, SessionChoice, SessionScope, TypeCheck,
    ViewPolicy, code_mode,
};
use capdeck_test::{FakeApi, FakeApiReply, FakeEra, FakePlan};
use serde_json::{Value, json};

use super::{coder, run, run_with, value_of};
use crate::{
    audit::written,
    client::ScriptedClient,
    deck::{Deck, caplet, context},
    record::until,
};

fn cell(code: &str) -> CodeRequest {
    CodeRequest {
        code: code.to_owned(),
        timeout: None,
        session: SessionChoice::New,
        check: TypeCheck::Off,
        consent: CallConsent::NotAsked,
    }
}

fn code_scope() -> SessionScope {
    SessionScope::Deck(ViewPolicy::offering(Some(Exposure::CodeMode)))
}

#[tokio::test]
async fn what_is_denied_looks_unknown() {
    let deck = Deck::of(&FakePlan::default())
        .server("secret", &FakePlan::default(), json!({}))
        .config("policy", json!([{"deny": {"tool": "echo"}}, {"deny": {"capability": "secret"}}]));
    let host = deck.open();
    let session = coder(&host);
    value_of(&session, "await caplets.fake.tools()").await;
    let shown = async |code: &str, name: &str| {
        run(&session, code).await["diagnostics"].to_string().replace(name, "NAME")
    };
    let denied = shown("await caplets.fake.callTool('echo')", "echo").await;
    let unknown = shown("await caplets.fake.callTool('ecko')", "ecko").await;
    assert!(denied.contains("UNKNOWN_TOOL"), "{denied}");
    assert_eq!(denied, unknown);
    let names = value_of(&session, "Object.keys(caplets)").await;
    assert!(!names.to_string().contains("secret"), "{names}");
    let dynamic = "const name = 'echo'; (await caplets.fake.callTool(name)).error.code";
    assert_eq!(value_of(&session, dynamic).await, "TOOL_NOT_FOUND");
    let found = value_of(&session, "await caplets.search('answers with its arguments')").await;
    assert!(
        !found.to_string().contains("secret") && !found.to_string().contains("\"echo\""),
        "{found}"
    );
    host.close().await;
}

#[tokio::test]
async fn a_call_that_needs_approval_waits_or_is_asked_about() {
    let wipe = json!({"name": "wipe", "description": "Removes everything", "annotations": {"destructiveHint": true}});
    let plan = FakePlan { extra_tools: vec![wipe], ..FakePlan::default() };
    let deck = Deck::of(&plan);
    let host = deck.open();
    let waits = run(&coder(&host), "await caplets.fake.callTool('wipe')").await;
    assert_eq!(waits["error"]["code"], "RUN_PAUSED", "{waits}");
    assert!(waits["error"]["hint"].is_string());
    let decision = json!({"action": "accept", "content": {"decision": "once"}});
    let client = ScriptedClient::answering("asker", Some(decision));
    let session = client.session(&host, code_scope(), &["elicitation"]);
    let code = cell("(await caplets.fake.callTool('wipe')).ok");
    let report = code_mode::run(&session.request(&client.context()), code).await.unwrap();
    assert_eq!(report.envelope.outcome.unwrap().get(), "true");
    assert_eq!(client.methods(), ["elicitation/create"]);
    host.close().await;
}

#[tokio::test]
async fn every_inner_call_and_the_run_have_their_lines() {
    let deck = Deck::of(&FakePlan::default());
    {
        let host = deck.open();
        let session = coder(&host);
        let code = "await caplets.fake.echo({ password: 'hunter2' }); await caplets.fake.callTool('tool_error'); caplets.fake.id";
        value_of(&session, code).await;
        run(&session, "throw new Error('no')").await;
        host.close().await;
    }
    let lines = written(&deck);
    let shown: Vec<[&str; 4]> = lines
        .iter()
        .map(|line| {
            ["method", "capability", "tool", "outcome"].map(|key| line[key].as_str().unwrap())
        })
        .collect();
    let run_ids: Vec<&str> =
        shown.iter().filter(|line| line[0] == "code_mode").map(|line| line[2]).collect();
    assert_eq!(
        shown,
        [
            ["tools/call", "fake", "echo", "ok"],
            ["tools/call", "fake", "tool_error", "tool_error"],
            ["code_mode", "", run_ids[0], "ok"],
            ["code_mode", "", run_ids[1], "sandbox_error"],
        ]
    );
    assert!(run_ids.iter().all(|id| id.len() == 36), "{run_ids:?}");
    assert!(!json!(lines).to_string().contains("hunter2"));
}

#[tokio::test]
async fn cancelling_a_run_cancels_its_calls() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({}));
    {
        let host = deck.open();
        let session = coder(&host);
        let context = context();
        let running = {
            let (session, context) = (session.clone(), context.clone());
            let code = "await Promise.all([caplets.fake.hang(), caplets.fake.hang()])";
            tokio::spawn(
                async move { code_mode::run(&session.request(&context), cell(code)).await },
            )
        };
        until("the calls", || (record.calls() == 2).then_some(())).await;
        context.cancel.cancel();
        let error = running.await.unwrap().unwrap_err();
        assert_eq!(error.code, ErrorCode::Cancelled);
        let cancelled = || record.received("notifications/cancelled").len() == 2;
        until("the server to hear of it", || cancelled().then_some(())).await;
        host.close().await;
    }
    let outcomes: Vec<Value> = written(&deck).iter().map(|line| line["outcome"].clone()).collect();
    assert_eq!(
        outcomes.iter().filter(|outcome| **outcome == "CANCELLED").count(),
        3,
        "{outcomes:?}"
    );
}

#[tokio::test]
async fn a_run_that_ends_early_takes_its_calls_along() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({}));
    let host = deck.open();
    let session = coder(&host);
    let code = "caplets.fake.hang(); await caplets.fake.echo({}); throw new Error('enough')";
    let envelope = run(&session, code).await;
    assert_eq!(envelope["error"]["code"], "sandbox_error", "{envelope}");
    let cancelled = || record.received("notifications/cancelled").len() == 1;
    until("the server to hear of it", || cancelled().then_some(())).await;
    let late = json!({"code": "await caplets.fake.hang()", "timeoutMs": 300});
    let envelope = run_with(&session, late).await;
    assert_eq!(envelope["error"]["code"], "sandbox_timeout", "{envelope}");
    let cancelled = || record.received("notifications/cancelled").len() == 2;
    until("the server to hear of the timeout", || cancelled().then_some(())).await;
    host.close().await;
}

#[tokio::test]
async fn a_question_reaches_the_client_and_its_answer_the_script() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let client = ScriptedClient::new("ada");
    let session = client.session(&host, code_scope(), &["elicitation"]);
    let code = cell("await caplets.fake.ask_elicitation()");
    let report = code_mode::run(&session.request(&client.context()), code).await.unwrap();
    let value = report.envelope.outcome.unwrap();
    assert!(value.get().contains("ada"), "{value}");
    assert!(client.methods().contains(&"elicitation/create".to_owned()), "{:?}", client.methods());

    host.close().await;

    // A server of the modern era cannot go on without an answer, so the run waits for a person who can be asked.
    let deck = Deck::of(&FakePlan { era: FakeEra::Modern, ..FakePlan::default() });
    let host = deck.open();
    let mute = ScriptedClient::new("mute");
    let session = mute.session(&host, code_scope(), &[]);
    let code = "(await caplets.fake.callTool('ask_elicitation')).error";
    let report = code_mode::run(&session.request(&mute.context()), cell(code)).await.unwrap();
    let error = report.envelope.outcome.unwrap_err();
    assert_eq!(error.code.as_str(), "RUN_PAUSED", "{error:?}");
    let run_id = &report.envelope.meta.run_id;
    let hint = format!("the person answers in a terminal with: capdeck runs resume {run_id}");
    assert_eq!(error.hint.as_deref(), Some(hint.as_str()));

    // A person who can be asked goes on with it.
    let person = ScriptedClient::new("mute");
    let session = person.session(&host, code_scope(), &["elicitation"]);
    let context = person.context();
    let report =
        code_mode::resume(&session.request(&context), run_id, CallConsent::NotAsked).await.unwrap();
    assert_eq!(report.envelope.outcome.unwrap().get(), "null");
    assert_eq!(person.methods(), ["elicitation/create"]);
    host.close().await;
}

#[tokio::test]
async fn progress_of_calls_is_steps_of_the_run() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let client = ScriptedClient::new("ada");
    let session = client.session(&host, code_scope(), &[]);
    let code = "await Promise.all([caplets.fake.progress({ steps: 3 }), caplets.fake.progress({ steps: 3 })])";
    code_mode::run(&session.request(&client.context()), cell(code)).await.unwrap();
    let shown = client.received();
    let steps = shown.iter().filter(|shown| shown.method == "progress");
    let steps: Vec<u64> = steps.map(|shown| shown.params["progress"].as_u64().unwrap()).collect();
    assert_eq!(steps, [1, 2, 3, 4, 5, 6]);
    host.close().await;
}

#[tokio::test]
async fn a_response_keeps_its_status_and_headers_and_a_failed_one_its_body() {
    let api = FakeApi::start(|request| match request.target.as_str() {
        "/missing" => FakeApiReply {
            status: 404,
            content_type: "application/json".to_owned(),
            body: json!({"message": "no such pet", "code": 7}).to_string(),
        },
        "/large" => FakeApiReply::json(&json!({"rows": vec!["x".repeat(100); 30_000]})),
        "/huge" => FakeApiReply {
            status: 200,
            content_type: "text/plain".to_owned(),
            body: "y".repeat(50 << 20),
        },
        _ => FakeApiReply::json(&json!({"name": "Rex"})),
    });
    let action = |path: &str| json!({"method": "GET", "path": path, "description": "Asks"});
    let file = caplet(&json!({
        "name": "Pets", "description": "An API of pets",
        "httpApi": {
            "baseUrl": api.url(), "auth": {"type": "none"},
            "maxResponseBytes": 100 << 20,
            "actions": {"pet": action("/pet"), "missing": action("/missing"), "large": action("/large"), "huge": action("/huge")},
        },
    }));
    let deck = Deck::new().file("config/pets.md", &file);
    let host = deck.open();
    let session = coder(&host);
    let result = value_of(&session, "await caplets.pets.callTool('pet')").await;
    assert_eq!(result["data"], json!({"name": "Rex"}), "{result}");
    assert_eq!(result["meta"]["status"], 200);
    assert_eq!(result["meta"]["headers"]["content-type"], "application/json");
    assert_eq!(value_of(&session, "(await caplets.pets.pet()).name").await, "Rex");

    let failed = value_of(&session, "await caplets.pets.callTool('missing')").await;
    assert_eq!(failed["error"]["code"], "DOWNSTREAM_TOOL_ERROR", "{failed}");
    assert_eq!(failed["error"]["message"], "`missing` answered with status 404: no such pet");
    assert_eq!(failed["error"]["details"]["body"], json!({"message": "no such pet", "code": 7}));
    assert_eq!(failed["error"]["details"]["status"], 404);

    let rows =
        "const all = await caplets.pets.large(); return [all.rows.length, all.rows[29999].length]";
    assert_eq!(value_of(&session, rows).await, json!([30_000, 100]), "nothing is cut");

    let huge = "const r = await caplets.pets.callTool('huge');
        const part = await caplets.artifacts.read(r.data.uri, { offset: 52428790, length: 100 });
        return { ok: r.ok, size: r.meta.artifacts[0].byteLength, truncated: r.data.truncated, part: part.text, end: part.next === undefined }";
    let huge = run_with(&session, json!({"code": huge, "timeoutMs": 120_000})).await;
    let huge = huge.get("value").unwrap_or_else(|| panic!("{huge}")).clone();
    assert_eq!(
        huge,
        json!({"ok": true, "size": 50 << 20, "truncated": true, "part": "yyyyyyyyyy", "end": true})
    );
    host.close().await;
}

#[tokio::test]
async fn two_clients_run_at_the_same_time() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let (first, second) = (coder(&host), coder(&host));
    let code = |name: &str| {
        format!(
            "globalThis.who = '{name}'; const seen = []; for (let i = 0; i < 20; i++) {{ await caplets.fake.echo({{ i }}); seen.push(who) }} return [...new Set(seen)]"
        )
    };
    let (left, right) = (code("left"), code("right"));
    let (left, right) = tokio::join!(value_of(&first, &left), value_of(&second, &right));
    assert_eq!((left, right), (json!(["left"]), json!(["right"])));
    host.close().await;
}

#[tokio::test]
async fn long_logs_are_read_back_by_their_client() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let session = coder(&host);
    let envelope = run(
        &session,
        "for (let i = 0; i < 300; i++) console.log('line ' + i + ' ' + 'x'.repeat(100))",
    )
    .await;
    let logs = &envelope["logs"];
    assert_eq!((&logs["truncated"], &logs["stored"]), (&json!(true), &json!(true)), "{logs}");
    assert!(logs["expiresAt"].is_string());
    let reference = logs["logRef"].as_str().unwrap();
    let read = format!(
        "const a = await caplets.debug.readLogs({{ logRef: '{reference}', cursor: '295' }}); return [a.entries.length, a.entries[4].message.slice(0, 8), a.nextCursor ?? null]"
    );
    assert_eq!(value_of(&session, &read).await, json!([5, "line 299", null]));
    let theirs = run(&coder(&host), &read).await;
    assert_eq!(theirs["error"]["details"]["code"], "RESOURCE_NOT_FOUND", "{theirs}");
    let none = run(&session, "await caplets.debug.readRecovery({ recoveryRef: 'x' })").await;
    assert_eq!(none["error"]["details"]["code"], "RESOURCE_NOT_FOUND", "{none}");
    host.close().await;
}

#[tokio::test]
async fn a_context_without_a_client_still_runs() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let context = CallContext::detached(std::time::Duration::from_secs(30));
    let session: Arc<_> = coder(&host);
    let report = code_mode::run(&session.request(&context), cell("1 + 1")).await.unwrap();
    assert_eq!(report.envelope.outcome.unwrap().get(), "2");
    host.close().await;
}
