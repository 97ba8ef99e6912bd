//! `/mcp/<capsule>`: tools, resources, templates, prompts, completions, skills.

use capdeck_host::{AddSchemeRequest, DeleteCapsuleRequest, Scheme, WriteBlob, WriteRequest};
use serde_json::json;

use super::stage::{Stage, call, each, facts};
use crate::modern_client::ModernClient;

const SKILL: &str = "---\nname: x\ndescription: Reviews a branch\narguments:\n  - name: branch\n    required: true\n    values: [main, maintenance, topic]\n---\nReview {{branch}}.\n";

fn filled() -> Stage {
    let stage = Stage::with(&["Team", "other"]);
    stage.write("team", "docs://api/users", "# Users\nAll of them.\n");
    stage.write("team", "docs://api/teams", "# Teams\n");
    stage.write("team", "skills://review", SKILL);
    stage.write("other", "docs://elsewhere", "x");
    stage
}

#[test]
fn it_says_what_it_is_and_offers_four_tools() {
    let stage = filled();
    let mut client = stage.served.client("/mcp/Team");
    let hello = client.initialize();
    assert_eq!(hello["serverInfo"]["title"], "Capsule Team");
    let reported = hello["instructions"].as_str().unwrap();
    assert!(
        reported.starts_with("`Team`: what Team is about\n") && reported.contains("You are owner.")
    );
    assert!(reported.len() < 900, "every client pays for it: {}", reported.len());
    assert_eq!(hello["capabilities"]["resources"], json!({"subscribe": true, "listChanged": true}));
    let listed = client.request("tools/list", json!({}));
    assert_eq!(
        each(&listed["result"]["tools"], "name"),
        ["capsol_read", "capsol_write", "capsol_signal", "capsol_memory"]
    );
    let found = facts(&mut client, "capsol_read", json!({"search": {"query": "users"}}));
    assert_eq!(each(&found["hits"], "uri"), ["docs://api/users"]);
    let unknown = client.request("tools/call", json!({"name": "capsol_capsules", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602);
    assert_eq!(client.request("logging/setLevel", json!({}))["error"]["code"], -32601);
}

#[test]
fn entries_are_resources_with_bands_templates_and_completions() {
    let stage = filled();
    let mut client = stage.client("/mcp/team");
    let listed = client.request("resources/list", json!({}))["result"].clone();
    assert_eq!(
        each(&listed["resources"], "uri"),
        ["docs://api/teams", "docs://api/users", "skills://review"]
    );
    assert_eq!(listed["resources"][1]["title"], "Users");
    let read = client.request("resources/read", json!({"uri": "docs://api/users"}));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("━━━ TRUST PREAMBLE ━━━\n") && text.contains("\nwritten_by: local\n"));
    let templates = client.request("resources/templates/list", json!({}))["result"].clone();
    let templates = each(&templates["resourceTemplates"], "uriTemplate");
    assert_eq!(templates.len(), 6);
    assert!(templates.contains(&"api-data://{+path}".to_owned()), "{templates:?}");
    let mut complete = |template: &str, value: &str| {
        client.request(
            "completion/complete",
            json!({"ref": {"type": "ref/resource", "uri": template},
                "argument": {"name": "path", "value": value}}),
        )
    };
    let values = |answer: serde_json::Value| answer["result"]["completion"]["values"].clone();
    assert_eq!(values(complete("docs://{+path}", "")), json!(["api/teams", "api/users"]));
    assert_eq!(values(complete("docs://{+path}", "api/u")), json!(["api/users"]));
    assert_eq!(values(complete("docs://{+path}", "../")), json!([]));
    assert_eq!(complete("docs://api", "")["error"]["code"], -32602);
}

#[test]
fn a_binary_payload_comes_beside_its_bands() {
    let stage = filled();
    let blob = WriteBlob::Bytes { data: "AAEC/w==".to_owned(), mime: "image/png".to_owned() };
    let write = WriteRequest {
        uri: "docs://logo".to_owned(),
        content: Some("Our logo".to_owned()),
        blob: Some(blob),
        ..WriteRequest::default()
    };
    stage.ask(Some("team"), write).unwrap();
    let mut client = stage.client("/mcp/team");
    let read = client.request("resources/read", json!({"uri": "docs://logo"}));
    let contents = read["result"]["contents"].as_array().unwrap();
    assert!(contents[0]["text"].as_str().unwrap().contains("Our logo"));
    let expected = json!({"uri": "docs://logo", "mimeType": "image/png", "blob": "AAEC/w=="});
    assert_eq!(contents[1], expected);
}

#[test]
fn a_long_list_comes_in_pages() {
    let stage = Stage::with(&["team"]);
    for number in 0..230 {
        stage.write("team", &format!("notes://n{number:03}"), "x");
    }
    let mut client = stage.client("/mcp/team");
    let first = client.request("resources/list", json!({}))["result"].clone();
    let next = client.request("resources/list", json!({"cursor": first["nextCursor"]}));
    let mut seen = each(&first["resources"], "uri");
    seen.extend(each(&next["result"]["resources"], "uri"));
    assert_eq!(seen.len(), 230);
    assert!(next["result"].get("nextCursor").is_none());
    let wrong = client.request("resources/list", json!({"cursor": "x"}));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
}

#[test]
fn skills_and_prompt_sources_are_prompts() {
    let stage = filled();
    let scheme = Scheme { prompt_source: true, ..Scheme::named("runbooks") };
    stage.ask(Some("team"), AddSchemeRequest { scheme }).unwrap();
    stage.write("team", "runbooks://deploy", "# Deploy\nCarefully.");
    let mut client = stage.client("/mcp/team");
    let listed = client.request("prompts/list", json!({}))["result"]["prompts"].clone();
    assert_eq!(each(&listed, "name"), ["review", "deploy"]);
    assert_eq!(listed[0]["description"], "Reviews a branch");
    assert_eq!(listed[0]["arguments"][0]["required"], true);
    let get = json!({"name": "review", "arguments": {"branch": "topic"}});
    let got = client.request("prompts/get", get)["result"].clone();
    let text = got["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("\nReview topic.\n") && text.contains("PROVENANCE FOOTER"), "{text}");
    for wrong in [json!({"name": "review"}), json!({"name": "nobody"}), json!({})] {
        assert_eq!(
            client.request("prompts/get", wrong.clone())["error"]["code"],
            -32602,
            "{wrong}"
        );
    }
    let mut complete = |value: &str| {
        let answer = client.request(
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "review"},
                "argument": {"name": "branch", "value": value}}),
        );
        answer["result"]["completion"]["values"].clone()
    };
    assert_eq!(complete("mai"), json!(["main", "maintenance"]));
    assert_eq!(complete("docs://api/t"), json!(["docs://api/teams"]));
}

#[test]
fn skills_are_files_that_keep_what_their_digest_promises() {
    let stage = filled();
    let mut client = stage.client("/mcp/team");
    let skills = client.request("skills/list", json!({}))["result"]["skills"].clone();
    let uri = "skill://review/SKILL.md";
    assert_eq!(each(&skills, "uri"), [uri]);
    assert_eq!(skills[0]["frontmatter"]["name"], "review");
    let read = client.request("resources/read", json!({"uri": uri}))["result"].clone();
    let text = read["contents"][0]["text"].as_str().unwrap();
    let promised = &skills[0]["resources"][0];
    assert_eq!(promised["size"], text.len());
    assert_eq!(promised["digest"], format!("sha256:{}", capdeck_storage::sha256_hex(text)));
    assert!(text.contains("TRUST PREAMBLE"), "{text}");
    assert_eq!(client.request("skills/get", json!({"uri": uri}))["result"]["skill"], skills[0]);
    let folder = client.request("resources/directory/read", json!({"uri": "skill://review"}));
    assert_eq!(folder["result"]["resources"][0]["uri"], uri);
    for (method, uri, code) in [
        ("skills/get", "skill://nobody/SKILL.md", -32602),
        ("resources/read", "skill://nobody/SKILL.md", -32002),
        ("resources/directory/read", "skill://nobody", -32602),
    ] {
        assert_eq!(client.request(method, json!({"uri": uri}))["error"]["code"], code, "{method}");
    }
}

#[test]
fn modern_clients_are_answered_the_same() {
    let stage = filled();
    let mut client = ModernClient::new(&stage.served, "/mcp/team", json!({}));
    let about = client.request("server/discover", json!({}))["result"].clone();
    assert_eq!(about["capabilities"]["prompts"], json!({"listChanged": true}), "{about}");
    let write = json!({"uri": "notes://mine", "content": "# Mine\n"});
    let written = client.request("tools/call", json!({"name": "capsol_write", "arguments": write}));
    assert_eq!(written["result"]["structuredContent"]["version"], 1, "{written}");
    let read = client.request("resources/read", json!({"uri": "notes://mine"}));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("written_by: local\nclient: modern@1 (claimed)\n"), "{text}");
    let missing = client.request("resources/read", json!({"uri": "notes://none"}));
    assert_eq!(missing["error"]["code"], -32602, "{missing}");
    let mut owner = stage.client("/mcp/team");
    let missing = owner.request("resources/read", json!({"uri": "notes://none"}));
    assert_eq!(missing["error"]["code"], -32002, "{missing}");
    assert_eq!(call(&mut owner, "capsol_read", json!({}))["isError"], json!(null));
}

#[test]
fn a_capsule_that_is_not_there_has_no_endpoint() {
    let stage = filled();
    for (method, body) in [("POST", "{}"), ("GET", ""), ("DELETE", "")] {
        let headers = [("Content-Type", "application/json")];
        let reply =
            stage.served.client("/mcp/none").send(method, "/mcp/none", &headers, body.as_bytes());
        assert_eq!((reply.status, reply.body.as_str()), (404, "there is no capsule `none`\n"));
    }
    let mut client = stage.client("/mcp/other");
    stage.ask(Some("other"), DeleteCapsuleRequest).unwrap();
    let reply = client.post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert_eq!(reply.status, 404, "{reply:?}");
}
