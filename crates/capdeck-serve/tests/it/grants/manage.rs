//! `capsol_manage`: a program decides about the access of others, within its own.

use capdeck_auth::inbound::{ApprovalMode, Role};
use capdeck_host::CapsuleVisibility::{Discoverable, Private};
use serde_json::json;

use super::stage::{Agent, Office, call, facts, in_an_hour, listed, manage, on, refused, tools};

const ASKING: &str = "capsule:write";
const MANAGING: &str = "capsule:write registry:manage";

fn newcomer(office: &Office) -> Agent {
    office.agent("newcomer", &[on("home", Role::Reader, &[])], ASKING)
}

fn supervisor(office: &Office, prefixes: &[&str]) -> Agent {
    office.agent("supervisor", &[on("team", Role::Writer, prefixes)], MANAGING)
}

fn office() -> Office {
    let office =
        Office::supervised(&[("home", Private), ("team", Discoverable), ("vault", Private)]);
    office.write("team", "docs://a", "for everybody");
    office.write("team", "notes://a", "not for everybody");
    office
}

#[test]
fn item_20_a_supervisor_narrows_and_never_widens() {
    let office = office();
    let (newcomer, boss) = (newcomer(&office), supervisor(&office, &["docs://"]));
    let mut agent = office.client("/mcp", &newcomer);
    let mut boss = office.client("/mcp", &boss);
    let ask = json!({"action": "request_access", "capsule": "team", "role": "writer", "reason": "to help"});
    let asked = facts(&mut agent, "capsol_capsules", ask);
    assert_eq!(asked["status"], "pending", "{asked}");
    let waiting = manage(&mut boss, json!({"action": "list_grant_requests"}));
    let waiting = waiting["requests"].as_array().unwrap();
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    let shown = |key: &str| waiting[0][key].as_str().unwrap();
    assert_eq!((shown("capsule"), shown("role"), shown("reason")), ("team", "writer", "to help"));
    assert_eq!((shown("client_name"), &waiting[0]["may_decide"]), ("newcomer", &json!(true)));
    let id = shown("request_id");
    let approve = |more: serde_json::Value| {
        let mut arguments = json!({"action": "approve_grant", "request_id": id});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    for (wider, code) in [
        (json!({"role": "owner"}), "widens"),
        (json!({"scopes": ["capsule:admin"]}), "widens"),
        (json!({"scopes": ["registry:manage"]}), "widens"),
        (json!({"scopes": ["everything"]}), "invalid_input"),
        (json!({"uri_prefixes": ["nonsense"]}), "invalid_input"),
        // Within the request, but more than the supervisor holds.
        (json!({}), "forbidden"),
        (json!({"role": "reader"}), "forbidden"),
        (json!({"uri_prefixes": ["docs://", "notes://"]}), "forbidden"),
    ] {
        let (said, lines) =
            office.lines_of(|| refused(&mut boss, "capsol_manage", approve(wider.clone())));
        assert_eq!(
            (said.as_str(), lines),
            (code, vec![format!("grant.approve {code}")]),
            "{wider}"
        );
    }
    assert_eq!(listed(&mut agent), ["home"], "nothing of it was granted");
    let narrow = json!({"role": "reader", "scopes": ["capsule:read"], "uri_prefixes": ["docs://"], "reason": "docs only"});
    let (approved, lines) = office.lines_of(|| manage(&mut boss, approve(narrow)));
    assert_eq!(lines, ["grant.approve ok"]);
    assert_eq!(approved["status"], "approved", "{approved}");
    assert_eq!(approved["granted"]["role"], "reader");
    assert_eq!(approved["granted"]["uri_prefixes"], json!(["docs://"]));
    assert_eq!(refused(&mut boss, "capsol_manage", approve(json!({}))), "wrong_state");
    assert_eq!(listed(&mut agent), ["home", "team"]);
    let read = |uri: &str| json!({"capsule": "team", "uri": uri});
    assert_eq!(facts(&mut agent, "capsol_read", read("docs://a"))["body"], "for everybody");
    let hidden = call(&mut agent, "capsol_read", read("notes://a")).to_string();
    let missing = call(&mut agent, "capsol_read", read("notes://b")).to_string();
    assert_eq!(hidden.replace("notes://a", "notes://b"), missing);
}

#[test]
fn item_20_no_one_decides_for_themselves_or_about_what_they_do_not_hold() {
    let office = office();
    let (newcomer, holder) = (newcomer(&office), supervisor(&office, &[]));
    let mut agent = office.client("/mcp", &newcomer);
    let mut boss = office.client("/mcp", &holder);
    let more = json!({"action": "request_grant_for", "capsule": "team", "role": "owner"});
    let own = manage(&mut boss, more);
    assert_eq!(own["missing_scopes"], json!(["capsule:admin"]), "its token would not do: {own}");
    let approve = |id: &serde_json::Value| json!({"action": "approve_grant", "request_id": id});
    assert_eq!(refused(&mut boss, "capsol_manage", approve(&own["request_id"])), "self_approval");
    let listed = manage(&mut boss, json!({"action": "list_grant_requests"}));
    assert_eq!(listed["requests"][0]["may_decide"], false, "{listed}");
    // Another person asks about a capsule that this one does not hold.
    let ask = json!({"action": "request_access", "capsule": "home", "role": "writer"});
    let foreign = facts(&mut agent, "capsol_capsules", ask);
    let foreign = foreign["request_id"].as_str().unwrap();
    let hidden = call(&mut boss, "capsol_manage", approve(&json!(foreign))).to_string();
    let missing = call(&mut boss, "capsol_manage", approve(&json!("grq_none"))).to_string();
    assert_eq!(hidden.replace(foreign, "grq_none"), missing);
    assert!(hidden.contains("not_found"), "{hidden}");
    let deny = json!({"action": "deny_grant", "request_id": foreign});
    assert_eq!(refused(&mut boss, "capsol_manage", deny.clone()), "not_found");
    // What became of it is nothing to know of either.
    office.served.wait(async {
        let caller = capdeck_auth::inbound::EventCaller::new(newcomer.principal.clone(), None);
        office.served.registry().grants().cancel_request(&caller, foreign).await.unwrap();
    });
    assert_eq!(refused(&mut boss, "capsol_manage", deny), "not_found");
    // Where only people decide, it asks and no more.
    office.decide_by(ApprovalMode::Human, Vec::new());
    let ask = json!({"action": "request_access", "capsule": "team"});
    let asked = facts(&mut agent, "capsol_capsules", ask);
    assert_eq!(refused(&mut boss, "capsol_manage", approve(&asked["request_id"])), "forbidden");
    let list = json!({"action": "list_connections"});
    assert_eq!(refused(&mut boss, "capsol_manage", list), "forbidden");
}

#[test]
fn item_13_a_supervisor_denies_and_takes_back_with_the_next_call() {
    let office = office();
    let (newcomer, holder) = (newcomer(&office), supervisor(&office, &[]));
    let mut agent = office.client("/mcp", &newcomer);
    let mut boss = office.client("/mcp", &holder);
    let ask = |role: &str| json!({"action": "request_access", "capsule": "team", "role": role});
    let asked = facts(&mut agent, "capsol_capsules", ask("writer"));
    let deny =
        json!({"action": "deny_grant", "request_id": asked["request_id"], "reason": "not now"});
    let (denied, lines) = office.lines_of(|| manage(&mut boss, deny));
    assert_eq!((&denied["status"], &denied["note"]), (&json!("denied"), &json!("not now")));
    assert_eq!(lines, ["grant.deny ok"]);
    assert_eq!(listed(&mut agent), ["home"]);
    let asked = facts(&mut agent, "capsol_capsules", ask("reader"));
    let approve = json!({"action": "approve_grant", "request_id": asked["request_id"]});
    let approved = manage(&mut boss, approve);
    let read = json!({"capsule": "team", "uri": "docs://a"});
    assert_eq!(facts(&mut agent, "capsol_read", read.clone())["body"], "for everybody");
    let connections = manage(&mut boss, json!({"action": "list_connections"}));
    let connections = connections["connections"].as_array().unwrap();
    assert_eq!(connections.len(), 1, "its own is not among them: {connections:?}");
    assert_eq!(connections[0]["connection_id"], approved["connection_id"]);
    assert_eq!(connections[0]["client_id"], "newcomer-id");
    let revoke =
        |id: &serde_json::Value| json!({"action": "revoke_connection", "connection_id": id});
    let home = &office.grants_of(&newcomer)[0];
    assert_eq!(refused(&mut boss, "capsol_manage", revoke(&json!(home))), "not_found");
    let (_, lines) = office.lines_of(|| manage(&mut boss, revoke(&approved["connection_id"])));
    assert_eq!(lines, ["grant.revoke ok"]);
    let gone = call(&mut agent, "capsol_read", read).to_string();
    let missing = call(&mut agent, "capsol_read", json!({"capsule": "none", "uri": "docs://a"}));
    assert_eq!(gone.replace("`team`", "`none`"), missing.to_string());
    assert_eq!(listed(&mut agent), ["home"]);
    assert_eq!(
        refused(&mut boss, "capsol_manage", revoke(&approved["connection_id"])),
        "wrong_state"
    );
}

#[test]
fn a_grant_does_not_outlast_what_its_supervisor_holds() {
    let office = office();
    let newcomer = newcomer(&office);
    let (target, end) = (on("team", Role::Writer, &[]), in_an_hour());
    let holder = office.agent_until("supervisor", &target, MANAGING, end);
    let mut agent = office.client("/mcp", &newcomer);
    let mut boss = office.client("/mcp", &holder);
    let ask = json!({"action": "request_access", "capsule": "team"});
    let asked = facts(&mut agent, "capsol_capsules", ask);
    let approve = json!({"action": "approve_grant", "request_id": asked["request_id"]});
    let approved = manage(&mut boss, approve);
    assert_eq!(approved["granted"]["expires_at"], json!(end));
}

#[test]
fn item_20_managing_is_for_those_who_may() {
    let office = office();
    let plain = newcomer(&office);
    let mut agent = office.client("/mcp", &plain);
    let list = json!({"name": "capsol_manage", "arguments": {"action": "list_grant_requests"}});
    assert!(!tools(&mut agent).contains(&"capsol_manage".to_owned()));
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": list});
    let challenged = agent.post(&message.to_string());
    assert_eq!(challenged.status, 403, "{challenged:?}");
    assert!(challenged.header("www-authenticate").unwrap().contains("registry:manage"));
    // The scope alone does nothing without a grant that has it.
    let target = on("team", Role::Reader, &[]);
    let boss = office.agent("boss", std::slice::from_ref(&target), "capsule:read registry:manage");
    let scoped =
        office.agent_with("scoped", &target, "capsule:read", "capsule:read registry:manage");
    let mut scoped = office.client("/mcp", &scoped);
    assert!(!tools(&mut scoped).contains(&"capsol_manage".to_owned()));
    let unknown = scoped.request("tools/call", list);
    assert_eq!(unknown["error"]["message"], "there is no tool `capsol_manage`", "{unknown}");
    let mut boss = office.client("/mcp", &boss);
    assert!(tools(&mut boss).contains(&"capsol_manage".to_owned()));
    // It is not offered where everything is about one capsule.
    let path = "/mcp/team";
    let bound = office.agent("bound", &[target], "capsule:read registry:manage");
    assert!(!tools(&mut office.client(path, &bound)).contains(&"capsol_manage".to_owned()));
}

#[test]
fn item_22_every_wish_leaves_one_line() {
    let office = office();
    let holder = supervisor(&office, &[]);
    let mut boss = office.client("/mcp", &holder);
    for (arguments, line) in [
        (json!({"action": "list_grant_requests"}), "grant.list ok"),
        (json!({"action": "list_connections"}), "connection.list ok"),
        (json!({"action": "deny_grant"}), "manage invalid_input"),
        (json!({"action": "fly"}), "manage invalid_input"),
        (json!({"action": "deny_grant", "request_id": "grq_none"}), "grant.deny not_found"),
        (json!({"action": "revoke_connection", "connection_id": "x"}), "grant.revoke not_found"),
        (json!({"action": "request_grant_for", "capsule": "vault"}), "grant.request not_found"),
        (
            json!({"action": "request_grant_for", "capsule": "team", "client_id": "nobody"}),
            "grant.request not_found",
        ),
        (
            json!({"action": "request_grant_for", "capsule": "team", "scopes": ["x"]}),
            "grant.request invalid_input",
        ),
        (
            json!({"action": "request_grant_for", "capsule": "team", "uri_prefixes": ["x"]}),
            "grant.request invalid_input",
        ),
        (json!({"action": "request_grant_for", "capsule": "team"}), "grant.request ok"),
        (
            json!({"action": "update_capsule", "capsule": "team", "name": "x"}),
            "capsule.update forbidden",
        ),
        (
            json!({"action": "update_capsule", "capsule": "vault", "name": "x"}),
            "capsule.update not_found",
        ),
    ] {
        let (_, lines) = office.lines_of(|| call(&mut boss, "capsol_manage", arguments.clone()));
        assert_eq!(lines, [line], "{arguments}");
    }
}
