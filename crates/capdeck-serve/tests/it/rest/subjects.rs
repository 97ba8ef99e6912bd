//! People who sign in at a provider, as an admin sees and changes them.

use serde_json::{Value, json};

use super::stage::{Api, KEY};
use crate::{served::Setting, sign_in::Provider};

fn email(address: &str) -> Value {
    json!({"account": {"email": address}})
}

#[test]
fn an_admin_binds_people_to_accounts_and_sees_who_is_bound() {
    let provider = Provider::start();
    let setting = Setting::new().key(KEY).registry().oidc(provider.settings());
    let mut api = Api::of(setting).with_token(KEY);
    let ann = json!({"name": "Ann", "role": "approver", "subject": email("ann@example.com")});
    let ann = api.json("POST", "/v1/operators", ann).is(201);
    let bound = json!({"issuer": provider.url, "account": {"email": "ann@example.com"}});
    assert_eq!((&ann["subject"], &ann["key"]), (&bound, &Value::Null), "no key is needed");
    let both = json!({"name": "Bob", "role": "member", "key": true,
        "subject": {"issuer": "https://other.example", "account": {"subject": "42"}}});
    let bob = api.json("POST", "/v1/operators", both).is(201);
    assert!(bob["key"].is_string());
    assert_eq!(bob["subject"]["account"], json!({"subject": "42"}));
    let listed = api.get("/v1/operators").is(200);
    assert_eq!(listed["items"][0]["subject"], bound);

    let path = format!("/v1/operators/{}", bob["id"].as_str().unwrap());
    api.json("PATCH", &path, json!({"subject": email("ANN@example.com")})).fails(409, "taken");
    let renamed = api.json("PATCH", &path, json!({"name": "Rob"})).is(200);
    assert_eq!(renamed["subject"]["account"], json!({"subject": "42"}), "what is left out stays");
    let changed = api.json("PATCH", &path, json!({"subject": email("rob@example.com")})).is(200);
    assert_eq!(changed["subject"]["issuer"], json!(provider.url));
    let freed = api.json("PATCH", &path, json!({"subject": null})).is(200);
    assert_eq!(freed["subject"], Value::Null);
}

#[test]
fn accounts_that_are_none_are_refused() {
    let mut api = Api::of(Setting::new().key(KEY).registry()).with_token(KEY);
    let long = "x".repeat(300);
    for subject in [
        json!({}),
        json!("ann@example.com"),
        json!({"account": {}}),
        json!({"account": {"phone": "1"}}),
        json!({"account": {"email": "ann@example.com", "subject": "1"}}),
        json!({"account": {"email": "nobody"}, "issuer": "https://sso.example"}),
        json!({"account": {"email": "a\n@example.com"}, "issuer": "https://sso.example"}),
        json!({"account": {"subject": ""}, "issuer": "https://sso.example"}),
        json!({"account": {"subject": long}, "issuer": "https://sso.example"}),
        json!({"account": {"subject": "1"}, "issuer": ""}),
        json!({"account": {"subject": "1"}, "issuer": "https://sso.example", "more": 1}),
        // This host has no provider that could be meant.
        json!({"account": {"subject": "1"}}),
    ] {
        let new = json!({"name": "Ann", "role": "member", "subject": subject});
        api.json("POST", "/v1/operators", new).fails(400, "invalid_input");
    }
    assert!(api.get("/v1/operators").is(200)["items"].as_array().unwrap().is_empty());
}
