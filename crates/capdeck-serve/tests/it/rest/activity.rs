//! What happens, as it happens.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    time::Duration,
};

use capdeck_auth::inbound::EventCaller;
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use super::stage::{Api, KEY};
use crate::served::Setting;

/// One who watches, over a connection of their own.
struct Watcher(BufReader<TcpStream>);

impl Watcher {
    fn new(api: &Api, headers: &str) -> Self {
        let authority = api.served.authority();
        let mut stream = TcpStream::connect(authority).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let head = format!("GET /api/activity HTTP/1.1\r\nHost: {authority}\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut watcher = Self(BufReader::new(stream));
        let status = watcher.line();
        assert!(status.contains("200"), "{status}");
        watcher
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended");
        line.trim_end().to_owned()
    }

    /// The next line that starts like this, without the start.
    fn next(&mut self, start: &str) -> String {
        loop {
            if let Some(rest) = self.line().strip_prefix(start) {
                return rest.to_owned();
            }
        }
    }

    fn event(&mut self) -> Value {
        serde_json::from_str(&self.next("data: ")).unwrap()
    }

    /// Reads to the end, which comes before the next sign of life and without a word about what ended it.
    fn ends(mut self) {
        loop {
            let line = self.line();
            if line == "0" {
                return;
            }
            assert!(!line.contains(": alive") && !line.contains("operator.remove"), "{line}");
        }
    }
}

/// A session of an operator.
struct Login {
    cookie: String,
    csrf: String,
}

fn sign_in(api: &Api, key: &str) -> Login {
    let body = json!({"key": key}).to_string();
    let headers = [("Content-Type", "application/json")];
    let reply = api.served.client("/").send("POST", "/api/login", &headers, body.as_bytes());
    let cookie = reply.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let reported: Value = serde_json::from_str(&reply.body).unwrap();
    Login { cookie, csrf: reported["csrf"].as_str().unwrap().to_owned() }
}

fn call(api: &mut Api) {
    let path = "/v1/deck/capabilities/fake/tools/echo/call";
    api.json("POST", path, json!({"arguments": {}})).is(200);
}

#[test]
fn calls_and_entries_are_reported_and_can_be_caught_up_on() {
    let mut api = Api::of(Setting::of(&FakePlan::default()));
    api.capsule("team");
    let mut watcher = Watcher::new(&api, "");
    watcher.next(": watching");
    call(&mut api);
    let event = watcher.event();
    assert_eq!((&event["source"], &event["tool"]), (&json!("deck"), &json!("echo")));
    let seen = event["seq"].as_u64().unwrap();
    api.entry("team", "docs/a", "x").is(201);
    loop {
        let event = watcher.event();
        if event["action"] == "entry.created" {
            assert_eq!((&event["capsule"], &event["uri"]), (&json!("team"), &json!("docs://a")));
            break;
        }
    }
    // The one who comes back is informed what happened meanwhile, and only that.
    let mut back = Watcher::new(&api, &format!("Last-Event-ID: {seen}\r\n"));
    assert!(back.event()["seq"].as_u64().unwrap() > seen);
    let mut late = Watcher::new(&api, "Last-Event-ID: 5\r\n");
    assert_eq!(late.next("event: "), "missed");
}

#[test]
fn no_one_sees_what_is_not_theirs() {
    let setting = Setting::of(&FakePlan::default()).key(KEY).registry();
    let mut api = Api::of(setting).with_token(KEY);
    let ann = api.json("POST", "/v1/operators", json!({"name": "Ann", "role": "member"})).is(201);
    let key = ann["key"].as_str().unwrap().to_owned();
    api.capsule("secret");
    let mut watcher = Watcher::new(&api, &format!("Authorization: Bearer {key}\r\n"));
    watcher.next(": watching");
    call(&mut api);
    api.entry("secret", "docs/a", "x").is(201);
    api.sign_in(&key);
    api.json("POST", "/v1/capsules", json!({"name": "hers"})).is(201);
    api.entry("hers", "docs/b", "x").is(201);
    loop {
        let event = watcher.event();
        assert_ne!(event["source"], "deck", "{event}");
        assert_ne!(event["capsule"], "secret", "{event}");
        if event["uri"] == "docs://b" {
            break;
        }
    }
}

#[test]
fn security_14_the_one_who_is_no_longer_let_in_watches_no_longer() {
    let setting = Setting::of(&FakePlan::default()).key(KEY).registry();
    let mut api = Api::of(setting).with_token(KEY);
    let ann = api.json("POST", "/v1/operators", json!({"name": "Ann", "role": "admin"})).is(201);
    let (id, key) = (ann["id"].as_str().unwrap(), ann["key"].as_str().unwrap().to_owned());
    let mut by_key = Watcher::new(&api, &format!("Authorization: Bearer {key}\r\n"));
    let login = sign_in(&api, &key);
    let mut by_cookie = Watcher::new(&api, &format!("Cookie: {}\r\n", login.cookie));
    by_key.next(": watching");
    by_cookie.next(": watching");
    let out = [("Cookie", login.cookie.as_str()), ("x-capdeck-csrf", login.csrf.as_str())];
    let mut browser = api.served.client("/");
    assert_eq!(browser.send("POST", "/api/logout", &out, b"").status, 204);
    by_cookie.ends();
    // The key is still good, until its holder is none any more.
    call(&mut api);
    loop {
        if by_key.event()["tool"] == "echo" {
            break;
        }
    }
    api.delete(&format!("/v1/operators/{id}")).is(204);
    by_key.ends();
}

#[test]
fn a_stream_ends_with_the_key_that_it_was_opened_with() {
    let setting = Setting::of(&FakePlan::default()).key(KEY).registry();
    let mut api = Api::of(setting).with_token(KEY);
    let ann = api.json("POST", "/v1/operators", json!({"name": "Ann", "role": "admin"})).is(201);
    let (id, key) = (ann["id"].as_str().unwrap(), ann["key"].as_str().unwrap());
    let mut watcher = Watcher::new(&api, &format!("Authorization: Bearer {key}\r\n"));
    watcher.next(": watching");
    let registry = api.served.registry().clone();
    api.served.wait(registry.operators().rotate_key(&EventCaller::new("admin", None), id)).unwrap();
    watcher.ends();
}

#[test]
fn a_thousand_watchers_are_notified_and_end_with_the_host() {
    let mut api = Api::of(Setting::of(&FakePlan::default()));
    // The test has both ends of every connection in one process.
    let most = rlimit_half().min(1_000);
    let mut watchers: Vec<Watcher> = (0..most).map(|_| Watcher::new(&api, "")).collect();
    for watcher in &mut watchers {
        watcher.next(": watching");
    }
    call(&mut api);
    for watcher in &mut watchers {
        assert_eq!(watcher.event()["tool"], "echo");
    }
    api.served.stop();
    // Each stream was ended, not cut off when the host had waited long enough for it.
    for watcher in watchers {
        watcher.ends();
    }
}

/// How many connections fit, with both ends in this process and some room for the rest.
fn rlimit_half() -> usize {
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    most.map_or(1_000, |most| (usize::try_from(most).unwrap_or(4_096) / 2).saturating_sub(100))
}
