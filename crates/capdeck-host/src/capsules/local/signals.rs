//! Signals of one capsule.

use capdeck_capsule::{CapsuleSession, NewSignal, PollRequest};
use serde_json::{Map, Value, json};

use super::{Answer, address, answer};

pub(super) async fn send(
    session: &CapsuleSession,
    kind: String,
    text: Option<String>,
    uri: Option<String>,
    to: Option<String>,
    data: Option<Map<String, Value>>,
) -> Answer {
    let uri = match uri {
        Some(uri) => Some(address(session, "signal.send", &uri).await?),
        None => None,
    };
    let signal = session.send_signal(NewSignal { kind, text, uri, to, data }).await?;
    answer(session, &signal)
}

pub(super) async fn poll(
    session: &CapsuleSession,
    after: Option<String>,
    kinds: Vec<String>,
    limit: usize,
) -> Answer {
    let request = PollRequest { after, kinds, limit, ..PollRequest::default() };
    answer(session, &session.poll_signals(request).await?)
}

pub(super) async fn acknowledge(session: &CapsuleSession, signal: &str) -> Answer {
    session.acknowledge(signal).await?;
    answer(session, &json!({ "acknowledged": signal }))
}
