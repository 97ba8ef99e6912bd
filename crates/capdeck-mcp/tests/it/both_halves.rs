//! The same behaviour over every transport that has both halves here.

use std::{sync::Arc, time::Duration};

use capdeck_mcp::{
    ProtocolRevision,
    client::{ClientError, EraChoice, McpClient, RequestOptions},
    server::HttpOptions,
};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::support::*;

/// A connected client, the service behind it, and what reaches the connection's owner.
struct Pair {
    client: McpClient,
    fixture: Arc<Fixture>,
    owner: Arc<Recorder>,
}

async fn over_stdio() -> Pair {
    let (fixture, owner) = (Fixture::new(), Recorder::new());
    let client = joined(&fixture, owner.clone());
    introduce(Pair { client, fixture, owner }).await
}

async fn over_http() -> Pair {
    let (fixture, owner) = (Fixture::new(), Recorder::new());
    let (_, address) = serve_endpoint(&fixture, HttpOptions::default()).await;
    let client = connect(address, owner.clone());
    introduce(Pair { client, fixture, owner }).await
}

async fn introduce(pair: Pair) -> Pair {
    let greeting = pair.client.connect(hello(), EraChoice::Legacy, PLENTY).await.unwrap();
    assert_eq!(greeting.revision, ProtocolRevision::LATEST_LEGACY);
    assert_eq!(greeting.instructions.as_deref(), Some("be kind"));
    assert!(greeting.raw.get().starts_with(r#"{"protocolVersion":"2025-11-25","capabilities":"#));
    let opened = Happening::Opened {
        requested: "2025-11-25".to_owned(),
        revision: "2025-11-25",
        client: r#""test""#.to_owned(),
    };
    assert_eq!(pair.fixture.next().await, opened);
    let initialized = Happening::Notified("notifications/initialized".to_owned());
    assert_eq!(pair.fixture.next().await, initialized);
    pair
}

/// Runs one body once per transport.
macro_rules! over_both {
    ($(async fn $name:ident($pair:ident: Pair) $body:block)*) => {$(
        mod $name {
            use super::*;

            async fn check($pair: Pair) $body

            #[tokio::test]
            async fn stdio() {
                soon(async { check(over_stdio().await).await }).await;
            }

            #[tokio::test]
            async fn http() {
                soon(async { check(over_http().await).await }).await;
            }
        }
    )*};
}

over_both! {
    async fn results_come_back_as_they_were_written(pair: Pair) {
        let params = object(r#"{"name":"echo","arguments":{"b":1.50,"a":"\u0041","n":null,"big":12345678901234567890123}}"#);
        let result = ask(&pair.client, "tools/call", Some(params)).await.unwrap();
        assert_eq!(result.get(), r#"{"b":1.50,"a":"\u0041","n":null,"big":12345678901234567890123}"#);
        let list = ask(&pair.client, "tools/list", None).await.unwrap();
        assert_eq!(list.get(), r#"{"tools":[{"name":"echo", "x": 1.0}]}"#);
    }

    async fn errors_keep_code_message_and_data(pair: Pair) {
        let Err(ClientError::Rpc(error)) = ask(&pair.client, "tools/call", tool("none")).await else {
            panic!("no error");
        };
        assert_eq!((error.code, error.message.as_str()), (-32042, "no such tool"));
        assert_eq!(error.data.unwrap().get(), r#"{"name":  "kept"}"#);
        let Err(ClientError::Rpc(error)) = ask(&pair.client, "no/such", None).await else {
            panic!("no error");
        };
        assert_eq!(error.code, -32601);
    }

    async fn ping_is_answered_by_the_wire(pair: Pair) {
        assert_eq!(ask(&pair.client, "ping", None).await.unwrap().get(), "{}");
    }

    async fn progress_arrives_in_order_and_before_the_answer(pair: Pair) {
        let steps = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&steps);
        let options = RequestOptions {
            on_progress: Some(Arc::new(move |params| {
                sink.lock().push(serde_json::to_string(&params).unwrap());
            })),
            ..RequestOptions::within(PLENTY)
        };
        pair.client.request("tools/call", tool("progress"), options).await.unwrap();
        let expected: Vec<String> =
            (1..=3).map(|step| format!(r#"{{"progress":{step},"total":3}}"#)).collect();
        assert_eq!(*steps.lock(), expected);
    }

    async fn what_belongs_to_a_request_goes_to_the_one_who_made_it(pair: Pair) {
        let events = Recorder::new();
        let options =
            RequestOptions { events: Some(events.clone()), ..RequestOptions::within(PLENTY) };
        let result = pair.client.request("tools/call", tool("ask"), options.clone()).await.unwrap();
        assert_eq!(result.get(), r#"{"action":"accept"}"#);
        pair.client.request("tools/call", tool("log"), options).await.unwrap();
        assert_eq!(events.next().await, "elicitation/create");
        assert_eq!(events.next().await, "notifications/message");
        assert!(pair.owner.rest().await.is_empty());
    }

    async fn a_log_of_no_request_goes_to_the_one_that_runs(pair: Pair) {
        let events = Recorder::new();
        let options =
            RequestOptions { events: Some(events.clone()), ..RequestOptions::within(PLENTY) };
        let log = async {
            pair.fixture.until(&Happening::Started("slow".to_owned())).await;
            pair.fixture.peer().notify("notifications/message", None);
            assert_eq!(events.next().await, "notifications/message");
            pair.fixture.release.notify_one();
        };
        let (result, ()) =
            tokio::join!(pair.client.request("tools/call", tool("slow"), options), log);
        result.unwrap();
        assert!(pair.owner.rest().await.is_empty());
    }

    async fn what_belongs_to_no_request_goes_to_the_owner(pair: Pair) {
        let peer = pair.fixture.peer();
        peer.notify("notifications/tools/list_changed", None);
        assert_eq!(pair.owner.next().await, "notifications/tools/list_changed");
        let answer = peer.request("roots/list", None, PLENTY).await.unwrap();
        assert_eq!(answer.get(), r#"{"action":"accept"}"#);
        assert_eq!(pair.owner.next().await, "roots/list");
    }

    async fn cancelling_reaches_the_session(pair: Pair) {
        let cancel = CancellationToken::new();
        let options = RequestOptions { cancel: cancel.clone(), ..RequestOptions::within(PLENTY) };
        let call = pair.client.request("tools/call", tool("hang"), options);
        let watch = async {
            pair.fixture.until(&Happening::Started("hang".to_owned())).await;
            cancel.cancel();
        };
        let (outcome, ()) = tokio::join!(call, watch);
        assert!(matches!(outcome, Err(ClientError::Cancelled)));
        assert_eq!(pair.fixture.next().await, Happening::Cancelled);
        ask(&pair.client, "tools/list", None).await.unwrap();
    }

    async fn a_deadline_ends_the_call_and_reaches_the_session(pair: Pair) {
        let options = RequestOptions::within(Duration::from_millis(50));
        let outcome = pair.client.request("tools/call", tool("hang"), options).await;
        assert!(matches!(outcome, Err(ClientError::Timeout { .. })), "{outcome:?}");
        pair.fixture.until(&Happening::Cancelled).await;
        ask(&pair.client, "tools/list", None).await.unwrap();
    }

    async fn dropping_the_future_cancels_the_call(pair: Pair) {
        let call = ask(&pair.client, "tools/call", tool("hang"));
        let start = Happening::Started("hang".to_owned());
        let started = pair.fixture.until(&start);
        tokio::select! {
            _ = call => panic!("it hangs"),
            () = started => {}
        }
        assert_eq!(pair.fixture.next().await, Happening::Cancelled);
    }

    async fn a_panic_is_that_requests_error_only(pair: Pair) {
        let slow = ask(&pair.client, "tools/call", tool("slow"));
        let panics = async {
            pair.fixture.until(&Happening::Started("slow".to_owned())).await;
            let outcome = ask(&pair.client, "tools/call", tool("panic")).await;
            pair.fixture.release.notify_one();
            outcome
        };
        let (slow, panicked) = tokio::join!(slow, panics);
        let Err(ClientError::Rpc(error)) = panicked else { panic!("no error") };
        assert_eq!(error.code, -32603);
        assert!(!error.message.contains("on purpose"), "{}", error.message);
        assert_eq!(slow.unwrap().get(), r#"{"slow":true}"#);
    }

    async fn many_requests_at_once_get_their_own_answers(pair: Pair) {
        let calls = (0..200).map(|number| {
            let client = pair.client.clone();
            tokio::spawn(async move {
                let params = object(&format!(r#"{{"name":"echo","arguments":{{"n":{number}}}}}"#));
                let result = ask(&client, "tools/call", Some(params)).await.unwrap();
                assert_eq!(result.get(), format!(r#"{{"n":{number}}}"#));
            })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap();
        }
    }

    async fn a_large_answer_passes(pair: Pair) {
        let text = "x".repeat(3_000_000);
        let params = object(&format!(r#"{{"name":"echo","arguments":{{"t":"{text}"}}}}"#));
        let result = ask(&pair.client, "tools/call", Some(params)).await.unwrap();
        assert_eq!(result.get().len(), text.len() + 8);
    }

    async fn closing_ends_the_session_and_what_waits(pair: Pair) {
        let client = pair.client.clone();
        let call = ask(&pair.client, "tools/call", tool("hang"));
        let close = async {
            pair.fixture.until(&Happening::Started("hang".to_owned())).await;
            client.close().await;
        };
        let (outcome, ()) = tokio::join!(call, close);
        assert!(outcome.is_err());
        pair.fixture.until(&Happening::Closed).await;
        assert!(client.ended().is_some());
        assert!(matches!(ask(&client, "ping", None).await, Err(ClientError::Closed { .. })));
    }
}
