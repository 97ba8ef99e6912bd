//! Operators sign in and out with a key, and what their cookie is good for.

use capdeck_auth::inbound::{EventCaller, NewOperator, OperatorRole};
use capdeck_serve::ServeAuthMode;
use serde_json::json;

use super::browser::{Browser, REDIRECT, body, hello};
use crate::served::{Served, Setting};

const KEY: &str = "open-sesame-0123456789";

fn required() -> Served {
    Setting::new().registry().auth(ServeAuthMode::Required).key(KEY).serve()
}

fn operator(served: &Served, name: &str, role: OperatorRole) -> String {
    let new = NewOperator { name: name.to_owned(), role, subject: None, with_key: true };
    let caller = EventCaller::new("admin", None);
    let made = served.wait(served.registry().operators().create(&caller, new)).unwrap();
    made.key.unwrap().expose().to_owned()
}

#[test]
fn a_session_is_begun_used_and_ended() {
    let served = required();
    let mut browser = Browser::new(&served);
    assert_eq!(browser.get("/api/me").status, 401);
    let login = browser.post_json("/api/login", &json!({"key": KEY}));
    assert_eq!(login.status, 200, "{login:?}");
    let cookie = login.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    assert!(!cookie.contains(KEY), "{cookie}");
    let me = body(&browser.get("/api/me"));
    assert_eq!((&me["role"], &me["mode"]), (&json!("admin"), &json!("required")));
    let csrf = me["csrf"].as_str().unwrap();
    // A change needs what a foreign page cannot know.
    assert_eq!(browser.send("POST", "/api/logout", &[], "").status, 403);
    assert_eq!(browser.send("POST", "/api/logout", &[("x-capdeck-csrf", "wrong")], "").status, 403);
    let cookie = browser.cookie.clone();
    let out = browser.send("POST", "/api/logout", &[("x-capdeck-csrf", csrf)], "");
    assert_eq!(out.status, 204, "{out:?}");
    browser.cookie = cookie;
    assert_eq!(browser.get("/api/me").status, 401, "the session is over, whoever has its cookie");
}

#[test]
fn in_local_mode_the_person_at_this_machine_is_an_admin() {
    let served = Setting::new().registry().serve();
    let mut browser = Browser::new(&served);
    let me = body(&browser.get("/api/me"));
    assert_eq!((&me["operator"]["id"], &me["role"]), (&json!("local"), &json!("admin")));
    assert_eq!((&me["mode"], &me["csrf"]), (&json!("local"), &json!(null)));
    let passed_on = browser.send("GET", "/api/me", &[("X-Forwarded-For", "192.0.2.1")], "");
    assert_eq!(passed_on.status, 401, "what a proxy passed on is not this machine");
}

#[test]
fn an_authorization_header_never_falls_back_to_the_cookie() {
    let served = required();
    let mut browser = Browser::new(&served);
    browser.post_json("/api/login", &json!({"key": KEY}));
    assert_eq!(browser.get("/api/me").status, 200);
    for wrong in ["Bearer wrong", "Basic eDp5", "Bearer"] {
        let reply = browser.send("GET", "/api/me", &[("Authorization", wrong)], "");
        assert_eq!(reply.status, 401, "{wrong}");
    }
    let key = format!("Bearer {KEY}");
    let twice = [("Authorization", key.as_str()), ("Authorization", "Bearer other")];
    assert_eq!(browser.send("GET", "/api/me", &twice, "").status, 401, "nobody sends two");
}

#[test]
fn an_operator_has_a_key_of_their_own_and_is_no_mcp_client() {
    let served = required();
    let key = operator(&served, "Ada", OperatorRole::Member);
    let mut browser = Browser::new(&served);
    let login = browser.post_json("/api/login", &json!({"key": key}));
    assert_eq!(body(&login)["role"], "member");
    assert_eq!(body(&browser.get("/api/me"))["operator"]["name"], "Ada");
    let bearer = format!("Bearer {key}");
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let mut other = Browser::new(&served);
    assert_eq!(other.send("GET", "/api/me", &headers, "").status, 200);
    assert_eq!(other.send("POST", "/mcp", &headers, &hello().to_string()).status, 403);
}

#[test]
fn wrong_keys_learn_nothing_and_have_to_wait() {
    let served = required();
    let mut browser = Browser::new(&served);
    let mut statuses = Vec::new();
    for _ in 0..8 {
        let reply = browser.post_json("/api/login", &json!({"key": "wrong-wrong-wrong-wrong"}));
        if reply.status == 429 {
            let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
            assert!(wait >= 1);
        }
        assert_eq!(reply.header("set-cookie"), None);
        statuses.push(reply.status);
    }
    assert_eq!(statuses.first(), Some(&401));
    assert_eq!(statuses.last(), Some(&429), "{statuses:?}");
    assert_eq!(
        browser.post_json("/api/login", &json!({"key": KEY})).status,
        429,
        "the right key, too"
    );
    for wrong in [json!({}), json!({"key": 1}), json!({"key": KEY, "more": 1}), json!([])] {
        assert_eq!(browser.post_json("/api/login", &wrong).status, 400, "{wrong}");
    }
}

#[test]
fn a_member_cannot_give_what_others_decide_about() {
    let served = Setting::of(&capdeck_test::FakePlan::default())
        .registry()
        .auth(ServeAuthMode::Required)
        .key(KEY)
        .serve();
    let key: &'static str = operator(&served, "Ada", OperatorRole::Member).leak();
    let mut browser = Browser::with_key(&served, key);
    let client = browser.register(REDIRECT);
    let page = browser.consent_page(&client, &[("scope", "deck:call")]);
    let sent = browser.agree(&page, &[("scope", "deck:call"), ("deck", "all")]);
    assert_eq!((sent.status, sent.header("location")), (202, None), "{sent:?}");
    assert!(sent.body.contains("approver"), "{}", sent.body);
}
