//! `capsol_signal`: messages of other agents, and what changed.

use capdeck_capsule::{Signal, SignalPage, one_line};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{ToolAnswer, ToolRun, needed, parse};
use crate::capsules::{
    AcknowledgeRequest, CapsuleError, PollSignalsRequest, PollSignalsResponse, SendSignalRequest,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignalToolArguments {
    capsule: Option<String>,
    action: SignalToolAction,
    kind: Option<String>,
    text: Option<String>,
    uri: Option<String>,
    to: Option<String>,
    data: Option<Map<String, Value>>,
    #[serde(alias = "since")]
    cursor: Option<String>,
    #[serde(default)]
    kinds: Vec<String>,
    #[serde(default)]
    limit: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum SignalToolAction {
    Send,
    Poll,
    Ack,
}

pub(super) async fn call(
    run: &ToolRun<'_>,
    arguments: Option<&RawValue>,
) -> Result<ToolAnswer, CapsuleError> {
    let SignalToolArguments { capsule, action, kind, text, uri, to, data, cursor, kinds, limit } =
        parse(arguments)?;
    let capsule = capsule.as_deref();
    match action {
        SignalToolAction::Send => {
            let kind = needed(kind, "kind", "send")?;
            let sent = run.ask(capsule, SendSignalRequest { kind, text, uri, to, data }).await?;
            let Signal { id, ts, kind, .. } = &sent.signal;
            let text = format!("sent `{kind}` as {id}");
            Ok(ToolAnswer::new(text, &json!({ "id": id, "ts": ts })))
        }
        SignalToolAction::Poll => {
            let poll = PollSignalsRequest { after: cursor, kinds, limit };
            Ok(page(&run.ask(capsule, poll).await?))
        }
        SignalToolAction::Ack => {
            let signal = needed(cursor, "cursor", "ack")?;
            run.ask(capsule, AcknowledgeRequest { signal: signal.clone() }).await?;
            let text = format!("acknowledged up to `{signal}`");
            Ok(ToolAnswer::new(text, &json!({ "acknowledged": signal })))
        }
    }
}

fn page(response: &PollSignalsResponse) -> ToolAnswer {
    let SignalPage { signals, next_cursor, has_more } = &response.page;
    let mut text: String = signals.iter().map(line).collect();
    if text.is_empty() {
        text.push_str("nothing new\n");
    }
    if let Some(cursor) = next_cursor {
        let more = if *has_more { "; there are more" } else { "" };
        text.push_str(&format!("cursor `{cursor}`{more}\n"));
    }
    ToolAnswer::new(text, response)
}

/// A signal on one line: what it says cannot look like the line of another one.
fn line(signal: &Signal) -> String {
    let mut line = format!("{} {}", signal.ts, one_line(&signal.kind));
    if let Some(uri) = &signal.uri {
        line.push_str(&format!(" {uri}"));
    }
    if let Some(version) = signal.version {
        line.push_str(&format!(" v{version}"));
    }
    let (who, client) = (signal.from.written_by(), signal.from.claimed_client());
    line.push_str(&format!(" by {who} with {client} (claimed)"));
    let text = signal.text.as_deref().map(one_line).unwrap_or_default();
    if !text.is_empty() {
        line.push_str(&format!(": {text:?}"));
    }
    line.push('\n');
    line
}
