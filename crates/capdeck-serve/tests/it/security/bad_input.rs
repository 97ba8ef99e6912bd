//! Every path with what it does not take: methods, types, sizes, foreign pages and names, and everything that is over.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use capdeck_storage::WallClock;
use jiff::Timestamp;
use serde_json::json;

use super::{
    routes::{ROUTES, Route},
    stage::{ALL, KEY, at, client, operations, refusals, setting, share, signed_in, tells_nothing},
};
use crate::{
    served::{Served, Setting},
    sign_in::browser::{Browser, REDIRECT, body, hello, tokens},
};

const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "BREW"];

/// A host with something at every path.
fn house() -> Setting {
    setting().config("views", json!({"small": {"capabilities": ["fake"]}}))
}

/// Every method of every path that there is.
fn everything(served: &Served) -> Vec<(String, String)> {
    let beside = ROUTES.iter().flat_map(|route| {
        route.methods.iter().map(|method| ((*method).to_owned(), route.path.to_owned()))
    });
    operations(served).into_iter().chain(beside).collect()
}

/// The same without what needs no token.
fn everything_closed(served: &Served) -> Vec<(String, String)> {
    let is_open = |path: &str| ROUTES.iter().any(|route| route.is_open && route.path == path);
    everything(served).into_iter().filter(|(_, path)| !is_open(path)).collect()
}

#[test]
fn another_method_is_answered_with_the_ones_that_are_taken() {
    let served = house().serve();
    share(&served);
    let key = format!("Bearer {KEY}");
    let mut browser = Browser::new(&served);
    for route in ROUTES {
        let wrong = METHODS.iter().filter(|method| !route.methods.contains(method));
        for method in wrong {
            let reply = browser.send(method, route.path, &[("Authorization", &key)], "");
            assert_eq!(reply.status, 405, "{method} {}: {reply:?}", route.path);
            let allow = reply.header("allow").unwrap_or_default();
            for right in route.methods {
                assert!(allow.contains(right), "{method} {}: {allow}", route.path);
            }
            tells_nothing(&served, &reply, &[KEY]);
        }
    }
}

#[test]
fn another_type_and_too_large_a_body_are_refused() {
    let served = house().serve();
    share(&served);
    let key = format!("Bearer {KEY}");
    let mut browser = Browser::new(&served);
    for Route { path, takes, is_open, .. } in ROUTES {
        let Some(kind) = takes else { continue };
        let mut post = |kind: &str, text: &str| {
            let headers = [("Authorization", key.as_str()), ("Content-Type", kind)];
            browser.send("POST", path, &headers, text)
        };
        for wrong in ["text/plain", "multipart/form-data; boundary=x", "application/xml"] {
            let reply = post(wrong, "{}");
            assert_eq!(reply.status, 415, "{path} {wrong}: {reply:?}");
            tells_nothing(&served, &reply, &[KEY]);
        }
        let most = if *is_open { 64 * 1024 } else { capdeck_mcp::MAX_MESSAGE_BYTES };
        let reply = post(kind, &"x".repeat(most + 1));
        assert_eq!(reply.status, 413, "{path}: {reply:?}");
        tells_nothing(&served, &reply, &[KEY]);
    }
}

#[test]
fn security_12_foreign_pages_and_names_get_nothing_by_any_method() {
    let served = house().serve();
    let key = format!("Bearer {KEY}");
    let (mut browser, csrf) = signed_in(&served, KEY);
    let mut asked = everything(&served);
    let paths: Vec<String> = asked.iter().map(|(_, path)| path.clone()).collect();
    asked.extend(paths.into_iter().map(|path| ("OPTIONS".to_owned(), path)));
    for (method, path) in asked {
        for foreign in [
            ("Origin", "https://evil.example"),
            ("Origin", "null"),
            ("Origin", "http://localhost.evil.example"),
            ("Host", "evil.example"),
        ] {
            // Neither a key, nor a cookie with its proof makes up for it.
            let with_key = [("Authorization", key.as_str()), foreign];
            let with_cookie = [("x-capdeck-csrf", csrf.as_str()), foreign];
            for headers in [with_key, with_cookie] {
                let reply = browser.send(&method, &path, &headers, "");
                assert_eq!(reply.status, 403, "{method} {path} {foreign:?}: {reply:?}");
                assert_eq!(reply.header("access-control-allow-origin"), None, "{method} {path}");
                tells_nothing(&served, &reply, &[KEY, &csrf]);
            }
        }
    }
}

#[test]
fn item_17_security_05_a_token_in_an_address_is_gone_everywhere() {
    let served = house().serve();
    let tokens = client(&served, "/mcp", "deck:call");
    let mut browser = Browser::new(&served);
    for (method, path) in everything(&served) {
        for name in ["token", "access_token", "ACCESS_TOKEN"] {
            let address = format!("{path}?{name}={}", tokens.access);
            let reply = browser.send(&method, &address, &[], "");
            assert_eq!(reply.status, 410, "{method} {path}: {reply:?}");
            tells_nothing(&served, &reply, &[&tokens.access]);
        }
    }
    assert!(!super::stage::audit(&served).contains(&tokens.access));
}

#[test]
fn a_cookie_without_the_proof_of_a_page_changes_nothing() {
    let served = house().serve();
    let (mut browser, _) = signed_in(&served, KEY);
    let (_, foreign) = signed_in(&served, KEY);
    let changes = everything_closed(&served).into_iter().filter(|(method, _)| method != "GET");
    let changes: Vec<_> = changes.collect();
    assert!(changes.len() > 30, "{}", changes.len());
    for (method, path) in changes {
        for proof in [None, Some(foreign.as_str())] {
            let before = refusals(&served).len();
            let headers: Vec<_> = proof.iter().map(|proof| ("x-capdeck-csrf", *proof)).collect();
            let reply = browser.send(&method, &path, &headers, "{}");
            assert_eq!(reply.status, 403, "{method} {path}: {reply:?}");
            tells_nothing(&served, &reply, &[&foreign]);
            assert_eq!(refusals(&served).len(), before + 1, "{method} {path}");
        }
    }
}

#[test]
fn security_05_a_token_of_another_host_or_another_endpoint_opens_nothing() {
    let served = house().serve();
    let tokens = client(&served, "/views/small/mcp", "deck:call");
    let bearer = format!("Bearer {}", tokens.access);
    let port = served.authority().rsplit(':').next().unwrap();
    let elsewhere = format!("localhost:{port}");
    let mut browser = Browser::new(&served);
    for (method, path) in everything_closed(&served) {
        let mut ask = |headers: &[(&str, &str)]| {
            let reply = browser.send(&method, &path, headers, "");
            tells_nothing(&served, &reply, &[&tokens.access]);
            reply.status
        };
        // Tokens are for the name that they were asked for.
        let status = ask(&[("Authorization", &bearer), ("Host", &elsewhere)]);
        assert_eq!(status, 401, "{method} {path} at {elsewhere}");
        if path.ends_with("/mcp") && path != "/views/small/mcp" || path.starts_with("/mcp/") {
            assert_eq!(ask(&[("Authorization", &bearer)]), 401, "{method} {path}");
        }
    }
}

/// A clock that a test moves.
fn movable() -> (Arc<AtomicI64>, WallClock) {
    let now = Arc::new(AtomicI64::new(Timestamp::now().as_second()));
    let read = Arc::clone(&now);
    let clock =
        WallClock::from_fn(move || Timestamp::from_second(read.load(Ordering::SeqCst)).unwrap());
    (now, clock)
}

#[test]
fn security_05_what_is_over_opens_nothing() {
    let (now, clock) = movable();
    let served = at(clock).config("views", json!({"small": {"capabilities": ["fake"]}})).serve();
    let (mut cookie, csrf) = signed_in(&served, KEY);
    let mut person = Browser::with_key(&served, KEY);
    let registered = person.register(REDIRECT);
    let resource = format!("{}/", served.url());
    let extra = [("scope", "deck:call"), ("resource", resource.as_str())];
    let code = person.code(&registered, &extra, &ALL);
    let given = tokens(&person.redeem(&registered, &code));
    let unused = person.code(&registered, &extra, &ALL);
    // Longer than any of it lasts: half a year.
    now.fetch_add(180 * 24 * 3600, Ordering::SeqCst);
    let bearer = format!("Bearer {}", given.access);
    let mut program = Browser::new(&served);
    for (method, path) in everything_closed(&served) {
        let reply = program.send(&method, &path, &[("Authorization", &bearer)], "");
        assert_eq!(reply.status, 401, "{method} {path}: {reply:?}");
        assert!(reply.header("www-authenticate").is_some(), "{method} {path}");
        tells_nothing(&served, &reply, &[&given.access]);
        let reply = cookie.send(&method, &path, &[("x-capdeck-csrf", &csrf)], "");
        assert_eq!(reply.status, 401, "{method} {path}: {reply:?}");
        tells_nothing(&served, &reply, &[&csrf]);
    }
    let late = person.redeem(&registered, &unused);
    assert_eq!((late.status, &body(&late)["error"]), (400, &json!("invalid_grant")), "{late:?}");
    let fields = [
        ("grant_type", "refresh_token"),
        ("client_id", registered.as_str()),
        ("refresh_token", given.refresh.as_str()),
    ];
    let late = person.post("/oauth/token", &fields);
    assert_eq!((late.status, &body(&late)["error"]), (400, &json!("invalid_grant")), "{late:?}");
    tells_nothing(&served, &late, &[&given.refresh, &given.access, &unused]);
}

#[test]
fn item_18_an_enrollment_that_is_over_opens_nothing() {
    let (now, clock) = movable();
    let served = at(clock).serve();
    let mut program = Browser::new(&served);
    let made = program
        .post_json("/v1/agent-enrollments", &json!({"client_id": "night-shift", "deck": {}}));
    assert_eq!(made.status, 201, "{made:?}");
    let token = body(&made)["enrollment_token"].as_str().unwrap().to_owned();
    now.fetch_add(180 * 24 * 3600, Ordering::SeqCst);
    assert_eq!(program.mcp("/mcp", &token, &hello()).status, 401);
    let path = format!("/v1/agent-enrollments/{}", body(&made)["id"].as_str().unwrap());
    let bearer = format!("Bearer {token}");
    let reply = program.send("GET", &path, &[("Authorization", &bearer)], "");
    assert_ne!(body(&reply)["status"], "approved", "{reply:?}");
    tells_nothing(&served, &reply, &[&token]);
}
