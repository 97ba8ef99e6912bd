//! What a person meets at `/mcp` who was granted capsules and nothing of the deck.

use capdeck_auth::inbound::Role;
use capdeck_host::CapsuleVisibility::Private;
use serde_json::json;

use super::stage::{Office, deck_of, facts, listed, on, tools};

#[test]
fn a_client_that_has_only_capsules_gets_their_tools_by_their_own_names() {
    let office = Office::with(&[("one", Private), ("two", Private)]);
    office.write("one", "docs://a", "in one");
    office.write("two", "docs://a", "in two");
    let grants = [on("one", Role::Reader, &[]), on("two", Role::Writer, &[])];
    let agent = office.agent("agent", &grants, "capsule:write");
    let mut client = office.client("/mcp", &agent);
    let own = ["capsol_read", "capsol_write", "capsol_signal", "capsol_capsules", "capsol_memory"];
    assert_eq!(tools(&mut client), own);
    // Which capsule is meant is said, or mounted.
    let both = json!({"uri": "docs://a"});
    let error =
        &super::stage::call(&mut client, "capsol_read", both.clone())["structuredContent"]["error"];
    assert_eq!(error["code"], "capsule_required", "{error}");
    facts(&mut client, "capsol_capsules", json!({"action": "mount", "capsule": "two"}));
    assert_eq!(facts(&mut client, "capsol_read", both)["body"], "in two");
    let resources = client.request("resources/list", json!({}));
    let uris: Vec<&str> = resources["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["uri"].as_str().unwrap())
        .collect();
    assert!(
        uris.contains(&"capsol://one/docs/a") && uris.contains(&"capsol://two/docs/a"),
        "{uris:?}"
    );
    let read = client.request("resources/read", json!({"uri": "capsol://one/docs/a"}));
    assert!(read["result"].to_string().contains("in one"), "{read}");
    // The newer protocol has no sessions, so nothing can be mounted.
    let mut modern = office.modern("/mcp", &agent);
    let mount =
        json!({"name": "capsol_capsules", "arguments": {"action": "mount", "capsule": "two"}});
    let refused = modern.request("tools/call", mount);
    assert_eq!(
        refused["result"]["structuredContent"]["error"]["code"], "not_mountable",
        "{refused}"
    );
}

#[test]
fn item_13_the_deck_comes_and_goes_with_its_grant() {
    let office = Office::with(&[("one", Private)]);
    let scopes = "deck:call capsule:read";
    let agent = office.agent_with("agent", &on("one", Role::Reader, &[]), "capsule:read", scopes);
    let mut client = office.client("/mcp", &agent);
    let mut stream = office.stream("/mcp", &agent, &client);
    assert!(!tools(&mut client).contains(&"fake__echo".to_owned()));
    let grant = office.grant_to(&agent, &deck_of("fake"), "deck:call");
    assert_eq!(stream.next()["method"], "notifications/tools/list_changed");
    let names = tools(&mut client);
    assert!(names.contains(&"fake__echo".to_owned()), "{names:?}");
    assert!(names.contains(&"capsules__capsol_read".to_owned()), "{names:?}");
    assert_eq!(listed(&mut client), ["one"], "the names from before still work");
    let echo = json!({"name": "fake__echo", "arguments": {"text": "hi"}});
    let answer = client.request("tools/call", echo.clone());
    assert!(answer["result"].to_string().contains("hi"), "{answer}");
    office.take_back(&grant);
    assert!(!tools(&mut client).contains(&"fake__echo".to_owned()));
    assert!(client.request("tools/call", echo)["error"].is_object());
    // A person who begins with the deck has a session of the deck.
    let other = office.agent("other", &[deck_of("fake"), on("one", Role::Reader, &[])], scopes);
    let names = tools(&mut office.client("/mcp", &other));
    assert!(names.contains(&"capsules__capsol_read".to_owned()), "{names:?}");
}
