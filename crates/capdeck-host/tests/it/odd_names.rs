//! Names that are no identifiers: every call that a surface prints reaches the tool.

use std::{collections::BTreeSet, process::Command, sync::Arc};

use capdeck_definition::Exposure;
use capdeck_host::{CallError, Session, ShellTarget, calls, listing, shell};
use capdeck_test::FakePlan;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::{
    code_mode::{coder, run, run_with},
    deck::{Deck, agent, agent_with, call_listed, context, request, text},
};

/// Parts that names are put together from: separators, quotes, brackets, other scripts, what a shell or a script reads
/// as its own.
const PARTS: [&str; 20] = [
    "a", "B", "1", "-", ".", "_", "__", " ", "'", "\"", "`", "$", "(", ")", "/", "\\", "é", "日本",
    ":", "#",
];

/// Names that mean something to another person.
const TAKEN: [&str; 24] = [
    "id",
    "call",
    "callTool",
    "tools",
    "check",
    "inspect",
    "then",
    "toJSON",
    "constructor",
    "class",
    "await",
    "delete",
    "__proto__",
    "prototype",
    "toString",
    "search",
    "describe",
    "call_tool",
    "code_mode",
    "--help",
    "-y",
    "key=value",
    "capdeck",
    "null",
];

/// Every pair of parts, names that are taken, names that collide once they are made plain, and long ones.
fn names() -> Vec<String> {
    let mut names: BTreeSet<String> = TAKEN.map(str::to_owned).into();
    for first in PARTS {
        for second in PARTS {
            names.insert(format!("{first}{second}"));
            names.insert(format!("t{first}{second}t"));
        }
    }
    for alike in ["get-sum", "get_sum", "get sum", "getSum", "get.sum", "Get-Sum", "GET SUM"] {
        names.insert(alike.to_owned());
    }
    for long in [63, 64, 65, 200] {
        names.insert("x".repeat(long));
        names.insert(format!("{}-1", "y".repeat(long)));
        names.insert(format!("{}-2", "y".repeat(long)));
    }
    // One that is shaped like the listed name of another.
    names.insert("b c_x000000000000".to_owned());
    names.into_iter().collect()
}

/// Each tool takes one value of its own: a call with it succeeds only when it reaches this tool.
fn deck(names: &[String]) -> Deck {
    let tools = names.iter().enumerate().map(|(number, name)| {
        json!({"name": name, "description": "an odd thing", "inputSchema": {"type": "object",
            "properties": {"which": {"const": number}}, "required": ["which"]}})
    });
    let plan = FakePlan {
        behaviours: false,
        tools: 0,
        extra_tools: tools.collect(),
        ..FakePlan::default()
    };
    // A capability whose natural names read like those of the other.
    let other = json!({"name": "b", "inputSchema": {"type": "object"}});
    let other =
        FakePlan { behaviours: false, tools: 0, extra_tools: vec![other], ..FakePlan::default() };
    Deck::new().server("my-api", &plan, json!({})).server("my-api__a", &other, json!({}))
}

fn which(names: &[String], name: &str) -> Value {
    json!({ "which": names.iter().position(|one| one == name) })
}

/// The text before the arguments, where the arguments are `(which: N)`.
fn name_in(signature: &str, arguments: &str) -> String {
    let name = signature.strip_suffix(arguments);
    name.unwrap_or_else(|| panic!("{signature} ends with {arguments}")).to_owned()
}

async fn reaches(session: &Session, name: &str, arguments: &Value) -> Result<(), CallError> {
    let asked = json!({"name": name, "data": arguments});
    let answer = call_listed(session, "call_tool", asked).await?.unwrap();
    assert_eq!(text(&answer), arguments.to_string(), "{name}");
    Ok(())
}

/// Makes the wrong calls at once. Each makes the host read the server's long list again, and those that wait for it share
/// one answer.
async fn together<T>(wrong: impl IntoIterator<Item = T>, call: impl AsyncFn(T)) {
    join_all(wrong.into_iter().map(|one| call(one))).await;
}

/// The items of all pages of `search`.
async fn found(session: &Session) -> Vec<(String, Value)> {
    let mut asked = json!({"query": "odd thing", "capability": "my-api", "limit": 50});
    let mut all = Vec::new();
    loop {
        let page = call_listed(session, "search", asked.clone()).await.unwrap().unwrap();
        let shown = text(&page).to_owned();
        let page = &page["structuredContent"];
        for item in page["items"].as_array().unwrap() {
            all.push((shown.clone(), item.clone()));
        }
        let Some(cursor) = page.get("nextCursor") else { return all };
        asked["cursor"] = cursor.clone();
    }
}

#[tokio::test]
async fn search_prints_names_that_call_tool_takes() {
    let names = names();
    let deck = deck(&names);
    let host = deck.open();
    let session = agent(&host);
    let found = found(&session).await;
    assert_eq!(found.len(), names.len());
    let mut calls = Vec::new();
    for (shown, item) in found {
        let name = item["name"].as_str().unwrap();
        let described = call_listed(&session, "describe", json!({ "name": name })).await;
        let described = described.unwrap().unwrap();
        let schema = &described["structuredContent"]["tool"]["inputSchema"];
        let number = &schema["properties"]["which"]["const"];
        let arguments = format!("(which: {number})");
        let signature = item["signature"].as_str().unwrap();
        assert_eq!(name_in(signature, &arguments), name);
        assert!(shown.contains(&format!("{name}{arguments}\n")), "{shown}");
        reaches(&session, name, &json!({ "which": number })).await.unwrap();
        calls.push((name.to_owned(), arguments));
    }
    // Wrong arguments are answered with the same call.
    together(calls, async |(name, arguments)| {
        let error = reaches(&session, &name, &json!({})).await.unwrap_err();
        let hint = error.hint.unwrap();
        assert_eq!(hint, format!("call it as: {name}{arguments}"));
        assert_eq!(error.data.unwrap()["callSignature"], format!("{name}{arguments}"));
    })
    .await;
    host.close().await;
}

#[tokio::test]
async fn setting_up_prints_names_that_call_tool_takes() {
    let names = names();
    let deck = deck(&names);
    let host = deck.open();
    let session = agent_with(&host, Some(Exposure::OnDemand));
    let asked = json!({"skills": ["@my-api"]});
    let received = call_listed(&session, "setup_tools", asked).await.unwrap().unwrap();
    let tools = received["structuredContent"]["tools"].as_array().unwrap().clone();
    assert_eq!(tools.len(), names.len());
    let mut reached = BTreeSet::new();
    for signature in &tools {
        let signature = signature.as_str().unwrap();
        let (name, arguments) = signature.split_once('(').unwrap();
        let number = arguments.strip_prefix("which: ").unwrap().strip_suffix(')').unwrap();
        let number: usize = number.parse().unwrap();
        reaches(&session, name, &json!({ "which": number })).await.unwrap();
        reached.insert(number);
    }
    assert_eq!(reached.len(), names.len());
    together(&tools, async |signature| {
        let signature = signature.as_str().unwrap();
        let (name, _) = signature.split_once('(').unwrap();
        let asked = json!({"name": name, "data": {}});
        let wrong = call_listed(&session, "call_tool", asked).await.unwrap().unwrap();
        let facts = &wrong["structuredContent"];
        assert_eq!(facts["tool"], name);
        assert!(facts["hint"].as_str().unwrap().ends_with(signature), "{facts}");
    })
    .await;
    host.close().await;
}

#[tokio::test]
async fn a_suggested_name_can_be_called() {
    let names = names();
    let deck = deck(&names);
    let host = deck.open();
    for exposure in [Exposure::Search, Exposure::OnDemand] {
        let session = agent_with(&host, Some(exposure));
        if exposure == Exposure::OnDemand {
            let asked = json!({"skills": ["@my-api"]});
            call_listed(&session, "setup_tools", asked).await.unwrap();
        } else {
            found(&session).await;
        }
        for wrong in
            ["my-api__get-summ", "my-api.gt sum", "get-summ", "my-api__tdelete", "my-api__t日本bt"]
        {
            let error = reaches(&session, wrong, &json!({})).await.unwrap_err();
            let hint = error.hint.clone().unwrap_or_default();
            let near = hint.strip_prefix("did you mean `").and_then(|rest| rest.strip_suffix("`?"));
            let near = near.unwrap_or_else(|| panic!("{wrong}: {error}: {hint}"));
            assert_eq!(error.data.unwrap()["nearest"], near);
            // In a text it can be seen where the name ends.
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
            assert!(near.chars().all(is_plain), "{wrong}: {near}");
            // It is a name of a tool: what is wrong now are the arguments.
            let asked = json!({ "name": near, "data": {} });
            match call_listed(&session, "call_tool", asked).await {
                Err(error) => {
                    assert_eq!(error.code.as_str(), "REQUEST_INVALID", "{near}: {error}");
                    assert!(!error.to_string().contains("several tools"), "{near}: {error}");
                }
                Ok(answer) => assert_eq!(answer.unwrap()["structuredContent"]["tool"], near),
            }
        }
    }
    host.close().await;
}

#[tokio::test]
async fn direct_tools_and_wrappers_are_called_by_the_names_they_print() {
    let names = names();
    let deck = deck(&names);
    let host = deck.open();
    let session = agent_with(&host, Some(Exposure::Direct));
    let tools: Value = serde_json::from_str(
        listing::discovered_view(&session.request(&context())).await.tools().get(),
    )
    .unwrap();
    let mut calls = Vec::new();
    for tool in tools.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let Some(number) = tool["inputSchema"]["properties"]["which"].get("const") else {
            continue;
        };
        let arguments = json!({ "which": number });
        let answer = call_listed(&session, name, arguments.clone()).await.unwrap().unwrap();
        assert_eq!(text(&answer), arguments.to_string(), "{name}");
        calls.push((name, number));
    }
    assert_eq!(calls.len(), names.len());
    together(calls, async |(name, number)| {
        let error = call_listed(&session, name, json!({})).await.unwrap_err();
        assert_eq!(error.hint.unwrap(), format!("call it as: {name}(which: {number})"));
    })
    .await;

    let session = agent_with(&host, Some(Exposure::Progressive));
    for name in &names {
        let asked = json!({"operation": "call_tool", "name": name, "args": which(&names, name)});
        let answer = call_listed(&session, "my-api", asked).await.unwrap().unwrap();
        assert_eq!(text(&answer), which(&names, name).to_string(), "{name}");
    }
    together(&names, async |name| {
        let wrong = json!({"operation": "call_tool", "name": name, "args": {}});
        let error = call_listed(&session, "my-api", wrong).await.unwrap_err();
        let number = &which(&names, name)["which"];
        assert_eq!(error.hint.unwrap(), format!("call it as: {name}(which: {number})"));
    })
    .await;
    host.close().await;
}

/// The value of a cell that may take its time: the machine may be busy.
async fn value_in_time(session: &Session, code: &str) -> Value {
    let envelope = run_with(session, json!({ "code": code, "timeoutMs": 120_000 })).await;
    assert_eq!(envelope["ok"], true, "{envelope:#}");
    envelope["value"].clone()
}

/// The expression with the value of its own in place of the argument's type; `const` types read like values already.
async fn evaluate(session: &Session, calls: &[(usize, String)]) {
    for part in calls.chunks(40) {
        let code: String = part.iter().map(|(_, call)| format!("(await {call}),\n")).collect();
        let answers = value_in_time(session, &format!("return [{code}]")).await;
        for ((number, call), answer) in part.iter().zip(answers.as_array().unwrap()) {
            // `callTool` answers a result; a tool called as a member gives its data or throws.
            let data = if answer["ok"] == true { &answer["data"] } else { answer };
            assert_eq!(data["which"], *number, "{call}: {answer}");
        }
    }
}

#[tokio::test]
async fn scripts_are_shown_expressions_that_run() {
    let names = names();
    let deck = deck(&names);
    let host = deck.open();
    let session = coder(&host);
    let code = "const all = []; let cursor; do { const page = await caplets.search('odd thing', { limit: 50, cursor }); \
                all.push(...page.items.filter((one) => one.capability === 'my-api')); cursor = page.nextCursor } while (cursor); \
                return all.map((one) => [one.name, one.call])";
    let found = value_in_time(&session, code).await;
    let number =
        |name: &Value| names.iter().position(|one| *one == name.as_str().unwrap()).unwrap();
    let calls: Vec<(usize, String)> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| (number(&pair[0]), pair[1].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(calls.len(), names.len());
    evaluate(&session, &calls).await;
    let described = "const all = []; for (const name of NAMES) { \
                     const reported = await caplets['my-api'].describeTool(name); all.push([name, reported.data.callSignature]) } return all";
    let described = described.replace("NAMES", &json!(names).to_string());
    for pair in value_in_time(&session, &described).await.as_array().unwrap() {
        let call = pair[1].as_str().unwrap().to_owned();
        assert!(calls.contains(&(number(&pair[0]), call)), "{pair}");
    }
    // What is suggested is an expression, too.
    let wrong = run(&session, "await caplets['my-api'].gett_summ({})").await;
    let message = wrong["diagnostics"][0]["message"].as_str().unwrap();
    assert!(message.contains("did you mean `caplets[\"my-api\"]"), "{message}");
    host.close().await;
}

/// The words that a shell makes of a line.
fn words(line: &str) -> Vec<String> {
    let script = format!("printf '%s\\0' {line}");
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{line}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

#[tokio::test]
async fn the_shell_prints_words_that_lead_to_the_tool() {
    let names = names();
    let deck = deck(&names);
    let (host, session) = deck.operator();
    let context = context();
    let place =
        shell::find_command(&session.request(&context), &["my-api".to_owned()]).await.unwrap();
    let ShellTarget::Group(group, commands) = place else { panic!("{place:?}") };
    assert_eq!(commands.len(), names.len());
    for command in commands {
        // A name that would be read as a flag has its group in front.
        let line = match words(&command.command).first() {
            Some(word) if word.starts_with("my-api.-") => command.command.clone(),
            _ => format!("{} {}", group.command, command.command),
        };
        let typed = words(&line);
        // Words that begin with a hyphen are flags.
        assert!(typed.iter().all(|word| !word.starts_with('-')), "{line}");
        let place = shell::find_command(&session.request(&context), &typed).await.unwrap();
        let ShellTarget::Tool(tool) = place else { panic!("{line}: {place:?}") };
        let name: String = serde_json::from_str(tool.definition["name"].get()).unwrap();
        assert_eq!(name, command.tool, "{line}");
        assert_eq!(words(&tool.command), typed, "{line}");
    }
    host.close().await;
}

#[tokio::test]
async fn a_server_cannot_take_the_listed_name_of_its_neighbour() {
    let plan = FakePlan {
        behaviours: false,
        tools: 0,
        extra_tools: vec![
            json!({"name": "b c", "description": "An odd thing", "inputSchema": {"type": "object"}}),
        ],
        ..FakePlan::default()
    };
    let deck = Deck::of(&plan);
    let host = deck.open();
    let session = agent(&host);
    let asked = json!({"query": "odd thing"});
    let found = call_listed(&session, "search", asked).await.unwrap().unwrap();
    let listed = found["structuredContent"]["items"][0]["name"].as_str().unwrap().to_owned();
    host.close().await;

    let taken = listed.strip_prefix("fake__").unwrap();
    let refuses = json!({"type": "object", "properties": {"never": {}}, "required": ["never"]});
    let plan = FakePlan {
        extra_tools: vec![
            json!({"name": "b c", "description": "An odd thing", "inputSchema": {"type": "object"}}),
            json!({"name": taken, "inputSchema": refuses}),
        ],
        ..plan
    };
    let deck = Deck::of(&plan);
    let host = deck.open();
    let session: Arc<Session> = agent(&host);
    call_listed(&session, "search", json!({"query": "odd thing"})).await.unwrap();
    reaches(&session, &listed, &json!({})).await.unwrap();
    let direct = calls::call(session.request(&context()), &request("fake", "b c", json!({}))).await;
    direct.unwrap();
    host.close().await;
}
