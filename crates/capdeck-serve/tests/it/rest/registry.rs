//! Operators, requests for access, grants, and what each of them may see.

use serde_json::{Value, json};

use super::stage::{Api, KEY, each};
use crate::served::Setting;

/// A host with a registry and some people.
pub(super) struct Office {
    pub(super) api: Api,
}

impl Office {
    pub(super) fn new() -> Self {
        Self { api: Api::of(Setting::new().key(KEY).registry()).with_token(KEY) }
    }

    /// The key of a new person.
    pub(super) fn person(&mut self, name: &str, role: &str) -> Person {
        self.api.sign_in(KEY);
        let made =
            self.api.json("POST", "/v1/operators", json!({"name": name, "role": role})).is(201);
        let text = |key: &str| made[key].as_str().unwrap().to_owned();
        Person { id: text("id"), key: text("key") }
    }

    pub(super) fn as_person(&mut self, person: &Person) -> &mut Api {
        self.api.sign_in(&person.key);
        &mut self.api
    }

    pub(super) fn as_owner(&mut self) -> &mut Api {
        self.api.sign_in(KEY);
        &mut self.api
    }
}

pub(super) struct Person {
    pub(super) id: String,
    pub(super) key: String,
}

pub(super) fn ask(api: &mut Api, capsule: &str, role: &str) -> Value {
    let path = format!("/v1/capsules/{capsule}/access-requests");
    api.json("POST", &path, json!({"role": role, "reason": "to read on"})).is(201)
}

#[test]
fn item_20_approval_cannot_widen_and_members_decide_about_their_own_only() {
    let mut office = Office::new();
    let (ann, ben) = (office.person("Ann", "member"), office.person("Ben", "member"));
    let cleo = office.person("Cleo", "approver");
    let api = office.as_person(&ann);
    let made =
        api.json("POST", "/v1/capsules", json!({"name": "anns", "visibility": "team"})).is(201);
    assert_eq!(made["owner"], ann.id);
    let api = office.as_person(&ben);
    let filed = ask(api, "anns", "reader");
    assert_eq!((&filed["status"], &filed["may_decide"]), (&json!("pending"), &json!(false)));
    let path = format!("/v1/grants/{}", filed["id"].as_str().unwrap());
    let approve = format!("{path}/approve");
    let refused = api.json("POST", &approve, json!({}));
    assert_eq!(refused.status, 403, "{}", refused.reply.body);
    assert!(
        each(&api.get("/v1/grants").is(200), "id").is_empty(),
        "nothing of it is Ben's to decide"
    );
    assert_eq!(each(&api.get("/v1/grants?mine=true").is(200), "status"), ["pending"]);
    let api = office.as_person(&ann);
    assert_eq!(each(&api.get("/v1/grants?status=pending").is(200), "id").len(), 1);
    api.json("POST", &approve, json!({"role": "writer"})).fails(409, "widens");
    api.json("POST", &approve, json!({"scopes": ["capsule:admin"]})).fails(409, "widens");
    api.json("POST", &approve, json!({"scopes": ["nonsense"]})).fails(400, "invalid_input");
    api.json("POST", &approve, json!({"tools": ["a/b"]})).fails(400, "invalid_input");
    let narrow = json!({"uri_prefixes": ["docs://team"], "note": "only these"});
    let approved = api.json("POST", &approve, narrow).is(200);
    assert_eq!(approved["status"], "approved");
    assert_eq!(approved["grant"]["target"]["uri_prefixes"], json!(["docs://team"]));
    api.json("POST", &approve, json!({})).fails(409, "wrong_state");
    let connections = api.get("/v1/capsules/anns/connections").is(200);
    assert_eq!(each(&connections, "kind"), ["grant"]);
    // Ben's agent gets its token, reads what it was granted, and nothing else exists for it.
    api.entry("anns", "docs/team/a", "hello").is(201);
    api.entry("anns", "docs/secret", "no").is(201);
    let api = office.as_person(&ben);
    let token = api.json("POST", &format!("{path}/connection"), json!({})).is(201);
    let api = office.as_person(&cleo);
    api.json("POST", &format!("{path}/connection"), json!({})).fails(403, "forbidden");
    let agent = token["token"].as_str().unwrap().to_owned();
    office.api.sign_in(&agent);
    let api = &mut office.api;
    assert_eq!(each(&api.get("/v1/capsules").is(200), "name"), ["anns"]);
    assert_eq!(each(&api.get("/v1/capsules/anns/entries").is(200), "uri"), ["docs://team/a"]);
    let hidden = api.get("/v1/capsules/anns/entries/docs/secret");
    let missing = api.get("/v1/capsules/anns/entries/docs/nothing");
    assert_eq!((hidden.status, missing.status), (404, 404));
    assert_eq!(
        hidden.json["detail"].to_string().replace("secret", "nothing"),
        missing.json["detail"].to_string()
    );
    api.entry("anns", "docs/team/b", "x").fails(403, "forbidden_role");
    api.get("/v1/deck/capabilities").fails(403, "forbidden");
    api.get("/v1/operators").fails(403, "forbidden");
    api.get("/v1/library").fails(403, "forbidden");
    // Taken back, it opens nothing with the next request.
    let api = office.as_person(&ann);
    api.json("POST", &format!("{path}/revoke"), json!({})).is(200);
    office.api.sign_in(&agent);
    let after = office.api.get("/v1/capsules/anns");
    assert!(matches!(after.status, 401 | 404), "{}", after.reply.body);
}

#[test]
fn item_21_visibility_decides_who_finds_and_reads_a_capsule() {
    let mut office = Office::new();
    let (ann, ben) = (office.person("Ann", "member"), office.person("Ben", "member"));
    let api = office.as_person(&ann);
    for (name, visibility) in [("hers", "private"), ("ours", "team"), ("open", "discoverable")] {
        api.json("POST", "/v1/capsules", json!({"name": name, "visibility": visibility})).is(201);
        api.entry(name, "docs/a", "text").is(201);
    }
    let api = office.as_person(&ben);
    assert_eq!(each(&api.get("/v1/library").is(200), "name"), ["open", "ours"]);
    assert_eq!(each(&api.get("/v1/capsules").is(200), "name"), ["open", "ours"]);
    let request = json!({"role": "reader"});
    let hidden = api.json("POST", "/v1/capsules/hers/access-requests", request.clone());
    let missing = api.json("POST", "/v1/capsules/none/access-requests", request);
    assert_eq!((hidden.status, missing.status), (404, 404));
    assert_eq!(
        hidden.json["detail"].to_string().replace("hers", "none"),
        missing.json["detail"].to_string()
    );
    api.get("/v1/capsules/hers").fails(404, "not_found");
    assert_eq!(api.get("/v1/capsules/ours/entries/docs/a").is(200)["body"], "text");
    api.entry("ours", "docs/b", "x").fails(403, "forbidden_role");
    api.json("PATCH", "/v1/capsules/ours", json!({"visibility": "private"}))
        .fails(403, "forbidden_role");
    api.delete("/v1/capsules/ours").fails(403, "forbidden_role");
    api.get("/v1/capsules/ours/export").fails(403, "forbidden_role");
    api.get("/v1/capsules/ours/logs").fails(403, "forbidden_role");
    let api = office.as_person(&ann);
    api.json("PATCH", "/v1/capsules/ours", json!({"visibility": "private"})).is(200);
    api.json("PATCH", "/v1/capsules/ours", json!({"owner": ben.id})).fails(403, "forbidden");
    let api = office.as_person(&ben);
    api.get("/v1/capsules/ours").fails(404, "not_found");
    let api = office.as_owner();
    assert_eq!(each(&api.get("/v1/capsules").is(200), "id").len(), 3);
    api.json("PATCH", "/v1/capsules/ours", json!({"owner": "nobody"})).fails(404, "not_found");
    assert_eq!(
        api.json("PATCH", "/v1/capsules/ours", json!({"owner": ben.id})).is(200)["owner"],
        ben.id
    );
    let api = office.as_person(&ben);
    api.entry("ours", "docs/b", "mine now").is(201);
}

#[test]
fn only_its_owner_and_admins_purge_a_capsule() {
    let mut office = Office::new();
    let (ann, ben) = (office.person("Ann", "member"), office.person("Ben", "member"));
    let make = |api: &mut Api, name: &str| {
        let made = api.json("POST", "/v1/capsules", json!({"name": name})).is(201);
        made["id"].as_str().unwrap().to_owned()
    };
    let anns = make(office.as_person(&ann), "anns");
    let team = json!({"visibility": "team"});
    office.as_person(&ann).json("PATCH", "/v1/capsules/anns", team).is(200);
    let purge = &format!("/v1/capsules/{anns}?purge=1");
    office.as_person(&ben).delete(purge).fails(403, "forbidden_role");
    office.as_person(&ann).delete("/v1/capsules/anns").is(204);
    // No one owns what was taken away; an admin removes what was kept of it.
    office.as_person(&ann).delete(purge).fails(404, "not_found");
    office.as_owner().delete(purge).is(204);
    let bens = make(office.as_person(&ben), "bens");
    office.as_person(&ben).delete("/v1/capsules/bens?purge=1").is(204);
    office.as_owner().delete(&format!("/v1/capsules/{bens}?purge=1")).fails(404, "not_found");
    let lines = office.as_owner().get("/v1/audit?action=capsule.purge").is(200);
    assert_eq!(each(&lines, "outcome"), ["ok", "ok"]);
    // All that did not end well is one word, too.
    office.as_owner().delete("/v1/agent-enrollments/enr_x").fails(404, "not_found");
    let path = "/v1/audit?action=credential.fail&outcome=";
    let failed = office.as_owner().get(&format!("{path}failed")).is(200);
    assert_eq!(each(&failed, "action"), ["credential.fail"]);
    assert!(each(&office.as_owner().get(&format!("{path}ok")).is(200), "action").is_empty());
}

#[test]
fn the_person_who_decides_a_sign_up_sees_its_code() {
    let mut office = Office::new();
    office.as_owner().capsule("team");
    let wanted = json!({"client_id": "robot", "capsule": "team", "contact": "ops@example.com"});
    let path = "/v1/agent-enrollments";
    let made = office.as_owner().json("POST", path, wanted.clone()).is(201);
    let waiting = office.as_owner().get("/v1/grants?status=pending").is(200);
    let reported = &waiting["items"][0]["enrollment"];
    assert_eq!((&reported["id"], &reported["user_code"]), (&made["id"], &made["user_code"]));
    assert_eq!(reported["contact"], "ops@example.com");
    // A person who is shown a code by an agent finds its sign-up by it.
    let code = made["user_code"].as_str().unwrap().to_lowercase().replace('-', "");
    for (query, found) in [
        (format!("code={code}"), 1),
        (format!("code={code}&source=enrollment&status=pending"), 1),
        (format!("code={code}&source=library"), 0),
        ("code=AAAA-AAAA".to_owned(), 0),
        ("source=enrollment".to_owned(), 1),
        ("source=oauth".to_owned(), 0),
    ] {
        let listed = office.api.get(&format!("/v1/grants?{query}")).is(200);
        assert_eq!(listed["items"].as_array().unwrap().len(), found, "{query}: {listed}");
    }
    assert!(!waiting.to_string().contains(made["enrollment_token"].as_str().unwrap()));
    // Anonymous callers cannot be distinguished, so none gets the stored answer of another.
    let keyed = [("Idempotency-Key", "one")];
    let other = json!({"client_id": "other", "capsule": "team"});
    let first = office.api.json_with("POST", path, &keyed, other.clone()).is(201);
    let second = office.api.json_with("POST", path, &keyed, other).is(200);
    assert_eq!(first["id"], second["id"]);
    assert!(first["enrollment_token"].is_string() && second.get("enrollment_token").is_none());
    // The others have no such thing.
    let ann = office.person("Ann", "member");
    office.as_person(&ann).json("POST", "/v1/capsules", json!({"name": "anns"})).is(201);
    ask(office.as_person(&ann), "anns", "reader");
    let hers = office.as_person(&ann).get("/v1/grants?mine=true").is(200);
    assert!(hers["items"][0]["enrollment"].is_null());
}

#[test]
fn item_20_policy_never_grants_owner() {
    let mut office = Office::new();
    let ann = office.person("Ann", "member");
    let api = office.as_owner();
    let rule = json!({"match": {}, "action": "approve"});
    let policy = json!({"mode": "policy", "rules": [rule]});
    assert_eq!(api.json("PUT", "/v1/approval-policy", policy.clone()).is(200)["mode"], "policy");
    assert_eq!(api.get("/v1/settings").is(200)["approval_mode"], "policy");
    let bad = json!({"mode": "policy", "rules": [{"match": {"nonsense": 1}, "action": "approve"}]});
    api.json("PUT", "/v1/approval-policy", bad).fails(400, "invalid_input");
    api.json("POST", "/v1/capsules", json!({"name": "team", "visibility": "team"})).is(201);
    let api = office.as_person(&ann);
    assert_eq!(ask(api, "team", "reader")["status"], "approved");
    assert_eq!(ask(api, "team", "owner")["status"], "pending");
    api.json("PUT", "/v1/approval-policy", policy).fails(403, "forbidden");
    let api = office.as_owner();
    assert_eq!(
        api.json("PATCH", "/v1/settings", json!({"approval_mode": "human"})).is(200)["approval_mode"],
        "human"
    );
    assert_eq!(api.get("/v1/approval-policy").is(200)["rules"].as_array().unwrap().len(), 1);
}

#[test]
fn people_profiles_clients_and_the_audit() {
    let mut office = Office::new();
    let ann = office.person("Ann", "member");
    let api = office.as_person(&ann);
    for path in
        ["/v1/operators", "/v1/audit", "/v1/settings", "/v1/principals", "/v1/oauth-clients"]
    {
        api.get(path).fails(403, "forbidden");
    }
    api.get("/v1/overview").is(200);
    let api = office.as_owner();
    let path = format!("/v1/operators/{}", ann.id);
    assert_eq!(api.json("PATCH", &path, json!({"role": "approver"})).is(200)["role"], "approver");
    api.json("PATCH", &path, json!({"role": "king"})).fails(400, "invalid_input");
    let rotated = api.json("POST", &format!("{path}/key"), json!({})).is(200);
    assert!(!api.get("/v1/operators").reply.body.contains(rotated["key"].as_str().unwrap()));
    assert_eq!(office.as_person(&ann).get("/v1/capsules").status, 401, "the key before is over");
    let api = office.as_owner();
    api.delete(&path).is(204);
    api.delete(&path).fails(404, "not_found");
    let profile =
        json!({"name": "readers", "role": "reader", "uri_prefixes": ["docs://"], "ttl": 3600});
    let made = api.json("POST", "/v1/access-profiles", profile.clone()).is(201);
    api.json("POST", "/v1/access-profiles", profile).fails(409, "taken");
    let path = format!("/v1/access-profiles/{}", made["id"].as_str().unwrap());
    let changed = api.json("PATCH", &path, json!({"ttl": 60})).is(200);
    assert_eq!((&changed["ttl"], &changed["name"]), (&json!(60), &json!("readers")));
    api.delete(&path).is(204);
    api.delete("/v1/oauth-clients/nothing").fails(404, "not_found");
    assert!(each(&api.get("/v1/principals").is(200), "id").is_empty());
    let lines = api.get("/v1/audit?limit=200");
    assert!(!lines.reply.body.contains(&ann.key), "no key is written down");
    let lines = each(&lines.is(200), "action");
    assert!(lines.iter().any(|action| action.starts_with("operator")), "{lines:?}");
    assert_eq!(api.get("/v1/audit?source=deck").is(200)["items"], json!([]));
    api.get("/v1/audit?source=deck&principal=x").fails(400, "invalid_input");
}

#[test]
fn a_process_without_the_registry_says_so() {
    let mut api = Api::new();
    let problem = api.get("/v1/operators");
    problem.fails(503, "unavailable");
    assert_eq!(api.get("/v1/settings").is(200)["registry"]["available"], false);
    let overview = api.get("/v1/overview").is(200);
    assert_eq!(
        (&overview["pending"]["grants"], &overview["tokens"]["counting"]),
        (&json!(0), &json!("bound"))
    );
    let agents = api.get("/v1/connect").is(200);
    for agent in each(&agents, "client") {
        let snippet = api.get(&format!("/v1/connect/{agent}")).is(200);
        let url = snippet["url"].as_str().unwrap();
        assert!(url.ends_with("/mcp"), "{url}");
        assert!(snippet["text"].as_str().unwrap().contains("capdeck"), "{snippet}");
    }
    api.get("/v1/connect/nothing").fails(404, "not_found");
}
