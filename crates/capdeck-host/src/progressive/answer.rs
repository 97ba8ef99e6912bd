//! How the wrapper answers: facts in `structuredContent`, the same as short Markdown for the model.

use std::time::Instant;

use capdeck_catalog::{Capability, RawObject};
use serde_json::{Map, Value, json, value::RawValue};

use super::operation::Operation;

/// What one wrapper operation was about, for `caplets` metadata.
pub(super) struct Subject<'a> {
    pub(super) capability: &'a Capability,
    pub(super) operation: Operation,
    /// `tool`, `uri` or `prompt` with its value.
    pub(super) item: Option<(&'static str, &'a str)>,
    pub(super) started: Instant,
}

impl Subject<'_> {
    fn meta(&self) -> Value {
        let definition = &self.capability.definition;
        let mut meta = Map::new();
        meta.insert("id".to_owned(), json!(definition.id));
        meta.insert("name".to_owned(), json!(definition.name));
        meta.insert("backend".to_owned(), json!(definition.backend.kind().as_str()));
        meta.insert("operation".to_owned(), json!(self.operation.as_str()));
        if let Some((key, value)) = self.item {
            meta.insert(key.to_owned(), json!(value));
        }
        meta.insert("status".to_owned(), json!("ok"));
        let elapsed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        meta.insert("elapsedMs".to_owned(), json!(elapsed));
        Value::Object(meta)
    }

    /// A discovery answer: `{caplets, result}` and one Markdown block.
    pub(super) fn answer(&self, result: &Value, markdown: String) -> Option<Box<RawValue>> {
        serde_json::value::to_raw_value(&json!({
            "content": [{ "type": "text", "text": markdown }],
            "structuredContent": { "caplets": self.meta(), "result": result },
        }))
        .ok()
    }

    /// An MCP answer that is not a tool result, made one: its own members, `_meta.caplets`, and `content` for
    /// the model. What was read from a resource is content as it is; other answers are shown as JSON.
    pub(super) fn embed(&self, answer: &RawValue) -> Option<Box<RawValue>> {
        let annotated = self.annotate(answer)?;
        let mut object: RawObject = serde_json::from_str(annotated.get()).ok()?;
        let read: Option<Vec<Box<RawValue>>> =
            object.get("contents").and_then(|contents| serde_json::from_str(contents.get()).ok());
        let content = match read {
            Some(read) => {
                let block = |resource| json!({ "type": "resource", "resource": resource });
                read.into_iter().map(block).collect()
            }
            None => json!([{ "type": "text", "text": answer.get() }]),
        };
        object.insert("content".to_owned(), serde_json::value::to_raw_value(&content).ok()?);
        serde_json::value::to_raw_value(&object).ok()
    }

    /// The remote's own answer with `_meta.caplets` added; everything else stays byte for byte.
    pub(super) fn annotate(&self, result: &RawValue) -> Option<Box<RawValue>> {
        let mut object: RawObject = serde_json::from_str(result.get()).ok()?;
        let mut meta: RawObject = object
            .get("_meta")
            .and_then(|meta| serde_json::from_str(meta.get()).ok())
            .unwrap_or_default();
        meta.insert("caplets".to_owned(), serde_json::value::to_raw_value(&self.meta()).ok()?);
        object.insert("_meta".to_owned(), serde_json::value::to_raw_value(&meta).ok()?);
        serde_json::value::to_raw_value(&object).ok()
    }
}

/// A numbered list of `items`, each as its label and its description's first line.
pub(super) fn list_markdown(title: &str, page: &Map<String, Value>, label: &str) -> String {
    let empty = Vec::new();
    let items = page.get("items").and_then(Value::as_array).unwrap_or(&empty);
    let mut text = format!("{title}: {}\n", items.len());
    for (index, item) in items.iter().enumerate() {
        let name = item.get(label).and_then(Value::as_str).unwrap_or("?");
        text.push_str(&format!("{}. `{name}`", index + 1));
        if let Some(args) = item.get("requiredArgs").and_then(Value::as_array)
            && !args.is_empty()
        {
            let args: Vec<&str> = args.iter().filter_map(Value::as_str).collect();
            text.push_str(&format!(" ({})", args.join(", ")));
        }
        if let Some(line) =
            item.get("description").and_then(Value::as_str).and_then(|text| text.lines().next())
        {
            text.push_str(&format!(": {line}"));
        }
        text.push('\n');
    }
    if let Some(cursor) = page.get("nextCursor").and_then(Value::as_str) {
        text.push_str(&format!("More: cursor `{cursor}`\n"));
    }
    text
}
