//! A host where everyone needs a token, people and programs of every kind that use it, and what its audit says.

use capdeck_auth::inbound::{EventCaller, NewOperator, OperatorRole};
use capdeck_definition::Exposure;
use capdeck_serve::{BucketRate, RateLimits, ServeAuthMode};
use capdeck_storage::WallClock;
use capdeck_test::{FakePlan, HttpReply};
use serde_json::{Value, json};

use crate::{
    served::{Served, Setting},
    sign_in::browser::{Browser, Tokens, body},
};

pub(super) const KEY: &str = "open-sesame-0123456789";

/// What a client is given that may use the whole deck.
pub(super) const ALL: [(&str, &str); 2] = [("scope", "deck:call"), ("deck", "all")];

/// What a test asks in a second is more than a person does in a minute.
pub(super) fn many() -> RateLimits {
    let much = BucketRate { per_minute: 100_000, burst: 10_000 };
    RateLimits { auth: much, api: much, mcp: much, concurrent: 2_000, sessions: 64, streams: 64 }
}

pub(super) fn setting() -> Setting {
    Setting::of(&FakePlan::default())
        .server("other", &FakePlan::default())
        .exposure(Exposure::Direct)
        .registry()
        .auth(ServeAuthMode::Required)
        .key(KEY)
        .rates(many())
        .failed_credentials(1_000_000)
}

/// A setting whose registry takes the given clock for the time.
pub(super) fn at(clock: WallClock) -> Setting {
    setting().clock(clock)
}

/// The owner, with a cookie and what has to come with changes.
pub(super) fn signed_in(served: &Served, key: &str) -> (Browser, String) {
    let mut browser = Browser::new(served);
    let login = browser.post_json("/api/login", &json!({"key": key}));
    assert_eq!(login.status, 200, "{login:?}");
    let csrf = body(&login)["csrf"].as_str().unwrap().to_owned();
    (browser, csrf)
}

/// A client whose token is for one endpoint.
pub(super) fn client(served: &Served, resource: &str, scope: &str) -> Tokens {
    let mut browser = Browser::with_key(served, KEY);
    let part = match resource.strip_prefix("/servers/").and_then(|rest| rest.split('/').next()) {
        Some(id) => vec![("scope", scope), ("deck", "some"), ("capability", id)],
        None => vec![("scope", scope), ("deck", "all")],
    };
    browser.sign_in(resource, scope, &part)
}

/// The key of a new operator.
pub(super) fn operator(served: &Served, name: &str, role: OperatorRole) -> String {
    let new = NewOperator { name: name.to_owned(), role, subject: None, with_key: true };
    let caller = EventCaller::new("admin", None);
    let made = served.wait(served.registry().operators().create(&caller, new)).unwrap();
    made.key.unwrap().expose().to_owned()
}

/// A capsule and the token of a share in it.
pub(super) fn share(served: &Served) -> String {
    let mut owner = Browser::new(served);
    let key = format!("Bearer {KEY}");
    let headers = [("Authorization", key.as_str()), ("Content-Type", "application/json")];
    let mut post = |path: &str, value: Value| {
        let reply = owner.send("POST", path, &headers, &value.to_string());
        assert_eq!(reply.status, 201, "{reply:?}");
        body(&reply)
    };
    post("/v1/capsules", json!({"name": "team"}));
    let share = post("/v1/capsules/team/connections", json!({"name": "guest", "role": "owner"}));
    share["token"].as_str().unwrap().to_owned()
}

/// The whole audit of the data folder, as text.
pub(super) fn audit(served: &Served) -> String {
    let logs = served.dirs.root().join("data/logs");
    let Ok(files) = std::fs::read_dir(&logs) else { return String::new() };
    files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}

/// The lines about refusals at the door.
pub(super) fn refusals(served: &Served) -> Vec<Value> {
    let audit = audit(served);
    let lines = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["action"] == "access.refuse").collect()
}

/// Checks that an answer tells nothing that only the host should know.
#[track_caller]
pub(super) fn tells_nothing(served: &Served, reply: &HttpReply, secrets: &[&str]) {
    let folder = served.dirs.root().display().to_string();
    let inside = [folder.as_str(), "panicked", ".rs:", "capdeck_", "backtrace", "src/"];
    let headers: String =
        reply.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    for hidden in inside.iter().chain(secrets) {
        assert!(!reply.body.contains(hidden), "`{hidden}`: {}", reply.body);
        assert!(!headers.contains(hidden), "`{hidden}`: {headers}");
    }
}

/// Every operation of the interface: its method, and its path with something in its places.
pub(super) fn operations(served: &Served) -> Vec<(String, String)> {
    let key = format!("Bearer {KEY}");
    let mut browser = Browser::new(served);
    let document = body(&browser.send("GET", "/v1/openapi.json", &[("Authorization", &key)], ""));
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let parts = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
        let filled = parts.collect::<Vec<_>>().join("/");
        let methods = item.as_object().unwrap().keys();
        all.extend(methods.map(|method| (method.to_ascii_uppercase(), filled.clone())));
    }
    assert!(all.len() > 40, "{}", all.len());
    all
}
