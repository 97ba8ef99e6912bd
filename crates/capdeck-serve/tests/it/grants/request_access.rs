//! `capsol_capsules(request_access)`: what an agent may ask for depends on who may find it.

use capdeck_auth::inbound::{ApprovalMode, GrantRule, Role, RuleAction, RuleMatch};
use capdeck_host::CapsuleVisibility::{Discoverable, Private, Team};
use serde_json::{Value, json};

use super::stage::{Office, call, facts, listed, on, refused};

fn ask(capsule: &str, role: &str) -> Value {
    json!({"action": "request_access", "capsule": capsule, "role": role})
}

#[test]
fn item_21_only_what_may_be_found_can_be_asked_for() {
    let office = Office::with(&[
        ("home", Private),
        ("vault", Private),
        ("club", Team),
        ("open", Discoverable),
    ]);
    let agent = office.agent("agent", &[on("home", Role::Reader, &[])], "capsule:read");
    let mut client = office.client("/mcp", &agent);
    let found = facts(&mut client, "capsol_capsules", json!({"action": "discover"}));
    let open = json!({"name": "open", "description": "what open is about"});
    assert_eq!(found["capsules"], json!([open]), "name and description, and nothing else");
    let missing = call(&mut client, "capsol_capsules", ask("none", "reader")).to_string();
    assert!(missing.contains("not_found"), "{missing}");
    for hidden in ["vault", "club"] {
        let (said, lines) = office
            .lines_of(|| call(&mut client, "capsol_capsules", ask(hidden, "reader")).to_string());
        assert_eq!(said.replace(hidden, "none"), missing, "answered like what does not exist");
        assert_eq!(lines, ["grant.request not_found"]);
    }
    let (asked, lines) =
        office.lines_of(|| facts(&mut client, "capsol_capsules", ask("Open", "reader")));
    assert_eq!((&asked["status"], lines), (&json!("pending"), vec!["grant.request ok".to_owned()]));
    let again = facts(&mut client, "capsol_capsules", ask("open", "reader"));
    assert_eq!(again["request_id"], asked["request_id"], "the same request twice is one");
    assert_eq!(listed(&mut client), ["home"], "nothing is open before somebody agrees");
    assert_eq!(refused(&mut client, "capsol_capsules", ask("home", "reader")), "wrong_state");
    let more = facts(&mut client, "capsol_capsules", ask("home", "writer"));
    assert_eq!(more["status"], "pending", "more of what is open can be asked for");
    assert_eq!(more["missing_scopes"], json!(["capsule:write"]));
    let (_, lines) = office
        .lines_of(|| call(&mut client, "capsol_capsules", json!({"action": "request_access"})));
    assert_eq!(lines, Vec::<String>::new(), "a call that does not fit is the capsule's to record");
}

#[test]
fn item_20_policy_grants_at_once_but_no_owner() {
    let office = Office::with(&[("home", Private), ("open", Discoverable)]);
    let rule = GrantRule {
        matches: RuleMatch::default(),
        action: RuleAction::Approve,
        ceiling_role: None,
        ttl: None,
    };
    let agent = office.agent("agent", &[on("home", Role::Reader, &[])], "capsule:admin");
    office.decide_by(ApprovalMode::Policy, vec![rule]);
    let mut client = office.client("/mcp", &agent);
    let owner = facts(&mut client, "capsol_capsules", ask("open", "owner"));
    assert_eq!(owner["status"], "pending", "{owner}");
    assert_eq!(listed(&mut client), ["home"]);
    let reader = facts(&mut client, "capsol_capsules", ask("open", "reader"));
    assert_eq!(
        (&reader["status"], &reader["granted"]["role"]),
        (&json!("approved"), &json!("reader"))
    );
    assert_eq!(listed(&mut client), ["home", "open"]);
}
