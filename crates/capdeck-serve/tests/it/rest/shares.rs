//! Shares: how long they last, who sees them, and that they end with their maker.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    registry::{Office, Person},
    stage::KEY,
};
use crate::sign_in::browser::{Browser, body};

/// The token of a new share.
fn share(office: &mut Office, person: &Person, capsule: &str, more: &Value) -> String {
    let mut body = json!({"name": "guest", "role": "reader"});
    body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    let path = format!("/v1/capsules/{capsule}/connections");
    let made = office.as_person(person).json("POST", &path, body).is(201);
    made["token"].as_str().unwrap().to_owned()
}

/// What the capsule's endpoint answers to a person with this token.
fn knock(office: &Office, capsule: &str, token: &str) -> u16 {
    let mut guest = office.api.served.client(&format!("/mcp/{capsule}"));
    guest.headers.push(("Authorization".to_owned(), format!("Bearer {token}")));
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "guest", "version": "1"}}});
    guest.post(&hello.to_string()).status
}

fn listed(office: &mut Office, capsule: &str) -> Vec<Value> {
    let path = format!("/v1/capsules/{capsule}/connections");
    office.as_owner().get(&path).is(200)["items"].as_array().unwrap().clone()
}

#[test]
fn a_share_ends_after_90_days_unless_its_maker_says_otherwise() {
    let mut office = Office::new();
    let ann = office.person("Ann", "member");
    office.as_person(&ann).json("POST", "/v1/capsules", json!({"name": "anns"})).is(201);
    let token = share(&mut office, &ann, "anns", &json!({}));
    share(&mut office, &ann, "anns", &json!({"expires_at": "never"}));
    share(&mut office, &ann, "anns", &json!({"expires_at": "2999-01-31T00:00:00Z"}));
    let bad = json!({"name": "x", "role": "reader", "expires_at": "tomorrow"});
    office
        .as_person(&ann)
        .json("POST", "/v1/capsules/anns/connections", bad)
        .fails(400, "invalid_input");
    assert_eq!(knock(&office, "anns", &token), 200);
    let shares = listed(&mut office, "anns");
    let moment = |field: &str| -> Timestamp { shares[0][field].as_str().unwrap().parse().unwrap() };
    let lifetime = moment("expires_at").duration_since(moment("created_at"));
    assert_eq!(lifetime, SignedDuration::from_hours(90 * 24));
    assert!(shares[1].get("expires_at").is_none(), "{shares:?}");
    assert_eq!(shares[2]["expires_at"], "2999-01-31T00:00:00Z");
    // Who made it, when, and when it was last used.
    assert_eq!(shares[0]["created_by"], format!("operator Ann ({})", ann.id));
    assert!(shares[0]["created_at"].is_string() && shares[0]["last_used_at"].is_string());
    assert!(shares[1].get("last_used_at").is_none() && shares[1]["is_over"] == false);
}

#[test]
fn shares_end_with_the_operator_who_made_them() {
    let mut office = Office::new();
    let (ann, ben) = (office.person("Ann", "member"), office.person("Ben", "admin"));
    office.as_person(&ann).json("POST", "/v1/capsules", json!({"name": "anns"})).is(201);
    office.as_owner().capsule("team");
    let hers = share(&mut office, &ann, "anns", &json!({}));
    let his = share(&mut office, &ben, "anns", &json!({}));
    let of_team = share(&mut office, &ben, "team", &json!({}));
    for (capsule, token) in [("anns", &hers), ("anns", &his), ("team", &of_team)] {
        assert_eq!(knock(&office, capsule, token), 200);
    }
    // An admin who becomes a member shares what is theirs, and nothing else.
    let path = format!("/v1/operators/{}", ben.id);
    office.as_owner().json("PATCH", &path, json!({"role": "member"})).is(200);
    assert_eq!(knock(&office, "anns", &his), 401);
    assert_eq!(knock(&office, "team", &of_team), 401);
    assert_eq!(knock(&office, "anns", &hers), 200);
    office.as_owner().delete(&format!("/v1/operators/{}", ann.id)).is(204);
    assert_eq!(knock(&office, "anns", &hers), 401);
    assert!(listed(&mut office, "anns").is_empty(), "they are revoked");
    let lines = office.as_owner().get("/v1/audit?action=share.revoke").is(200);
    assert_eq!(lines["items"].as_array().unwrap().len(), 3, "{lines}");
}

#[test]
fn what_the_owner_shares_in_the_dashboard_lasts() {
    let mut office = Office::new();
    office.as_owner().capsule("team");
    let mut browser = Browser::new(&office.api.served);
    let login = body(&browser.post_json("/api/login", &json!({"key": KEY})));
    let headers =
        [("x-capdeck-csrf", login["csrf"].as_str().unwrap()), ("Content-Type", "application/json")];
    let new = json!({"name": "guest", "role": "reader"}).to_string();
    let made = browser.send("POST", "/v1/capsules/team/connections", &headers, &new);
    let token = body(&made)["token"].as_str().unwrap().to_owned();
    assert_eq!(knock(&office, "team", &token), 200);
    let ann = office.person("Ann", "member");
    office.as_owner().delete(&format!("/v1/operators/{}", ann.id)).is(204);
    assert_eq!(knock(&office, "team", &token), 200, "the end of somebody else is not its end");
}

#[test]
fn a_share_whose_maker_is_gone_opens_nothing_even_before_it_is_revoked() {
    let mut office = Office::new();
    let ann = office.person("Ann", "member");
    office.as_person(&ann).json("POST", "/v1/capsules", json!({"name": "anns"})).is(201);
    let token = share(&mut office, &ann, "anns", &json!({"expires_at": "never"}));
    // As if the host had died between the two.
    let served = &office.api.served;
    let caller = capdeck_auth::inbound::EventCaller::new("admin", None);
    served.wait(served.registry().operators().remove(&caller, &ann.id)).unwrap();
    assert_eq!(knock(&office, "anns", &token), 401);
    let shares = listed(&mut office, "anns");
    assert_eq!((shares.len(), &shares[0]["is_over"]), (1, &json!(true)));
}
