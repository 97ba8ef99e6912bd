//! Requests from an approver's own browser, address or programs are for others to approve; an admin may, and it is marked.

use capdeck_auth::inbound::{ApprovalMode, EventCaller, GrantPolicy};
use capdeck_host::CapsuleVisibility;
use capdeck_serve::ServeAuthMode;
use capdeck_test::{FakePlan, HttpReply};
use serde_json::{Value, json};

use super::browser::{Browser, REDIRECT, body};
use crate::served::{Served, Setting};

const KEY: &str = "open-sesame-0123456789";
const OFFICE: &str = "192.0.2.1";
const ELSEWHERE: &str = "198.51.100.7";

/// A host behind a proxy that says where people are.
struct Office {
    served: Served,
}

/// A person with a key, and the browser they use it in.
struct Person {
    key: &'static str,
    browser: Browser,
}

impl Office {
    fn new() -> Self {
        let setting = Setting::of(&FakePlan::default()).registry().auth(ServeAuthMode::Required);
        let served = setting.key(KEY).trusted_proxy("127.0.0.1").serve();
        let office = Self { served };
        let mut admin = office.admin(OFFICE);
        for (name, visibility) in
            [("ours", CapsuleVisibility::Team), ("secret", CapsuleVisibility::Private)]
        {
            let new = json!({"name": name, "visibility": visibility});
            assert_eq!(admin.post("/v1/capsules", &new).status, 201);
        }
        office
    }

    fn at(&self, key: &'static str, address: &'static str) -> Person {
        let mut browser = Browser::with_key(&self.served, key);
        browser.address = Some(address);
        Person { key, browser }
    }

    fn admin(&self, address: &'static str) -> Person {
        self.at(KEY, address)
    }

    fn person(&self, name: &str, role: &str, address: &'static str) -> Person {
        let new = json!({"name": name, "role": role});
        let made = self.admin(OFFICE).post("/v1/operators", &new);
        let key = body(&made)["key"].as_str().unwrap().to_owned().leak();
        self.at(key, address)
    }

    /// An agent signs up for reading a capsule; the id of its request, and what it was answered.
    fn enroll(&self, client: &str, capsule: &str, address: &'static str) -> (String, Value) {
        let mut stranger = self.at(KEY, address).browser;
        let wanted = json!({"client_id": client, "capsule": capsule});
        let made = body(&stranger.post_json("/v1/agent-enrollments", &wanted));
        let code = made["user_code"].as_str().unwrap();
        let found = self.admin(OFFICE).get(&format!("/v1/grants?code={code}"));
        (body(&found)["items"][0]["id"].as_str().unwrap().to_owned(), made)
    }
}

impl Person {
    fn send(&mut self, method: &str, path: &str, text: &str) -> HttpReply {
        let bearer = format!("Bearer {}", self.key);
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        self.browser.send(method, path, &headers, text)
    }

    fn get(&mut self, path: &str) -> HttpReply {
        self.send("GET", path, "")
    }

    fn post(&mut self, path: &str, body: &Value) -> HttpReply {
        self.send("POST", path, &body.to_string())
    }

    fn approve(&mut self, request: &str) -> HttpReply {
        self.post(&format!("/v1/grants/{request}/approve"), &json!({}))
    }

    /// Lets a client read this capsule, at the consent page.
    fn consent(&mut self, client: &str, capsule: &str) -> HttpReply {
        let page = self.browser.consent_page(client, &[("scope", "capsule:read")]);
        self.browser.agree(&page, &[("scope", "capsule:read"), ("capsule", capsule)])
    }
}

#[track_caller]
fn refused(reply: &HttpReply, code: &str, why: &str) {
    assert_eq!(reply.status, 403, "{reply:?}");
    assert_eq!(body(reply)["code"], code, "{reply:?}");
    assert!(body(reply)["detail"].as_str().unwrap().contains(why), "{reply:?}");
}

#[test]
fn an_approver_who_signs_a_client_in_waits_for_others() {
    let office = Office::new();
    let mut bob = office.person("Bob", "approver", OFFICE);
    let client = bob.browser.register(REDIRECT);
    let sent = bob.consent(&client, "ours");
    assert_eq!((sent.status, sent.header("location")), (202, None), "{sent:?}");
    let waiting = body(&bob.get("/v1/grants?status=pending"));
    let request = &waiting["items"][0];
    assert!(request["cannot_approve"].as_str().unwrap().contains("you made this request"));
    let id = request["id"].as_str().unwrap();
    refused(&bob.approve(id), "self_approval", "you made this request");
    // Not from another place either, and not for a program of theirs that another person asks for.
    bob.browser.address = Some(ELSEWHERE);
    refused(&bob.approve(id), "self_approval", "you made this request");
    bob.browser.address = Some(OFFICE);
    // A second approver agrees. Then the client is let in, without asking again.
    let mut cleo = office.person("Cleo", "approver", ELSEWHERE);
    let approved = cleo.approve(id);
    assert_eq!(approved.status, 200, "{approved:?}");
    assert_eq!(body(&approved)["grant"]["self_approved"], Value::Null);
    let sent = bob.consent(&client, "ours");
    assert_eq!(sent.status, 303, "{sent:?}");
    assert!(sent.header("location").unwrap().contains("code="), "{sent:?}");
    assert_eq!(body(&bob.get("/v1/grants?status=pending"))["items"], json!([]));
}

#[test]
fn an_approver_cannot_approve_an_agent_at_their_own_address() {
    let office = Office::new();
    let mut bob = office.person("Bob", "approver", OFFICE);
    let (request, _) = office.enroll("twin", "ours", OFFICE);
    let shown = body(&bob.get(&format!("/v1/grants/{request}")));
    assert_eq!((&shown["may_decide"], &shown["from_address"]), (&json!(true), &json!(OFFICE)));
    let reply = bob.approve(&request);
    refused(&reply, "self_approval", "the address that you use");
    assert!(body(&reply)["hint"].as_str().unwrap().contains("serve.trustedProxies"), "{reply:?}");
    let narrow = json!({"uri_prefixes": ["docs://"]});
    let narrowed = bob.post(&format!("/v1/grants/{request}/approve"), &narrow);
    refused(&narrowed, "self_approval", "the address that you use");
    bob.browser.address = Some(ELSEWHERE);
    assert_eq!(bob.approve(&request).status, 200);
    // A person who signs an agent up with their own key is its sender, at any address.
    let wanted = json!({"client_id": "own", "capsule": "ours"});
    let made = body(&bob.post("/v1/agent-enrollments", &wanted));
    let code = made["user_code"].as_str().unwrap();
    let found = body(&bob.get(&format!("/v1/grants?code={code}")));
    bob.browser.address = Some(OFFICE);
    let reply = bob.approve(found["items"][0]["id"].as_str().unwrap());
    refused(&reply, "self_approval", "you made this request");
    // An admin says that everyone here has one address.
    let (request, _) = office.enroll("third", "ours", OFFICE);
    let mut admin = office.admin(OFFICE);
    let policy = json!({"mode": "human", "rules": [], "shared_address": true});
    let set = admin.send("PUT", "/v1/approval-policy", &policy.to_string());
    assert_eq!(body(&set)["shared_address"], true, "{set:?}");
    assert_eq!(bob.approve(&request).status, 200);
}

#[test]
fn an_approver_cannot_approve_what_came_from_their_browser_under_another_name() {
    let office = Office::new();
    let mut ann = office.person("Ann", "member", OFFICE);
    let client = ann.browser.register(REDIRECT);
    assert_eq!(ann.consent(&client, "ours").status, 202);
    let mut bob = office.person("Bob", "approver", ELSEWHERE);
    let waiting = body(&bob.get("/v1/grants?status=pending"));
    let id = waiting["items"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(waiting["items"][0]["cannot_approve"], Value::Null);
    bob.browser.mark.clone_from(&ann.browser.mark);
    assert!(bob.browser.mark.is_some(), "signing in marks a browser");
    refused(&bob.approve(&id), "self_approval", "the browser that you use");
    bob.browser.mark = None;
    assert_eq!(bob.approve(&id).status, 200);
}

#[test]
fn an_admin_approves_their_own_and_the_grant_and_the_audit_say_so() {
    let office = Office::new();
    let (request, _) = office.enroll("nightly", "secret", OFFICE);
    let mut admin = office.admin(OFFICE);
    let approved = body(&admin.approve(&request));
    assert_eq!(approved["grant"]["self_approved"], "address");
    let client = admin.browser.register(REDIRECT);
    assert_eq!(admin.consent(&client, "secret").status, 303);
    let lines = body(&admin.get("/v1/audit?action=grant.approve"));
    let marks: Vec<_> =
        lines["items"].as_array().unwrap().iter().map(|line| &line["self_approved"]).collect();
    assert_eq!(marks, [&json!("requester"), &json!("address")]);
    let (request, _) = office.enroll("other", "secret", ELSEWHERE);
    assert_eq!(body(&admin.approve(&request))["grant"]["self_approved"], Value::Null);
}

#[test]
fn an_approver_gives_no_more_than_they_hold() {
    let office = Office::new();
    let mut bob = office.person("Bob", "approver", OFFICE);
    let (secret, _) = office.enroll("spy", "secret", ELSEWHERE);
    refused(&bob.approve(&secret), "forbidden", "no more than you hold");
    let mut stranger = office.at(KEY, ELSEWHERE).browser;
    let wanted = json!({"client_id": "boss", "capsule": "ours", "role": "owner", "scopes": ["capsule:admin", "registry:manage"]});
    let made = body(&stranger.post_json("/v1/agent-enrollments", &wanted));
    let code = made["user_code"].as_str().unwrap();
    let found = body(&bob.get(&format!("/v1/grants?code={code}")));
    let owner = found["items"][0]["id"].as_str().unwrap();
    refused(&bob.approve(owner), "forbidden", "no more than you hold");
    // Turning down is theirs, and so is as much as they may read themselves.
    let narrow = json!({"role": "reader", "scopes": ["capsule:read"]});
    let narrowed = bob.post(&format!("/v1/grants/{owner}/approve"), &narrow);
    assert_eq!(narrowed.status, 200, "{narrowed:?}");
    assert_eq!(bob.post(&format!("/v1/grants/{secret}/deny"), &json!({})).status, 200);
    let deck = json!({"client_id": "tools", "deck": {"capabilities": ["*"]}});
    let made = body(&stranger.post_json("/v1/agent-enrollments", &deck));
    let code = made["user_code"].as_str().unwrap();
    let found = body(&bob.get(&format!("/v1/grants?code={code}")));
    let deck = found["items"][0]["id"].as_str().unwrap().to_owned();
    refused(&bob.approve(&deck), "forbidden", "no more than you hold");
}

#[test]
fn a_program_that_decides_cannot_approve_a_twin_at_its_address() {
    let office = Office::new();
    let registry = office.served.registry();
    let policy = GrantPolicy { mode: ApprovalMode::Supervisor, ..GrantPolicy::default() };
    office
        .served
        .wait(registry.approval().set_policy(&EventCaller::new("admin", None), policy))
        .unwrap();
    let mut stranger = office.at(KEY, OFFICE).browser;
    let wanted = json!({"client_id": "boss", "capsule": "ours", "role": "writer", "scopes": ["capsule:write", "registry:manage"]});
    let made = body(&stranger.post_json("/v1/agent-enrollments", &wanted));
    let code = made["user_code"].as_str().unwrap();
    let mut admin = office.admin(ELSEWHERE);
    let found = body(&admin.get(&format!("/v1/grants?code={code}")));
    assert_eq!(admin.approve(found["items"][0]["id"].as_str().unwrap()).status, 200);
    let token = made["enrollment_token"].as_str().unwrap().to_owned().leak();
    let mut boss = office.at(token, OFFICE);
    let (twin, _) = office.enroll("twin", "ours", OFFICE);
    refused(&boss.approve(&twin), "self_approval", "the address that you use");
    let (again, _) = office.enroll("boss", "ours", ELSEWHERE);
    refused(&boss.approve(&again), "self_approval", "your own client id");
    let (other, _) = office.enroll("other", "ours", ELSEWHERE);
    assert_eq!(boss.approve(&other).status, 200);
}

#[test]
fn the_approval_url_names_the_request() {
    let office = Office::new();
    let (request, made) = office.enroll("nightly", "ours", OFFICE);
    let url = made["approval_url"].as_str().unwrap();
    assert_eq!(url, format!("{}/#/access/request/{request}", office.served.url()));
}
