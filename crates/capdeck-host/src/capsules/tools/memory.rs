//! `capsol_memory`: the caller's own notes.

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{Answer, ToolCaller, answer::member, needed, parse};
use crate::capsules::{CapsuleFailure, CapsuleOperation};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    capsule: Option<String>,
    action: Action,
    key: Option<String>,
    value: Option<String>,
    query: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Get,
    Set,
    Delete,
    List,
    Search,
}

pub(super) async fn call(
    by: &ToolCaller<'_>,
    arguments: Option<&RawValue>,
) -> Result<Answer, CapsuleFailure> {
    let Arguments { capsule, action, key, value, query } = parse(arguments)?;
    let capsule = capsule.as_deref();
    match action {
        Action::Get => {
            let key = needed(key, "key", "get")?;
            let got = by.ask(capsule, CapsuleOperation::MemoryGet { key: key.clone() }).await?;
            let value = got["value"].as_str().unwrap_or_default();
            Ok(Answer { text: value.to_owned(), facts: json!({ "key": key, "value": value }) })
        }
        Action::Set => {
            let key = needed(key, "key", "set")?;
            let value = needed(value, "value", "set")?;
            by.ask(capsule, CapsuleOperation::MemorySet { key: key.clone(), value }).await?;
            Ok(Answer { text: format!("`{key}` is kept"), facts: json!({ "key": key }) })
        }
        Action::Delete => {
            let key = needed(key, "key", "delete")?;
            by.ask(capsule, CapsuleOperation::MemoryDelete { key: key.clone() }).await?;
            Ok(Answer { text: format!("`{key}` is forgotten"), facts: json!({ "key": key }) })
        }
        Action::List => Ok(items(&by.ask(capsule, CapsuleOperation::MemoryList).await?)),
        Action::Search => {
            let query = needed(query.or(key), "query", "search")?;
            let found = by.ask(capsule, CapsuleOperation::MemorySearch { query }).await?;
            Ok(items(&found))
        }
    }
}

fn items(answer: &Value) -> Answer {
    let items = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut text: String = items
        .iter()
        .map(|item| format!("{}: {}\n", member(item, "key"), member(item, "value")))
        .collect();
    if text.is_empty() {
        text.push_str("nothing\n");
    }
    Answer { text, facts: json!({ "items": items }) }
}
