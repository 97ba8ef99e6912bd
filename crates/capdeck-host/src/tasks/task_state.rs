//! A task in the form of each era: the core feature of revision 2025-11-25, and the extension that
//! replaced it.

use std::time::Duration;

use capdeck_catalog::RawMembers;
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};

use crate::raw;

/// The member of `_meta` with which the core feature names the task of a message.
const RELATED_TASK_KEY: &str = "io.modelcontextprotocol/related-task";

const RENAMED_FIELDS: [(&str, &str); 2] = [("ttl", "ttlMs"), ("pollInterval", "pollIntervalMs")];

const EXTENSION_ONLY_FIELDS: [&str; 5] =
    ["resultType", "result", "error", "inputRequests", "requestState"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskState {
    pub(super) id: String,
    pub(super) status: String,
    pub(super) ttl: Option<Duration>,
    pub(super) poll: Option<Duration>,
}

impl TaskState {
    /// Reads a task of either form. `None` when it is not a task.
    pub(super) fn of(task: &RawMembers) -> Option<Self> {
        let text = |key: &str| raw::string(task.get(key)?);
        let time = |names: (&str, &str)| {
            let number = task.get(names.1).or_else(|| task.get(names.0))?;
            whole(number).map(Duration::from_millis)
        };
        Some(Self {
            id: text("taskId")?,
            status: text("status").unwrap_or_else(|| "working".to_owned()),
            ttl: time(RENAMED_FIELDS[0]),
            poll: time(RENAMED_FIELDS[1]),
        })
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.status.as_str(), "completed" | "failed" | "cancelled")
    }
}

/// The task in the result of a call that became one, in either form. `None` for any other result.
pub(super) fn created(result: &RawValue) -> Option<RawMembers> {
    // Most results have none, and some are large; a search in the text is enough.
    if !result.get().contains("\"taskId\"") {
        return None;
    }
    let members: RawMembers = serde_json::from_str(result.get()).ok()?;
    let is_task = members.get("resultType").is_some_and(|kind| kind.get() == r#""task""#);
    let mut task: RawMembers = match members.get("task") {
        None if is_task => return Some(members),
        None => return None,
        Some(task) => serde_json::from_str(task.get()).ok()?,
    };
    if let Some(meta) = members.get("_meta") {
        task.insert("_meta".to_owned(), meta.clone());
    }
    Some(task)
}

/// A core task in the form of the extension, under the id that its client knows.
pub(super) fn to_extension(core: RawMembers, id: &str) -> RawMembers {
    let mut task = RawMembers::with_capacity(core.len());
    for (key, value) in core {
        match RENAMED_FIELDS.iter().find(|(old, _)| *old == key) {
            Some((_, new)) => {
                let number = whole(&value).map_or(Value::Null, Value::from);
                task.extend(raw::object([(*new, number)]));
            }
            None => {
                task.insert(key, value);
            }
        }
    }
    // The extension requires a value; `null` means no limit.
    task.entry("ttlMs".to_owned()).or_insert_with(|| RawValue::NULL.to_owned());
    if task.get("pollIntervalMs").is_some_and(|time| time.get() == "null") {
        task.shift_remove("pollIntervalMs");
    }
    task.extend(raw::object([("taskId", json!(id))]));
    unrelate(&mut task);
    task
}

/// A task of the extension in the form of the core feature, without its result and questions.
pub(super) fn to_core(extension: &RawMembers) -> RawMembers {
    // The core feature reports a tool's error as a failed task.
    let is_error = || {
        let result: RawMembers = serde_json::from_str(extension.get("result")?.get()).ok()?;
        Some(result.get("isError")?.get() == "true")
    };
    let has_failed = is_error() == Some(true);
    let mut task = RawMembers::with_capacity(extension.len());
    for (key, value) in extension {
        if EXTENSION_ONLY_FIELDS.contains(&key.as_str()) {
            continue;
        }
        let name =
            RENAMED_FIELDS.iter().find(|(_, new)| new == key).map_or(key.as_str(), |(old, _)| *old);
        task.insert(name.to_owned(), value.clone());
    }
    task.entry("ttl".to_owned()).or_insert_with(|| RawValue::NULL.to_owned());
    if has_failed {
        task.extend(raw::object([("status", json!("failed"))]));
    }
    task
}

pub(super) fn without_relation(result: Box<RawValue>) -> Box<RawValue> {
    if !result.get().contains(RELATED_TASK_KEY) {
        return result;
    }
    let Ok(mut members) = serde_json::from_str::<RawMembers>(result.get()) else { return result };
    unrelate(&mut members);
    to_raw_value(&members).unwrap_or(result)
}

pub(super) fn relate(members: &mut RawMembers, id: &str) {
    let mut meta: RawMembers = members
        .get("_meta")
        .and_then(|meta| serde_json::from_str(meta.get()).ok())
        .unwrap_or_default();
    meta.extend(raw::object([(RELATED_TASK_KEY, json!({ "taskId": id }))]));
    if let Ok(meta) = to_raw_value(&meta) {
        members.insert("_meta".to_owned(), meta);
    }
}

pub(super) fn related(members: &RawMembers) -> Option<String> {
    let meta: RawMembers = serde_json::from_str(members.get("_meta")?.get()).ok()?;
    let related: RawMembers = serde_json::from_str(meta.get(RELATED_TASK_KEY)?.get()).ok()?;
    raw::string(related.get("taskId")?)
}

pub(super) fn unrelate(members: &mut RawMembers) {
    let Some(meta) = members.get("_meta") else { return };
    let Ok(mut meta) = serde_json::from_str::<RawMembers>(meta.get()) else { return };
    if meta.shift_remove(RELATED_TASK_KEY).is_none() {
        return;
    }
    match to_raw_value(&meta) {
        Ok(text) if !meta.is_empty() => drop(members.insert("_meta".to_owned(), text)),
        _ => drop(members.shift_remove("_meta")),
    }
}

/// In whole milliseconds. The core feature does not require that they are whole.
fn whole(number: &RawValue) -> Option<u64> {
    if let Ok(whole) = serde_json::from_str::<u64>(number.get()) {
        return (whole > 0).then_some(whole);
    }
    let fraction: f64 = serde_json::from_str(number.get()).ok()?;
    let time = Duration::try_from_secs_f64(fraction / 1000.0).ok()?;
    u64::try_from(time.as_millis()).ok().map(|millis| millis.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: &Value) -> RawMembers {
        serde_json::from_str(&value.to_string()).unwrap()
    }

    fn text(members: &RawMembers) -> Value {
        serde_json::to_value(members).unwrap()
    }

    #[test]
    fn both_forms_of_a_task_are_seen_and_nothing_else() {
        let id = |text: &str| {
            let result = RawValue::from_string(text.to_owned()).unwrap();
            Some(TaskState::of(&created(&result)?)?.id)
        };
        assert_eq!(id(r#"{"resultType":"task","taskId":"a","status":"working"}"#).unwrap(), "a");
        assert_eq!(id(r#"{"task":{"taskId":"b","status":"working"}}"#).unwrap(), "b");
        assert_eq!(id(r#"{"content":[],"structuredContent":{"taskId":"c"}}"#), None);
        assert_eq!(id(r#"{"taskId":"d","content":[]}"#), None);
    }

    #[test]
    fn a_core_task_is_said_in_the_extensions_words() {
        let core = object(&json!({"taskId": "theirs", "status": "working", "ttl": 1500.4,
            "pollInterval": 200, "other": [1], "_meta": {RELATED_TASK_KEY: {"taskId": "theirs"}}}));
        assert_eq!(
            text(&to_extension(core, "ours")),
            json!({"taskId": "ours", "status": "working", "ttlMs": 1500, "pollIntervalMs": 200, "other": [1]})
        );
        for ttl in [json!(null), json!(0), json!(-5), json!("odd")] {
            let task = to_extension(object(&json!({"taskId": "t", "ttl": ttl})), "t");
            assert_eq!(task["ttlMs"].get(), "null", "{ttl}");
        }
        let bare = to_extension(object(&json!({"taskId": "t", "pollInterval": null})), "t");
        assert_eq!(text(&bare), json!({"taskId": "t", "ttlMs": null}));
    }

    #[test]
    fn a_task_of_the_extension_is_said_in_the_core_features_words() {
        let task = object(&json!({"resultType": "complete", "taskId": "t", "status": "completed",
            "ttlMs": 5, "pollIntervalMs": 7, "result": {"content": [], "isError": true}}));
        let core = json!({"taskId": "t", "status": "failed", "ttl": 5, "pollInterval": 7});
        assert_eq!(text(&to_core(&task)), core);
        let asking =
            object(&json!({"taskId": "t", "status": "input_required", "inputRequests": {}}));
        let core = json!({"taskId": "t", "status": "input_required", "ttl": null});
        assert_eq!(text(&to_core(&asking)), core);
    }

    #[test]
    fn the_relation_to_a_task_comes_and_goes_without_harm() {
        let mut message = object(&json!({"a": 1.50, "_meta": {"b": 2}}));
        let before = text(&message);
        relate(&mut message, "t");
        assert_eq!(related(&message).unwrap(), "t");
        let result = without_relation(to_raw_value(&message).unwrap());
        assert_eq!(serde_json::from_str::<Value>(result.get()).unwrap(), before);
        let mut bare = RawMembers::new();
        relate(&mut bare, "t");
        unrelate(&mut bare);
        assert!(bare.is_empty() && related(&bare).is_none());
    }
}
