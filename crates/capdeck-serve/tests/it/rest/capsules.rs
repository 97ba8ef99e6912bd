//! Capsules and entries.

use serde_json::json;

use super::stage::{Api, each};

#[test]
fn a_capsule_is_made_found_changed_and_taken_away() {
    let mut api = Api::new();
    assert_eq!(api.get("/v1/capsules").is(200), json!({"items": [], "next_cursor": null}));
    let new = json!({"name": "Team Notes", "description": "what we know", "visibility": "team"});
    let made = api.json("POST", "/v1/capsules", new.clone()).is(201);
    assert_eq!((&made["id"], &made["role"]), (&json!("team-notes"), &json!("owner")));
    assert_eq!(made["mcp_path"], "/mcp/team-notes");
    api.json("POST", "/v1/capsules", new).fails(409, "exists");
    api.capsule("Other");
    assert_eq!(each(&api.get("/v1/capsules?q=KNOW").is(200), "id"), ["team-notes"]);
    assert_eq!(each(&api.get("/v1/capsules?visibility=private").is(200), "id"), ["other"]);
    api.get("/v1/capsules?visibility=secret").fails(400, "invalid_input");
    let shown = api.get("/v1/capsules/Team%20Notes");
    let tag = shown.reply.header("etag").unwrap().to_owned();
    assert_eq!(shown.is(200)["description"], "what we know");
    let same = api.send("GET", "/v1/capsules/team-notes", &[("If-None-Match", &tag)], b"");
    assert_eq!((same.status, same.reply.body.as_str()), (304, ""));
    let change = json!({"name": "Notes", "visibility": "private"});
    let changed = api.json("PATCH", "/v1/capsules/team-notes", change).is(200);
    assert_eq!((&changed["name"], &changed["owner"]), (&json!("Notes"), &json!(null)));
    api.json("PATCH", "/v1/capsules/team-notes", json!({"name": ""})).fails(400, "invalid_input");
    api.delete("/v1/capsules/team-notes").is(204);
    api.delete("/v1/capsules/team-notes").fails(404, "not_found");
    // What was kept aside can be removed for good, and what is there at once.
    for wrong in ["0", "false", "", "yes", "2"] {
        let refused = api.delete(&format!("/v1/capsules/team-notes?purge={wrong}"));
        refused.fails(400, "invalid_input");
    }
    api.delete("/v1/capsules/team-notes?purge=1").is(204);
    api.delete("/v1/capsules/team-notes?purge=1").fails(404, "not_found");
    api.delete("/v1/capsules/other?purge=true").is(204);
    api.delete("/v1/capsules/other?purge=true").fails(404, "not_found");
}

#[test]
fn entries_are_written_under_preconditions() {
    let mut api = Api::new();
    api.capsule("team");
    let path = "/v1/capsules/team/entries/docs/a/b";
    let first = api.json_with("PUT", path, &[("If-None-Match", "*")], json!({"content": "one"}));
    assert_eq!(first.reply.header("etag"), Some("\"1\""));
    assert_eq!(first.is(201)["uri"], "docs://a/b");
    let again = api.json_with("PUT", path, &[("If-None-Match", "*")], json!({"content": "two"}));
    assert_eq!(again.fails(412, "exists")["data"]["current_version"], 1);
    let second = api.json_with("PUT", path, &[("If-Match", "\"1\"")], json!({"content": "two"}));
    assert_eq!(second.is(200)["version"], 2);
    let stale = api.json_with("PUT", path, &[("If-Match", "\"1\"")], json!({"content": "three"}));
    let problem = stale.fails(412, "version_conflict");
    assert_eq!(problem["data"]["current_version"], 2);
    assert!(problem["data"]["proposal"]["text"].as_str().is_some(), "{problem}");
    // Without a precondition it replaces what is there, as the document says.
    api.json("PUT", path, json!({"content": "three"})).is(200);
    for bad in ["1", "\"x\"", "W/\"1\"", "*", "\"0\""] {
        let refused = api.json_with("PUT", path, &[("If-Match", bad)], json!({"content": "x"}));
        refused.fails(400, "invalid_input");
    }
    let both = [("If-Match", "\"1\""), ("If-None-Match", "*")];
    api.json_with("PUT", path, &both, json!({"content": "x"})).fails(400, "invalid_input");
    let read = api.get(path);
    assert_eq!(read.reply.header("etag"), Some("\"3\""));
    assert_eq!(read.is(200)["body"], "three");
    assert_eq!(api.send("GET", path, &[("If-None-Match", "\"3\"")], b"").status, 304);
    assert_eq!(api.get(&format!("{path}?version=1")).is(200)["body"], "one");
    api.get(&format!("{path}?version=9")).fails(404, "not_found");
    let steps = json!({"steps": [{"op": "replace", "find": "three", "with": "four"}]});
    api.json_with("PATCH", path, &[("If-Match", "\"1\"")], steps.clone())
        .fails(412, "version_conflict");
    assert_eq!(api.json("PATCH", path, steps.clone()).is(200)["version"], 4);
    api.json("PATCH", path, steps).fails(400, "patch_failed");
    api.json("PATCH", path, json!({"steps": []})).fails(400, "invalid_input");
    api.send("DELETE", path, &[("If-Match", "\"1\"")], b"").fails(412, "version_conflict");
    assert_eq!(api.delete(path).is(200)["version"], 4);
    api.get(path).fails(404, "not_found");
    let deleted = api.get("/v1/capsules/team/deleted").is(200);
    assert_eq!(each(&deleted, "uri"), ["docs://a/b"]);
    let restore = "/v1/capsules/team/restore/docs/a/b";
    api.json("POST", restore, json!({"version": 1})).is(200);
    assert_eq!(api.get(path).is(200)["body"], "one");
    let history = api.get("/v1/capsules/team/history/docs/a/b").is(200);
    assert!(history["items"].as_array().unwrap().len() >= 4, "{history}");
    let diff = api.get("/v1/capsules/team/diff/docs/a/b?from=1&to=2").is(200);
    assert!(diff["diff"].as_str().unwrap().contains("+two"), "{diff}");
}

#[test]
fn addresses_that_lead_elsewhere_are_refused() {
    let mut api = Api::new();
    api.capsule("team");
    for bad in ["docs/%2e%2e/x", "docs/a%2F%2Fb", "docs/a%00b", "DOCS/a", "docs/_x", "nothing/a"] {
        let refused = api.entry("team", bad, "x");
        assert_eq!(refused.status, 400, "{bad}: {}", refused.reply.body);
    }
    api.entry("team", "docs/a%2Fb", "x").is(201);
    assert_eq!(api.get("/v1/capsules/team/entries/docs/a/b").is(200)["uri"], "docs://a/b");
}

#[test]
fn pages_go_on_where_they_ended_and_belong_to_their_list() {
    let mut api = Api::new();
    api.capsule("team");
    for number in 0..5 {
        api.entry("team", &format!("docs/{number}"), &format!("entry number {number}")).is(201);
    }
    let path = "/v1/capsules/team/entries?scheme=docs";
    let mut found = Vec::new();
    let mut next = format!("{path}&limit=2");
    loop {
        let page = api.get(&next).is(200);
        found.extend(each(&page, "uri"));
        match page["next_cursor"].as_str() {
            Some(cursor) => next = format!("{path}&limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(found, ["docs://0", "docs://1", "docs://2", "docs://3", "docs://4"]);
    let cursor = api.get(&format!("{path}&limit=2")).is(200)["next_cursor"].clone();
    let cursor = cursor.as_str().unwrap();
    api.get(&format!("/v1/capsules/team/entries?cursor={cursor}")).fails(400, "bad_cursor");
    api.get(&format!("/v1/capsules?cursor={cursor}")).fails(400, "bad_cursor");
    let hits = api.get("/v1/capsules/team/search?q=number&limit=3").is(200);
    assert_eq!((hits["items"].as_array().unwrap().len(), &hits["total"]), (3, &json!(5)));
    api.get("/v1/capsules/team/search").fails(400, "invalid_input");
    for number in 0..3 {
        api.capsule(&format!("c{number}"));
    }
    let first = api.get("/v1/capsules?limit=2").is(200);
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = api.get(&format!("/v1/capsules?limit=2&cursor={cursor}")).is(200);
    assert_eq!([each(&first, "id"), each(&second, "id")].concat(), ["c0", "c1", "c2", "team"]);
}

#[test]
fn schemes_signals_connections_and_logs() {
    let mut api = Api::new();
    api.capsule("team");
    let scheme = json!({"name": "runbooks", "title": "Runbooks", "format": "text"});
    let added = api.json("POST", "/v1/capsules/team/schemes", scheme.clone()).is(201);
    assert_eq!((&added["format"], &added["origin"]), (&json!("text"), &json!("capsule")));
    api.json("POST", "/v1/capsules/team/schemes", scheme).fails(400, "invalid_scheme");
    api.entry("team", "runbooks/a", "x").is(201);
    api.delete("/v1/capsules/team/schemes/runbooks").fails(409, "scheme_in_use");
    api.delete("/v1/capsules/team/entries/runbooks/a").is(200);
    let signal = json!({"kind": "done", "text": "it works"});
    api.json("POST", "/v1/capsules/team/signals", signal).is(201);
    let signals = api.get("/v1/capsules/team/signals?kind=done").is(200);
    assert_eq!(each(&signals, "text"), ["it works"]);
    let share = json!({"name": "ci", "role": "reader", "uri_prefixes": ["docs://"]});
    let share = api.json("POST", "/v1/capsules/team/connections", share).is(201);
    assert!(share["token"].as_str().unwrap().starts_with("cap_sh_"));
    let listed = api.get("/v1/capsules/team/connections");
    assert!(!listed.reply.body.contains(share["token"].as_str().unwrap()), "announced once");
    assert_eq!(each(&listed.is(200), "name"), ["ci"]);
    api.capsule("other");
    let id = share["id"].as_str().unwrap();
    api.delete(&format!("/v1/capsules/other/connections/{id}")).fails(404, "not_found");
    api.delete(&format!("/v1/capsules/team/connections/{id}")).is(204);
    let log = api.get("/v1/capsules/team/logs?action=write").is(200);
    assert_eq!(each(&log, "action"), ["write.replace"], "as it was asked for");
    assert_eq!(log["items"][0]["agent"], "unnamed client", "the program does not say what it is");
    api.get("/v1/capsules/team/logs?outcome=fine").fails(400, "invalid_input");
    api.get("/v1/capsules/team/logs?since=yesterday").fails(400, "invalid_input");
}

#[test]
fn a_post_under_a_key_is_done_once() {
    let mut api = Api::new();
    let key = [("Idempotency-Key", "k1")];
    let new = json!({"name": "team"});
    let first = api.json_with("POST", "/v1/capsules", &key, new.clone());
    let again = api.json_with("POST", "/v1/capsules", &key, new);
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(first.json, again.json);
    assert_eq!(again.reply.header("idempotency-replayed"), Some("true"));
    assert_ne!(first.reply.header("x-request-id"), again.reply.header("x-request-id"));
    assert_eq!(again.reply.header("original-request"), first.reply.header("x-request-id"));
    let other = json!({"name": "other"});
    api.json_with("POST", "/v1/capsules", &key, other.clone()).fails(422, "idempotency_key_reused");
    let long = "x".repeat(129);
    api.json_with("POST", "/v1/capsules", &[("Idempotency-Key", &long)], other)
        .fails(400, "invalid_input");
    assert_eq!(api.get("/v1/capsules").is(200)["items"].as_array().unwrap().len(), 1);
    // A problem that is repeated names the request that it answers, like every other, and beside it the first one.
    let taken = |api: &mut Api| {
        let key = [("Idempotency-Key", "k2")];
        api.json_with("POST", "/v1/capsules", &key, json!({"name": "TEAM"}))
    };
    let (first, again) = (taken(&mut api), taken(&mut api));
    let (reported, repeated) = (first.fails(409, "exists"), again.fails(409, "exists"));
    assert_eq!(reported["detail"], repeated["detail"]);
    assert_ne!(reported["request_id"], repeated["request_id"]);
    assert_eq!(again.reply.header("original-request"), reported["request_id"].as_str());
    assert_eq!(again.reply.header("idempotency-replayed"), Some("true"));
    assert_eq!(first.reply.header("original-request"), None);
    let path = "/v1/capsules/team/entries/docs/a";
    let write = json!({"content": "one"});
    api.json_with("PUT", path, &key, write.clone()).is(201);
    assert_eq!(api.json_with("PUT", path, &key, write).is(201)["repeated"], true);
}
