//! How much a person may ask for.

use capdeck_auth::inbound::{EventCaller, NewOperator, OperatorRole};
use capdeck_definition::Exposure;
use capdeck_serve::{BucketRate, RateLimits, ServeAuthMode};
use capdeck_test::FakePlan;
use serde_json::json;

use super::browser::{Browser, REDIRECT, body, client_with, hello, tokens};
use crate::{
    event_stream::EventStream,
    served::{Served, Setting, until},
};

const KEY: &str = "open-sesame-0123456789";

fn limited() -> Served {
    let few = BucketRate { per_minute: 1, burst: 8 };
    let auth = BucketRate { per_minute: 1, burst: 12 };
    let rates = RateLimits { auth, api: few, mcp: few, concurrent: 4, sessions: 64, streams: 2 };
    Setting::of(&FakePlan::default())
        .exposure(Exposure::Direct)
        .registry()
        .auth(ServeAuthMode::Required)
        .key(KEY)
        .rates(rates)
        .serve()
}

#[test]
fn item_23_a_bucket_that_is_empty_says_how_long_and_the_others_go_on() {
    let served = limited();
    let mut browser = Browser::with_key(&served, KEY);
    let tokens = browser.sign_in("/mcp", "deck:call", &[("scope", "deck:call"), ("deck", "all")]);
    let mut left = Vec::new();
    for _ in 0..8 {
        let reply = browser.mcp("/mcp", &tokens.access, &hello());
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.header("ratelimit-limit"), Some("8"));
        left.push(reply.header("ratelimit-remaining").unwrap().to_owned());
        assert!(reply.header("ratelimit-reset").unwrap().parse::<u64>().is_ok());
    }
    assert_eq!(left, ["7", "6", "5", "4", "3", "2", "1", "0"]);
    let refused = browser.mcp("/mcp", &tokens.access, &hello());
    assert_eq!(refused.status, 429, "{refused:?}");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(body(&refused)["code"], "rate_limited");
    assert_eq!(browser.get("/api/me").status, 200, "another bucket");
    assert_eq!(browser.get("/health").status, 200);
    let key =
        [("Authorization", "Bearer open-sesame-0123456789"), ("Content-Type", "application/json")];
    let mut owner = Browser::new(&served);
    assert_eq!(owner.send("POST", "/mcp", &key, &hello().to_string()).status, 200, "somebody else");
}

#[test]
fn item_23_strangers_are_counted_by_address() {
    let served = limited();
    let mut browser = Browser::new(&served);
    let statuses: Vec<u16> = (0..14)
        .map(|_| browser.post_json("/oauth/register", &json!({"redirect_uris": []})).status)
        .collect();
    assert_eq!(statuses.iter().filter(|status| **status == 400).count(), 12, "{statuses:?}");
    assert_eq!(browser.post("/oauth/token", &[]).status, 429);
    let refused = browser.post_json("/v1/agent-enrollments", &json!({}));
    assert_eq!(refused.status, 429);
    assert!(refused.header("retry-after").unwrap().parse::<u64>().is_ok());
    assert_eq!(browser.get("/.well-known/oauth-authorization-server").status, 200);
}

#[test]
fn the_person_at_this_machine_is_not_counted() {
    let few = BucketRate { per_minute: 1, burst: 1 };
    let rates =
        RateLimits { auth: few, api: few, mcp: few, concurrent: 1, sessions: 1, streams: 1 };
    let served = Setting::of(&FakePlan::default()).registry().rates(rates).serve();
    let mut browser = Browser::new(&served);
    for _ in 0..5 {
        assert_eq!(browser.post_json("/mcp", &hello()).status, 200);
        assert_eq!(browser.get("/api/me").status, 200);
    }
}

#[test]
fn streams_of_a_credential_are_bounded() {
    let much = BucketRate { per_minute: 100_000, burst: 10_000 };
    let rates =
        RateLimits { auth: much, api: much, mcp: much, concurrent: 8, sessions: 64, streams: 2 };
    let served = Setting::of(&FakePlan::default())
        .registry()
        .auth(ServeAuthMode::Required)
        .key(KEY)
        .rates(rates)
        .serve();
    let mut browser = Browser::with_key(&served, KEY);
    let all = [("scope", "deck:call"), ("deck", "all")];
    let tokens = [(); 2].map(|()| browser.sign_in("/mcp", "deck:call", &all));
    let headers = |token: &str| {
        let client = client_with(&served, "/mcp", token);
        vec![
            ("Authorization", format!("Bearer {token}")),
            ("Mcp-Session-Id", client.session.clone().unwrap()),
            ("MCP-Protocol-Version", "2025-11-25".to_owned()),
        ]
    };
    let listen = |token: &str| EventStream::get_with(served.authority(), "/mcp", &headers(token));
    let [first, second] = &tokens;
    let mut open = vec![listen(&first.access), listen(&first.access)];
    let refused = |token: &str, path: &str| {
        let headers = headers(token);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let accept = [&headers[..], &[("Accept", "text/event-stream")]].concat();
        Browser::new(&served).send("GET", path, &accept, "")
    };
    for path in ["/mcp", "/api/activity"] {
        // Of a stream that is open after all there would be no end to be read.
        let (head, headers) = (format!("GET {path} HTTP/1.1"), headers(&first.access));
        assert!(!EventStream::try_get(served.authority(), &head, &headers), "one more at {path}");
        let refused = refused(&first.access, path);
        assert_eq!(refused.status, 429, "{refused:?}");
        assert_eq!(body(&refused)["code"], "too_many_streams");
        assert!(refused.header("retry-after").is_some());
    }
    // Calls go on, and so do the streams of others.
    assert_eq!(browser.mcp("/mcp", &first.access, &hello()).status, 200);
    drop(listen(&second.access));
    drop(open.pop());
    until("a place", || {
        let head = "GET /mcp HTTP/1.1";
        EventStream::try_get(served.authority(), head, &headers(&first.access)).then_some(())
    });
}

#[test]
fn a_colleague_with_a_credential_is_served_while_others_use_the_rate_of_the_address_up() {
    let served = limited();
    let mut person = Browser::with_key(&served, KEY);
    let client = person.register(REDIRECT);
    let code =
        person.code(&client, &[("scope", "deck:call")], &[("scope", "deck:call"), ("deck", "all")]);
    let tokens = tokens(&person.redeem(&client, &code));
    let wanted = json!({"client_id": "robot", "deck": {"capabilities": ["fake"]}});
    let enrolled = body(&person.post_json("/v1/agent-enrollments", &wanted));
    let key = operator(&served, "Ada");
    let mut attacker = Browser::new(&served);
    until("an empty bucket", || {
        let reply = attacker.post("/oauth/token", &[("grant_type", "x")]);
        (reply.status == 429).then_some(())
    });
    let mut colleague = Browser::new(&served);
    let fields = [
        ("grant_type", "refresh_token"),
        ("client_id", client.as_str()),
        ("refresh_token", tokens.refresh.as_str()),
    ];
    assert_eq!(colleague.post("/oauth/token", &fields).status, 200);
    assert_eq!(colleague.post_json("/api/login", &json!({"key": key})).status, 200);
    let path = format!("/v1/agent-enrollments/{}", enrolled["id"].as_str().unwrap());
    let bearer = format!("Bearer {}", enrolled["enrollment_token"].as_str().unwrap());
    assert_eq!(colleague.send("GET", &path, &[("Authorization", &bearer)], "").status, 200);
    assert_eq!(person.get(&person.authorize_path(&client, &[])).status, 200, "who is signed in");
    // What is not known here is not let past.
    assert_eq!(attacker.post("/oauth/token", &[("refresh_token", "cap_rt_x")]).status, 429);
    assert_eq!(attacker.post_json("/api/login", &json!({"key": KEY})).status, 429);
}

fn operator(served: &Served, name: &str) -> String {
    let role = OperatorRole::Member;
    let new = NewOperator { name: name.to_owned(), role, subject: None, with_key: true };
    let caller = EventCaller::new("admin", None);
    let made = served.wait(served.registry().operators().create(&caller, new)).unwrap();
    made.key.unwrap().expose().to_owned()
}
