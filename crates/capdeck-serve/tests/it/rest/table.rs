//! What holds for every operation, walked by the document itself.

use serde_json::{Value, json};

use super::stage::{Api, KEY};
use crate::served::Setting;

/// Every operation of the document: method, a path with its places filled, and what is informed about it.
fn operations(api: &mut Api) -> Vec<(String, String, Value)> {
    let document = api.get("/v1/openapi.json").is(200);
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let filled: String =
            path.split('/').map(|part| if part.starts_with('{') { "x" } else { part }).fold(
                String::new(),
                |path, part| if part.is_empty() { path } else { format!("{path}/{part}") },
            );
        for (method, reported) in item.as_object().unwrap() {
            all.push((method.to_ascii_uppercase(), filled.clone(), reported.clone()));
        }
    }
    assert!(all.len() > 40, "{}", all.len());
    all
}

/// The query that the operation cannot do without.
fn with_required(path: &str, reported: &Value) -> String {
    let parameters = reported["parameters"].as_array().unwrap();
    let needed = parameters.iter().filter(|one| one["in"] == "query" && one["required"] == true);
    let pairs: Vec<String> = needed
        .map(|one| {
            let value = if one["schema"]["type"] == "integer" { "1" } else { "x" };
            format!("{}={value}", one["name"].as_str().unwrap())
        })
        .collect();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
}

/// Whether the operation is for those who were not let in, too.
fn is_open(reported: &Value) -> bool {
    reported["description"].as_str().unwrap().contains("Who may: Everyone, without authentication.")
}

fn takes_json(reported: &Value) -> bool {
    reported["requestBody"]["content"]["application/json"].is_object()
}

#[test]
fn no_one_gets_in_without_the_key() {
    let mut api = Api::of(Setting::new().key(KEY)).with_token(KEY);
    let all = operations(&mut api);
    let mut open = 0;
    for (method, path, reported) in all {
        if is_open(&reported) {
            open += 1;
            continue;
        }
        let path = with_required(&path, &reported);
        api.sign_out();
        let refused = api.send(&method, &path, &[], b"");
        refused.fails(401, "unauthenticated");
        assert!(refused.reply.header("www-authenticate").is_some(), "{method} {path}");
        // A wrong key is refused as well, and has to wait after a while.
        api.sign_in("nonsense");
        let refused = api.send(&method, &path, &[], b"");
        assert!(matches!(refused.status, 401 | 429), "{method} {path}: {}", refused.status);
    }
    assert_eq!(open, 3, "only signing up is open to strangers");
}

#[test]
fn a_share_opens_nothing_here() {
    let mut api = Api::of(Setting::new().key(KEY)).with_token(KEY);
    api.capsule("team");
    let share = json!({"name": "guest", "role": "owner"});
    let share = api.json("POST", "/v1/capsules/team/connections", share).is(201);
    let all = operations(&mut api);
    api.sign_in(share["token"].as_str().unwrap());
    for (method, path, reported) in all.into_iter().filter(|(_, _, reported)| !is_open(reported)) {
        let refused = api.send(&method, &with_required(&path, &reported), &[], b"");
        refused.fails(403, "forbidden");
    }
}

#[test]
fn unknown_methods_paths_and_parameters_are_reported() {
    let mut api = Api::new();
    let all = operations(&mut api);
    for (method, path, reported) in &all {
        let wrong = api.send("BREW", path, &[], b"");
        wrong.fails(405, "method_not_allowed");
        let allow = wrong.reply.header("allow").unwrap_or_default();
        assert!(allow.split(", ").any(|one| one == method), "{method} {path}: {allow}");
        let path = with_required(path, reported);
        let mark = if path.contains('?') { '&' } else { '?' };
        let unknown = api.send(method, &format!("{path}{mark}nonsense=1"), &[], b"");
        let detail = unknown.fails(400, "invalid_input")["detail"].to_string();
        assert!(detail.contains("`nonsense`"), "{detail}");
    }
    api.get("/v1/nonsense").fails(404, "not_found");
    api.get("/v1").fails(404, "not_found");
    let twice = api.get("/v1/capsules?limit=1&limit=2");
    assert!(twice.fails(400, "invalid_input")["detail"].to_string().contains("`limit`"));
    for bad in ["limit=0", "limit=201", "limit=x", "limit=-1", "counts=maybe", "cursor=x"] {
        let refused = api.get(&format!("/v1/capsules?{bad}"));
        assert_eq!(refused.status, 400, "{bad}: {}", refused.reply.body);
    }
}

#[test]
fn bodies_that_do_not_fit_are_refused() {
    let mut api = Api::new();
    let large = format!("{{\"x\": \"{}\"}}", "x".repeat(1024 * 1024));
    for (method, path, reported) in operations(&mut api) {
        let path = with_required(&path, &reported);
        if !takes_json(&reported) {
            continue;
        }
        let typed = [("Content-Type", "application/json")];
        api.send(&method, &path, &[("Content-Type", "text/plain")], b"{}")
            .fails(415, "unsupported_media_type");
        api.send(&method, &path, &typed, b"{").fails(400, "invalid_input");
        api.send(&method, &path, &typed, b"[]").fails(400, "invalid_input");
        api.send(&method, &path, &typed, large.as_bytes()).fails(413, "too_large");
        let unknown = api.send(&method, &path, &typed, b"{\"nonsense\": 1}");
        let detail = unknown.fails(400, "invalid_input")["detail"].to_string();
        assert!(detail.contains("nonsense"), "{method} {path}: {detail}");
    }
    api.send("DELETE", "/v1/capsules/x", &[], b"{}").fails(400, "invalid_input");
}

#[test]
fn what_is_not_there_is_not_found() {
    let mut api = Api::new();
    api.capsule("team");
    for path in [
        "/v1/capsules/nobody",
        "/v1/capsules/nobody/entries",
        "/v1/capsules/team/entries/docs/nothing",
        "/v1/capsules/team/history/docs/nothing",
        "/v1/deck/capabilities/nothing",
        "/v1/deck/capabilities/nothing/tools",
        "/v1/deck/runs/nothing",
        "/v1/deck/artifacts/a/b/c",
    ] {
        let missing = api.get(path);
        assert_eq!(missing.status, 404, "{path}: {}", missing.reply.body);
        assert_eq!(missing.reply.header("content-type"), Some("application/problem+json"));
    }
}

#[test]
fn generators_of_clients_find_what_they_know() {
    let document = Api::new().get("/v1/openapi.json").is(200);
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for name in schemas.keys() {
        // Two types of one name are distinguished by a number, which says nothing to the reader of a client.
        assert!(!name.ends_with(|letter: char| letter.is_ascii_digit()), "{name}");
    }
    let mut open = vec![("".to_owned(), &document)];
    while let Some((place, value)) = open.pop() {
        match value {
            Value::Object(members) => {
                let schemas = members.get("properties").and_then(Value::as_object);
                let schemas = schemas.into_iter().flat_map(|all| all.values());
                let schemas = schemas.chain(members.get("items"));
                assert!(schemas.into_iter().all(|schema| !schema.is_boolean()), "{place}");
                open.extend(members.iter().map(|(name, one)| (format!("{place}/{name}"), one)));
            }
            Value::Array(all) => open.extend(all.iter().map(|one| (place.clone(), one))),
            _ => {}
        }
    }
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            let answers = operation["responses"].as_object().unwrap().values();
            for part in answers.chain([&operation["requestBody"]]) {
                for content in part["content"].as_object().into_iter().flat_map(|all| all.values())
                {
                    assert!(content["schema"].is_object(), "{}", operation["operationId"]);
                }
            }
        }
    }
}
