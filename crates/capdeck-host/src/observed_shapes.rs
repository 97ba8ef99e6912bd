//! The shapes of results, learned from calls and stored in the cache folder: types and names of
//! fields, never a value. A thread of its own does the work; a call only hands over a copy.

mod shape_store;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, mpsc::Receiver},
};

use capdeck_catalog::{Tool, sha256_hex};
use capdeck_definition::{DeckConfig, Definition};
use parking_lot::Mutex;
use serde_json::{Value, value::RawValue};

use self::shape_store::ShapeStore;
use crate::{Host, queue_worker::QueueWorker, raw};

/// A tool with this many results in a row without news is no longer observed.
const MAX_UNCHANGED_RESULTS: u32 = 5;

const MAX_RESULT_BYTES: usize = 1024 * 1024;

/// Results that may wait for the thread; further ones are ignored.
const MAX_PENDING_SAMPLES: usize = 16;

pub(crate) struct ObservedShapes {
    book: ShapeStore,
    /// Shapes belong to a project.
    project: Option<PathBuf>,
    progress: Arc<ObservationTable>,
    learner: QueueWorker<ShapeSample>,
}

type ObservationTable = Mutex<HashMap<String, HashMap<String, ObservationState>>>;

#[derive(Debug, Clone, Copy)]
enum ObservationState {
    Never,
    Quiet(u32),
}

struct ShapeSample {
    page: String,
    fingerprint: String,
    tool: String,
    result: Box<RawValue>,
}

impl ObservedShapes {
    pub(crate) fn new(cache_dir: &Path, project: Option<PathBuf>) -> Self {
        Self {
            book: ShapeStore::new(cache_dir.join("shapes")),
            project,
            progress: Arc::default(),
            learner: QueueWorker::new(MAX_PENDING_SAMPLES),
        }
    }

    pub(crate) fn observe(
        &self,
        config: &DeckConfig,
        definition: &Definition,
        tool: &Tool,
        result: &RawValue,
    ) {
        let is_small = result.get().len() <= MAX_RESULT_BYTES;
        if !config.observed_shapes || !is_small || !self.should_observe(definition, tool) {
            return;
        }
        let lesson = ShapeSample {
            page: self.page(definition, tool.name()),
            fingerprint: definition.fingerprint.clone(),
            tool: tool.name().to_owned(),
            result: result.to_owned(),
        };
        // A host that is busy enough to fill the queue will get such a result again.
        self.learner.send(lesson, || {
            let (book, progress) = (self.book.clone(), self.progress.clone());
            move |lessons| learn_shapes(&book, &progress, lessons)
        });
    }

    fn should_observe(&self, definition: &Definition, tool: &Tool) -> bool {
        let mut progress = self.progress.lock();
        let tools = match progress.get_mut(&definition.fingerprint) {
            Some(tools) => tools,
            None => progress.entry(definition.fingerprint.clone()).or_default(),
        };
        let watched = match tools.get(tool.name()) {
            Some(watched) => *watched,
            None => {
                let schema = tool.output_schema().and_then(raw::value);
                let first = match schema.as_ref().is_some_and(describes_fields) {
                    true => ObservationState::Never,
                    false => ObservationState::Quiet(0),
                };
                tools.insert(tool.name().to_owned(), first);
                first
            }
        };
        matches!(watched, ObservationState::Quiet(times) if times < MAX_UNCHANGED_RESULTS)
    }

    fn page(&self, definition: &Definition, tool: &str) -> String {
        let project = self.project.as_deref().unwrap_or(Path::new("")).to_string_lossy();
        let parts = [&*project, definition.id.as_str(), &definition.fingerprint, tool];
        sha256_hex(parts.join("\0")).chars().take(32).collect()
    }
}

impl Host {
    /// Shape of a tool's results so far: `{version, source, observedAt, sampleCount, typeScript,
    /// jsonShape, truncated}`.
    pub fn observed_shape(&self, definition: &Definition, tool: &Tool) -> Option<Value> {
        let shapes = &self.0.shapes;
        let schema = tool.output_schema().and_then(raw::value);
        if !self.catalog().config().observed_shapes || schema.as_ref().is_some_and(describes_fields)
        {
            return None;
        }
        shapes.book.read(&shapes.page(definition, tool.name())).map(|record| record.to_json())
    }
}

fn learn_shapes(book: &ShapeStore, progress: &ObservationTable, lessons: Receiver<ShapeSample>) {
    for lesson in lessons {
        let Some(value) = answer_of(&lesson.result) else { continue };
        let is_news = book.learn(&lesson.page, &value);
        let mut progress = progress.lock();
        let tools = progress.get_mut(&lesson.fingerprint);
        if let Some(ObservationState::Quiet(times)) =
            tools.and_then(|tools| tools.get_mut(&lesson.tool))
        {
            *times = if is_news { 0 } else { *times + 1 };
        }
    }
}

fn answer_of(result: &RawValue) -> Option<Value> {
    let mut result: Value = serde_json::from_str(result.get()).ok()?;
    if result.get("isError") == Some(&Value::Bool(true)) {
        return None;
    }
    if let Some(structured) = result.get_mut("structuredContent") {
        return Some(structured.take());
    }
    let [only] = result.get("content")?.as_array()?.as_slice() else { return None };
    let text = only.get("text")?.as_str()?;
    Some(serde_json::from_str(text).unwrap_or_else(|_| Value::String(String::new())))
}

/// True for an output schema that names fields. One whose `body` may be anything does not describe
/// the result.
fn describes_fields(schema: &Value) -> bool {
    let Value::Object(keywords) = schema else { return false };
    let names = |key: &str| keywords.get(key).is_some_and(|value| !is_anything(value));
    if let Some(Value::Object(properties)) = keywords.get("properties") {
        let body = properties.get("body");
        return !properties.is_empty() && body.is_none_or(|body| !is_anything(body));
    }
    ["$ref", "anyOf", "oneOf", "allOf"].iter().any(|key| keywords.contains_key(*key))
        || names("items")
        || names("additionalProperties")
}

fn is_anything(schema: &Value) -> bool {
    match schema {
        Value::Bool(_) => true,
        Value::Object(keywords) => {
            let words = ["type", "description", "title", "additionalProperties"];
            let is_plain = keywords.keys().all(|key| words.contains(&key.as_str()));
            let kind = keywords.get("type").and_then(Value::as_str);
            is_plain && kind.is_none_or(|kind| kind == "object" || kind == "array")
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_that_names_fields_says_enough() {
        for (schema, expected) in [
            (json!({}), false),
            (json!({"type": "object"}), false),
            (json!({"type": "object", "additionalProperties": true}), false),
            (json!({"properties": {}}), false),
            (json!({"properties": {"status": {"type": "integer"}, "body": {}}}), false),
            (json!({"properties": {"body": {"properties": {"id": {}}}}}), true),
            (json!({"properties": {"id": {"type": "string"}}}), true),
            (json!({"type": "array", "items": {"type": "string"}}), true),
            (json!({"$ref": "#/$defs/a"}), true),
        ] {
            assert_eq!(describes_fields(&schema), expected, "{schema}");
        }
    }
}
