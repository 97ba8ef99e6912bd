//! Who wrote something: the one who was let in, and beside it what their program calls itself.

use serde_json::{Value, json};

use super::registry::{Office, ask};

const AGENT: [(&str, &str); 1] = [("User-Agent", "root/9.9 (not really)")];

/// Who wrote an entry of `team`, and what their client called itself.
fn writer(office: &mut Office, place: &str) -> (Value, Value) {
    let path = format!("/v1/capsules/team/entries/{place}");
    let entry = office.as_owner().get(&path).is(200);
    let text = entry["text"].as_str().unwrap();
    let (by, client) = (entry["written_by"].as_str().unwrap(), entry["client"].as_str().unwrap());
    let lines = format!("\nwritten_by: {by}\nclient: {client} (claimed)\n");
    assert!(text.contains(&lines), "{text}");
    (entry["written_by"].clone(), entry["client"].clone())
}

#[test]
fn people_and_programs_are_named_as_this_host_knows_them() {
    let mut office = Office::new();
    let (ann, boss) = (office.person("Ann", "admin"), office.person("Boss", "admin"));
    office.as_owner().capsule("team");
    let write = |office: &mut Office, place: &str| {
        let path = format!("/v1/capsules/team/entries/{place}");
        office.api.json_with("PUT", &path, &AGENT, json!({"content": "x"})).is(201);
    };
    // A person with a key of their own; the name of their program does not matter.
    office.as_person(&ann);
    write(&mut office, "docs/ann");
    let (by, client) = writer(&mut office, "docs/ann");
    assert_eq!((by, client), (json!(format!("operator Ann ({})", ann.id)), json!("root@9.9")));
    // The owner with the host's key.
    office.as_owner();
    write(&mut office, "docs/owner");
    assert_eq!(writer(&mut office, "docs/owner"), (json!("admin"), json!("root@9.9")));
    // A program with a grant, over REST and over MCP.
    let filed = ask(office.as_person(&ann), "team", "writer");
    let path = format!("/v1/grants/{}", filed["id"].as_str().unwrap());
    office.as_person(&boss).json("POST", &format!("{path}/approve"), json!({})).is(200);
    let token =
        office.as_person(&ann).json("POST", &format!("{path}/connection"), json!({})).is(201);
    let program =
        json!(format!("client an agent of Ann ({})", token["principal"].as_str().unwrap()));
    let token = token["token"].as_str().unwrap().to_owned();
    office.api.sign_in(&token);
    write(&mut office, "docs/program");
    assert_eq!(writer(&mut office, "docs/program"), (program.clone(), json!("root@9.9")));
    let shared = json!({"name": "ci", "role": "writer"});
    let made = office.as_owner().json("POST", "/v1/capsules/team/connections", shared).is(201);
    let share = json!(format!("share ci ({})", made["principal"].as_str().unwrap()));
    let secret = made["token"].as_str().unwrap().to_owned();
    let key = super::stage::KEY;
    for (number, (token, path, by)) in [
        (token.as_str(), "/mcp", &program),
        (token.as_str(), "/mcp/team", &program),
        (secret.as_str(), "/mcp", &share),
        (secret.as_str(), "/mcp/team", &share),
        (key, "/mcp/team", &json!("admin")),
    ]
    .into_iter()
    .enumerate()
    {
        let mut client = office.api.served.client(path);
        client.headers.push(("Authorization".to_owned(), format!("Bearer {token}")));
        client.initialize();
        let uri = format!("notes://n{number}");
        let arguments = json!({"uri": uri, "content": "x"});
        let call = json!({"name": "capsol_write", "arguments": arguments});
        let done = client.request("tools/call", call);
        assert_eq!(done["result"]["structuredContent"]["version"], 1, "{done}");
        let (found, claimed) = writer(&mut office, &format!("notes/n{number}"));
        assert_eq!((&found, claimed), (by, json!("capdeck-test@0")), "{path}");
    }
    // The one who wrote versions, and the one who deleted an entry, is named in the same way.
    office.as_person(&ann).delete("/v1/capsules/team/entries/docs/ann").is(200);
    let deleted = office.as_owner().get("/v1/capsules/team/deleted").is(200);
    assert_eq!(deleted["items"][0]["deleted_by"], format!("operator Ann ({})", ann.id));
}
