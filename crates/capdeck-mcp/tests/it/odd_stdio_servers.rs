//! Stdio servers that lie, chatter, stall and die.

use std::{sync::Arc, time::Duration};

use capdeck_mcp::client::{ClientError, EraChoice, McpClient, RequestOptions};

use crate::support::*;

/// One call, with the server's side of it written out.
async fn call(
    client: &McpClient,
    server: &mut PipedServer,
    script: impl AsyncFn(&mut PipedServer, u64),
) -> Result<String, ClientError> {
    let serving = async {
        let id = server.read().await["id"].as_u64().unwrap();
        script(server, id).await;
    };
    let (outcome, ()) = tokio::join!(ask(client, "m", None), serving);
    outcome.map(|raw| raw.get().to_owned())
}

#[tokio::test]
async fn chatter_bad_json_and_foreign_ids_are_passed_over() {
    let (client, mut server, _) = pair();
    let answer = call(&client, &mut server, async |server, id| {
        server.write("starting up...\n\n{\"id\": broken\n[]\n\"text\"\n").await;
        server.write("{\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{\"not\":\"yours\"}}\n").await;
        server.write("{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{\"not\":\"yours\"}}\n").await;
        server
            .write(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"ok\":1}}}}\r\n"))
            .await;
    });
    assert_eq!(answer.await.unwrap(), r#"{"ok":1}"#);
}

#[tokio::test]
async fn a_batch_of_answers_is_taken_apart() {
    let (client, mut server, owner) = pair();
    let answer = call(&client, &mut server, async |server, id| {
        let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
        server.write(&format!("[{note},{{\"id\":{id},\"result\":7}}]\n")).await;
    });
    assert_eq!(answer.await.unwrap(), "7");
    assert_eq!(owner.next().await, "notifications/x");
}

#[tokio::test]
async fn an_oversized_line_fails_what_waits_and_the_connection_goes_on() {
    let (client, mut server, _) = pair();
    let answer = call(&client, &mut server, async |server, id| {
        server.write(&format!("{{\"id\":{id},\"result\":\"")).await;
        for _ in 0..200 {
            server.write(&"x".repeat(100_000)).await;
        }
        server.write("\"}\n").await;
    });
    assert!(matches!(answer.await, Err(ClientError::TooLarge { limit: 1_000_000 })));
    let answer = call(&client, &mut server, async |server, id| {
        server.write(&format!("{{\"id\":{id},\"result\":1}}\n")).await;
    });
    assert_eq!(answer.await.unwrap(), "1");
}

#[tokio::test]
async fn silence_ends_at_the_deadline_and_a_late_answer_is_dropped() {
    let (client, mut server, _) = pair();
    let options = RequestOptions::within(Duration::from_millis(30));
    let outcome = soon(client.request("m", None, options)).await;
    assert!(matches!(outcome, Err(ClientError::Timeout { .. })));
    let id = server.read().await["id"].clone();
    let cancelled = server.read().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], id);
    server.write(&format!("{{\"id\":{id},\"result\":\"late\"}}\n")).await;
    let answer = call(&client, &mut server, async |server, id| {
        server.write(&format!("{{\"id\":{id},\"result\":\"mine\"}}\n")).await;
    });
    assert_eq!(answer.await.unwrap(), "\"mine\"");
}

#[tokio::test]
async fn a_handshake_is_not_cancelled() {
    let (client, mut server, _) = pair();
    let outcome = client.connect(hello(), EraChoice::Legacy, Duration::from_millis(30)).await;
    assert!(matches!(outcome, Err(ClientError::Timeout { .. })));
    assert_eq!(server.read().await["method"], "initialize");
    client.notify("after", None).await.unwrap();
    assert_eq!(server.read().await["method"], "after");
}

#[tokio::test(start_paused = true)]
async fn progress_moves_the_deadline_up_to_the_hard_limit() {
    let (client, mut server, _) = pair();
    let options = RequestOptions {
        timeout: Duration::from_secs(10),
        max_timeout: Duration::from_secs(35),
        on_progress: Some(Arc::new(|_| {})),
        ..RequestOptions::within(PLENTY)
    };
    let started = tokio::time::Instant::now();
    let serving = async {
        let request = server.read().await;
        let token = request["params"]["_meta"]["progressToken"].clone();
        loop {
            tokio::time::sleep(Duration::from_secs(8)).await;
            let params = format!("{{\"progressToken\":{token},\"progress\":1}}");
            server
                .write(&format!("{{\"method\":\"notifications/progress\",\"params\":{params}}}\n"))
                .await;
        }
    };
    let outcome = tokio::select! {
        outcome = client.request("m", None, options) => outcome,
        () = serving => panic!("it never ends"),
    };
    assert!(matches!(outcome, Err(ClientError::Timeout { .. })));
    assert_eq!(started.elapsed().as_secs(), 35);
}

#[tokio::test]
async fn the_end_of_output_fails_every_call_at_once() {
    let (client, mut server, _) = pair();
    let (first, second) = (ask(&client, "a", None), ask(&client, "b", None));
    let dying = async {
        server.read().await;
        server.read().await;
        server.write("{\"id\":1,\"res").await;
        drop(server);
    };
    let (first, second, ()) = soon(async { tokio::join!(first, second, dying) }).await;
    for outcome in [first, second] {
        let Err(ClientError::Closed { reason }) = outcome else { panic!("{outcome:?}") };
        assert_eq!(reason, "the server closed its output");
    }
    soon(client.wait_ended()).await;
    assert_eq!(client.ended().as_deref(), Some("the server closed its output"));
}

#[tokio::test]
async fn a_server_that_does_not_read_costs_only_its_own_calls() {
    let (client, server, _) = pair();
    let text = "x".repeat(30_000);
    for _ in 0..100 {
        let params = object(&format!(r#"{{"t":"{text}"}}"#));
        let options = RequestOptions::within(Duration::from_millis(2));
        let outcome = soon(client.request("m", Some(params), options)).await;
        assert!(matches!(outcome, Err(ClientError::Timeout { .. })));
    }
    drop(server);
}

#[tokio::test]
async fn the_servers_ping_is_answered_and_its_cancelled_request_is_not() {
    let (client, mut server, owner) = pair();
    server.write("{\"id\":\"p\",\"method\":\"ping\"}\n").await;
    assert_eq!(server.read().await, serde_json::json!({"jsonrpc":"2.0","id":"p","result":{}}));
    server.write("{\"id\":5,\"method\":\"roots/list\",\"params\":[]}\n").await;
    assert_eq!(server.read().await["error"]["code"], -32602);
    server.write("{\"id\":6,\"method\":\"roots/list\"}\n").await;
    assert_eq!(server.read().await["result"]["action"], "accept");
    assert_eq!(owner.next().await, "roots/list");
    drop(client);
}

#[tokio::test]
async fn with_two_callers_a_question_goes_to_neither() {
    let (client, mut server, owner) = pair();
    let (one, two) = (Recorder::new(), Recorder::new());
    let options = |events: &Arc<Recorder>| RequestOptions {
        events: Some(events.clone()),
        ..RequestOptions::within(PLENTY)
    };
    let calls = async {
        tokio::join!(
            client.request("a", None, options(&one)),
            client.request("b", None, options(&two)),
            // No one could hear a question to this one, so it does not count.
            client.request("c", None, RequestOptions::within(PLENTY)),
        )
    };
    let serving = async {
        for _ in 0..3 {
            server.read().await;
        }
        server.write("{\"id\":1,\"method\":\"elicitation/create\"}\n").await;
        server.read().await;
        assert_eq!(owner.next().await, "elicitation/create");
        server.write("{\"id\":1,\"result\":1}\n{\"method\":\"notifications/message\"}\n").await;
        assert_eq!(two.next().await, "notifications/message");
        server.write("{\"method\":\"notifications/prompts/list_changed\"}\n").await;
        assert_eq!(owner.next().await, "notifications/prompts/list_changed");
        server.write("{\"id\":2,\"result\":1}\n{\"id\":3,\"result\":1}\n").await;
    };
    let ((a, b, c), ()) = soon(async { tokio::join!(calls, serving) }).await;
    assert!(a.is_ok() && b.is_ok() && c.is_ok());
    assert!(one.rest().await.is_empty());
}

#[tokio::test]
async fn with_two_calls_of_one_person_a_question_goes_to_the_newest() {
    let (client, mut server, owner) = pair();
    let (one, two) = (Recorder::new(), Recorder::new());
    let options = |events: &Arc<Recorder>| RequestOptions {
        events: Some(events.clone()),
        group: Some(7),
        ..RequestOptions::within(PLENTY)
    };
    let calls = async {
        tokio::join!(
            client.request("a", None, options(&one)),
            client.request("b", None, options(&two)),
        )
    };
    let serving = async {
        let newest = [server.read().await, server.read().await]
            .into_iter()
            .max_by_key(|request| request["id"].as_u64())
            .unwrap();
        server.write("{\"id\":1,\"method\":\"elicitation/create\"}\n").await;
        server.read().await;
        let asked = if newest["method"] == "a" { &one } else { &two };
        assert_eq!(asked.next().await, "elicitation/create");
        server.write("{\"id\":1,\"result\":1}\n{\"id\":2,\"result\":1}\n").await;
    };
    let ((a, b), ()) = soon(async { tokio::join!(calls, serving) }).await;
    assert!(a.is_ok() && b.is_ok());
    assert!(owner.rest().await.is_empty());
}

#[tokio::test]
async fn an_unknown_protocol_version_is_refused() {
    for (result, message) in [
        (r#"{"protocolVersion":"1999-01-01"}"#, "unknown protocol version: `1999-01-01`"),
        (r#"{}"#, "no `protocolVersion`"),
        ("7", "not an object"),
    ] {
        let (client, mut server, _) = pair();
        let serving = async {
            let id = server.read().await["id"].clone();
            server.write(&format!("{{\"id\":{id},\"result\":{result}}}\n")).await;
        };
        let (outcome, ()) =
            tokio::join!(client.connect(hello(), EraChoice::Legacy, PLENTY), serving);
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[tokio::test]
async fn an_error_without_an_id_answers_the_only_call() {
    let (client, mut server, _) = pair();
    let refusal = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"too deep"}}"#;
    let answer = call(&client, &mut server, async |server, _| {
        server.write(&format!("{refusal}\n")).await;
    });
    let error = soon(answer).await.unwrap_err();
    assert!(matches!(&error, ClientError::Rpc(error) if error.message == "too deep"), "{error}");
    // With two calls open it could be about either.
    let both = async {
        let first = server.read().await["id"].as_u64().unwrap();
        let second = server.read().await["id"].as_u64().unwrap();
        server.write(&format!("{refusal}\n")).await;
        for id in [first, second] {
            server.write(&format!("{{\"id\":{id},\"result\":{id}}}\n")).await;
        }
    };
    let (one, other, ()) = tokio::join!(ask(&client, "m", None), ask(&client, "m", None), both);
    assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
}

#[tokio::test]
async fn an_answer_that_is_not_utf8_fails_its_call_at_once() {
    let (client, mut server, _) = pair();
    let bytes = |text: &str| -> Vec<u8> {
        text.bytes().map(|byte| if byte == b'?' { 0xff } else { byte }).collect()
    };
    for broken in ["{\"id\":ID,\"result\":{\"text\":\"?\"}}\n", "{\"result\":{\"text\":\"??\n"] {
        let answer = call(&client, &mut server, async |server, id| {
            server.write("a line of a log \u{fffd}\n").await;
            server.write_bytes(&bytes("a broken line of a log ?\n")).await;
            server.write_bytes(&bytes(&broken.replace("ID", &id.to_string()))).await;
        });
        let error = soon(answer).await.unwrap_err();
        assert!(error.to_string().contains("not valid UTF-8"), "{error}");
    }
    let answer = call(&client, &mut server, async |server, id| {
        server.write(&format!("{{\"id\":{id},\"result\":1}}\n")).await;
    });
    assert_eq!(answer.await.unwrap(), "1");
}
