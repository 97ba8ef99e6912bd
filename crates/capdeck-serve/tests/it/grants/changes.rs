//! What is granted and taken back shows at once, in lists and on streams that were open before.

use capdeck_auth::inbound::Role;
use capdeck_host::CapsuleVisibility::Private;
use serde_json::json;

use super::stage::{Office, call, deck_of, facts, listed, on, refused, tools};

const TOOLS: &str = "notifications/tools/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const UPDATED: &str = "notifications/resources/updated";

#[test]
fn item_13_a_grant_added_after_connect_is_listed_and_reported() {
    let office = Office::with(&[("one", Private), ("two", Private)]);
    let agent = office.agent("agent", &[on("one", Role::Reader, &[])], "capsule:read");
    let mut client = office.client("/mcp", &agent);
    let mut stream = office.stream("/mcp", &agent, &client);
    client.request("resources/list", json!({}));
    assert_eq!(listed(&mut client), ["one"]);
    let grant = office.grant_to(&agent, &on("two", Role::Reader, &[]), "capsule:read");
    assert_eq!(stream.next()["method"], RESOURCES);
    assert_eq!(listed(&mut client), ["one", "two"]);
    office.take_back(&grant);
    assert_eq!(stream.next()["method"], RESOURCES);
    let read = json!({"capsule": "two"});
    assert_eq!(refused(&mut client, "capsol_read", read), "not_found", "with the next call");
    assert_eq!(listed(&mut client), ["one"]);
}

#[test]
fn item_13_streams_end_with_the_credential() {
    let office = Office::with(&[("one", Private), ("two", Private)]);
    let agent = office.agent("agent", &[on("one", Role::Reader, &[])], "capsule:read");
    let other = office.agent("other", &[on("one", Role::Reader, &[])], "capsule:read");
    let client = office.client("/mcp", &agent);
    let mut stream = office.stream("/mcp", &agent, &client);
    let mut listening = office.modern("/mcp", &agent).listen(json!({"toolsListChanged": true}));
    listening.next();
    let mut kept = office.client("/mcp", &other);
    kept.request("resources/list", json!({}));
    let mut kept_stream = office.stream("/mcp", &other, &kept);
    office.end(&agent);
    stream.ended();
    listening.ended();
    // The one who is still let in goes on listening.
    office.grant_to(&other, &on("two", Role::Reader, &[]), "capsule:read");
    assert_eq!(kept_stream.next()["method"], RESOURCES);
}

#[test]
fn item_13_tools_that_come_and_go_with_grants_are_reported() {
    let office = Office::with(&[("one", Private), ("two", Private)]);
    let scopes = "capsule:read registry:manage";
    let agent = office.agent_with("agent", &on("one", Role::Reader, &[]), "capsule:read", scopes);
    let mut client = office.client("/mcp", &agent);
    let mut stream = office.stream("/mcp", &agent, &client);
    let mut modern = office.modern("/mcp", &agent);
    let mut reported = modern.listen(json!({"toolsListChanged": true}));
    assert_eq!(reported.next()["params"]["notifications"], json!({"toolsListChanged": true}));
    assert!(!tools(&mut client).contains(&"capsol_manage".to_owned()));
    let grant = office.grant_to(&agent, &on("one", Role::Reader, &[]), scopes);
    assert_eq!(stream.next()["method"], TOOLS);
    assert_eq!(reported.next()["method"], TOOLS);
    assert!(tools(&mut client).contains(&"capsol_manage".to_owned()));
    // The wider grant took the place of the first one, so there has to be another before it goes.
    office.grant_to(&agent, &on("two", Role::Reader, &[]), "capsule:read");
    office.take_back(&grant);
    assert_eq!(stream.next()["method"], TOOLS);
    assert_eq!(reported.next()["method"], TOOLS);
    assert_eq!(listed(&mut client), ["two"]);
}

#[test]
fn item_13_a_client_of_the_deck_hears_of_grants() {
    let office = Office::with(&[("one", Private)]);
    let agent = office.agent("agent", &[deck_of("fake")], "deck:call capsule:read");
    let mut client = office.client("/mcp", &agent);
    let mut stream = office.stream("/mcp", &agent, &client);
    let names = tools(&mut client);
    assert!(names.contains(&"fake__echo".to_owned()), "{names:?}");
    assert!(!names.contains(&"capsules__capsol_read".to_owned()), "{names:?}");
    let grant = office.grant_to(&agent, &on("one", Role::Reader, &[]), "capsule:read");
    assert_eq!(stream.next()["method"], TOOLS);
    assert!(tools(&mut client).contains(&"capsules__capsol_read".to_owned()));
    let list = json!({"action": "list"});
    let capsules = facts(&mut client, "capsules__capsol_capsules", list);
    assert_eq!(capsules["capsules"][0]["id"], "one");
    office.take_back(&grant);
    assert_eq!(stream.next()["method"], TOOLS);
    let gone =
        client.request("tools/call", json!({"name": "capsules__capsol_read", "arguments": {}}));
    assert!(gone["error"].is_object(), "{gone}");
}

#[test]
fn item_13_an_open_stream_tells_what_is_granted_by_then() {
    let office = Office::with(&[("one", Private), ("two", Private)]);
    let agent = office.agent("agent", &[on("one", Role::Reader, &["docs://"])], "capsule:read");
    let mut client = office.client("/mcp/one", &agent);
    let mut stream = office.stream("/mcp/one", &agent, &client);
    let watch = |client: &mut capdeck_test::HttpClient, uri: &str| {
        let answer = client.request("resources/subscribe", json!({"uri": uri}));
        assert_eq!(answer["result"], json!({}), "{answer}");
    };
    for uri in ["docs://a", "notes://a", "docs://end"] {
        watch(&mut client, uri);
    }
    office.write("one", "notes://a", "hidden");
    office.write("one", "docs://a", "1");
    let reported = stream.next();
    assert_eq!(
        (&reported["method"], &reported["params"]["uri"]),
        (&json!(UPDATED), &json!("docs://a"))
    );
    // More is granted while the stream is open.
    let grant = office.grant_to(&agent, &on("one", Role::Reader, &["notes://"]), "capsule:read");
    office.write("one", "notes://a", "seen");
    assert_eq!(stream.next()["params"]["uri"], "notes://a");
    // Revoked again: later writes are not announced, only what is still open.
    office.take_back(&grant);
    office.write("one", "notes://a", "hidden again");
    office.write("one", "docs://end", "1");
    assert_eq!(stream.next()["params"]["uri"], "docs://end");
}

#[test]
fn item_13_a_modern_stream_ends_its_news_with_the_grant() {
    let office = Office::with(&[("one", Private), ("two", Private)]);
    let agent = office.agent("agent", &[on("two", Role::Reader, &[])], "capsule:read");
    let grant = office.grant_to(&agent, &on("one", Role::Reader, &[]), "capsule:read");
    let mut modern = office.modern("/mcp", &agent);
    let uris = json!(["capsol://one/docs/a", "capsol://two/docs/a"]);
    let mut reported =
        modern.listen(json!({"resourceSubscriptions": uris, "promptsListChanged": true}));
    assert_eq!(reported.next()["params"]["notifications"]["resourceSubscriptions"], uris);
    office.write("one", "docs://a", "1");
    assert_eq!(reported.next()["params"]["uri"], "capsol://one/docs/a");
    office.take_back(&grant);
    assert_eq!(reported.next()["method"], PROMPTS, "the lists are others now");
    office.write("one", "docs://a", "2");
    office.write("two", "docs://a", "1");
    assert_eq!(reported.next()["params"]["uri"], "capsol://two/docs/a");
    let read = modern.request("resources/read", json!({"uri": "capsol://one/docs/a"}));
    assert!(read["error"].is_object(), "{read}");
    let mut client = office.client("/mcp", &agent);
    assert_eq!(call(&mut client, "capsol_read", json!({}))["isError"], json!(null));
}
