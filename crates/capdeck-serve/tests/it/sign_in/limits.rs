//! How much somebody may ask for.

use capdeck_definition::Exposure;
use capdeck_serve::{AuthMode, Rate, RateLimits};
use capdeck_test::FakePlan;
use serde_json::json;

use super::browser::{Browser, body, hello};
use crate::served::{Served, Setting};

const KEY: &str = "open-sesame-0123456789";

fn limited() -> Served {
    let few = Rate { per_minute: 1, burst: 8 };
    let auth = Rate { per_minute: 1, burst: 12 };
    let rates = RateLimits { auth, api: few, mcp: few, concurrent: 4, sessions: 64 };
    Setting::of(&FakePlan::default())
        .exposure(Exposure::Direct)
        .registry()
        .auth(AuthMode::Required)
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
    let few = Rate { per_minute: 1, burst: 1 };
    let rates = RateLimits { auth: few, api: few, mcp: few, concurrent: 1, sessions: 1 };
    let served = Setting::of(&FakePlan::default()).registry().rates(rates).serve();
    let mut browser = Browser::new(&served);
    for _ in 0..5 {
        assert_eq!(browser.post_json("/mcp", &hello()).status, 200);
        assert_eq!(browser.get("/api/me").status, 200);
    }
}
