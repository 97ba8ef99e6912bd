//! Injected faults are met the way real ones are.

use std::{sync::Arc, time::Duration};

use capdeck_mcp::{
    client::{ClientError, EraChoice, FaultSettings, FaultSource, McpClient, RequestOptions},
    server::HttpOptions,
};

use crate::support::*;

/// Answers of a server that is asked `initialize` and nothing it would refuse.
async fn piped(chaos: FaultSettings) -> (McpClient, Arc<Recorder>) {
    let owner = Recorder::new();
    let client =
        joined(&Fixture::new(), owner.clone()).with_chaos(Arc::new(FaultSource::new(chaos)));
    client.connect(hello(), EraChoice::Legacy, PLENTY).await.unwrap();
    (client, owner)
}

async fn over_http(chaos: FaultSettings) -> (McpClient, Arc<Recorder>) {
    let owner = Recorder::new();
    let (_endpoint, address) = serve_endpoint(&Fixture::new(), HttpOptions::default()).await;
    let client = connect(address, owner.clone()).with_chaos(Arc::new(FaultSource::new(chaos)));
    client.connect(hello(), EraChoice::Legacy, PLENTY).await.unwrap();
    (client, owner)
}

/// A request that has little time, because it will not be answered.
async fn hurried(client: &McpClient) -> Result<String, ClientError> {
    let options = RequestOptions::within(Duration::from_millis(100));
    client.request("tools/call", tool("echo"), options).await.map(|raw| raw.get().to_owned())
}

#[tokio::test]
async fn a_lost_message_ends_with_the_deadline() {
    let (client, _) = piped(FaultSettings { drop: 1.0, ..FaultSettings::default() }).await;
    assert!(matches!(soon(hurried(&client)).await, Err(ClientError::Timeout { .. })));
    let (client, _) = over_http(FaultSettings { drop: 1.0, ..FaultSettings::default() }).await;
    assert!(matches!(soon(hurried(&client)).await, Err(ClientError::Timeout { .. })));
}

#[tokio::test]
async fn damaged_answers_go_through_the_real_reader() {
    for chaos in [
        FaultSettings { truncate: 1.0, ..FaultSettings::default() },
        FaultSettings { malformed: 1.0, ..FaultSettings::default() },
    ] {
        // On a shared stream no one can tell whose answer a broken line was.
        let (client, _) = piped(chaos.clone()).await;
        assert!(matches!(soon(hurried(&client)).await, Err(ClientError::Timeout { .. })));
        // Over HTTP it replaces the answer.
        let (client, _) = over_http(chaos).await;
        let error = soon(ask(&client, "tools/call", tool("echo"))).await.unwrap_err();
        let ClientError::Protocol { message } = &error else { panic!("{error:?}") };
        assert!(message.contains("the answer to `tools/call` cannot be read"), "{message}");
    }
}

#[tokio::test]
async fn a_list_change_is_reported_before_the_answer() {
    for (client, owner) in [
        piped(FaultSettings { list_change: 1.0, ..FaultSettings::default() }).await,
        over_http(FaultSettings { list_change: 1.0, ..FaultSettings::default() }).await,
    ] {
        soon(ask(&client, "tools/call", tool("echo"))).await.unwrap();
        assert_eq!(owner.rest().await, ["notifications/tools/list_changed"]);
    }
}

#[tokio::test]
async fn a_forgotten_session_is_said_over_http_and_ends_a_pipe() {
    let chaos = FaultSettings {
        expire: 1.0,
        only: vec!["tools/call".to_owned()],
        ..FaultSettings::default()
    };
    let (client, _) = over_http(chaos.clone()).await;
    let outcome = soon(ask(&client, "tools/call", tool("echo"))).await;
    assert!(matches!(outcome, Err(ClientError::SessionExpired)), "{outcome:?}");
    soon(client.connect(hello(), EraChoice::Legacy, PLENTY)).await.unwrap();

    let (client, _) = piped(chaos).await;
    let outcome = soon(ask(&client, "tools/call", tool("echo"))).await;
    assert!(matches!(outcome, Err(ClientError::Closed { .. })), "{outcome:?}");
    assert_eq!(client.ended().as_deref(), Some("the server forgot the session"));
}

#[tokio::test(start_paused = true)]
async fn a_delay_comes_before_the_request_and_counts_against_its_deadline() {
    let delay = Duration::from_millis(80);
    let (client, _) =
        piped(FaultSettings { delay: Some(delay..=delay), ..FaultSettings::default() }).await;
    let begun = tokio::time::Instant::now();
    assert!(hurried(&client).await.is_ok());
    assert!(begun.elapsed() >= delay);
    let delay = Duration::from_millis(120);
    let (client, _) =
        piped(FaultSettings { delay: Some(delay..=delay), ..FaultSettings::default() }).await;
    assert!(matches!(hurried(&client).await, Err(ClientError::Timeout { .. })));
}
