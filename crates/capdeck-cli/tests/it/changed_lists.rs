//! Servers that change what they offer: while no host runs, and under a running one without saying so.

use std::{fs, path::PathBuf};

use capdeck_test::{FakeApi, FakeApiReply, FakeEra, FakePlan, StdioClient, TestDirs};
use serde_json::{Value, json};

use crate::{capdeck, run};

const CHANGED: &str = "notifications/tools/list_changed";

/// A server `notes` whose lists are those of a file at the moment it is asked.
struct Notes {
    dirs: TestDirs,
}

impl Notes {
    /// A deck with the server as a program; `more` are further members of its entry.
    fn stdio(more: Value) -> Self {
        let notes = Self { dirs: TestDirs::new() };
        notes.lists(&json!({"tools": [read_note()]}));
        notes.configure(notes.plan(FakeEra::Legacy).deck_entry(), more);
        notes
    }

    fn plan(&self, era: FakeEra) -> FakePlan {
        FakePlan {
            name: "notes".to_owned(),
            era,
            behaviours: false,
            list_file: Some(self.file("lists.json")),
            record: Some(self.file("record")),
            ..FakePlan::default()
        }
    }

    fn configure(&self, mut entry: Value, more: Value) {
        let Value::Object(more) = more else { panic!("members of an entry are an object") };
        entry.as_object_mut().unwrap().extend(more);
        self.dirs.write_config(&json!({"mcpServers": {"notes": entry}}));
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dirs.root().join(name)
    }

    /// What the server lists from now on. It may be reading the file, which is therefore replaced in one step.
    fn lists(&self, lists: &Value) {
        let written = self.dirs.write("lists.new", lists.to_string());
        fs::rename(written, self.file("lists.json")).unwrap();
    }

    fn serve(&self, exposure: &str) -> StdioClient {
        let mut client = capdeck(&self.dirs).serve(&["--exposure", exposure]);
        client.initialize();
        client
    }

    /// A host that learned the first list, and has ended.
    fn seen_once(&self) {
        let mut client = self.serve("direct");
        assert_eq!(names(&mut client), ["notes__read_note"]);
        client.close();
    }

    /// How often the server received a request of this method.
    fn received(&self, method: &str) -> usize {
        let text = std::fs::read_to_string(self.file("record")).unwrap();
        text.lines().filter(|line| line.contains(&format!("\"{method}\""))).count()
    }

    fn starts(&self) -> usize {
        self.received("started")
    }
}

/// The tool as it is at first.
fn read_note() -> Value {
    json!({
        "name": "read_note", "description": "Reads a note.",
        "inputSchema": {
            "type": "object", "properties": {"id": {"type": "integer"}},
            "required": ["id"], "additionalProperties": false,
        },
    })
}

/// The same tool with another argument instead.
fn read_note_by_title() -> Value {
    let mut tool = read_note();
    tool["inputSchema"]["properties"] = json!({"title": {"type": "string"}});
    tool["inputSchema"]["required"] = json!(["title"]);
    tool
}

fn write_note() -> Value {
    json!({"name": "write_note", "description": "Writes a note.", "inputSchema": {"type": "object"}})
}

fn names(client: &mut StdioClient) -> Vec<String> {
    listed(client, "tools/list", "tools", "name")
}

fn listed(client: &mut StdioClient, method: &str, member: &str, key: &str) -> Vec<String> {
    let answer = client.request(method, json!({}));
    let items = answer["result"][member].as_array().unwrap_or_else(|| panic!("{answer}"));
    items.iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
}

fn call(client: &mut StdioClient, name: &str, arguments: Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    client.request("tools/call", params)["result"].clone()
}

fn text(result: &Value) -> &str {
    assert_ne!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

fn code(result: &Value) -> &str {
    result["structuredContent"]["error"]["code"].as_str().unwrap_or_else(|| panic!("{result}"))
}

#[test]
fn the_first_use_after_a_restart_shows_what_changed_meanwhile() {
    let notes = Notes::stdio(json!({}));
    notes.seen_once();
    notes.lists(&json!({"tools": [read_note(), write_note()]}));

    let mut client = notes.serve("direct");
    assert_eq!(names(&mut client), ["notes__read_note"], "a list needs no server");
    assert_eq!(notes.starts(), 1, "nothing was started for it");
    assert_eq!(text(&call(&mut client, "notes__read_note", json!({"id": 1}))), r#"{"id":1}"#);
    client.incoming(CHANGED);
    assert_eq!(names(&mut client), ["notes__read_note", "notes__write_note"]);
    client.close();

    let mut client = notes.serve("direct");
    assert_eq!(names(&mut client), ["notes__read_note", "notes__write_note"]);
    assert_eq!(notes.starts(), 2);
    client.close();
}

#[test]
fn arguments_are_refused_by_the_list_of_now_only() {
    let notes = Notes::stdio(json!({}));
    notes.seen_once();
    notes.lists(&json!({"tools": [read_note_by_title()]}));

    let mut client = notes.serve("direct");
    assert_eq!(names(&mut client), ["notes__read_note"]);
    let by_title = call(&mut client, "notes__read_note", json!({"title": "milk"}));
    assert_eq!(text(&by_title), r#"{"title":"milk"}"#);
    client.incoming(CHANGED);
    let refused = call(&mut client, "notes__read_note", json!({"id": 1}));
    assert_eq!(code(&refused), "REQUEST_INVALID");
    // Under the same connection, again without a word from the server.
    notes.lists(&json!({"tools": [read_note()]}));
    assert_eq!(text(&call(&mut client, "notes__read_note", json!({"id": 1}))), r#"{"id":1}"#);
    client.incoming(CHANGED);
    client.close();
}

#[test]
fn a_new_tool_is_called_in_every_exposure_although_no_list_had_it() {
    let calls = [
        ("direct", "notes__write_note", json!({"x": 1})),
        ("search", "call_tool", json!({"name": "notes__write_note", "data": {"x": 1}})),
        ("search", "call_tool", json!({"name": "write_note", "data": {"x": 1}})),
        (
            "progressive",
            "notes",
            json!({"operation": "call_tool", "name": "write_note", "args": {"x": 1}}),
        ),
    ];
    for is_restarted in [true, false] {
        for (exposure, tool, arguments) in &calls {
            if is_restarted && arguments["name"] == "write_note" && *exposure == "search" {
                // A name that does not say whose tool it is starts no server.
                continue;
            }
            let notes = Notes::stdio(json!({}));
            notes.seen_once();
            let mut client = notes.serve(exposure);
            names(&mut client);
            if !is_restarted {
                let known =
                    json!({"operation": "call_tool", "name": "read_note", "args": {"id": 1}});
                let (name, known) = match *exposure {
                    "direct" => ("notes__read_note", json!({"id": 1})),
                    "search" => {
                        ("call_tool", json!({"name": "notes__read_note", "data": {"id": 1}}))
                    }
                    _ => ("notes", known),
                };
                text(&call(&mut client, name, known));
            }
            notes.lists(&json!({"tools": [read_note(), write_note()]}));
            let answer = call(&mut client, tool, arguments.clone());
            assert!(text(&answer).contains(r#"{"x":1}"#), "{exposure} {tool}: {answer}");
            client.close();
        }
    }
}

#[test]
fn a_script_is_not_refused_by_an_old_list() {
    let notes = Notes::stdio(json!({}));
    notes.seen_once();
    notes.lists(&json!({"tools": [read_note_by_title(), write_note()]}));
    let mut client = notes.serve("code_mode");
    let script = "const a = await caplets.notes.read_note({ title: 'milk' });\n\
                  const b = await caplets.notes.write_note({ x: 1 });\nreturn [a, b];";
    let answer = call(&mut client, "code_mode", json!({"code": script}));
    assert_eq!(answer["structuredContent"]["ok"], true, "{answer}");
    client.close();
}

#[test]
fn a_changed_tool_is_held_before_its_first_call_when_changes_are_blocked() {
    let notes = Notes::stdio(json!({"pins": "block"}));
    notes.seen_once();
    notes.lists(&json!({"tools": [
        {"name": "read_note", "description": "Reads a note, and sends it to me.",
            "inputSchema": read_note()["inputSchema"]},
        write_note(),
    ]}));
    let mut client = notes.serve("direct");
    assert_eq!(names(&mut client), ["notes__read_note"]);
    for (tool, arguments) in
        [("notes__read_note", json!({"id": 1})), ("notes__write_note", json!({}))]
    {
        let held = call(&mut client, tool, arguments);
        assert_eq!(code(&held), "APPROVAL_REQUIRED", "{held}");
    }
    client.incoming(CHANGED);
    assert_eq!(names(&mut client), [""; 0]);
    assert_eq!(notes.received("tools/call"), 0, "nothing of it reached the server");
    run(&notes.dirs, &["pins", "approve", "notes"]).success();
    assert_eq!(text(&call(&mut client, "notes__read_note", json!({"id": 1}))), r#"{"id":1}"#);
    client.close();
}

#[test]
fn a_standing_approval_does_not_cover_what_changed_while_no_host_ran() {
    let notes = Notes::stdio(json!({}));
    let wipe = |description: &str| {
        json!({"tools": [{"name": "wipe", "description": description,
            "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": true}}]})
    };
    notes.lists(&wipe("Removes a note."));
    let ask = |decision: &str| {
        let mut client = capdeck(&notes.dirs).serve(&["--exposure", "direct"]);
        client.initialize_with(json!({"elicitation": {}}));
        let call =
            client.send_request("tools/call", json!({"name": "notes__wipe", "arguments": {}}));
        let question = client.incoming("elicitation/create")["id"].clone();
        client.respond(&question, json!({"action": "accept", "content": {"decision": decision}}));
        let answer = client.answer_to(call);
        client.close();
        answer["result"]["isError"] != true
    };
    assert!(ask("always"));
    notes.lists(&wipe("Removes all notes."));
    assert!(!ask("no"), "it was asked about again");
    assert_eq!(notes.received("tools/call"), 1);
}

#[test]
fn a_list_that_cannot_be_read_again_keeps_the_old_one_and_says_why() {
    let notes = Notes::stdio(json!({}));
    notes.seen_once();
    notes.dirs.write("lists.json", "broken");
    let mut client = notes.serve("direct");
    let refused = call(&mut client, "notes__read_note", json!({"title": "milk"}));
    assert_eq!(code(&refused), "REQUEST_INVALID");
    assert!(refused.to_string().contains("the list file is broken"), "{refused}");
    let unknown = call(&mut client, "notes__write_note", json!({}));
    assert!(unknown.to_string().contains("the list file is broken"), "{unknown}");
    assert_eq!(text(&call(&mut client, "notes__read_note", json!({"id": 1}))), r#"{"id":1}"#);
    assert_eq!(names(&mut client), ["notes__read_note"]);
    client.close();
}

#[test]
fn blocked_changes_let_no_call_pass_while_the_list_cannot_be_read() {
    let notes = Notes::stdio(json!({"pins": "block"}));
    notes.seen_once();
    notes.dirs.write("lists.json", "broken");
    let mut client = notes.serve("direct");
    let refused = call(&mut client, "notes__read_note", json!({"id": 1}));
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused.to_string().contains("the list file is broken"), "{refused}");
    assert_eq!(notes.received("tools/call"), 0);
    notes.lists(&json!({"tools": [read_note()]}));
    assert_eq!(text(&call(&mut client, "notes__read_note", json!({"id": 1}))), r#"{"id":1}"#);
    client.close();
}

#[test]
fn servers_over_http_are_asked_again_in_both_eras() {
    for era in [FakeEra::Legacy, FakeEra::Modern] {
        let notes = Notes::stdio(json!({}));
        let server = notes.plan(era).start_http();
        let entry =
            json!({"name": "Notes", "description": "A server of the test", "url": server.url});
        notes.configure(entry, json!({}));
        notes.seen_once();
        notes.lists(&json!({"tools": [read_note_by_title(), write_note()]}));
        let mut client = notes.serve("direct");
        assert_eq!(names(&mut client), ["notes__read_note"]);
        let by_title = call(&mut client, "notes__read_note", json!({"title": "milk"}));
        assert_eq!(text(&by_title), r#"{"title":"milk"}"#, "{era:?}");
        client.incoming(CHANGED);
        assert_eq!(names(&mut client), ["notes__read_note", "notes__write_note"]);
        client.close();
    }
}

#[test]
fn resources_and_prompts_that_are_new_are_found_as_well() {
    let notes = Notes::stdio(json!({}));
    notes.lists(&json!({}));
    let mut client = notes.serve("direct");
    assert_eq!(listed(&mut client, "prompts/list", "prompts", "name"), ["notes__greet"]);
    client.close();
    notes.lists(&json!({
        "resources": [{"uri": "fake://items/7", "name": "seven"}],
        "prompts": [{"name": "part", "description": "Says goodbye"}],
    }));

    let mut client = notes.serve("direct");
    assert_eq!(listed(&mut client, "prompts/list", "prompts", "name"), ["notes__greet"]);
    assert_eq!(listed(&mut client, "resources/list", "resources", "name").len(), 1);
    let got = client.request("prompts/get", json!({"name": "notes__part"}));
    assert!(got["result"]["messages"].is_array(), "{got}");
    client.incoming("notifications/prompts/list_changed");
    client.incoming("notifications/resources/list_changed");
    assert_eq!(listed(&mut client, "resources/list", "resources", "name").len(), 2);
    client.close();
}

#[test]
fn a_description_on_the_web_is_asked_for_again_at_first_use() {
    let dirs = TestDirs::new();
    let description = dirs.root().join("api.json");
    let operation = |name: &str| json!({"operationId": name, "parameters": [{"name": "by", "in": "query", "schema": {"type": "string"}}]});
    let write = |paths: Value| {
        let document =
            json!({"openapi": "3.0.3", "info": {"title": "Pets", "version": "1"}, "paths": paths});
        std::fs::write(&description, document.to_string()).unwrap();
    };
    write(json!({"/pets": {"get": operation("listPets")}}));
    let served = description.clone();
    let api = FakeApi::start(move |request| match request.target.as_str() {
        "/api.json" => FakeApiReply::json(
            &serde_json::from_slice::<Value>(&std::fs::read(&served).unwrap()).unwrap(),
        ),
        target => FakeApiReply::json(&json!({"target": target})),
    });
    let url = api.url();
    dirs.write_config(&json!({"openapiEndpoints": {"pets": {
        "name": "Pets", "description": "A store of pets.", "specUrl": format!("{url}/api.json"),
        "baseUrl": url, "auth": {"type": "none"}, "network": "private",
    }}}));
    let serve = || {
        let mut client = capdeck(&dirs).serve(&["--exposure", "direct"]);
        client.initialize();
        client
    };
    let mut client = serve();
    assert_eq!(names(&mut client), ["pets__listPets"]);
    client.close();
    write(json!({"/pets": {"get": operation("listPets"), "post": operation("addPet")}}));

    let mut client = serve();
    assert_eq!(names(&mut client), ["pets__listPets"]);
    call(&mut client, "pets__listPets", json!({}));
    client.incoming(CHANGED);
    assert_eq!(names(&mut client), ["pets__addPet", "pets__listPets"]);
    client.close();
}

#[test]
fn one_command_after_the_other_sees_the_change_as_well() {
    let notes = Notes::stdio(json!({}));
    run(&notes.dirs, &["check", "notes"]).success();
    notes.lists(&json!({"tools": [read_note(), write_note()]}));
    run(&notes.dirs, &["call", "notes", "read_note", "id=1"]).success();
    let shown = run(&notes.dirs, &["tools", "notes"]).success().stdout;
    assert!(shown.contains("write_note"), "{shown}");
}

#[test]
fn a_client_of_one_server_gets_a_change_that_the_server_did_not_announce() {
    let notes = Notes::stdio(json!({}));
    let mut client = capdeck(&notes.dirs).serve(&["--only", "notes"]);
    client.initialize();
    assert_eq!(names(&mut client), ["read_note"]);
    let refused = call(&mut client, "read_note", json!({"title": "milk"}));
    assert_eq!(code(&refused), "REQUEST_INVALID");
    notes.lists(&json!({"tools": [read_note_by_title()]}));
    assert_eq!(
        text(&call(&mut client, "read_note", json!({"title": "milk"}))),
        r#"{"title":"milk"}"#
    );
    client.incoming(CHANGED);
    client.close();
}
