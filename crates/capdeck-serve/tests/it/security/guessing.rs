//! An attacker guesses credentials while a colleague works from the same address.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use capdeck_auth::inbound::{OperatorRole, RegistryLimits};
use capdeck_storage::WallClock;
use capdeck_test::HttpReply;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::stage::{ALL, KEY, at, audit, client, operator, share, signed_in};
use crate::{
    served::{Served, Setting},
    sign_in::browser::{Browser, REDIRECT, body, hello, tokens},
};

const LONG_KEY: &str = "a-key-that-is-as-long-as-generated-ones-0123456789";

/// Where a bearer is taken.
const PLACES: [(&str, &str); 4] =
    [("GET", "/v1/operators"), ("POST", "/mcp"), ("GET", "/api/me"), ("GET", "/metrics")];

/// A clock that does not move by itself.
fn stopped() -> (Arc<AtomicI64>, WallClock) {
    let time = Arc::new(AtomicI64::new(Timestamp::now().as_second()));
    let shared = Arc::clone(&time);
    let clock =
        WallClock::from_fn(move || Timestamp::from_second(shared.load(Ordering::Relaxed)).unwrap());
    (time, clock)
}

/// A host that counts failures as it does by default.
fn guessed(clock: WallClock) -> Setting {
    at(clock).failed_credentials(RegistryLimits::default().failed_credentials)
}

fn bearer(served: &Served, method: &str, path: &str, token: &str) -> HttpReply {
    let token = format!("Bearer {token}");
    let headers = [("Authorization", token.as_str()), ("Content-Type", "application/json")];
    let text = if method == "POST" { hello().to_string() } else { String::new() };
    Browser::new(served).send(method, path, &headers, &text)
}

/// Statuses of guesses everywhere that a bearer is taken.
fn guess(served: &Served, times: usize, token: impl Fn(usize) -> String) -> Vec<u16> {
    let places = PLACES.iter().cycle();
    let replies = places.take(times).enumerate().map(|(number, (method, path))| {
        let reply = bearer(served, method, path, &token(number));
        if reply.status == 429 {
            let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
            assert!(wait >= 1, "{reply:?}");
        }
        reply.status
    });
    replies.collect()
}

fn count(statuses: &[u16], status: u16) -> usize {
    statuses.iter().filter(|one| **one == status).count()
}

/// Lines about failed credentials.
fn failures(served: &Served) -> Vec<Value> {
    let audit = audit(served);
    let lines = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["action"] == "credential.fail").collect()
}

#[test]
fn guessing_the_admin_key_is_slow_and_leaves_one_line() {
    let (time, clock) = stopped();
    let served = guessed(clock).serve();
    let statuses = guess(&served, 200, |number| format!("open-sesame-{number:010}"));
    assert_eq!((count(&statuses, 401), count(&statuses, 429)), (5, 195), "{statuses:?}");
    // The right guess is not compared either, at any endpoint: another answer would confirm it.
    for (method, path) in PLACES {
        assert_eq!(bearer(&served, method, path, KEY).status, 429, "{path}");
    }
    let login = Browser::new(&served).post_json("/api/login", &json!({"key": KEY}));
    assert_eq!(login.status, 429, "sign-ins share the back-off: {login:?}");
    let lines = failures(&served);
    assert_eq!(lines.len(), 1, "{lines:?}");
    let line = lines[0].to_string();
    assert!(line.contains("admin_key") && line.contains("127.0.0.1"), "{line}");
    assert!(!audit(&served).contains("open-sesame"));
    time.fetch_add(1, Ordering::Relaxed);
    assert_eq!(bearer(&served, "GET", "/api/me", KEY).status, 200);
}

#[test]
fn colleagues_at_the_address_are_not_locked_out() {
    let served = guessed(stopped().1).serve();
    let tokens = client(&served, "/mcp", "deck:call");
    let share = share(&served);
    let key = operator(&served, "Ada", OperatorRole::Member);
    let (mut browser, _) = signed_in(&served, KEY);
    let statuses = guess(&served, 100, |number| format!("open-sesame-{number:010}"));
    assert_eq!(count(&statuses, 401), 5, "{statuses:?}");
    assert_eq!(bearer(&served, "POST", "/mcp", &tokens.access).status, 200);
    assert_eq!(bearer(&served, "POST", "/mcp", &share).status, 200);
    assert_eq!(bearer(&served, "GET", "/api/me", &key).status, 200);
    assert_eq!(browser.get("/api/me").status, 200, "a session that is open");
    let login = Browser::new(&served).post_json("/api/login", &json!({"key": key}));
    assert_eq!(login.status, 200, "the key of an operator signs in");
    // None of that gives the attacker further guesses.
    assert_eq!(count(&guess(&served, 8, |_| "open-sesame-x".to_owned()), 401), 0);
}

#[test]
fn a_long_admin_key_is_never_locked_out() {
    let served = guessed(stopped().1).key(LONG_KEY).serve();
    let statuses = guess(&served, 50, |number| format!("cap_ad_{number:043}"));
    assert_eq!(count(&statuses, 401), 5, "{statuses:?}");
    for (method, path) in PLACES {
        assert_eq!(bearer(&served, method, path, LONG_KEY).status, 200, "{path}");
    }
    let login = Browser::new(&served).post_json("/api/login", &json!({"key": LONG_KEY}));
    assert_eq!(login.status, 200, "{login:?}");
}

#[test]
fn tokens_of_every_kind_are_counted_and_the_right_ones_pass() {
    let served = guessed(stopped().1).serve();
    let tokens = client(&served, "/mcp", "deck:call");
    let share = share(&served);
    let key = operator(&served, "Ada", OperatorRole::Member);
    for prefix in ["cap_at_", "cap_en_", "cap_op_", "cap_sh_"] {
        let statuses = guess(&served, 60, |number| format!("{prefix}{number:043}"));
        assert_eq!((count(&statuses, 401), count(&statuses, 429)), (20, 40), "{prefix}");
    }
    assert_eq!(failures(&served).len(), 4);
    assert_eq!(bearer(&served, "POST", "/mcp", &tokens.access).status, 200);
    assert_eq!(bearer(&served, "POST", "/mcp", &share).status, 200);
    assert_eq!(bearer(&served, "GET", "/api/me", &key).status, 200);
    assert_eq!(bearer(&served, "GET", "/api/me", KEY).status, 200, "another class");
}

#[test]
fn tokens_that_are_over_or_not_approved_yet_are_no_guesses() {
    let (time, clock) = stopped();
    let served = guessed(clock).serve();
    let tokens = client(&served, "/mcp", "deck:call");
    let enrolled = Browser::new(&served).post_json(
        "/v1/agent-enrollments",
        &json!({"client_id": "bot", "deck": {"capabilities": ["fake"]}}),
    );
    let enrolled = body(&enrolled)["enrollment_token"].as_str().unwrap().to_owned();
    time.fetch_add(2 * 3600, Ordering::Relaxed);
    for token in [&tokens.access, &enrolled] {
        let statuses = guess(&served, 60, |_| token.clone());
        assert_eq!(count(&statuses, 401), 60, "{statuses:?}");
    }
    assert!(failures(&served).is_empty());
}

#[test]
fn cookies_that_open_nothing_are_counted_and_a_session_passes() {
    let served = guessed(stopped().1).serve();
    let (mut browser, _) = signed_in(&served, KEY);
    let statuses: Vec<u16> = (0..40)
        .map(|number| {
            let cookie = format!("capdeck=cap_se_{number:043}");
            Browser::new(&served).send("GET", "/api/me", &[("Cookie", &cookie)], "").status
        })
        .collect();
    assert_eq!((count(&statuses, 401), count(&statuses, 429)), (20, 20), "{statuses:?}");
    assert_eq!(browser.get("/api/me").status, 200);
    assert_eq!(failures(&served).len(), 1);
}

#[test]
fn codes_refresh_tokens_and_client_secrets_are_counted() {
    let served = guessed(stopped().1).serve();
    let mut browser = Browser::with_key(&served, KEY);
    let client_id = browser.register(REDIRECT);
    let code = browser.code(&client_id, &[("scope", "deck:call")], &ALL);
    let tokens = tokens(&browser.redeem(&client_id, &code));
    let before = audit(&served).lines().count();
    let mut exchange = |fields: &[(&str, &str)]| browser.post("/oauth/token", fields);
    for (kind, name, grant) in
        [("cap_rt_", "refresh_token", "refresh_token"), ("cap_co_", "code", "authorization_code")]
    {
        let statuses: Vec<u16> = (0..40)
            .map(|number| {
                let wrong = format!("{kind}{number:043}");
                let fields = [
                    ("grant_type", grant),
                    ("client_id", client_id.as_str()),
                    (name, wrong.as_str()),
                    ("code_verifier", "x"),
                ];
                let reply = exchange(&fields);
                if reply.status == 400 {
                    assert_eq!(body(&reply)["error"], "invalid_grant", "{reply:?}");
                }
                reply.status
            })
            .collect();
        assert_eq!((count(&statuses, 400), count(&statuses, 429)), (20, 20), "{kind}");
    }
    let fields = [
        ("grant_type", "refresh_token"),
        ("client_id", client_id.as_str()),
        ("refresh_token", tokens.refresh.as_str()),
    ];
    assert_eq!(exchange(&fields).status, 200, "the right one of a colleague");
    let lines = audit(&served);
    let new: Vec<&str> = lines.lines().skip(before).collect();
    assert_eq!(new.len(), 3, "one for each burst and one for the renewal: {new:?}");
}

#[test]
fn user_codes_are_counted() {
    let served = guessed(stopped().1).serve();
    let look_up = |code: &str| {
        let path = format!("/v1/grants?code={code}");
        bearer(&served, "GET", &path, KEY)
    };
    let enrolled = Browser::new(&served).post_json(
        "/v1/agent-enrollments",
        &json!({"client_id": "bot", "deck": {"capabilities": ["fake"]}}),
    );
    let code = body(&enrolled)["user_code"].as_str().unwrap().to_owned();
    assert_eq!(body(&look_up(&code))["items"].as_array().unwrap().len(), 1);
    let statuses: Vec<u16> = (0..20).map(|_| look_up("AAAA-AAAA").status).collect();
    assert_eq!((count(&statuses, 200), count(&statuses, 429)), (5, 15), "{statuses:?}");
    assert_eq!(look_up(&code).status, 429, "the right code could be a guess");
}

#[test]
fn without_a_registry_guesses_are_slow_too() {
    let served = Setting::new().key(KEY).serve();
    let statuses = guess(&served, 60, |number| format!("open-sesame-{number:010}"));
    assert!(count(&statuses, 429) >= 40, "{statuses:?}");
}
