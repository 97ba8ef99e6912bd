//! `capsol_signal`: what others tell, and what changed.

use capdeck_capsule::Author;
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    Answer, ToolCaller,
    answer::{member, only},
    needed, parse,
};
use crate::capsules::{CapsuleFailure, CapsuleOperation};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    capsule: Option<String>,
    action: Action,
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
enum Action {
    Send,
    Poll,
    Ack,
}

pub(super) async fn call(
    by: &ToolCaller<'_>,
    arguments: Option<&RawValue>,
) -> Result<Answer, CapsuleFailure> {
    let Arguments { capsule, action, kind, text, uri, to, data, cursor, kinds, limit } =
        parse(arguments)?;
    let capsule = capsule.as_deref();
    match action {
        Action::Send => {
            let kind = needed(kind, "kind", "send")?;
            let send = CapsuleOperation::SendSignal { kind, text, uri, to, data };
            let sent = by.ask(capsule, send).await?;
            let text = format!("sent `{}` as {}", member(&sent, "kind"), member(&sent, "id"));
            Ok(Answer { text, facts: only(&sent, &["id", "ts"]) })
        }
        Action::Poll => {
            let poll = CapsuleOperation::PollSignals { after: cursor, kinds, limit };
            Ok(page(by.ask(capsule, poll).await?))
        }
        Action::Ack => {
            let signal = needed(cursor, "cursor", "ack")?;
            by.ask(capsule, CapsuleOperation::Acknowledge { signal: signal.clone() }).await?;
            let text = format!("acknowledged up to `{signal}`");
            Ok(Answer { text, facts: json!({ "acknowledged": signal }) })
        }
    }
}

fn page(page: Value) -> Answer {
    let mut text = String::new();
    for signal in page["signals"].as_array().into_iter().flatten() {
        text.push_str(&line(signal));
    }
    if text.is_empty() {
        text.push_str("nothing new\n");
    }
    if let Some(cursor) = page["next_cursor"].as_str() {
        let more = if page["has_more"] == true { "; there are more" } else { "" };
        text.push_str(&format!("cursor `{cursor}`{more}\n"));
    }
    Answer { text, facts: page }
}

/// A signal on one line: what it says cannot look like the line of another one.
fn line(signal: &Value) -> String {
    let mut line = format!("{} {}", member(signal, "ts"), member(signal, "kind"));
    let uri = member(signal, "uri");
    if !uri.is_empty() {
        line.push_str(&format!(" {uri}"));
    }
    if let Some(version) = signal["version"].as_u64() {
        line.push_str(&format!(" v{version}"));
    }
    if let Ok(from) = serde_json::from_value::<Author>(signal["from"].clone()) {
        let (who, client) = (from.written_by(), from.claimed_client());
        line.push_str(&format!(" by {who} with {client} (claimed)"));
    }
    let text = member(signal, "text");
    if !text.is_empty() {
        line.push_str(&format!(": {text:?}"));
    }
    line.push('\n');
    line
}
