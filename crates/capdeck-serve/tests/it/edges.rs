//! Messages at the edge of what can be read: too large, too deep, with an id that is in use.

use capdeck_definition::Exposure;
use capdeck_test::{FakePlan, HttpClient};
use serde_json::{Value, json};

use crate::{
    event_stream::EventStream,
    served::{Served, Setting, until},
};

fn direct() -> Served {
    Setting::of(&FakePlan::default()).exposure(Exposure::Direct).serve()
}

/// The host is well if it still does this.
fn assert_well(client: &mut HttpClient) {
    let call = json!({"name": "fake__echo", "arguments": {"a": 1}});
    assert_eq!(client.request("tools/call", call)["result"]["content"][0]["text"], r#"{"a":1}"#);
}

#[test]
fn a_body_over_the_limit_is_refused_on_every_endpoint() {
    let served = direct();
    for path in ["/mcp", "/servers/fake/mcp"] {
        let mut client = served.client(path);
        client.initialize();
        let huge = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#,
            "x".repeat(16 << 20)
        );
        assert_eq!(client.post(&huge).status, 413, "{path}");
    }
    assert_well(&mut served.deck_client());
}

#[test]
fn deep_nesting_is_refused_and_nothing_overflows() {
    let served = direct();
    let mut client = served.deck_client();
    let deep =
        |open: &str, close: &str| format!("{}0{}", open.repeat(200_000), close.repeat(200_000));
    for value in [deep("[", "]"), deep(r#"{"a":"#, "}")] {
        for message in [
            value.clone(),
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{value}}}"#),
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"fake__echo","arguments":{{"a":{value}}}}}}}"#
            ),
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{value}}}}}"#
            ),
        ] {
            let reply = client.post(&message);
            let answer = reply.messages().pop().unwrap_or_default();
            let refused = answer.get("error").is_some() || answer["result"]["isError"] == true;
            let method = message.get(..60).unwrap_or_default();
            assert!(
                reply.status == 400 || refused || is_ping(&message),
                "{method}: {}",
                reply.status
            );
        }
    }
    assert_well(&mut client);
}

/// The answer to a ping does not depend on what comes with it.
fn is_ping(message: &str) -> bool {
    message.contains(r#""method":"ping""#)
}

#[test]
fn an_id_in_use_is_refused_and_the_first_request_goes_on() {
    let served = direct();
    let mut client = served.deck_client();
    let session = client.session.clone().unwrap();
    let wait = |id: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params":
            {"name": "fake__wait", "arguments": {"ms": 1500}}})
    };
    for id in [json!(5), json!("five")] {
        let mut first = EventStream::post(served.authority(), "/mcp", &session, &wait(id.clone()));
        let again = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"});
        let refused = client.post(&again.to_string()).messages().pop().unwrap();
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
        assert_eq!(first.next()["result"]["content"][0]["text"], "waited");
        // Once it is answered, the id is free.
        until("the id to be free", || {
            let free = client.post(&again.to_string()).messages().pop().unwrap();
            free["result"]["tools"].is_array().then_some(())
        });
    }
}

#[test]
fn nonsense_in_every_place_is_refused_with_a_reason() {
    let served = direct();
    let mut client = served.deck_client();
    for nonsense in [
        "",
        "null",
        "[]",
        "42",
        "{}",
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        "\u{0}\u{1}",
        r#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
    ] {
        let reply = client.post(nonsense);
        assert_eq!(reply.status, 400, "{nonsense}: {reply:?}");
        let error = &reply.messages().pop().unwrap_or_default()["error"];
        assert!(matches!(error["code"].as_i64(), Some(-32700 | -32600)), "{nonsense}: {reply:?}");
        assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()));
    }
    assert_well(&mut client);
}
