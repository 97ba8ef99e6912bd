//! Clients of the deck hear what changes in capsules, in both eras.

use capdeck_host::DeleteRequest;
use serde_json::{Value, json};

use super::stage::{Stage, facts};
use crate::{event_stream::EventStream, modern_client::ModernClient};

const UPDATED: &str = "notifications/resources/updated";

fn subject(reported: &Value) -> (&str, &str) {
    (reported["method"].as_str().unwrap(), reported["params"]["uri"].as_str().unwrap_or_default())
}

#[test]
fn legacy_clients_hear_of_watched_entries_and_of_lists_they_read() {
    let stage = Stage::deck(&["team", "other"]);
    stage.write("team", "docs://a", "1");
    let mut client = stage.client("/mcp");
    let session = client.session.clone().unwrap();
    let mut stream = EventStream::listen(stage.served.authority(), "/mcp", &session);
    let answer = client.request("resources/subscribe", json!({"uri": "capsol://team/docs/a"}));
    assert_eq!(answer["result"], json!({}), "{answer}");
    stage.write("other", "docs://a", "of another capsule");
    stage.write("team", "docs://ab", "not watched");
    stage.write("team", "docs://a", "2");
    assert_eq!(subject(&stream.next()), (UPDATED, "capsol://team/docs/a"));
    client.request("resources/list", json!({}));
    client.request("prompts/list", json!({}));
    stage.write("other", "skills://review", "Review.");
    assert_eq!(stream.next()["method"], "notifications/resources/list_changed");
    assert_eq!(stream.next()["method"], "notifications/prompts/list_changed");
    facts(&mut client, "capsules__capsol_capsules", json!({"action": "mount", "capsule": "other"}));
    assert_eq!(stream.next()["method"], "notifications/resources/list_changed", "other addresses");
    // A short address is that of the capsule that was mounted when it was given.
    client.request("resources/subscribe", json!({"uri": "docs://a"}));
    stage.write("other", "docs://a", "3");
    assert_eq!(subject(&stream.next()), (UPDATED, "docs://a"));
    for uri in ["capsol://team/docs/a", "docs://a"] {
        client.request("resources/unsubscribe", json!({"uri": uri}));
    }
    stage.write("team", "docs://a", "4");
    let (uri, if_version) = ("docs://ab".to_owned(), None);
    stage.ask(Some("team"), DeleteRequest { uri, if_version }).unwrap();
    assert_eq!(stream.next()["method"], "notifications/resources/list_changed", "nothing before");
    let wrong = client.request("resources/subscribe", json!({"uri": "capsol://team/.."}));
    assert_eq!(wrong["error"]["code"], -32002, "{wrong}");
}

#[test]
fn modern_clients_hear_what_they_listen_for() {
    let stage = Stage::deck(&["team"]);
    let mut client = ModernClient::new(&stage.served, "/mcp", json!({}));
    let filter = json!({"resourcesListChanged": true, "promptsListChanged": true,
        "resourceSubscriptions": ["capsol://team/docs/a", "docs://b", "capsol://no/.."]});
    let mut stream = client.listen(filter);
    let acknowledged = stream.next();
    assert_eq!(
        acknowledged["params"]["notifications"]["resourceSubscriptions"],
        json!(["capsol://team/docs/a", "docs://b"]),
        "{acknowledged}"
    );
    stage.write("team", "docs://a", "1");
    assert_eq!(stream.next()["method"], "notifications/resources/list_changed");
    assert_eq!(subject(&stream.next()), (UPDATED, "capsol://team/docs/a"));
    stage.write("team", "docs://b", "1");
    assert_eq!(stream.next()["method"], "notifications/resources/list_changed");
    assert_eq!(subject(&stream.next()), (UPDATED, "docs://b"));
    stage.write("team", "skills://x", "y");
    assert_eq!(stream.next()["method"], "notifications/resources/list_changed");
    assert_eq!(stream.next()["method"], "notifications/prompts/list_changed");
}

#[test]
fn who_listens_before_there_is_a_capsule_hears_of_the_first_one() {
    let stage = Stage::deck(&[]);
    let mut client = ModernClient::new(&stage.served, "/mcp", json!({}));
    let mut stream = client.listen(json!({"resourcesListChanged": true}));
    assert_eq!(stream.next()["method"], "notifications/subscriptions/acknowledged");
    stage.create("team");
    stage.served.host.reload();
    assert_eq!(stream.next()["method"], "notifications/resources/list_changed");
    // The first entry may come before anybody hears of changes there; the one who listens is informed all the same.
    stage.write("team", "docs://a", "1");
    let mut other = ModernClient::new(&stage.served, "/mcp", json!({})).named("other");
    let mut is_there = || {
        let list = other.request("resources/list", json!({}));
        list.to_string().contains("capsol://team/docs/a")
    };
    loop {
        assert_eq!(stream.next()["method"], "notifications/resources/list_changed");
        if is_there() {
            break;
        }
    }
}
