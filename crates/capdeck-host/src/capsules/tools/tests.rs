//! The tools over a data folder: what a model sends, what it reads.

use capdeck_capsule::{CapsuleAuthor, WriteDurability};
use capdeck_catalog::Tool;
use serde_json::json;

use super::*;
use crate::GrantTools;
use crate::capsules::{CreateCapsuleRequest, LocalCapsuleService};

struct Setting {
    service: LocalCapsuleService,
    caller: CapsuleCaller,
    mount: CapsuleMount,
    _folder: tempfile::TempDir,
}

impl Setting {
    async fn with(capsules: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = capdeck_capsule::StoreOptions {
            durability: WriteDurability::Cached,
            ..capdeck_capsule::StoreOptions::default()
        };
        let service = LocalCapsuleService::open(folder.path(), options).await.unwrap();
        let caller = CapsuleCaller::local(CapsuleAuthor::client("tester").version("1"));
        for name in capsules {
            let (name, description) = ((*name).to_owned(), Some(format!("about {name}")));
            let create = CreateCapsuleRequest { name, description, visibility: None };
            service.ask(caller.request(None, create)).await.unwrap();
        }
        Self { service, caller, mount: CapsuleMount::default(), _folder: folder }
    }

    /// Calls a tool. What it takes and gives must be what its definition says.
    async fn call(&self, tool: CapsuleTool, arguments: Value) -> Value {
        let definition = tool.definition(&self.mount, GrantTools::None);
        check(&definition["inputSchema"], &arguments).unwrap();
        let result = self.call_anyhow(tool, arguments).await;
        if result["isError"] != true {
            check(&definition["outputSchema"], &result["structuredContent"]).unwrap();
        }
        result
    }

    async fn call_anyhow(&self, tool: CapsuleTool, arguments: Value) -> Value {
        let by = CapsuleToolContext {
            service: &self.service,
            caller: &self.caller,
            mount: &self.mount,
            grants: None,
        };
        let arguments = serde_json::value::to_raw_value(&arguments).unwrap();
        serde_json::from_str(tool.call(&by, Some(&arguments)).await.get()).unwrap()
    }

    async fn facts(&self, tool: CapsuleTool, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        assert_ne!(result["isError"], true, "{result}");
        result["structuredContent"].clone()
    }

    async fn error(&self, tool: CapsuleTool, arguments: Value) -> Value {
        let result = self.call_anyhow(tool, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        result["structuredContent"]["error"].clone()
    }
}

fn check(schema: &Value, value: &Value) -> Result<(), String> {
    let tool = json!({ "name": "x", "inputSchema": schema });
    let tool = Tool::new(serde_json::from_str(&tool.to_string()).unwrap()).unwrap();
    tool.argument_check().check(value).map_err(|problem| format!("{problem:?}"))
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn definitions_are_small_and_say_capsule_only_where_there_are_several() {
    let (free, bound) = (CapsuleMount::default(), CapsuleMount::bound("a", "A"));
    let listed_with = |mount: &CapsuleMount, grants: GrantTools| -> Vec<Value> {
        let offered = CapsuleTool::ALL.into_iter().filter(|tool| tool.is_offered(mount, grants));
        offered.map(|tool| tool.definition(mount, grants)).collect()
    };
    let listed = |mount: &CapsuleMount| listed_with(mount, GrantTools::None);
    assert_eq!(listed(&free).len(), 5);
    assert!(json!(listed(&free)).to_string().len() < 7_000, "every client pays for each word");
    let names: Vec<_> = listed(&bound).iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(
        json!(names),
        json!(["capsol_read", "capsol_write", "capsol_signal", "capsol_memory"])
    );
    assert!(!json!(listed(&bound)).to_string().contains("\"capsule\""));
    for tool in CapsuleTool::ALL {
        assert_eq!(CapsuleTool::named(tool.name()), Some(tool));
        let definition = tool.definition(&free, GrantTools::Manage);
        assert!(definition["inputSchema"]["properties"]["capsule"].is_object());
    }
    // A caller that cannot ask gets no hint how to.
    let said = |grants| json!(listed_with(&free, grants)).to_string();
    assert!(!said(GrantTools::None).contains("request_access"));
    assert!(said(GrantTools::Request).contains("request_access"));
    assert!(!said(GrantTools::Request).contains("capsol_manage"));
    assert!(said(GrantTools::Manage).contains("capsol_manage"));
    assert_eq!(listed_with(&bound, GrantTools::Manage).len(), 4);
}

#[tokio::test]
async fn an_entry_is_written_read_with_bands_listed_found_and_looked_back_on() {
    use CapsuleTool::{Read, Write};
    let setting = Setting::with(&["one"]).await;
    let body = "# Auth\n\nTokens are checked in `src/auth.ts`.\n";
    let written = setting.facts(Write, json!({"uri": "docs://auth", "content": body})).await;
    assert_eq!(
        written,
        json!({"uri": "docs://auth", "version": 1, "created": true,
            "risk_class": "specific_code", "promotion_reason": "file_anchor"})
    );
    let append = json!([{"op": "append", "text": "Tokens end after a day."}]);
    let patched = json!({"uri": "docs://auth", "patch": append, "if_version": 1});
    assert_eq!(setting.facts(Write, patched).await["version"], 2);

    let read = setting.call(Read, json!({"uri": "docs://auth"})).await;
    assert!(text(&read).starts_with("━━━ TRUST PREAMBLE ━━━\n"), "{read}");
    assert!(
        text(&read).contains("written_by: local\nclient: tester@1 (claimed)\n")
            && text(&read).contains("after a day")
    );
    let facts = &read["structuredContent"];
    assert_eq!((&facts["version"], &facts["file_anchors"]), (&json!(2), &json!(["src/auth.ts"])));
    assert_eq!(facts["body"], format!("{body}Tokens end after a day."));
    assert!(facts.get("text").is_none(), "once is enough: {facts}");
    let old = setting.facts(Read, json!({"uri": "docs://auth", "version": 1})).await;
    assert_eq!(old["body"], body);
    let meta = setting.call(Read, json!({"uri": "docs://auth", "format": "meta"})).await;
    assert!(meta["structuredContent"].get("body").is_none() && !text(&meta).contains("Tokens"));
    assert!(text(&meta).contains("src/auth.ts (unchecked)"), "{meta}");
    let history = setting.facts(Read, json!({"uri": "docs://auth", "format": "history"})).await;
    assert_eq!(history["versions"].as_array().unwrap().len(), 2);

    let list = setting.call(Read, json!({"list": {"scheme": "docs"}})).await;
    assert!(text(&list).starts_with("docs://auth v2 \"Auth\", specific_code, by local"), "{list}");
    let found = setting.call(Read, json!({"search": {"query": "tokens"}})).await;
    assert_eq!(found["structuredContent"]["hits"][0]["uri"], "docs://auth");
    assert!(text(&found).starts_with("1 found."), "{found}");
    let overview = setting.facts(Read, json!({})).await;
    assert_eq!(overview["recent"][0]["uri"], "docs://auth");
    assert!(
        overview["schemes"].as_array().unwrap().contains(&json!({"scheme": "docs", "entries": 1}))
    );
}

#[tokio::test]
async fn json_content_is_kept_as_it_was_sent() {
    let setting = Setting::with(&["one"]).await;
    let write = json!({"uri": "api-data://users", "content": {"z": [1, 2.50], "a": null}});
    setting.facts(CapsuleTool::Write, write).await;
    let read = setting.facts(CapsuleTool::Read, json!({"uri": "api-data://users"})).await;
    let kept: Value = serde_json::from_str(read["body"].as_str().unwrap()).unwrap();
    assert_eq!(kept, json!({"z": [1, 2.50], "a": null}));
    let text = json!({"uri": "api-data://users", "content": "{no json"});
    assert_eq!(setting.error(CapsuleTool::Write, text).await["code"], "invalid_json");
}

#[tokio::test]
async fn a_conflict_comes_with_the_current_version_and_a_fenced_proposal() {
    let setting = Setting::with(&["one"]).await;
    let write = |content: &str, version: u64| json!({"uri": "notes://plan", "content": content, "if_version": version});
    let fence = "━━━ END OF PROPOSAL ━━━";
    setting.facts(CapsuleTool::Write, write(&format!("a\nb\nc\nd\n{fence}\n"), 0)).await;
    setting.facts(CapsuleTool::Write, write(&format!("A\nb\nc\nd\n{fence}\n"), 1)).await;
    let result =
        setting.call(CapsuleTool::Write, write(&format!("a\nb\nc\nD\n{fence}\n"), 1)).await;
    let error = &result["structuredContent"]["error"];
    assert_eq!(error["code"], "version_conflict");
    assert_eq!(error["details"]["current_version"], 2);
    assert_eq!(error["details"]["proposal"]["text"], format!("A\nb\nc\nD\n{fence}\n"));
    let shown = text(&result);
    assert!(shown.contains("\nA\nb\nc\nD\n\\━━━ END"), "{shown}");
    assert_eq!(shown.lines().filter(|line| *line == fence).count(), 1, "{shown}");
    assert!(error["hint"].as_str().unwrap().starts_with("`proposal` has both"), "{error}");
    // Without one nothing points to it.
    let never = setting.error(CapsuleTool::Write, write("x", 9)).await;
    assert_eq!((&never["code"], &never["hint"]), (&json!("version_conflict"), &Value::Null));
    let twice = setting.call(CapsuleTool::Write, write("mine\n", 1)).await;
    assert!(text(&twice).contains("\n1 place to decide, "), "{twice}");
}

#[tokio::test]
async fn spec_26_12_explicit_then_mounted_then_the_only_one_then_a_choice() {
    use CapsuleTool::{Capsules, Read, Write};
    let setting = Setting::with(&["one"]).await;
    let write = |capsule: Option<&str>, uri: &str| match capsule {
        Some(capsule) => json!({"capsule": capsule, "uri": uri, "content": "x"}),
        None => json!({"uri": uri, "content": "x"}),
    };
    setting.facts(Write, write(None, "docs://only")).await;
    let create = |name: &str| CreateCapsuleRequest {
        name: name.to_owned(),
        description: None,
        visibility: None,
    };
    setting.service.ask(setting.caller.request(None, create("Two"))).await.unwrap();
    let error = setting.error(Write, write(None, "docs://which")).await;
    assert_eq!(error["code"], "capsule_required");
    let ids = error["details"]["capsules"].as_array().unwrap();
    assert_eq!(ids.iter().map(|one| one["id"].clone()).collect::<Vec<_>>(), ["one", "two"]);

    for name in ["two", "capsol://two", "TWO"] {
        let mounted = setting.facts(Capsules, json!({"action": "mount", "capsule": name})).await;
        assert_eq!(mounted["mounted"], "two");
    }
    setting.facts(Write, write(None, "docs://mounted")).await;
    setting.facts(Write, write(Some("capsol://one"), "docs://explicit")).await;
    let uris = async |capsule: &str| {
        let list = setting.facts(Read, json!({"capsule": capsule, "list": {}})).await;
        let entries = list["entries"].as_array().unwrap().clone();
        entries.iter().map(|entry| entry["uri"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(uris("one").await, ["docs://explicit", "docs://only"]);
    assert_eq!(uris("two").await, ["docs://mounted"]);
    let list = setting.call(Capsules, json!({"action": "list"})).await;
    assert_eq!(list["structuredContent"]["capsules"][0]["entries"], 2);
    assert!(text(&list).contains("- `one`, owner, 2 entries: about one"), "{list}");
    setting.facts(Capsules, json!({"action": "unmount"})).await;
    assert_eq!(setting.error(Read, json!({})).await["code"], "capsule_required");
    let unknown = setting.error(Capsules, json!({"action": "mount", "capsule": "three"})).await;
    assert_eq!(unknown, setting.error(Read, json!({"capsule": "three"})).await);
    assert_eq!(unknown["code"], "not_found");
}

#[tokio::test]
async fn at_the_endpoint_of_one_capsule_no_other_exists() {
    let mut setting = Setting::with(&["One", "two"]).await;
    setting.mount = CapsuleMount::bound("one", "One");
    let read = |capsule: &str| json!({"capsule": capsule});
    for name in ["one", "ONE", "capsol://one", "capsol://one/"] {
        let facts = setting.call_anyhow(CapsuleTool::Read, read(name)).await;
        assert_eq!(facts["structuredContent"]["capsule"], "one");
    }
    assert_eq!(setting.facts(CapsuleTool::Read, json!({})).await["capsule"], "one");
    let (other, none) = (
        setting.error(CapsuleTool::Read, read("two")).await.to_string(),
        setting.error(CapsuleTool::Read, read("owt")).await.to_string(),
    );
    assert_eq!(other.replace("two", "NAME"), none.replace("owt", "NAME"));
}

#[tokio::test]
async fn memory_is_kept_and_forgotten() {
    let setting = Setting::with(&["one"]).await;
    let call = async |arguments: Value| setting.facts(CapsuleTool::Memory, arguments).await;
    call(json!({"action": "set", "key": "branch", "value": "main"})).await;
    call(json!({"action": "set", "key": "editor", "value": "ed"})).await;
    assert_eq!(call(json!({"action": "get", "key": "branch"})).await["value"], "main");
    let found = call(json!({"action": "search", "query": "main"})).await;
    assert_eq!(found["items"], json!([{"key": "branch", "value": "main"}]));
    call(json!({"action": "delete", "key": "editor"})).await;
    assert_eq!(call(json!({"action": "list"})).await["items"].as_array().unwrap().len(), 1);
    let gone = setting.error(CapsuleTool::Memory, json!({"action": "get", "key": "editor"})).await;
    assert_eq!(gone["code"], "no_such_key");
}

#[tokio::test]
async fn signals_are_sent_polled_and_acknowledged() {
    let setting = Setting::with(&["one"]).await;
    setting.facts(CapsuleTool::Write, json!({"uri": "docs://a", "content": "x"})).await;
    let send =
        json!({"action": "send", "kind": "review.done", "text": "look\nat it", "uri": "docs://a"});
    let sent = setting.facts(CapsuleTool::Signal, send).await;
    let polled = setting.call(CapsuleTool::Signal, json!({"action": "poll"})).await;
    let lines: Vec<_> = text(&polled).lines().collect();
    assert!(
        lines[0].contains("entry.created docs://a v1 by local with tester@1 (claimed)"),
        "{polled}"
    );
    assert!(
        lines[1].ends_with("review.done docs://a by local with tester@1 (claimed): \"look at it\""),
        "{polled}"
    );
    let cursor = &polled["structuredContent"]["next_cursor"];
    assert_eq!(cursor, &sent["id"]);
    setting.facts(CapsuleTool::Signal, json!({"action": "ack", "cursor": cursor})).await;
    let again = setting.call(CapsuleTool::Signal, json!({"action": "poll"})).await;
    assert!(text(&again).starts_with("nothing new"), "{again}");
}

#[tokio::test]
async fn wrong_calls_say_what_is_wrong() {
    use CapsuleTool::{Memory, Read, Signal, Write};
    let setting = Setting::with(&["one"]).await;
    for (tool, arguments, code) in [
        (Read, json!({"uri": "docs://a", "list": {}}), "invalid_input"),
        (Read, json!({"version": 1}), "invalid_input"),
        (Read, json!({"uri": "docs://a", "format": "history", "version": 1}), "invalid_input"),
        (Read, json!({"url": "docs://a"}), "invalid_input"),
        (Read, json!({"list": {"schema": "docs"}}), "invalid_input"),
        (Read, json!({"search": {"words": "x"}}), "invalid_input"),
        (Read, json!({"list": {"cursor": "x"}}), "bad_cursor"),
        (Read, json!({"uri": "docs://../x"}), "invalid_uri"),
        (Read, json!({"uri": "nothing://x"}), "unknown_scheme"),
        (Read, json!([1]), "invalid_input"),
        (Write, json!({"uri": "docs://a"}), "invalid_input"),
        (Write, json!({"uri": "docs://a", "content": "x", "patch": []}), "invalid_input"),
        (Write, json!({"uri": "docs://a", "content": "x", "written_by": "root"}), "invalid_input"),
        (Write, json!({"uri": "docs://a", "content": "x", "risk_class": "none"}), "invalid_input"),
        (Signal, json!({"action": "send"}), "invalid_input"),
        (Signal, json!({"action": "ack"}), "invalid_input"),
        (Memory, json!({"action": "set", "key": "a"}), "invalid_input"),
        (Memory, json!({"action": "steal"}), "invalid_input"),
    ] {
        let error = setting.error(tool, arguments.clone()).await;
        assert_eq!(error["code"], code, "{arguments}: {error}");
    }
}
