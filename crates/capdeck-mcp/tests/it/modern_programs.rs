//! Programs of the modern era, driven by hand over pipes.

use std::time::Duration;

use capdeck_mcp::{
    Era,
    client::{ClientError, EraChoice, McpClient, RequestOptions},
};
use serde_json::{Value, json};

use crate::support::*;

async fn answer(server: &mut PipedServer, request: &Value, result: Value) {
    let message = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    server.write(&format!("{message}\n")).await;
}

async fn refuse(server: &mut PipedServer, request: &Value, code: i64) {
    let error = json!({"code": code, "message": "no", "data": {"supported": ["2026-07-28"]}});
    let message = json!({"jsonrpc": "2.0", "id": request["id"], "error": error});
    server.write(&format!("{message}\n")).await;
}

fn discovery(capabilities: Value) -> Value {
    json!({"supportedVersions": ["2026-07-28"], "capabilities": capabilities})
}

/// Connects to a program that says at once that it is modern.
async fn connected(client: &McpClient, server: &mut PipedServer, capabilities: Value) {
    let serving = async {
        let probe = server.read().await;
        assert_eq!(probe["method"], "server/discover");
        answer(server, &probe, discovery(capabilities)).await;
    };
    let (found, ()) = tokio::join!(client.connect(hello(), EraChoice::Auto, PLENTY), serving);
    assert_eq!(found.unwrap().revision.era(), Era::Modern);
}

#[tokio::test(start_paused = true)]
async fn a_modern_program_that_is_slow_to_start_is_found_all_the_same() {
    let (client, mut server, _) = pair();
    let serving = async {
        let _missed = server.read().await;
        let handshake = server.read().await;
        assert_eq!(handshake["method"], "initialize");
        refuse(&mut server, &handshake, -32022).await;
        let probe = server.read().await;
        assert_eq!(probe["method"], "server/discover");
        answer(&mut server, &probe, discovery(json!({}))).await;
    };
    let connecting = client.connect(hello(), EraChoice::Auto, Duration::from_secs(15));
    let (found, ()) = tokio::join!(connecting, serving);
    assert_eq!(found.unwrap().revision.era(), Era::Modern);
}

#[tokio::test(start_paused = true)]
async fn a_program_that_never_speaks_ends_by_the_deadline() {
    for choice in [EraChoice::Auto, EraChoice::LegacyFirst, EraChoice::Legacy, EraChoice::Modern] {
        let (client, _server, _) = pair();
        let started = tokio::time::Instant::now();
        let outcome = client.connect(hello(), choice, Duration::from_secs(10)).await;
        assert!(matches!(outcome, Err(ClientError::Timeout { .. })), "{choice:?}: {outcome:?}");
        assert!(started.elapsed() <= Duration::from_secs(10), "{choice:?}");
    }
}

#[tokio::test]
async fn a_program_that_ends_on_the_probe_is_reported_as_ended() {
    let (client, server, _) = pair();
    drop(server);
    let outcome = client.connect(hello(), EraChoice::Auto, PLENTY).await;
    assert!(matches!(outcome, Err(ClientError::Closed { .. })), "{outcome:?}");
}

#[tokio::test]
async fn requests_of_a_modern_program_are_refused_and_nothing_legacy_is_sent() {
    let (client, mut server, owner) = pair();
    connected(&client, &mut server, json!({})).await;
    server.write("{\"id\":\"q\",\"method\":\"sampling/createMessage\"}\n").await;
    assert_eq!(server.read().await["error"]["code"], -32601);
    for method in ["notifications/roots/list_changed", "notifications/initialized"] {
        client.notify(method, None).await.unwrap();
    }
    client.notify("notifications/x-odd", None).await.unwrap();
    assert_eq!(server.read().await["method"], "notifications/x-odd");
    assert!(owner.rest().await.is_empty());
    let call = client.request("m", None, RequestOptions::within(Duration::from_millis(30)));
    assert!(matches!(call.await, Err(ClientError::Timeout { .. })));
    let request = server.read().await;
    let cancelled = server.read().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
}

#[tokio::test]
async fn a_program_is_listened_to_with_a_new_filter_before_the_old_one_ends() {
    let (client, mut server, owner) = pair();
    connected(&client, &mut server, json!({"prompts": {"listChanged": true}})).await;
    let reported = |method: &str, id: &Value| {
        let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
        let params = json!({"_meta": meta, "uri": "a://b"});
        format!("{}\n", json!({"jsonrpc": "2.0", "method": method, "params": params}))
    };
    let first = server.read().await;
    assert_eq!(first["params"]["notifications"], json!({"promptsListChanged": true}));
    server.write(&reported("notifications/subscriptions/acknowledged", &first["id"])).await;
    server.write(&reported("notifications/prompts/list_changed", &first["id"])).await;
    assert_eq!(owner.next().await, "notifications/prompts/list_changed");
    let serving = async {
        let second = server.read().await;
        assert_eq!(second["method"], "subscriptions/listen");
        server.write(&reported("notifications/subscriptions/acknowledged", &second["id"])).await;
        let ended = server.read().await;
        assert_eq!(ended["params"]["requestId"], first["id"]);
        server.write(&reported("notifications/resources/updated", &first["id"])).await;
        server.write(&reported("notifications/resources/updated", &second["id"])).await;
        second
    };
    let watching = client.watch_resources(vec!["a://b".to_owned()], PLENTY);
    let (watched, second) = soon(async { tokio::join!(watching, serving) }).await;
    watched.unwrap();
    assert_eq!(owner.next().await, "notifications/resources/updated");
    let serving = async {
        let third = server.read().await;
        refuse(&mut server, &third, -32602).await;
    };
    let watching = client.watch_resources(vec!["no such".to_owned()], PLENTY);
    let (refused, ()) = soon(async { tokio::join!(watching, serving) }).await;
    assert!(matches!(refused, Err(ClientError::Rpc(_))), "{refused:?}");
    server.write(&reported("notifications/prompts/list_changed", &second["id"])).await;
    assert_eq!(owner.next().await, "notifications/prompts/list_changed", "the old one is kept");
}
