//! Capsules that programs make, and access that they ask for in the name of others.

use capdeck_auth::inbound::{ApprovalMode, GrantRule, Role, RuleAction, RuleMatch};
use capdeck_host::CapsuleVisibility::{Discoverable, Private};
use serde_json::json;

use super::stage::{Office, call, facts, listed, manage, on, refused};

const ALL: &str = "capsule:admin registry:manage";

#[test]
fn the_one_who_makes_a_capsule_owns_it_and_decides_about_it() {
    let office = Office::supervised(&[("home", Private), ("vault", Private)]);
    let maker = office.agent("maker", &[on("home", Role::Reader, &[])], ALL);
    let other = office.agent("other", &[on("home", Role::Reader, &[])], "capsule:read");
    let (mut maker, mut other) = (office.client("/mcp", &maker), office.client("/mcp", &other));
    let make = |name: &str| json!({"action": "create_capsule", "name": name, "description": "d"});
    let (made, lines) = office.lines_of(|| manage(&mut maker, make("Findings")));
    let id = made["capsule"]["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("findings-") && made["capsule"]["role"] == "owner", "{made}");
    assert_eq!(lines, ["capsule.create ok", "grant.request ok", "grant.approve ok"]);
    assert_eq!(listed(&mut maker), ["home".to_owned(), id.clone()]);
    let entry = json!({"capsule": "findings", "uri": "docs://a", "content": "found"});
    facts(&mut maker, "capsol_write", entry);
    let rename = json!({"action": "update_capsule", "capsule": id, "name": "Results"});
    assert_eq!(manage(&mut maker, rename)["capsule"]["name"], "Results");
    let empty = json!({"action": "update_capsule", "capsule": id});
    assert_eq!(refused(&mut maker, "capsol_manage", empty), "invalid_input");
    // The name of a capsule that it may not know of is as free as any other; only those that it knows are taken.
    for name in ["vault", "unused"] {
        let made = manage(&mut maker, make(name));
        let id = made["capsule"]["id"].as_str().unwrap();
        assert_eq!((made["capsule"]["name"].as_str(), id.len()), (Some(name), name.len() + 7));
    }
    for name in ["home", "Results", "vault"] {
        assert_eq!(refused(&mut maker, "capsol_manage", make(name)), "exists", "{name}");
    }
    let rename = |to: &str| json!({"action": "update_capsule", "capsule": id, "name": to});
    assert_eq!(refused(&mut maker, "capsol_manage", rename("home")), "exists");
    // It is private: no one else finds it, and only its maker brings others in.
    let ask = json!({"action": "request_access", "capsule": "Results"});
    assert_eq!(refused(&mut other, "capsol_capsules", ask), "not_found");
    let bring =
        json!({"action": "request_grant_for", "capsule": "Results", "client_id": "other-id"});
    let filed = manage(&mut maker, bring);
    assert_eq!(filed["status"], "pending", "whoever asks for another does not decide it, too");
    assert!(filed["missing_scopes"].is_null(), "the scopes of somebody else are not told");
}

#[test]
fn a_capsule_that_the_policy_refuses_is_not_left_behind() {
    let office = Office::with(&[("home", Private)]);
    let rule = GrantRule {
        matches: RuleMatch { max_role: Some(Role::Owner), ..RuleMatch::default() },
        action: RuleAction::Deny,
        ceiling_role: None,
        ttl: None,
    };
    let maker = office.agent("maker", &[on("home", Role::Reader, &[])], ALL);
    office.decide_by(ApprovalMode::Policy, vec![rule]);
    let mut maker = office.client("/mcp", &maker);
    let make = json!({"action": "create_capsule", "name": "Findings"});
    assert_eq!(refused(&mut maker, "capsol_manage", make), "forbidden");
    assert_eq!(listed(&mut maker), ["home"]);
    let list = capdeck_host::ListCapsulesRequest { with_counts: false };
    assert_eq!(office.ask(None, list)["capsules"].as_array().unwrap().len(), 1);
}

#[test]
fn access_is_asked_for_in_the_name_of_a_client_that_is_known() {
    let office = Office::supervised(&[("home", Private), ("open", Discoverable)]);
    let boss =
        office.agent("boss", &[on("home", Role::Reader, &[])], "capsule:read registry:manage");
    let worker = office.agent("worker", &[on("home", Role::Reader, &[])], "capsule:read");
    office.agent("twin", &[on("home", Role::Reader, &[])], "capsule:read");
    office.agent("twin", &[on("home", Role::Reader, &[])], "capsule:read");
    let mut client = office.client("/mcp", &boss);
    let ask = |id: &str| json!({"action": "request_grant_for", "capsule": "open", "client_id": id});
    let filed = |answer: serde_json::Value| {
        office.served.registry().grants().request(answer["request_id"].as_str().unwrap()).unwrap()
    };
    let by_client = filed(manage(&mut client, ask("worker-id")));
    assert_eq!(
        (&by_client.principal, &by_client.requested_by),
        (&worker.principal, &boss.principal)
    );
    let by_principal = filed(manage(&mut client, ask(&worker.principal)));
    assert_eq!(by_principal.id, by_client.id);
    assert_eq!(filed(manage(&mut client, ask("boss-id"))).principal, boss.principal);
    assert_eq!(refused(&mut client, "capsol_manage", ask("nobody")), "not_found");
    let several = call(&mut client, "capsol_manage", ask("twin-id"));
    assert_eq!(several["structuredContent"]["error"]["code"], "invalid_input", "{several}");
    assert!(several.to_string().contains("several people use this client"), "{several}");
}
