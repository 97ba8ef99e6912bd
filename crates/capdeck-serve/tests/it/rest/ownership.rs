//! Whose a capsule is, and that nothing of an earlier capsule or a failed request decides it.

use serde_json::json;

use super::registry::{Office, ask};
use super::stage::each;

const GZIP: [(&str, &str); 1] = [("Content-Type", "application/gzip")];

#[test]
fn a_failed_import_makes_no_one_owner_of_a_later_capsule() {
    let mut office = Office::new();
    let ann = office.person("Ann", "member");
    for archive in [&b""[..], b"nonsense", b"\x1f\x8bnonsense"] {
        let import = "/v1/capsules/import?name=finance";
        let refused = office.as_person(&ann).send("POST", import, &GZIP, archive);
        assert_eq!(refused.status, 400, "{}", refused.reply.body);
    }
    let made = office.as_owner().json("POST", "/v1/capsules", json!({"name": "finance"})).is(201);
    assert!(made["owner"].is_null(), "{made}");
    office.as_owner().entry("finance", "docs/plan", "secret").is(201);
    office.as_person(&ann).get("/v1/capsules/finance").fails(404, "not_found");
    office.as_person(&ann).get("/v1/capsules/finance/entries/docs/plan").fails(404, "not_found");
    let deleted = office.api.served.dirs.root().join("data/deleted");
    assert!(!deleted.exists(), "a failed import leaves no files either");
}

#[test]
fn a_change_of_a_capsule_that_fails_gives_it_to_no_one() {
    let mut office = Office::new();
    let ann = office.person("Ann", "member");
    let api = office.as_owner();
    api.capsule("finance");
    api.capsule("team");
    let change = json!({"owner": ann.id, "name": "team"});
    api.json("PATCH", "/v1/capsules/finance", change).fails(409, "exists");
    assert!(api.get("/v1/capsules/finance").is(200)["owner"].is_null());
    office.as_person(&ann).get("/v1/capsules/finance").fails(404, "not_found");
}

#[test]
fn a_grant_ends_with_its_capsule_and_not_with_its_name() {
    let mut office = Office::new();
    let ann = office.person("Ann", "member");
    let api = office.as_owner();
    api.json("POST", "/v1/capsules", json!({"name": "team", "visibility": "team"})).is(201);
    let filed = ask(office.as_person(&ann), "team", "reader");
    let path = format!("/v1/grants/{}", filed["id"].as_str().unwrap());
    let approved = office.as_owner().json("POST", &format!("{path}/approve"), json!({})).is(200);
    assert_eq!(approved["target"]["capsule"], "team", "people see the id, {approved}");
    assert_eq!(approved["grant"]["target"]["capsule"], "team");
    let token =
        office.as_person(&ann).json("POST", &format!("{path}/connection"), json!({})).is(201);
    let agent = token["token"].as_str().unwrap().to_owned();
    office.api.sign_in(&agent);
    assert_eq!(each(&office.api.get("/v1/capsules").is(200), "id"), ["team"]);
    let shared = json!({"name": "guest", "role": "reader"});
    office.as_owner().json("POST", "/v1/capsules/team/connections", shared).is(201);
    office.as_owner().delete("/v1/capsules/team").is(204);
    let request = office.as_owner().get(&path).is(200);
    assert!(request["grant"]["revoked_at"].is_string(), "the grant is over: {request}");
    office.as_owner().capsule("team");
    office.as_owner().entry("team", "docs/plan", "secret").is(201);
    office.api.sign_in(&agent);
    assert_eq!(office.api.get("/v1/capsules/team/entries/docs/plan").status, 401);
    let connections = office.as_owner().get("/v1/capsules/team/connections").is(200);
    assert!(each(&connections, "id").is_empty(), "{connections}");
}

#[test]
fn a_rule_of_the_policy_is_about_the_capsule_it_was_made_for() {
    let mut office = Office::new();
    let ann = office.person("Ann", "member");
    let team = json!({"name": "team", "visibility": "team"});
    let api = office.as_owner();
    api.json("POST", "/v1/capsules", team.clone()).is(201);
    let rule = json!({"match": {"capsule": "team"}, "action": "approve"});
    let policy = json!({"mode": "policy", "rules": [rule]});
    let set = api.json("PUT", "/v1/approval-policy", policy).is(200);
    assert_eq!(set["rules"][0]["match"]["capsule"], "team");
    assert_eq!(ask(office.as_person(&ann), "team", "reader")["status"], "approved");
    office.as_owner().delete("/v1/capsules/team").is(204);
    office.as_owner().json("POST", "/v1/capsules", team).is(201);
    assert_eq!(ask(office.as_person(&ann), "team", "reader")["status"], "pending");
}

#[test]
fn a_private_capsule_of_others_does_not_show_by_its_name() {
    let mut office = Office::new();
    let (ann, ben) = (office.person("Ann", "member"), office.person("Ben", "member"));
    let api = office.as_owner();
    api.capsule("finance");
    api.json("POST", "/v1/capsules", json!({"name": "handbook", "visibility": "team"})).is(201);
    office.as_person(&ann).json("POST", "/v1/capsules", json!({"name": "Plans"})).is(201);
    let archive = {
        let api = office.as_owner();
        api.entry("finance", "docs/a", "x").is(201);
        api.get("/v1/capsules/finance/export").reply.bytes
    };
    let api = office.as_person(&ben);
    // Neither the answer nor the id tells a name that is taken from one that is not.
    for name in ["finance", "Plans", "unused"] {
        let shape = |id: &str| id.len() - name.len();
        let made = api.json("POST", "/v1/capsules", json!({"name": name})).is(201);
        assert_eq!(shape(made["id"].as_str().unwrap()), 7, "{made}");
        assert_eq!(made["owner"], ben.id);
        api.delete(&format!("/v1/capsules/{}?purge=1", made["id"].as_str().unwrap())).is(204);
        let import = format!("/v1/capsules/import?name={name}");
        let made = api.send("POST", &import, &GZIP, &archive).is(201);
        assert_eq!(shape(made["capsule"]["id"].as_str().unwrap()), 7, "{made}");
        let renamed = json!({"name": format!("{name} of Ben")});
        let path = format!("/v1/capsules/{}", made["capsule"]["id"].as_str().unwrap());
        api.json("PATCH", &path, renamed).is(200);
        api.json("PATCH", &path, json!({"name": name})).is(200);
        // By the name they reach their own, and nothing else.
        assert_eq!(api.get(&format!("/v1/capsules/{name}")).is(200)["owner"], ben.id);
    }
    // What they know of is taken.
    for name in ["handbook", "Handbook", "unused"] {
        api.json("POST", "/v1/capsules", json!({"name": name})).fails(409, "exists");
    }
    // The one who sees both has to say which one is meant.
    let api = office.as_owner();
    let both = api.get("/v1/capsules?q=plans").is(200);
    assert_eq!(each(&both, "id").len(), 2, "{both}");
    api.get("/v1/capsules/plans").fails(409, "ambiguous_capsule");
    assert!(api.get("/v1/capsules/finance").is(200)["owner"].is_null(), "an id comes first");
}
