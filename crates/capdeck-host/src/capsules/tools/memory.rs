//! `capsol_memory`: the caller's own notes.

use capdeck_capsule::{MemoryItem, one_line};
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{ToolAnswer, ToolRun, needed, parse};
use crate::capsules::{
    CapsuleError, MemoryDeleteRequest, MemoryGetRequest, MemoryListRequest, MemorySearchRequest,
    MemorySetRequest,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryToolArguments {
    capsule: Option<String>,
    action: MemoryToolAction,
    key: Option<String>,
    value: Option<String>,
    query: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum MemoryToolAction {
    Get,
    Set,
    Delete,
    List,
    Search,
}

pub(super) async fn call(
    run: &ToolRun<'_>,
    arguments: Option<&RawValue>,
) -> Result<ToolAnswer, CapsuleError> {
    let MemoryToolArguments { capsule, action, key, value, query } = parse(arguments)?;
    let capsule = capsule.as_deref();
    match action {
        MemoryToolAction::Get => {
            let key = needed(key, "key", "get")?;
            let value = run.ask(capsule, MemoryGetRequest { key: key.clone() }).await?.value;
            let facts = json!({ "key": key, "value": value });
            Ok(ToolAnswer::new(value, &facts))
        }
        MemoryToolAction::Set => {
            let key = needed(key, "key", "set")?;
            let value = needed(value, "value", "set")?;
            run.ask(capsule, MemorySetRequest { key: key.clone(), value }).await?;
            Ok(ToolAnswer::new(format!("`{key}` is kept"), &json!({ "key": key })))
        }
        MemoryToolAction::Delete => {
            let key = needed(key, "key", "delete")?;
            run.ask(capsule, MemoryDeleteRequest { key: key.clone() }).await?;
            Ok(ToolAnswer::new(format!("`{key}` is forgotten"), &json!({ "key": key })))
        }
        MemoryToolAction::List => Ok(items(&run.ask(capsule, MemoryListRequest).await?.items)),
        MemoryToolAction::Search => {
            let query = needed(query.or(key), "query", "search")?;
            Ok(items(&run.ask(capsule, MemorySearchRequest { query }).await?.items))
        }
    }
}

fn items(items: &[MemoryItem]) -> ToolAnswer {
    let line = |item: &MemoryItem| format!("{}: {}\n", one_line(&item.key), one_line(&item.value));
    let mut text: String = items.iter().map(line).collect();
    if text.is_empty() {
        text.push_str("nothing\n");
    }
    ToolAnswer::new(text, &json!({ "items": items }))
}
