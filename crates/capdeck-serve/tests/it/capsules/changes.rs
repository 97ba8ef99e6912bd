//! Clients of both eras hear what changes, and nothing of what is hidden from them.

use capdeck_host::{DeleteRequest, Role};
use serde_json::json;

use super::stage::Stage;
use crate::{event_stream::EventStream, modern_client::ModernClient};

#[test]
fn legacy_clients_hear_of_watched_entries_and_of_lists_they_read() {
    let stage = Stage::with(&["team"]);
    stage.write("team", "docs://a", "1");
    let mut client = stage.client("/mcp/team");
    let session = client.session.clone().unwrap();
    let mut stream = EventStream::listen(stage.served.authority(), "/mcp/team", &session);
    stage.write("team", "docs://unread", "the lists were never read, so nothing is told");
    client.request("resources/subscribe", json!({"uri": "docs://a"}));
    stage.write("team", "docs://b", "not watched");
    stage.write("team", "docs://a", "2");
    let reported = stream.next();
    assert_eq!(reported["method"], "notifications/resources/updated", "{reported}");
    assert_eq!(reported["params"]["uri"], "docs://a");
    client.request("resources/list", json!({}));
    client.request("prompts/list", json!({}));
    stage.write("team", "docs://a", "3");
    assert_eq!(stream.next()["params"]["uri"], "docs://a", "the list is still the same");
    stage.write("team", "skills://review", "Review.");
    assert_eq!(stream.next()["method"], "notifications/resources/list_changed");
    assert_eq!(stream.next()["method"], "notifications/prompts/list_changed");
    client.request("resources/unsubscribe", json!({"uri": "docs://a"}));
    let (uri, if_version) = ("docs://a".to_owned(), None);
    stage.ask(Some("team"), DeleteRequest { uri, if_version }).unwrap();
    assert_eq!(stream.next()["method"], "notifications/resources/list_changed");
    let wrong = client.request("resources/subscribe", json!({"uri": "no address"}));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
}

#[test]
fn modern_clients_hear_what_they_listen_for() {
    let stage = Stage::with(&["team", "other"]);
    let mut client = ModernClient::new(&stage.served, "/mcp/team", json!({}));
    let filter = json!({"toolsListChanged": true, "promptsListChanged": true,
        "resourceSubscriptions": ["docs://a"]});
    let mut stream = client.listen(filter);
    let acknowledged = stream.next();
    assert_eq!(
        acknowledged["params"]["notifications"],
        json!({"promptsListChanged": true, "resourceSubscriptions": ["docs://a"]})
    );
    stage.write("other", "docs://a", "of another capsule");
    stage.write("team", "docs://b", "not watched");
    stage.write("team", "docs://a", "1");
    let reported = stream.next();
    assert_eq!(
        (&reported["method"], &reported["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!("docs://a")),
        "{reported}"
    );
    stage.write("team", "skills://x", "y");
    assert_eq!(stream.next()["method"], "notifications/prompts/list_changed");
}

#[test]
fn a_share_hears_nothing_of_what_it_does_not_reach() {
    let stage = Stage::with(&["team"]);
    let token = stage.share("team", Role::Reader, &[], &["docs://secret"]);
    let mut guest = stage.guest("/mcp/team", &token);
    let session = guest.session.clone().unwrap();
    let headers = [
        ("Mcp-Session-Id", session),
        ("MCP-Protocol-Version", "2025-11-25".to_owned()),
        ("Authorization", format!("Bearer {}", token.secret)),
    ];
    let mut stream = EventStream::get_with(stage.served.authority(), "/mcp/team", &headers);
    for uri in ["docs://secret/a", "docs://open"] {
        let answer = guest.request("resources/subscribe", json!({"uri": uri}));
        assert_eq!(answer["result"], json!({}), "hidden looks like not there yet");
    }
    stage.write("team", "docs://secret/a", "1");
    stage.write("team", "docs://open", "1");
    assert_eq!(stream.next()["params"]["uri"], "docs://open");
    stage.revoke(&token);
    let reply = guest.send("DELETE", "/mcp/team", &[], b"");
    assert_eq!(reply.status, 401, "{reply:?}");
}
