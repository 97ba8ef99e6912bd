//! The shapes of results, learned from calls and stored in the cache folder: types and names of
//! fields, never a value. A thread of its own does the work; a call only hands over a copy.

mod shape_store;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use capdeck_catalog::{Tool, sha256_hex};
use capdeck_definition::{DeckConfig, Definition};
use parking_lot::Mutex;
use serde_json::{Value, value::RawValue};

use self::shape_store::{ShapeKey, ShapeStore};
use crate::{Host, raw};

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
    teacher: Mutex<Option<ShapeLearner>>,
}

type ObservationTable = Mutex<HashMap<String, HashMap<String, ObservationState>>>;

#[derive(Debug, Clone, Copy)]
enum ObservationState {
    Never,
    Quiet(u32),
}

/// The thread that learns. It ends, with everything written, when the sender is dropped.
struct ShapeLearner {
    lessons: SyncSender<ShapeSample>,
    thread: thread::JoinHandle<()>,
}

struct ShapeSample {
    page: ShapeKey,
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
            teacher: Mutex::default(),
        }
    }

    fn observe(&self, definition: &Definition, tool: &Tool, result: &RawValue) {
        if result.get().len() > MAX_RESULT_BYTES || !self.should_observe(definition, tool) {
            return;
        }
        let lesson = ShapeSample {
            page: self.page(definition, tool.name()),
            fingerprint: definition.fingerprint.clone(),
            tool: tool.name().to_owned(),
            result: result.to_owned(),
        };
        let mut teacher = self.teacher.lock();
        if teacher.is_none() {
            *teacher = self.start();
        }
        // A host that is busy enough to fill the queue will get such a result again.
        if let Some(teacher) = teacher.as_ref() {
            drop(teacher.lessons.try_send(lesson));
        }
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

    fn start(&self) -> Option<ShapeLearner> {
        let (lessons, waiting) = sync_channel(MAX_PENDING_SAMPLES);
        let (book, progress) = (self.book.clone(), self.progress.clone());
        let teach = move || learn_shapes(&book, &progress, &waiting);
        let thread = thread::Builder::new().name("observed-shapes".to_owned()).spawn(teach);
        match thread {
            Ok(thread) => Some(ShapeLearner { lessons, thread }),
            Err(error) => {
                tracing::debug!(%error, "cannot learn from results");
                None
            }
        }
    }

    fn page(&self, definition: &Definition, tool: &str) -> ShapeKey {
        let project = self.project.as_deref().unwrap_or(Path::new("")).to_string_lossy();
        let parts = [&*project, definition.id.as_str(), &definition.fingerprint, tool];
        ShapeKey::new(&sha256_hex(parts.join("\0")))
    }
}

impl Drop for ObservedShapes {
    /// Waits for the last write: a one-shot command exits right after its call.
    fn drop(&mut self) {
        if let Some(ShapeLearner { lessons, thread }) = self.teacher.get_mut().take() {
            drop(lessons);
            drop(thread.join());
        }
    }
}

impl Host {
    pub(crate) fn observe(
        &self,
        config: &DeckConfig,
        definition: &Definition,
        tool: &Tool,
        result: &RawValue,
    ) {
        if config.observed_shapes {
            self.0.shapes.observe(definition, tool, result);
        }
    }

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

fn learn_shapes(book: &ShapeStore, progress: &ObservationTable, lessons: &Receiver<ShapeSample>) {
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
