//! Calls of a script and what they give.

use capdeck_host::code_mode;
use capdeck_test::{FakePlan, fake::FakeFault};
use serde_json::{Value, json};

use super::{coder, run, run_with, value_of};
use crate::deck::{Deck, caplet, saying};

#[tokio::test]
async fn a_tool_is_called_by_its_name_and_by_call_tool() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let session = coder(&host);
    assert_eq!(
        value_of(&session, "await caplets.fake.echo({ a: [1, 'b'] })").await,
        json!({"a": [1, "b"]})
    );
    let result = value_of(&session, "await caplets.fake.callTool('echo', { a: 1 })").await;
    assert_eq!(result["ok"], true);
    assert_eq!(result["data"], json!({"a": 1}));
    assert_eq!(result["meta"]["capletId"], "fake");
    assert_eq!(result["meta"]["tool"], "echo");
    let many =
        "const all = await Promise.all([...Array(40).keys()].map(n => caplets.fake.echo({ n })));
        return all.map(one => one.n)";
    assert_eq!(value_of(&session, many).await, json!((0..40).collect::<Vec<_>>()));
    host.close().await;
}

#[tokio::test]
async fn what_a_tool_says_of_its_failure_reaches_the_script() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let session = coder(&host);
    let result = value_of(&session, "await caplets.fake.callTool('tool_error')").await;
    assert_eq!(result["ok"], false);
    assert_eq!(result["error"]["code"], "DOWNSTREAM_TOOL_ERROR");
    assert_eq!(result["error"]["message"], "this tool fails on purpose");
    assert_eq!(result["error"]["details"]["body"], "this tool fails on purpose");
    assert!(result["error"]["hint"].as_str().unwrap().contains("tool_error("), "{result}");
    let result = value_of(&session, "await caplets.fake.callTool('rpc_error')").await;
    assert!(result["error"]["details"]["rpc"]["data"].is_object(), "{result}");
    let thrown = run(&session, "await caplets.fake.tool_error()").await;
    assert_eq!(thrown["error"]["code"], "runtime_bridge_error", "{thrown}");
    assert_eq!(thrown["error"]["details"]["code"], "DOWNSTREAM_TOOL_ERROR", "{thrown}");
    host.close().await;
}

#[tokio::test]
async fn a_failure_reported_beside_the_structure_is_reported_in_the_message() {
    let file = caplet(&json!({
        "name": "Files", "description": "Commands about files",
        "cliTools": { "actions": { "broken": { "command": "sh", "args": ["-c", "echo no such file >&2; exit 7"] } } },
    }));
    let deck = Deck::new().file("config/files.md", &file);
    let host = deck.open();
    let session = coder(&host);
    let thrown = run(&session, "await caplets.files.broken()").await;
    let message = thrown["error"]["message"].as_str().unwrap();
    assert_eq!(message, "`broken` reported a failure: exit code 7\n\nno such file");
    assert_eq!(thrown["error"]["details"]["details"]["body"]["exitCode"], 7, "{thrown}");
    host.close().await;
}

#[tokio::test]
async fn names_that_do_not_exist_are_reported_before_and_during_the_run() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let session = coder(&host);
    value_of(&session, "await caplets.fake.tools()").await;
    for (code, expected, says) in [
        ("await caplets.fale.echo()", "UNKNOWN_CAPABILITY", "did you mean `caplets.fake`?"),
        ("await caplets.fake.ecko()", "UNKNOWN_TOOL", "did you mean `caplets.fake.echo({ … })`?"),
    ] {
        let envelope = run(&session, code).await;
        let found = &envelope["diagnostics"][0];
        assert_eq!(found["code"], expected, "{envelope}");
        assert!(found["message"].as_str().unwrap().contains(says), "{found}");
        assert_eq!(envelope["error"]["code"], "diagnostic_blocked");
    }
    let dynamic = "const name = 'eck' + 'o'; await caplets.fake.callTool(name)";
    // A call that never throws is made; its literal is warned of.
    for (code, warnings) in [(dynamic, 0), ("await caplets.fake.callTool('ecko')", 1)] {
        let envelope = run(&session, code).await;
        let result = &envelope["value"];
        assert_eq!(result["error"]["code"], "TOOL_NOT_FOUND", "{envelope}");
        assert_eq!(result["error"]["details"]["nearest"], "echo");
        assert_eq!(envelope["diagnostics"].as_array().unwrap().len(), warnings, "{envelope}");
    }
    host.close().await;
}

#[tokio::test]
async fn wrong_arguments_are_found_before_the_run_or_reported_with_the_schema() {
    let schema =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let plan = FakePlan {
        extra_tools: vec![json!({"name": "read", "inputSchema": schema})],
        ..FakePlan::default()
    };
    let deck = Deck::of(&plan);
    let host = deck.open();
    let session = coder(&host);
    value_of(&session, "await caplets.fake.tools()").await;
    let envelope = run(&session, "await caplets.fake.read({ path: 7 })").await;
    assert_eq!(envelope["diagnostics"][0]["code"], "INVALID_ARGUMENTS", "{envelope}");
    let result =
        value_of(&session, "const path = 7; await caplets.fake.callTool('read', { path })").await;
    assert_eq!(result["error"]["code"], "REQUEST_INVALID", "{result}");
    assert_eq!(result["error"]["details"]["inputSchema"], schema);
    assert!(
        result["error"]["hint"].as_str().unwrap().contains("caplets.fake.read({ path: string })"),
        "{result}"
    );
    host.close().await;
}

#[tokio::test]
async fn a_dead_backend_is_an_error_and_no_empty_list() {
    let plan = FakePlan { initialize: FakeFault::Crash, ..FakePlan::default() };
    let deck = Deck::of(&plan);
    let host = deck.open();
    let session = coder(&host);
    for code in [
        "await caplets.fake.tools()",
        "await caplets.fake.searchTools('x')",
        "await caplets.fake.echo()",
    ] {
        let envelope = run(&session, code).await;
        assert_eq!(envelope["ok"], false, "{code}: {envelope}");
        assert_eq!(envelope["error"]["code"], "runtime_bridge_error", "{code}: {envelope}");
    }
    let check = value_of(&session, "await caplets.fake.check()").await;
    assert_eq!(check["ok"], false);
    assert_eq!(check["error"]["code"], "backend_not_ready", "{check}");
    host.close().await;
}

#[tokio::test]
async fn a_handle_does_what_a_wrapper_does() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let session = coder(&host);
    let card = value_of(&session, "await caplets.fake.inspect()").await;
    assert_eq!(card["id"], "fake", "{card}");
    let tools = value_of(&session, "(await caplets.fake.tools({ limit: 2 }))").await;
    assert_eq!(tools["items"].as_array().unwrap().len(), 2, "{tools}");
    assert_eq!(tools["nextCursor"], "2");
    let found =
        value_of(&session, "(await caplets.fake.searchTools('arguments')).items[0].name").await;
    assert!(found.is_string());
    let described = value_of(&session, "await caplets.fake.describeTool('structured')").await;
    assert_eq!(described["ok"], true);
    assert!(described["data"]["outputSchema"].is_object(), "{described}");
    assert!(
        described["data"]["callSignature"]
            .as_str()
            .unwrap()
            .starts_with("caplets.fake.structured(")
    );
    let all = value_of(
        &session,
        "const f = caplets.fake;
        const r = await f.resources(), t = await f.resourceTemplates(), p = await f.prompts();
        const read = await f.readResource(r.items[0].uri);
        const prompt = await f.getPrompt(p.items[0].prompt, {});
        return { r: r.items.length, t: t.items.length, p: p.items.length, read, prompt }",
    )
    .await;
    assert!(all["read"]["data"]["contents"].is_array(), "{all}");
    assert!(all["prompt"]["data"]["messages"].is_array(), "{all}");
    assert!(all["t"].as_u64().unwrap() > 0);
    host.close().await;
}

#[tokio::test]
async fn everything_is_searched_and_typed() {
    let deck = Deck::of(&FakePlan::default()).file("config/my-sayer.md", &saying("hi"));
    let host = deck.open();
    let session = coder(&host);
    let found = value_of(&session, "await caplets.search('says one word')").await;
    let item = &found["items"][0];
    assert_eq!(item["capability"], "my-sayer", "{found}");
    assert_eq!(item["call"], "caplets[\"my-sayer\"].say()");
    let types = value_of(&session, "await caplets.types('fake', 'structured')").await;
    assert!(types.as_str().unwrap().contains("structured(args"), "{types}");
    let names = value_of(&session, "Object.keys(caplets)").await;
    assert_eq!(names, json!(["fake", "my-sayer"]));
    let unknown = run(&session, "const id = 'fak'; await caplets.types(id)").await;
    assert_eq!(unknown["error"]["details"]["code"], "SERVER_NOT_FOUND", "{unknown}");
    host.close().await;
}

#[tokio::test]
async fn sessions_keep_names_and_are_their_clients_own() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let (mine, yours) = (coder(&host), coder(&host));
    let first = run(&mine, "const n = (await caplets.fake.echo({ n: 20 })).n").await;
    let id = first["meta"]["sessionId"].clone();
    let again = json!({"code": "n + 1", "sessionId": id});
    assert_eq!(run_with(&mine, again.clone()).await["value"], 21);
    assert_eq!(run_with(&yours, again.clone()).await["error"]["code"], "SESSION_NOT_FOUND");
    mine.close().await;
    assert_eq!(run_with(&mine, again).await["error"]["code"], "SESSION_NOT_FOUND");
    host.close().await;
}

#[tokio::test]
async fn only_what_is_offered_to_code_is_there() {
    let deck = Deck::new()
        .server("open", &FakePlan::default(), json!({"exposure": "code_mode"}))
        .server("shut", &FakePlan::default(), json!({"exposure": "direct"}));
    let host = deck.open();
    let session = crate::deck::agent(&host);
    let envelope = run(&session, "await caplets.shut.echo()").await;
    assert_eq!(envelope["diagnostics"][0]["code"], "UNKNOWN_CAPABILITY", "{envelope}");
    let found =
        value_of(&session, "(await caplets.search('echo')).items.map(i => i.capability)").await;
    assert!(!found.as_array().unwrap().contains(&json!("shut")), "{found}");
    host.close().await;
}

#[tokio::test]
async fn large_answers_reach_the_script_whole_and_too_large_ones_say_so() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let session = coder(&host);
    let sizes = "(await caplets.fake.big_result({ bytes: 1048576 })).length";
    assert_eq!(value_of(&session, sizes).await, 1_048_576);
    let result = value_of(&session, "await caplets.fake.callTool('huge_line')").await;
    assert_eq!(result["ok"], false, "{result}");
    assert_eq!(value_of(&session, "(await caplets.fake.echo({ a: 1 })).a").await, 1);
    host.close().await;
}

#[tokio::test]
async fn the_persons_own_session_runs_code_against_everything() {
    let deck = Deck::new().server("hidden", &FakePlan::default(), json!({"exposure": "none"}));
    let (host, session) = deck.operator();
    let request = capdeck_host::CodeRequest {
        code: "(await caplets.hidden.echo({ a: 1 })).a".to_owned(),
        timeout: None,
        session: capdeck_host::SessionChoice::Once,
        check: capdeck_host::TypeCheck::Off,
        consent: capdeck_host::CallConsent::NotAsked,
    };
    let report = code_mode::run(&session.request(&crate::deck::context()), request).await.unwrap();
    assert_eq!(crate::deck::value(&report.envelope.outcome.unwrap()), Value::from(1));
    host.close().await;
}
