//! Agents without a browser sign up.

use capdeck_auth::inbound::{
    ApprovalTerms, DecisionMaker, EventCaller, OperatorRole, PageRequest, RequestDecision,
    RequestQuery, RequestStatus,
};
use capdeck_host::{CapsuleAuthor, CapsuleCaller, CapsuleServiceExt as _, CreateCapsuleRequest};
use capdeck_serve::{BucketRate, RateLimits, ServeAuthMode};
use serde_json::{Value, json};

use super::browser::{Browser, body, hello};
use crate::served::{Served, Setting};

const KEY: &str = "open-sesame-0123456789";

fn stage() -> Served {
    let served = Setting::new().registry().auth(ServeAuthMode::Required).key(KEY).serve();
    for name in ["team", "secret"] {
        let (name, description) = (name.to_owned(), None);
        let create = CreateCapsuleRequest { name, description, visibility: None };
        let caller = CapsuleCaller::local(CapsuleAuthor::client("owner"));
        let service = served.host.capsules().unwrap();
        served.wait(service.ask(caller.request(None, create))).unwrap();
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

fn decide(served: &Served, id: &str, decision: RequestDecision) {
    let request = served.registry().enrollments().get(id).unwrap().enrollment.request;
    let decider = DecisionMaker::Operator {
        id: "admin".to_owned(),
        role: OperatorRole::Admin,
        readable: Vec::new(),
    };
    let caller = EventCaller::new("admin", None);
    served.wait(served.registry().grants().decide(&caller, &decider, &request, decision)).unwrap();
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
    decide(&served, id, RequestDecision::Approve(ApprovalTerms::default()));
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
    decide(&served, id, RequestDecision::Deny { note: None });
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
    // Else the one who signs up first under the name of another agent has that agent show their code.
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

#[test]
fn a_sign_up_by_name_and_by_id_tells_nothing_of_whether_there_is_a_capsule() {
    let served = stage();
    let create =
        CreateCapsuleRequest { name: "Top Secret".to_owned(), description: None, visibility: None };
    let caller = CapsuleCaller::local(CapsuleAuthor::client("owner"));
    served.wait(served.host.capsules().unwrap().ask(caller.request(None, create))).unwrap();
    let mut browser = Browser::new(&served);
    for (name, id) in [("Top Secret", "top-secret"), ("No Such", "no-such")] {
        assert_eq!(enroll(&mut browser, name).0, 201, "{name}");
        assert_eq!(enroll(&mut browser, id).0, 201, "{id}");
        assert_eq!(enroll(&mut browser, id).0, 200, "the same words are the same sign-up");
    }
}

#[test]
fn a_sign_up_for_a_name_opens_no_capsule_that_is_made_later() {
    let served = stage();
    let mut browser = Browser::new(&served);
    let (_, made) = enroll(&mut browser, "finance");
    let (id, token) = (made["id"].as_str().unwrap(), made["enrollment_token"].as_str().unwrap());
    decide(&served, id, RequestDecision::Approve(ApprovalTerms::default()));
    let name = "finance".to_owned();
    let create = CreateCapsuleRequest { name, description: None, visibility: None };
    let caller = CapsuleCaller::local(CapsuleAuthor::client("owner"));
    served.wait(served.host.capsules().unwrap().ask(caller.request(None, create))).unwrap();
    assert_eq!(browser.mcp("/mcp/finance", token, &hello()).status, 404);
}

#[test]
fn sign_ups_of_one_address_are_bounded_and_denied_at_once() {
    let much = BucketRate { per_minute: 100_000, burst: 10_000 };
    let rates = RateLimits { auth: much, ..RateLimits::default() };
    let served =
        Setting::new().registry().auth(ServeAuthMode::Required).key(KEY).rates(rates).serve();
    let mut browser = Browser::new(&served);
    let mut sign_up = |number: usize| {
        let wanted = json!({"client_id": format!("robot-{number}"), "deck": {}});
        browser.post_json("/v1/agent-enrollments", &wanted)
    };
    let statuses: Vec<u16> = (0..25).map(|number| sign_up(number).status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 20, "{statuses:?}");
    let refused = sign_up(25);
    assert_eq!((refused.status, &body(&refused)["code"]), (507, &json!("limit_reached")));
    let key = format!("Bearer {KEY}");
    let headers = [("Authorization", key.as_str()), ("Content-Type", "application/json")];
    let mut owner = Browser::new(&served);
    let mut deny = |selection: Value| {
        let reply = owner.send("POST", "/v1/grants/deny", &headers, &selection.to_string());
        (reply.status, body(&reply))
    };
    // A selection says something, and nothing else is denied by it.
    for wrong in [json!({}), json!({"note": "x"}), json!({"address": "nowhere"}), json!({"all": 1})]
    {
        assert_eq!(deny(wrong.clone()).0, 400, "{wrong}");
    }
    let denied = |(status, answer): (u16, Value)| {
        assert_eq!(status, 200, "{answer}");
        answer["denied"].as_array().unwrap().len()
    };
    assert_eq!(denied(deny(json!({"address": "192.0.2.1"}))), 0);
    assert_eq!(denied(deny(json!({"source": "oauth"}))), 0);
    assert_eq!(denied(deny(json!({"client_id": "robot-3"}))), 1);
    let rest = json!({"source": "enrollment", "address": "127.0.0.1", "note": "a flood"});
    assert_eq!(denied(deny(rest.clone())), 19);
    assert_eq!(denied(deny(rest)), 0, "they are denied once");
    assert_eq!(sign_up(26).status, 201, "there is room again");
    let query = RequestQuery { status: Some(RequestStatus::Denied), ..RequestQuery::default() };
    let found = served.registry().grants().requests(&query, &PageRequest::default()).unwrap();
    assert_eq!(found.items.len(), 20);
}
