//! Calls as spans at a collector: a real one, as far as the wire goes.

use std::{sync::Arc, time::Duration};

use axum::{Router, extract::State, http::HeaderMap, routing::post};
use capdeck_host::{CallContext, Host, RawMembers, Session, ToolRequest, calls};
use capdeck_serve::{OtlpExporter, OtlpSettings};
use capdeck_test::{FakePlan, TestDirs};
use serde_json::{Value, json, value::to_raw_value};
use tokio::sync::mpsc;

use crate::served::{TEST_TIMEOUT, settings};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

type Received = (HeaderMap, Value);

/// A collector that hands over what it is sent.
async fn collector() -> (String, mpsc::UnboundedReceiver<Received>) {
    let (sender, received) = mpsc::unbounded_channel::<Received>();
    let take = |State(sender): State<mpsc::UnboundedSender<Received>>,
                headers: HeaderMap,
                body: String| async move {
        sender.send((headers, serde_json::from_str(&body).unwrap())).unwrap();
        "{}"
    };
    let router = Router::new().route("/v1/traces", post(take)).with_state(sender);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, received)
}

fn opened(dirs: &TestDirs) -> Host {
    dirs.write_config(&json!({ "mcpServers": { "fake": FakePlan::default().deck_entry() } }));
    Host::open(settings(dirs))
}

fn exporter(endpoint: String) -> Arc<OtlpExporter> {
    let headers = vec![("x-key".to_owned(), "sesame".to_owned())];
    let (service, version) = ("capdeck".to_owned(), "0.0.0-test".to_owned());
    OtlpExporter::start(OtlpSettings { endpoint, headers, service, version }).unwrap()
}

/// Calls a tool with this `_meta`; what the server saw as its `_meta`.
async fn called(session: &Session, tool: &str, meta: Option<Value>) -> Value {
    let meta: Option<RawMembers> = meta.map(|meta| serde_json::from_value(meta).unwrap());
    let request = ToolRequest {
        capability: "fake".to_owned(),
        tool: tool.to_owned(),
        arguments: Some(to_raw_value(&json!({})).unwrap()),
        meta,
        ..ToolRequest::default()
    };
    let answer = calls::call(session.request(&CallContext::detached(TEST_TIMEOUT)), &request).await;
    let Ok(answer) = answer else { return Value::Null };
    let answer: Value = serde_json::from_str(answer.get()).unwrap();
    let text = answer["content"][0]["text"].as_str().unwrap_or("{}");
    serde_json::from_str::<Value>(text).unwrap_or_default()["_meta"].clone()
}

fn spans(message: &Value) -> Vec<Value> {
    message["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_call_is_two_spans_below_the_callers_and_above_the_servers() {
    let (url, mut received) = collector().await;
    let dirs = TestDirs::new();
    let host = opened(&dirs);
    let exporter = exporter(url);
    host.trace_to(exporter.clone());
    let sent = json!({ "traceparent": PARENT, "tracestate": "a=b", "other": 1 });
    let seen = called(&host.operator(), "params", Some(sent)).await;
    exporter.flush().await;
    let (headers, message) = received.recv().await.unwrap();
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(headers["x-key"], "sesame");
    let service = &message["resourceSpans"][0]["resource"]["attributes"][0];
    assert_eq!(service["value"]["stringValue"], "capdeck");
    let spans = spans(&message);
    let of_kind = |kind: u64| spans.iter().find(|span| span["kind"] == kind).unwrap();
    let (outer, inner) = (of_kind(2), of_kind(3));
    assert_eq!(spans.len(), 2);
    for span in [outer, inner] {
        assert_eq!(span["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(span["status"], json!({}));
        let nanoseconds = |key: &str| span[key].as_str().unwrap().parse::<u128>().unwrap();
        assert!(nanoseconds("startTimeUnixNano") <= nanoseconds("endTimeUnixNano"));
    }
    assert_eq!(outer["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!(outer["name"], "tools/call params");
    assert_eq!(inner["parentSpanId"], outer["spanId"]);
    // The server is informed to hang its own spans below the inner one.
    let reported = seen["traceparent"].as_str().unwrap();
    let expected =
        format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{}-01", inner["spanId"].as_str().unwrap());
    assert_eq!(reported, expected);
    assert_eq!(seen["tracestate"], "a=b");
    assert_eq!(seen["other"], 1);
    host.close().await;
}

#[tokio::test]
async fn calls_without_a_trace_begin_one_and_unwanted_ones_are_not_reported() {
    let (url, mut received) = collector().await;
    let dirs = TestDirs::new();
    let host = opened(&dirs);
    let exporter = exporter(url);
    host.trace_to(exporter.clone());
    let session = host.operator();
    let unsampled = format!("{}00", PARENT.trim_end_matches("01"));
    let seen = called(&session, "params", Some(json!({ "traceparent": unsampled }))).await;
    assert_eq!(seen["traceparent"], json!(unsampled));
    let seen =
        called(&session, "params", Some(json!({ "traceparent": "nonsense", "tracestate": "a=b" })))
            .await;
    assert_eq!(seen.get("tracestate"), None);
    called(&session, "no_such_tool", None).await;
    exporter.flush().await;
    let (_, message) = received.recv().await.unwrap();
    let spans = spans(&message);
    let names: Vec<&Value> = spans.iter().map(|span| &span["name"]).collect();
    assert_eq!(
        names,
        ["tools/call params of fake", "tools/call params", "tools/call no_such_tool"]
    );
    assert_eq!(spans[1].get("parentSpanId"), None);
    assert_eq!(spans[2]["status"]["code"], 2);
    assert_ne!(spans[1]["traceId"], spans[2]["traceId"]);
    host.close().await;
}

#[tokio::test]
async fn without_a_collector_everything_else_works() {
    let dirs = TestDirs::new();
    let host = opened(&dirs);
    let session = host.operator();
    let plain = called(&session, "params", Some(json!({ "traceparent": PARENT }))).await;
    assert_eq!(plain["traceparent"], PARENT);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nowhere = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let exporter = exporter(nowhere);
    host.trace_to(exporter.clone());
    assert!(called(&session, "params", None).await["traceparent"].is_string());
    tokio::time::timeout(Duration::from_secs(20), exporter.flush()).await.unwrap();
    host.close().await;
}
