//! The shapes of results, learned from calls and stored in the cache folder: types and names of
//! fields, never a value. A thread of its own does the work; a call only hands over a copy.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, mpsc::Receiver},
};

use capdeck_catalog::{ObservedShape, Tool};
use capdeck_definition::{DeckConfig, Definition};
use capdeck_storage::sha256_hex;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};

use crate::{Host, durable, queue_worker::QueueWorker, raw};

/// A tool with this many results in a row without news is no longer observed.
const MAX_UNCHANGED_RESULTS: u32 = 5;

const MAX_RESULT_BYTES: usize = 1024 * 1024;

/// Results that may wait for the thread; further ones are ignored.
const MAX_PENDING_SAMPLES: usize = 16;

const MAX_SHAPES: usize = 2_000;

const SHAPE_LIFETIME: SignedDuration = SignedDuration::from_hours(30 * 24);

pub(crate) struct ObservedShapes {
    book: ShapeStore,
    /// Shapes belong to a project.
    project: Option<PathBuf>,
    progress: Arc<ObservationTable>,
    learner: QueueWorker<ShapeSample>,
}

/// By fingerprint and tool: its results in a row without news.
type ObservationTable = Mutex<HashMap<String, HashMap<String, u32>>>;

struct ShapeSample {
    page: String,
    fingerprint: String,
    tool: String,
    result: Box<RawValue>,
}

impl ObservedShapes {
    pub(crate) fn new(cache_dir: &Path, project: Option<PathBuf>) -> Self {
        let book = ShapeStore { folder: cache_dir.join("shapes") };
        let progress = Arc::<ObservationTable>::default();
        let learner = {
            let (book, progress) = (book.clone(), progress.clone());
            let learn = move |samples| learn_shapes(&book, &progress, samples);
            QueueWorker::new(MAX_PENDING_SAMPLES, learn)
        };
        Self { book, project, progress, learner }
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
        let sample = ShapeSample {
            page: self.page(definition, tool.name()),
            fingerprint: definition.fingerprint.clone(),
            tool: tool.name().to_owned(),
            result: result.to_owned(),
        };
        // A host that is busy enough to fill the queue will get such a result again.
        self.learner.send(sample);
    }

    fn should_observe(&self, definition: &Definition, tool: &Tool) -> bool {
        let mut progress = self.progress.lock();
        let tools = match progress.get_mut(&definition.fingerprint) {
            Some(tools) => tools,
            None => progress.entry(definition.fingerprint.clone()).or_default(),
        };
        let unchanged = match tools.get(tool.name()) {
            Some(unchanged) => *unchanged,
            None => {
                let schema = tool.output_schema().and_then(raw::value);
                let is_described = schema.as_ref().is_some_and(describes_fields);
                let unchanged = if is_described { MAX_UNCHANGED_RESULTS } else { 0 };
                tools.insert(tool.name().to_owned(), unchanged);
                unchanged
            }
        };
        unchanged < MAX_UNCHANGED_RESULTS
    }

    fn page(&self, definition: &Definition, tool: &str) -> String {
        let project = self.project.as_deref().unwrap_or(Path::new("")).to_string_lossy();
        let parts = [&*project, definition.id.as_str(), &definition.fingerprint, tool];
        sha256_hex(parts.join("\0")).chars().take(32).collect()
    }
}

/// The shape of a tool's results so far: `{version, source, observedAt, sampleCount, typeScript,
/// jsonShape, truncated}`.
pub fn observed_shape(host: &Host, definition: &Definition, tool: &Tool) -> Option<Value> {
    let shapes = &host.0.shapes;
    let schema = tool.output_schema().and_then(raw::value);
    let is_described = schema.as_ref().is_some_and(describes_fields);
    if !host.catalog().config().observed_shapes || is_described {
        return None;
    }
    shapes.book.read(&shapes.page(definition, tool.name())).map(|record| record.to_json())
}

fn learn_shapes(book: &ShapeStore, progress: &ObservationTable, samples: Receiver<ShapeSample>) {
    for sample in samples {
        let Some(value) = answer_of(&sample.result) else { continue };
        let is_news = book.learn(&sample.page, &value);
        let mut progress = progress.lock();
        let tools = progress.get_mut(&sample.fingerprint);
        if let Some(unchanged) = tools.and_then(|tools| tools.get_mut(&sample.tool)) {
            *unchanged = if is_news { 0 } else { *unchanged + 1 };
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

/// The learned shapes on disk: one small file each, bounded in number and in age.
#[derive(Debug, Clone)]
struct ShapeStore {
    folder: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShapeRecord {
    version: u32,
    observed_at: Timestamp,
    sample_count: u64,
    shape: ObservedShape,
}

impl ShapeStore {
    fn read(&self, page: &str) -> Option<ShapeRecord> {
        let record: ShapeRecord = serde_json::from_slice(&fs::read(self.file(page)).ok()?).ok()?;
        let age = Timestamp::now().duration_since(record.observed_at);
        (record.version == 1 && age <= SHAPE_LIFETIME).then_some(record)
    }

    fn learn(&self, page: &str, value: &Value) -> bool {
        let seen = ObservedShape::from_value(value);
        let known = self.read(page);
        let is_first = known.is_none();
        let (mut shape, samples) =
            known.map_or_else(Default::default, |known| (known.shape, known.sample_count));
        let is_news = shape.merge(seen) || is_first;
        if is_news {
            let record = ShapeRecord {
                version: 1,
                observed_at: Timestamp::now(),
                sample_count: samples + 1,
                shape: shape.bounded(),
            };
            if is_first {
                let known = durable::by_age(&self.folder, |_| true);
                durable::keep_newest(known, MAX_SHAPES - 1);
            }
            if let Err(error) = durable::save_json_unsynced(&self.file(page), &record) {
                tracing::debug!(%error, "a learned shape could not be saved");
            }
        }
        is_news
    }

    fn file(&self, page: &str) -> PathBuf {
        self.folder.join(format!("{page}.json"))
    }
}

impl ShapeRecord {
    fn to_json(&self) -> Value {
        let (type_script, truncated) = self.shape.type_script();
        json!({
            "version": 1,
            "source": "observed",
            "observedAt": self.observed_at.to_string(),
            "sampleCount": self.sample_count,
            "typeScript": type_script,
            "jsonShape": self.shape,
            "truncated": truncated,
        })
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn shapes_are_kept_bounded_and_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let book = ShapeStore { folder: folder.path().join("shapes") };
        let page = "0123456789abcdef".to_owned();
        assert!(book.read(&page).is_none());
        assert!(book.learn(&page, &json!({"a": 1})));
        assert!(!book.learn(&page, &json!({"a": 2})));
        assert!(book.learn(&page, &json!({"b": 2})));
        let shown = book.read(&page).unwrap().to_json();
        assert_eq!(shown["typeScript"], "{ a?: number; b?: number }");
        assert_eq!((&shown["source"], &shown["sampleCount"]), (&json!("observed"), &json!(2)));

        let old = ShapeRecord {
            observed_at: Timestamp::now() - SHAPE_LIFETIME * 2,
            ..book.read(&page).unwrap()
        };
        durable::save_json_unsynced(&book.file(&page), &old).unwrap();
        assert!(book.read(&page).is_none(), "too old");
        fs::write(book.file(&page), "{ broken").unwrap();
        assert!(book.read(&page).is_none());
        assert!(book.learn(&page, &json!([1])), "a broken file is written again");

        for number in 0..MAX_SHAPES {
            fs::write(book.folder.join(format!("{number:032}.json")), "{}").unwrap();
        }
        book.learn("another", &json!(1));
        assert_eq!(fs::read_dir(&book.folder).unwrap().count(), MAX_SHAPES);
        assert!(book.read("another").is_some());
    }
}
