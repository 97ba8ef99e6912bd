//! What gives access to a capsule ends with it: a later capsule of the same name is another one.

use std::fs;

use capdeck_test::{CapdeckOutput, RunningHost, TestDirs};
use serde_json::{Value, json};

use crate::{capdeck, run};

const KEY: &str = "an-admin-key-0123456789";

fn up(dirs: &TestDirs) -> RunningHost {
    capdeck(dirs).env("CAPDECK_ADMIN_KEY", KEY).up(&[])
}

fn send(host: &RunningHost, token: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let reply = host.client(path).send(method, path, &headers, body.as_bytes());
    (reply.status, serde_json::from_str(&reply.body).unwrap_or_default())
}

#[track_caller]
fn done(answer: (u16, Value)) -> Value {
    assert!((200..300).contains(&answer.0), "{answer:?}");
    answer.1
}

/// Everything that can open the capsule `finance`: its owner, an agent with a grant, a share.
struct Keys {
    owner: String,
    agent: String,
    share: String,
}

impl Keys {
    fn given(host: &RunningHost) -> Self {
        let text = |value: &Value, key: &str| value[key].as_str().unwrap().to_owned();
        let post =
            |token: &str, path: &str, body: Value| done(send(host, token, "POST", path, &body));
        let ann = post(KEY, "/v1/operators", json!({"name": "Ann", "role": "member"}));
        let patch = json!({"owner": ann["id"], "visibility": "team"});
        done(send(host, KEY, "PATCH", "/v1/capsules/finance", &patch));
        let owner = text(&ann, "key");
        let role = json!({"role": "reader"});
        let filed = post(&owner, "/v1/capsules/finance/access-requests", role);
        let grant = format!("/v1/grants/{}", text(&filed, "id"));
        post(&owner, &format!("{grant}/approve"), json!({}));
        let connection = post(&owner, &format!("{grant}/connection"), json!({}));
        let guest = json!({"name": "guest", "role": "reader"});
        let share = post(&owner, "/v1/capsules/finance/connections", guest);
        Self { owner, agent: text(&connection, "token"), share: text(&share, "token") }
    }

    /// Who reads `docs://plan` of `finance`: its owner, the agent and the share, in this order.
    fn readers(&self, host: &RunningHost) -> [bool; 3] {
        let path = "/v1/capsules/finance/entries/docs/plan";
        let reads = |token: &str| send(host, token, "GET", path, &Value::Null).0 == 200;
        let mut guest = host.client("/mcp/finance");
        guest.headers.push(("Authorization".to_owned(), format!("Bearer {}", self.share)));
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "guest", "version": "1"}}});
        [reads(&self.owner), reads(&self.agent), guest.post(&hello.to_string()).status == 200]
    }
}

fn make(dirs: &TestDirs) {
    run(dirs, &["capsule", "new", "finance"]).success();
    write(dirs).success();
}

fn write(dirs: &TestDirs) -> CapdeckOutput {
    capdeck(dirs).args(["capsule", "write", "finance", "docs://plan"]).stdin("secret").run()
}

#[test]
fn a_capsule_that_the_command_line_removes_takes_its_access_along() {
    let dirs = TestDirs::new();
    make(&dirs);
    let host = up(&dirs);
    let keys = Keys::given(&host);
    assert_eq!(keys.readers(&host), [true, true, true]);
    run(&dirs, &["capsule", "rm", "finance", "--yes"]).success();
    make(&dirs);
    assert_eq!(keys.readers(&host), [false, false, false]);
    let info = done(send(&host, KEY, "GET", "/v1/capsules/finance", &Value::Null));
    assert!(info["owner"].is_null(), "{info}");
}

#[test]
fn a_capsule_that_is_removed_while_no_host_runs_takes_its_access_along() {
    let dirs = TestDirs::new();
    make(&dirs);
    let mut host = up(&dirs);
    let keys = Keys::given(&host);
    host.stop();
    run(&dirs, &["capsule", "rm", "finance", "--purge", "--yes"]).success();
    make(&dirs);
    let host = up(&dirs);
    assert_eq!(keys.readers(&host), [false, false, false]);
    // The records are ended, too, and not only without effect.
    let grants = done(send(&host, KEY, "GET", "/v1/grants?status=approved", &Value::Null));
    assert!(grants["items"][0]["grant"]["revoked_at"].is_string(), "{grants}");
}

#[test]
fn a_folder_that_was_removed_by_hand_opens_nothing_to_earlier_grants() {
    let dirs = TestDirs::new();
    make(&dirs);
    let mut host = up(&dirs);
    let keys = Keys::given(&host);
    host.stop();
    fs::remove_dir_all(dirs.data().join("boxes/finance")).unwrap();
    let refused = write(&dirs);
    assert_ne!(refused.code, Some(0), "a capsule without its folder is not made again silently");
    assert!(refused.stderr.contains("capdeck capsule rm finance"), "{refused:?}");
    run(&dirs, &["capsule", "rm", "finance", "--yes"]).success();
    make(&dirs);
    let host = up(&dirs);
    assert_eq!(keys.readers(&host), [false, false, false]);
}

#[test]
fn a_deletion_that_was_interrupted_opens_nothing_to_earlier_grants() {
    let dirs = TestDirs::new();
    make(&dirs);
    let mut host = up(&dirs);
    let keys = Keys::given(&host);
    host.stop();
    // A process that died after the record was gone leaves the folder and the share behind.
    fs::write(dirs.data().join("boxes.json"), "[]").unwrap();
    make(&dirs);
    let host = up(&dirs);
    assert_eq!(keys.readers(&host), [false, false, false]);
}

#[test]
fn access_that_an_earlier_version_wrote_goes_on_working() {
    let dirs = TestDirs::new();
    make(&dirs);
    let mut host = up(&dirs);
    let keys = Keys::given(&host);
    host.stop();
    downgrade(&dirs);
    let host = up(&dirs);
    assert_eq!(keys.readers(&host), [true, true, true]);
    drop(host);
    // What was left by a capsule that is gone since belongs to no other one.
    let mut host = up(&dirs);
    host.stop();
    downgrade(&dirs);
    let boxes = dirs.data().join("boxes.json");
    let mut records: Value = serde_json::from_str(&fs::read_to_string(&boxes).unwrap()).unwrap();
    records[0]["created_at"] = json!("2999-01-01T00:00:00Z");
    fs::write(&boxes, records.to_string()).unwrap();
    let host = up(&dirs);
    assert_eq!(keys.readers(&host), [true, false, false], "an owner record has no date");
}

/// Writes the records as 0.1 did: by ids made from names, and nothing else.
fn downgrade(dirs: &TestDirs) {
    let data = dirs.data();
    for (name, member) in [("boxes.json", "uid"), ("shares.json", "capsule_uid")] {
        let text = fs::read_to_string(data.join(name)).unwrap();
        let mut records: Value = serde_json::from_str(&text).unwrap();
        for record in records.as_array_mut().unwrap() {
            record.as_object_mut().unwrap().remove(member);
        }
        fs::write(data.join(name), records.to_string()).unwrap();
    }
    for name in ["owners.json", "grants.json", "requests.json"] {
        let path = data.join("registry").join(name);
        let text = fs::read_to_string(&path).unwrap();
        let mut parts = text.split("\"finance@");
        let mut plain = parts.next().unwrap().to_owned();
        for part in parts {
            let (_uid, rest) = part.split_once('"').unwrap();
            plain.push_str(&format!("\"finance\"{rest}"));
        }
        fs::write(&path, plain).unwrap();
    }
}
