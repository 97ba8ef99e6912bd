//! Entries on `/mcp`: after the deck's own resources and prompts, under names that say which capsule they are in.

use capdeck_definition::Exposure;
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use super::stage::{Stage, each, error, facts};
use crate::{modern_client::ModernClient, served::Setting};

const SKILL: &str = "---\nname: x\ndescription: Reviews a branch\narguments:\n  - name: branch\n    required: true\n    values: [main, maintenance, topic]\n---\nReview {{branch}}.\n";

fn filled() -> Stage {
    let stage = Stage::deck(&["team", "other"]);
    stage.write("team", "docs://api/users", "# Users\nAll of them.\n");
    stage.write("team", "skills://review/deep", SKILL);
    stage.write("other", "docs://api/users", "# Others\n");
    stage
}

#[test]
fn entries_of_all_capsules_are_resources_of_the_deck() {
    let stage = filled();
    let mut client = stage.served.client("/mcp");
    let hello = client.initialize();
    assert_eq!(hello["capabilities"]["resources"], json!({"subscribe": true, "listChanged": true}));
    assert_eq!(hello["capabilities"]["completions"], json!({}));
    let listed = client.request("resources/list", json!({}))["result"].clone();
    assert_eq!(
        each(&listed["resources"], "uri"),
        [
            "capsol://other/docs/api/users",
            "capsol://team/docs/api/users",
            "capsol://team/skills/review/deep"
        ]
    );
    assert_eq!(listed["resources"][0]["title"], "Others");
    assert_eq!(listed["nextCursor"], Value::Null);
    let read = client.request("resources/read", json!({"uri": "capsol://team/docs/api/users"}));
    let content = &read["result"]["contents"][0];
    let text = content["text"].as_str().unwrap();
    assert_eq!(content["uri"], "capsol://team/docs/api/users");
    assert!(text.starts_with("━━━ TRUST PREAMBLE ━━━\n") && text.contains("\nAll of them.\n"));
    let templates = client.request("resources/templates/list", json!({}))["result"].clone();
    let templates = each(&templates["resourceTemplates"], "uriTemplate");
    assert!(templates.contains(&"capsol://other/api-data/{+path}".to_owned()), "{templates:?}");
    assert!(templates.contains(&"capsol://team/docs/{+path}".to_owned()), "{templates:?}");
    assert!(!templates.contains(&"docs://{+path}".to_owned()), "nothing is mounted");
    // The trail of the capsule has the read like every other.
    let last = stage.audit("team").into_iter().rfind(|line| line["action"] == "read").unwrap();
    assert_eq!(last["uri"], "docs://api/users", "{last}");
}

#[test]
fn the_mounted_capsule_has_short_addresses_too() {
    let stage = filled();
    let mut client = stage.client("/mcp");
    let ambiguous = client.request("resources/read", json!({"uri": "docs://api/users"}));
    assert_eq!(ambiguous["error"]["code"], -32002, "{ambiguous}");
    let mount = json!({"action": "mount", "capsule": "other"});
    facts(&mut client, "capsules__capsol_capsules", mount);
    let read = client.request("resources/read", json!({"uri": "docs://api/users"}));
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("# Others"));
    let listed = client.request("resources/list", json!({}))["result"].clone();
    assert_eq!(
        each(&listed["resources"], "uri"),
        [
            "docs://api/users",
            "capsol://other/docs/api/users",
            "capsol://team/docs/api/users",
            "capsol://team/skills/review/deep"
        ]
    );
    let templates = client.request("resources/templates/list", json!({}))["result"].clone();
    assert!(
        each(&templates["resourceTemplates"], "uriTemplate").contains(&"docs://{+path}".to_owned())
    );
    let completed = client.request(
        "completion/complete",
        json!({"ref": {"type": "ref/resource", "uri": "docs://{+path}"}, "argument": {"name": "path", "value": "api/"}}),
    );
    assert_eq!(completed["result"]["completion"]["values"], json!(["api/users"]), "{completed}");
}

#[test]
fn the_only_capsule_needs_no_mount_and_modern_clients_read_the_same() {
    let stage = Stage::deck(&["team"]);
    stage.write("team", "docs://a", "one");
    let mut client = ModernClient::new(&stage.served, "/mcp", json!({}));
    for uri in ["docs://a", "capsol://team/docs/a"] {
        let read = client.request("resources/read", json!({"uri": uri}));
        assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("one"), "{read}");
    }
    let prompts = client.request("prompts/list", json!({}));
    assert_eq!(prompts["result"]["prompts"], json!([]));
    let missing = client.request("resources/read", json!({"uri": "capsol://team/docs/b"}));
    assert_eq!(missing["error"]["code"], -32602, "the modern code for what is not there");
}

#[test]
fn prompts_completions_and_skills_say_which_capsule_they_are_in() {
    let stage = filled();
    let mut client = stage.client("/mcp");
    let prompts = client.request("prompts/list", json!({}))["result"]["prompts"].clone();
    assert_eq!(each(&prompts, "name"), ["capsules__team.review.deep"]);
    assert_eq!(prompts[0]["description"], "Reviews a branch");
    let name = "capsules__team.review.deep";
    let got =
        client.request("prompts/get", json!({"name": name, "arguments": {"branch": "topic"}}));
    let text = got["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("Review topic.") && text.contains("PROVENANCE FOOTER"), "{text}");
    let incomplete = client.request("prompts/get", json!({"name": name}));
    assert_eq!(incomplete["error"]["code"], -32602, "{incomplete}");
    let wrong = client.request("prompts/get", json!({"name": "capsules__team.nothing"}));
    assert!(wrong["error"]["message"].as_str().unwrap().contains("no prompt"), "{wrong}");
    let mut complete = |reference: Value, name: &str, value: &str| {
        let argument = json!({"name": name, "value": value});
        client.request("completion/complete", json!({"ref": reference, "argument": argument}))
            ["result"]["completion"]["values"]
            .clone()
    };
    let of_prompt = json!({"type": "ref/prompt", "name": name});
    assert_eq!(complete(of_prompt, "branch", "mai"), json!(["main", "maintenance"]));
    let template = json!({"type": "ref/resource", "uri": "capsol://team/docs/{+path}"});
    assert_eq!(complete(template, "path", "a"), json!(["api/users"]));
    let skills = client.request("skills/list", json!({}))["result"]["skills"].clone();
    let uri = "skill://capsules/team/review-deep/SKILL.md";
    assert!(each(&skills, "uri").contains(&uri.to_owned()), "{skills}");
    let file = client.request("resources/read", json!({"uri": uri}))["result"].clone();
    let file = file["contents"][0]["text"].as_str().unwrap();
    assert!(file.contains("TRUST PREAMBLE") && file.contains("Review {{branch}}."), "{file}");
    let folder = json!({"uri": "skill://capsules/team/review-deep"});
    let folder = client.request("resources/directory/read", folder)["result"].clone();
    assert_eq!(each(&folder["resources"], "uri"), [uri]);
}

#[test]
fn a_long_list_goes_on_from_capsule_to_capsule() {
    let stage = Stage::deck(&["a", "b"]);
    for (capsule, entries) in [("a", 250), ("b", 3)] {
        for number in 0..entries {
            stage.write(capsule, &format!("notes://n{number:03}"), "x");
        }
    }
    let mut client = stage.client("/mcp");
    let (mut seen, mut cursor, mut pages) = (Vec::new(), Value::Null, 0);
    loop {
        let page = client.request("resources/list", json!({"cursor": cursor}))["result"].clone();
        seen.extend(each(&page["resources"], "uri"));
        pages += 1;
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let mut once = seen.clone();
    once.dedup();
    assert_eq!((seen.len(), once.len(), pages), (253, 253, 2));
    assert_eq!(seen.last().unwrap(), "capsol://b/notes/n002");
    for wrong in ["entries.named.nowhere.", "entries.", "entries.named.a.wrong", "else"] {
        let refused = client.request("resources/list", json!({"cursor": wrong}));
        assert_eq!(refused["error"]["code"], -32602, "{wrong}: {refused}");
    }
}

#[test]
fn what_is_no_entry_is_not_there() {
    let stage = filled();
    let mut client = stage.client("/mcp");
    for uri in [
        "capsol://",
        "capsol://team",
        "capsol://team/docs",
        "capsol://team/docs/",
        "capsol://team/docs/../../secret",
        "capsol://team/docs/%2e%2e/secret",
        "capsol://nowhere/docs/api/users",
        "capsol://team/unheard-of/x",
        "capsol:///docs/api/users",
        "skill://capsules/team/nothing/SKILL.md",
        "skill://capsules/nowhere/review-deep/SKILL.md",
    ] {
        let answer = client.request("resources/read", json!({"uri": uri}));
        assert_eq!(answer["error"]["code"], -32002, "{uri}: {answer}");
    }
}

#[test]
fn entries_stand_beside_those_of_servers_in_every_exposure_but_none() {
    let setting = Setting::of(&FakePlan::default()).exposure(Exposure::Direct);
    let stage = Stage::of(setting, &["team"]);
    stage.served.host.reload();
    stage.write("team", "docs://a", "x");
    stage.write("team", "skills://ask", "Ask.");
    let mut client = stage.client("/mcp");
    let resources = client.request("resources/list", json!({}))["result"]["resources"].clone();
    let listed = each(&resources, "uri");
    let (last, own) = listed.split_last_chunk::<2>().map(|(own, last)| (last, own)).unwrap();
    assert_eq!(last, &["capsol://team/docs/a", "capsol://team/skills/ask"]);
    assert!(!own.is_empty() && own.iter().all(|uri| uri.starts_with("caplets://fake/")), "{own:?}");
    let prompts = client.request("prompts/list", json!({}))["result"]["prompts"].clone();
    assert_eq!(each(&prompts, "name"), ["fake__greet", "capsules__team.ask"]);
    for exposure in [Exposure::Search, Exposure::CodeMode, Exposure::Progressive, Exposure::None] {
        let other = Stage::of(Setting::new().exposure(exposure), &["team"]);
        other.served.host.reload();
        other.write("team", "docs://a", "x");
        let mut client = other.client("/mcp");
        let resources = client.request("resources/list", json!({}))["result"]["resources"].clone();
        let read = client.request("resources/read", json!({"uri": "capsol://team/docs/a"}));
        if exposure == Exposure::None {
            assert_eq!(resources, json!([]));
            assert_eq!(read["error"]["code"], -32002, "{read}");
        } else {
            assert_eq!(each(&resources, "uri"), ["capsol://team/docs/a"], "{exposure:?}");
            assert!(read["result"]["contents"][0]["text"].is_string(), "{exposure:?}: {read}");
        }
    }
}

#[test]
fn who_may_not_read_entries_by_the_tool_has_none_as_resources() {
    let policy = json!([{"deny": {"capability": "capsules", "tool": "capsol_read"}}]);
    let setting = Setting::new().exposure(Exposure::Direct).config("policy", policy);
    let stage = Stage::of(setting, &["team"]);
    stage.served.host.reload();
    stage.write("team", "docs://a", "x");
    stage.write("team", "skills://s", "x");
    let mut client = stage.client("/mcp");
    let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
    assert!(each(&tools, "name").contains(&"capsules__capsol_memory".to_owned()), "{tools}");
    let refused = error(&mut client, "capsules__capsol_capsules", json!({"action": "x"}));
    assert!(refused["code"].is_string(), "the others work");
    for (method, key) in [("resources/list", "resources"), ("prompts/list", "prompts")] {
        assert_eq!(client.request(method, json!({}))["result"][key], json!([]), "{method}");
    }
    let read = client.request("resources/read", json!({"uri": "capsol://team/docs/a"}));
    assert_eq!(read["error"]["code"], -32002, "{read}");
    let skills = client.request("skills/list", json!({}))["result"]["skills"].clone();
    assert!(each(&skills, "uri").iter().all(|uri| !uri.contains("capsules")), "{skills}");
}

#[test]
fn a_host_without_capsules_is_as_it_was() {
    let served = Setting::of(&FakePlan::default()).exposure(Exposure::Direct).serve();
    let mut client = served.client("/mcp");
    client.initialize();
    let listed = client.request("resources/list", json!({}))["result"].clone();
    assert!(!listed["resources"].as_array().unwrap().is_empty());
    client.request("prompts/list", json!({}));
    client.request("resources/templates/list", json!({}));
    client.request("skills/list", json!({}));
    client.request("resources/subscribe", json!({"uri": "capsol://team/docs/a"}));
    let made = served.dirs.root().join("data").read_dir().map_or(0, Iterator::count);
    assert_eq!(made, 0, "nothing was opened");
}

#[test]
fn the_first_capsule_appears_without_a_new_session() {
    let served = Setting::new().exposure(Exposure::Direct).serve();
    let stage = Stage { served };
    let mut client = stage.client("/mcp");
    let resources = |client: &mut capdeck_test::HttpClient| {
        client.request("resources/list", json!({}))["result"]["resources"].clone()
    };
    assert_eq!(resources(&mut client), json!([]));
    stage.create("team");
    stage.write("team", "docs://a", "x");
    stage.served.host.reload();
    assert_eq!(each(&resources(&mut client), "uri"), ["capsol://team/docs/a"]);
}
