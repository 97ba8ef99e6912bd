//! Credentials that change while a client is connected: asked for each request, heard after each refusal.

use std::sync::Arc;

use async_trait::async_trait;
use axum::{body::Body, response::Response};
use capdeck_mcp::client::{ClientError, CredentialProvider, HttpTarget, McpClient};
use http::{HeaderMap, HeaderValue};
use parking_lot::Mutex;

use crate::support::*;

/// Shows `token-N`, and N grows by one with each refusal as often as it was informed to.
struct Counting {
    renewals: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    renewed: usize,
    heard: Vec<(u16, Option<String>, Option<String>)>,
}

#[async_trait]
impl CredentialProvider for Counting {
    async fn authorization(&self) -> Option<HeaderValue> {
        let number = self.state.lock().renewed;
        Some(HeaderValue::try_from(format!("Bearer token-{number}")).unwrap())
    }

    async fn refused(
        &self,
        status: u16,
        challenge: Option<&str>,
        sent: Option<&HeaderValue>,
    ) -> bool {
        let mut state = self.state.lock();
        let sent = sent.map(|value| value.to_str().unwrap().to_owned());
        state.heard.push((status, challenge.map(ToOwned::to_owned), sent));
        let worth_it = state.renewed < self.renewals;
        state.renewed += usize::from(worth_it);
        worth_it
    }
}

fn refusal(status: u16, challenges: &[&str]) -> Response {
    let mut response = Response::builder().status(status);
    for challenge in challenges {
        response = response.header("www-authenticate", *challenge);
    }
    response.body(Body::empty()).unwrap()
}

fn result() -> Response {
    let response = Response::builder().header("content-type", "application/json");
    response.body(Body::from(r#"{"id":1,"result":true}"#)).unwrap()
}

async fn client(responses: Vec<Response>, renewals: usize) -> (McpClient, Scripted, Arc<Counting>) {
    let server = Scripted::start(responses).await;
    let credentials = Arc::new(Counting { renewals, state: Mutex::default() });
    let target = HttpTarget {
        headers: HeaderMap::new(),
        credentials: Some(Arc::clone(&credentials) as _),
        ..target(server.address, "/mcp")
    };
    (McpClient::http(target, Recorder::new()), server, credentials)
}

#[tokio::test]
async fn a_refused_request_is_sent_again_with_what_is_shown_next() {
    let challenges = ["Basic realm=\"x\"", "Bearer scope=\"a b\""];
    let script = vec![refusal(401, &challenges), refusal(403, &[]), result()];
    let (client, server, credentials) = client(script, 5).await;
    ask(&client, "m", None).await.unwrap();
    for number in 0..3 {
        let asked = server.asked().await;
        assert_eq!(asked.headers["authorization"], format!("Bearer token-{number}"));
        assert_eq!(asked.headers.get_all("authorization").iter().count(), 1);
        assert_eq!(asked.body["method"], "m");
    }
    let token = |number: usize| Some(format!("Bearer token-{number}"));
    let both = "Basic realm=\"x\", Bearer scope=\"a b\"".to_owned();
    assert_eq!(
        credentials.state.lock().heard,
        [(401, Some(both), token(0)), (403, None, token(1))]
    );
}

#[tokio::test]
async fn resending_ends_when_there_is_nothing_better_and_after_two_times() {
    for (renewals, sent) in [(0, 1), (1, 2), (9, 3)] {
        let script = std::iter::repeat_with(|| refusal(401, &["Bearer"])).take(9).collect();
        let (client, server, credentials) = client(script, renewals).await;
        let error = ask(&client, "m", None).await.unwrap_err();
        assert!(matches!(error, ClientError::Http { status: 401, .. }), "{error:?}");
        for _ in 0..sent {
            server.asked().await;
        }
        // The last refusal is heard too: it may say what is missing.
        assert_eq!(credentials.state.lock().heard.len(), sent);
    }
}
