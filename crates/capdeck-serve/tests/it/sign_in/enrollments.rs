//! Agents without a browser sign up.

use capdeck_auth::inbound::{Caller, Decider, Decision, OperatorRole, Terms};
use capdeck_host::{Author, CapsuleCaller, CapsuleOperation};
use capdeck_serve::AuthMode;
use serde_json::{Value, json};

use super::browser::{Browser, body, hello};
use crate::served::{Served, Setting};

const KEY: &str = "open-sesame-0123456789";

fn stage() -> Served {
    let served = Setting::new().registry().auth(AuthMode::Required).key(KEY).serve();
    for name in ["team", "secret"] {
        let (name, description) = (name.to_owned(), None);
        let create = CapsuleOperation::CreateCapsule { name, description, visibility: None };
        let caller = CapsuleCaller::local(Author::client("owner"));
        let desk = served.host.capsules().unwrap();
        served.wait(desk.ask(caller.request(None, create))).unwrap();
    }
    served
}

fn enroll(browser: &mut Browser, capsule: &str) -> (u16, Value) {
    let wanted =
        json!({"client_id": "robot", "capsule": capsule, "role": "reader", "reason": "nightly"});
    let reply = browser.post_json("/v1/agent-enrollments", &wanted);
    (reply.status, body(&reply))
}

fn ask(browser: &mut Browser, method: &str, id: &str, token: &str) -> (u16, String) {
    let bearer = format!("Bearer {token}");
    let path = format!("/v1/agent-enrollments/{id}");
    let reply = browser.send(method, &path, &[("Authorization", &bearer)], "");
    (reply.status, reply.body)
}

fn decide(served: &Served, id: &str, decision: Decision) {
    let request = served.registry().enrollment(id).unwrap().enrollment.request;
    let decider = Decider::Operator {
        id: "admin".to_owned(),
        role: OperatorRole::Admin,
        readable: Vec::new(),
    };
    let caller = Caller::new("admin", None);
    served.wait(served.registry().decide(&caller, &decider, &request, decision)).unwrap();
}

#[test]
fn item_18_a_token_opens_something_only_once_it_is_approved() {
    let served = stage();
    let mut browser = Browser::new(&served);
    let (status, made) = enroll(&mut browser, "team");
    assert_eq!((status, made["status"].as_str()), (201, Some("pending")), "{made}");
    let (id, token) = (made["id"].as_str().unwrap(), made["enrollment_token"].as_str().unwrap());
    assert!(made["user_code"].as_str().unwrap().contains('-'), "{made}");
    assert!(made.get("capsule_id").is_none() && made.get("mcp_url").is_none(), "{made}");
    for path in ["/mcp", "/mcp/team"] {
        assert_eq!(browser.mcp(path, token, &hello()).status, 401, "{path}");
    }
    decide(&served, id, Decision::Approve(Terms::default()));
    let (status, state) = ask(&mut browser, "GET", id, token);
    let state: Value = serde_json::from_str(&state).unwrap();
    assert_eq!((status, state["status"].as_str()), (200, Some("approved")), "{state}");
    let path = state["mcp_url"].as_str().unwrap().strip_prefix(served.url()).unwrap().to_owned();
    assert_eq!(browser.mcp(&path, token, &hello()).status, 200);
    assert_eq!(browser.mcp("/mcp/secret", token, &hello()).status, 404, "item 14: only its own");
    assert_eq!(ask(&mut browser, "DELETE", id, token).0, 204);
    assert_eq!(browser.mcp(&path, token, &hello()).status, 401, "withdrawn");
}

#[test]
fn item_18_a_denied_one_is_refused_and_unknown_ones_are_all_alike() {
    let served = stage();
    let mut browser = Browser::new(&served);
    let (_, made) = enroll(&mut browser, "team");
    let (id, token) = (made["id"].as_str().unwrap(), made["enrollment_token"].as_str().unwrap());
    let unknown = ask(&mut browser, "GET", "enr_unknown", token);
    assert_eq!(unknown.0, 404);
    let alike = |answer: (u16, String)| {
        // The id of a request is the only thing that may differ.
        let mut body: Value = serde_json::from_str(&answer.1).unwrap();
        body.as_object_mut().unwrap().remove("request_id");
        (answer.0, body)
    };
    assert_eq!(alike(ask(&mut browser, "GET", id, "wrong")), alike(unknown.clone()));
    assert_eq!(alike(ask(&mut browser, "DELETE", id, "wrong")), alike(unknown.clone()));
    let none = browser.send("GET", &format!("/v1/agent-enrollments/{id}"), &[], "");
    assert_eq!(alike((none.status, none.body)), alike(unknown));
    decide(&served, id, Decision::Deny { note: None });
    assert_eq!(browser.mcp("/mcp/team", token, &hello()).status, 401);
    let (status, state) = ask(&mut browser, "GET", id, token);
    assert!(status == 200 && state.contains("denied"), "{state}");
}

#[test]
fn item_19_a_repeat_is_the_same_and_tells_no_secret() {
    let served = stage();
    let mut browser = Browser::new(&served);
    let (_, first) = enroll(&mut browser, "team");
    let (status, again) = enroll(&mut browser, "team");
    assert_eq!((status, &again["id"]), (200, &first["id"]));
    assert!(again.get("enrollment_token").is_none(), "{again}");
    // Else whoever signs up first under the name of another agent has that agent show their code.
    assert!(again.get("user_code").is_none(), "{again}");
}

#[test]
fn a_capsule_that_is_not_there_is_signed_up_for_just_the_same() {
    let served = stage();
    let mut browser = Browser::new(&served);
    let keys = |made: &Value| made.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let (there, private) = enroll(&mut browser, "secret");
    let (missing, unknown) = enroll(&mut browser, "nothing-of-the-kind");
    assert_eq!((there, keys(&private)), (missing, keys(&unknown)));
}

#[test]
fn polling_too_often_has_to_wait() {
    let served = stage();
    let mut browser = Browser::new(&served);
    let (_, made) = enroll(&mut browser, "team");
    let (id, token) = (made["id"].as_str().unwrap(), made["enrollment_token"].as_str().unwrap());
    assert_eq!(ask(&mut browser, "GET", id, token).0, 200);
    let bearer = format!("Bearer {token}");
    let path = format!("/v1/agent-enrollments/{id}");
    let soon = browser.send("GET", &path, &[("Authorization", &bearer)], "");
    assert_eq!(soon.status, 429);
    assert!(soon.header("retry-after").unwrap().parse::<u64>().is_ok());
}

#[test]
fn what_is_asked_for_has_to_make_sense() {
    let served = stage();
    let mut browser = Browser::new(&served);
    for wrong in [
        json!({"client_id": "robot"}),
        json!({"client_id": "robot", "capsule": "team", "deck": {}}),
        json!({"client_id": "robot", "deck": {}, "role": "reader"}),
        json!({"client_id": "", "capsule": "team"}),
        json!({"client_id": "robot", "capsule": "team", "role": "king"}),
        json!({"client_id": "robot", "capsule": "team", "uri_prefixes": ["nonsense"]}),
        json!({"client_id": "robot", "capsule": "team", "token": "mine"}),
        json!("robot"),
    ] {
        let reply = browser.post_json("/v1/agent-enrollments", &wrong);
        assert_eq!(reply.status, 400, "{wrong}: {reply:?}");
        assert_eq!(body(&reply)["code"], "invalid_input");
    }
}
