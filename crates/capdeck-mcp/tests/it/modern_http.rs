//! Modern requests over HTTP: who is asking, what the headers say, how answers look.

use std::time::Duration;

use capdeck_mcp::server::HttpOptions;
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

use crate::support::*;

/// The status, the code and the id of a refusal.
async fn refused(request: RequestBuilder) -> (u16, i64, Value) {
    let (status, body) = outcome(soon(request.send()).await.unwrap()).await;
    let code = body["error"]["code"].as_i64().unwrap_or_else(|| panic!("{body}"));
    (status, code, body["id"].clone())
}

/// The events of a stream up to one that holds a text.
async fn read_until(response: &mut Response, text: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(text) {
        let chunk = soon(response.chunk()).await.unwrap().expect("the stream ended");
        seen.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    seen
}

#[tokio::test]
async fn discovery_tells_what_the_session_describes_and_what_the_era_adds() {
    let talk = ModernTalk::start(HttpOptions::default()).await;
    let response = talk.send(1, "server/discover", json!({})).await;
    assert_eq!(response.status(), 200);
    assert!(!response.headers().contains_key("mcp-session-id"));
    let body: Value = response.json().await.unwrap();
    assert_eq!(
        body["result"],
        json!({
            "resultType": "complete",
            "ttlMs": 0,
            "cacheScope": "private",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "instructions": "be kind",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fixture", "version": "0"}},
        })
    );
    let opened = talk.fixture.next().await;
    let Happening::Opened { requested, revision, client } = opened else { panic!("{opened:?}") };
    assert_eq!(
        (requested.as_str(), revision, client.as_str()),
        ("2026-07-28", "2026-07-28", "\"test\"")
    );
}

#[tokio::test]
async fn a_sender_that_does_not_introduce_itself_is_refused() {
    let talk = ModernTalk::start(HttpOptions::default()).await;
    let post = |params: Value, version: &str| {
        talk.posting(&json!({"id": 7, "method": "server/discover", "params": params}))
            .header("mcp-protocol-version", version)
            .header("mcp-method", "server/discover")
    };
    let without = |key: &str| {
        let mut params = talk.signed(json!({}));
        params["_meta"].as_object_mut().unwrap().remove(&format!("{META}{key}"));
        params
    };
    let with = |key: &str, value: Value| {
        let mut params = talk.signed(json!({}));
        params["_meta"][format!("{META}{key}")] = value;
        params
    };
    const NOW: &str = "2026-07-28";
    for wrong in [
        json!({}),
        json!({"_meta": 3}),
        without("protocolVersion"),
        without("clientCapabilities"),
        with("protocolVersion", json!(3)),
        with("clientCapabilities", json!([])),
        with("logLevel", json!("loud")),
        with("clientInfo", json!({"name": "x".repeat(70_000)})),
    ] {
        assert_eq!(refused(post(wrong, NOW)).await, (400, -32602, json!(7)));
    }
    let unsigned = talk.posting(&json!({"id": 7, "method": "server/discover"}));
    assert_eq!(refused(unsigned).await, (400, -32602, json!(7)));
    let (status, body) = outcome(post(without("clientInfo"), NOW).send().await.unwrap()).await;
    assert_eq!((status, body["error"].is_null()), (200, true), "a name is optional");

    for version in ["2027-01-01", "2025-11-25", "1999-01-01", "v9"] {
        let request = post(with("protocolVersion", json!(version)), version);
        let (status, body) = outcome(request.send().await.unwrap()).await;
        assert_eq!((status, &body["error"]["code"]), (400, &json!(-32022)), "{version}");
        let facts = json!({"supported": ["2026-07-28"], "requested": version});
        assert_eq!(body["error"]["data"], facts);
    }
    assert_eq!(refused(post(json!({}), "v9")).await, (400, -32022, json!(7)));
}

#[tokio::test]
async fn headers_and_body_have_to_agree() {
    let talk = ModernTalk::start(HttpOptions::default()).await;
    let list = json!({"id": 1, "method": "tools/list", "params": talk.signed(json!({}))});
    let call = |arguments: Value| {
        let params = talk.signed(json!({"name": "echo", "arguments": arguments}));
        json!({"id": 1, "method": "tools/call", "params": params})
    };
    let post = |body: &Value, headers: &[(&str, &str)]| {
        headers
            .iter()
            .fold(talk.posting(body), |request, (name, value)| request.header(*name, *value))
    };
    const VERSION: (&str, &str) = ("mcp-protocol-version", "2026-07-28");
    const LIST: (&str, &str) = ("Mcp-Method", "tools/list");
    const CALL: (&str, &str) = ("mcp-method", "tools/call");
    const ECHO: (&str, &str) = ("mcp-name", "echo");
    let plain = call(json!({}));
    let region = call(json!({"region": "Zürich", "n": 5}));
    let encoded = ("mcp-param-region", "=?base64?WsO8cmljaA==?=");
    for (body, headers) in [
        (&list, &[LIST] as &[_]),
        (&list, &[VERSION]),
        (&list, &[VERSION, ("mcp-method", "TOOLS/LIST")]),
        (&list, &[VERSION, LIST, LIST]),
        (&list, &[VERSION, VERSION, LIST]),
        (&list, &[("mcp-protocol-version", "2025-11-25"), LIST]),
        (&plain, &[VERSION, CALL]),
        (&plain, &[VERSION, CALL, ("mcp-name", "other")]),
        (&plain, &[VERSION, CALL, ("mcp-name", "=?base64?ZWNobw?=")]),
        (&plain, &[VERSION, CALL, ECHO, ("mcp-param-region", "made up")]),
        (&region, &[VERSION, CALL, ECHO, ("mcp-param-n", "5")]),
        (&region, &[VERSION, CALL, ECHO, encoded, ("mcp-param-n", "6")]),
        (&region, &[VERSION, CALL, ECHO, encoded, encoded, ("mcp-param-n", "5")]),
    ] {
        assert_eq!(refused(post(body, headers)).await, (400, -32020, json!(1)), "{headers:?}");
    }
    for (body, headers) in [
        (&list, &[VERSION, ("MCP-METHOD", " tools/list ")] as &[_]),
        (&plain, &[VERSION, CALL, ("mcp-name", "=?base64?ZWNobw==?=")]),
        (&plain, &[VERSION, CALL, ECHO, ("mcp-param-unknown", "passes")]),
        (&region, &[VERSION, CALL, ECHO, encoded, ("Mcp-Param-N", "5.0")]),
    ] {
        let (status, body) = outcome(post(body, headers).send().await.unwrap()).await;
        assert_eq!((status, body["error"].is_null()), (200, true), "{headers:?}");
    }
}

#[tokio::test]
async fn what_the_era_does_not_have_is_not_found() {
    let talk = ModernTalk::start(HttpOptions::default()).await;
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "unknown/method",
    ] {
        assert_eq!(refused(talk.asking(5, method, json!({}))).await, (404, -32601, json!(5)));
    }
    let notify = |method: &str| {
        talk.posting(&json!({"method": method, "params": talk.signed(json!({}))}))
            .header("mcp-protocol-version", "2026-07-28")
    };
    assert_eq!(
        refused(notify("notifications/roots/list_changed")).await,
        (404, -32601, Value::Null)
    );
    for method in ["notifications/cancelled", "notifications/custom"] {
        assert_eq!(notify(method).send().await.unwrap().status(), 202);
    }
    talk.fixture.until(&Happening::Notified("notifications/custom".to_owned())).await;
}

#[tokio::test]
async fn results_get_what_they_lack_and_nothing_else_changes() {
    let talk = ModernTalk::start(HttpOptions::default()).await;
    let text = talk.send(1, "tools/list", json!({})).await.text().await.unwrap();
    assert_eq!(
        text,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fixture","version":"0"}},"tools":[{"name":"echo", "x": 1.0}]}}"#
    );
    let text = talk.send(2, "prompts/list", json!({})).await.text().await.unwrap();
    assert!(
        text.contains(r#""result":{"prompts":[ ],"resultType":"complete","ttlMs":9,"#),
        "{text}"
    );
    assert!(text.contains(r#""name":"other""#) && !text.contains("fixture"), "{text}");
    let text = talk.send(3, "tools/call", json!({"name": "log_all"})).await.text().await.unwrap();
    assert!(text.contains(r#"{"resultType":"complete","_meta":"#), "no caching of calls: {text}");

    let (status, body) = talk.ask(4, "resources/read", json!({"uri": "test://gone"})).await;
    assert_eq!((status, &body["error"]["code"]), (200, &json!(-32602)));
    assert_eq!(body["error"]["data"], json!({"uri": "test://gone"}));
    let (status, body) = talk.ask(5, "odd/questions", json!({})).await;
    assert_eq!((status, &body["error"]["code"]), (200, &json!(-32603)));
    let (status, body) = talk.ask(6, "tools/call", json!({"name": "panic"})).await;
    assert_eq!((status, &body["error"]["code"]), (200, &json!(-32603)));
}

#[tokio::test]
async fn notifications_on_the_way_make_a_stream_without_ids() {
    let talk = ModernTalk::start(HttpOptions::default()).await;
    let talk = talk.with_meta(json!({"progressToken": "t"}));
    let response = talk.send(1, "tools/call", json!({"name": "progress"})).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let text = soon(response.text()).await.unwrap();
    assert!(text.starts_with("event: message\ndata: {"), "{text}");
    assert!(!text.contains("id: "), "{text}");
    assert_eq!(text.matches(r#""progressToken":"t""#).count(), 3);
    assert!(text.trim_end().ends_with(r#""done":true}}"#), "{text}");
}

#[tokio::test]
async fn log_messages_are_for_those_who_ask() {
    let talk = ModernTalk::start(HttpOptions::default()).await;
    let silent = talk.call(1, json!({"name": "log_all"})).await;
    assert_eq!(silent["resultType"], "complete");
    let talk = talk.with_meta(json!({"io.modelcontextprotocol/logLevel": "warning"}));
    let text = talk.send(2, "tools/call", json!({"name": "log_all"})).await.text().await.unwrap();
    assert!(!text.contains(r#""data":"debug""#), "{text}");
    assert!(text.contains(r#""data":"warning""#) && text.contains(r#""data":"error""#), "{text}");
}

#[tokio::test]
async fn a_closed_connection_cancels_with_and_without_a_stream() {
    let options = HttpOptions { keep_alive: Duration::from_millis(30), ..HttpOptions::default() };
    for options in [HttpOptions::default(), options] {
        let streams = options.keep_alive < Duration::from_secs(1);
        let talk = ModernTalk::start(options).await;
        let request = talk.asking(1, "tools/call", json!({"name": "hang"})).send();
        let mut request = Box::pin(request);
        if streams {
            let mut response = soon(&mut request).await.unwrap();
            assert_eq!(response.headers()["content-type"], "text/event-stream");
            read_until(&mut response, ": keep-alive").await;
            drop(response);
        } else {
            let started = Happening::Started("hang".to_owned());
            tokio::select! {
                _ = &mut request => panic!("the answer came"),
                () = talk.fixture.until(&started) => {}
            }
        }
        drop(request);
        talk.fixture.until(&Happening::Cancelled).await;
    }
}

#[tokio::test]
async fn a_slow_answer_is_waited_for_and_keeps_its_status() {
    let options = HttpOptions { json_grace: Duration::from_millis(1), ..HttpOptions::default() };
    let talk = ModernTalk::start(options).await;
    let asking = talk.clone();
    let waiting = tokio::spawn(async move { asking.call(1, json!({"name": "slow"})).await });
    talk.fixture.until(&Happening::Started("slow".to_owned())).await;
    talk.fixture.release.notify_one();
    assert_eq!(soon(waiting).await.unwrap()["slow"], true);
}

#[tokio::test]
async fn a_subscription_is_acknowledged_tagged_and_ended_with_its_connection() {
    let talk = ModernTalk::start(HttpOptions::default()).await;
    let wanted = json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true}});
    let mut stream = talk.send(77, "subscriptions/listen", wanted.clone()).await;
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let text = read_until(&mut stream, "\n\n").await;
    assert_eq!(
        text,
        "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"notifications\":{\"toolsListChanged\":true},\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":77}}}\n\n"
    );
    talk.fixture.release.notify_one();
    let text = read_until(&mut stream, "\n\n").await;
    assert!(
        text.contains(r#""_meta":{"kept":1,"io.modelcontextprotocol/subscriptionId":77}"#),
        "{text}"
    );
    drop(stream);
    talk.fixture.until(&Happening::Cancelled).await;

    let mut stream = talk.send(78, "subscriptions/listen", wanted).await;
    read_until(&mut stream, "acknowledged").await;
    talk.endpoint.shutdown().await;
    talk.fixture.until_all(&[Happening::Cancelled, Happening::Closed]).await;
    let text = read_until(&mut stream, "\n\n").await;
    assert!(text.contains(r#""id":78,"result":{"resultType":"complete","_meta":"#), "{text}");
    assert!(text.contains(r#""io.modelcontextprotocol/subscriptionId":78"#), "{text}");
    assert!(soon(stream.chunk()).await.unwrap().is_none());
}

#[tokio::test]
async fn both_eras_share_one_address() {
    let talk = ModernTalk::start(HttpOptions::default()).await;
    let hello =
        json!({"id": 0, "method": "initialize", "params": {"protocolVersion": "2026-07-28"}});
    let response = soon(talk.posting(&hello).send()).await.unwrap();
    let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["result"]["protocolVersion"], "2025-11-25");
    talk.call(1, json!({"name": "echo"})).await;
    let list = json!({"id": 1, "method": "tools/list"});
    let response =
        soon(talk.posting(&list).header("mcp-session-id", &session).send()).await.unwrap();
    let text = response.text().await.unwrap();
    assert_eq!(text, r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"echo", "x": 1.0}]}}"#);
    let ping = talk.posting(&json!({"id": 2, "method": "ping"})).header("mcp-session-id", &session);
    assert_eq!(soon(ping.send()).await.unwrap().status(), 200);
    let modern = talk.asking(3, "tools/list", json!({})).header("mcp-session-id", &session);
    assert_eq!(refused(modern).await, (400, -32000, json!(3)), "a session does not change its era");
}
