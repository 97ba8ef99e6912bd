//! A task in the form of each era: the core feature of revision 2025-11-25, and the extension that
//! replaced it.

use std::time::Duration;

use capdeck_backend::CallError;
use capdeck_catalog::RawMembers;
use serde_json::{Value, json, value::RawValue};

use super::errors;
use crate::raw;

const POLL_INTERVAL: Duration = Duration::from_secs(1);
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(50);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(5);

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
    pub(super) fn from_task(task: &RawMembers) -> Option<Self> {
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

    /// Reads the answer to `tasks/get`.
    pub(super) fn read(answer: &RawValue) -> Result<(RawMembers, Self), CallError> {
        let task: Option<RawMembers> = raw::parse(answer);
        let read = task.and_then(|task| Self::from_task(&task).map(|seen| (task, seen)));
        read.ok_or_else(errors::no_task_in_answer)
    }

    /// How long to wait until the task is looked at again.
    pub(super) fn pause(&self) -> Duration {
        self.poll.unwrap_or(POLL_INTERVAL).clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL)
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.status.as_str(), "completed" | "failed" | "cancelled")
    }
}

/// The task in the result of a call that became one, in either form. `None` for any other result.
pub(super) fn created(result: &RawValue) -> Option<(RawMembers, TaskState)> {
    // Most results have none, and some are large; a search in the text is enough.
    if !result.get().contains("\"taskId\"") {
        return None;
    }
    let members: RawMembers = raw::parse(result)?;
    let is_task = members.get("resultType").is_some_and(|kind| kind.get() == r#""task""#);
    let task = match members.get("task") {
        None if is_task => members,
        None => return None,
        Some(task) => {
            let mut task: RawMembers = raw::parse(task)?;
            task.extend(
                members.get_key_value("_meta").map(|(key, meta)| (key.clone(), meta.clone())),
            );
            task
        }
    };
    let seen = TaskState::from_task(&task)?;
    Some((task, seen))
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
        let result: RawMembers = raw::get(extension, "result")?;
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
    let Some(mut members) = raw::parse::<RawMembers>(&result) else { return result };
    unrelate(&mut members);
    raw::text(&members).unwrap_or(result)
}

pub(super) fn relate(members: &mut RawMembers, id: &str) {
    let mut meta: RawMembers = raw::get(members, "_meta").unwrap_or_default();
    raw::set(&mut meta, RELATED_TASK_KEY, &json!({ "taskId": id }));
    raw::set(members, "_meta", &meta);
}

pub(super) fn related(members: &RawMembers) -> Option<String> {
    let meta: RawMembers = raw::get(members, "_meta")?;
    raw::get(&raw::get(&meta, RELATED_TASK_KEY)?, "taskId")
}

pub(super) fn unrelate(members: &mut RawMembers) {
    take_meta(members, RELATED_TASK_KEY);
}

/// Takes one member out of `_meta`, which goes when it is empty then.
pub(super) fn take_meta(members: &mut RawMembers, key: &str) -> Option<Box<RawValue>> {
    let mut meta: RawMembers = raw::get(members, "_meta")?;
    let taken = meta.shift_remove(key)?;
    match meta.is_empty() {
        true => drop(members.shift_remove("_meta")),
        false => raw::set(members, "_meta", &meta),
    }
    Some(taken)
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
            Some(created(&result)?.1.id)
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
        let result = without_relation(raw::text(&message).unwrap());
        assert_eq!(serde_json::from_str::<Value>(result.get()).unwrap(), before);
        let mut bare = RawMembers::new();
        relate(&mut bare, "t");
        unrelate(&mut bare);
        assert!(bare.is_empty() && related(&bare).is_none());
    }
}
