//! Formatters of calls that became tasks, whose results are fetched later by task id.

use capdeck_catalog::RawMembers;
use capdeck_definition::capability_file::ResultFormatter;
use indexmap::IndexMap;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use super::TailoredConnection;
use crate::{CallContext, CallError};

/// The maximum number of stored tasks. Results of older ones stay unformatted.
const MAX_TASKS: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct TaskFormats(Mutex<IndexMap<String, ResultFormatter>>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskResponse {
    task: Option<TaskId>,
    result_type: Option<String>,
    task_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskId {
    task_id: String,
}

impl TaskFormats {
    pub(super) fn remember(&self, answer: &RawValue, formatter: &ResultFormatter) {
        let Ok(made) = serde_json::from_str::<TaskResponse>(answer.get()) else { return };
        let is_task = made.result_type.as_deref() == Some("task");
        let id = made.task.map(|task| task.task_id).or(made.task_id.filter(|_| is_task));
        let Some(id) = id else { return };
        let mut known = self.0.lock();
        known.insert(id, formatter.clone());
        if known.len() > MAX_TASKS {
            known.shift_remove_index(0);
        }
    }

    pub(super) fn formatter_for(
        &self,
        method: &str,
        params: Option<&RawMembers>,
    ) -> Option<ResultFormatter> {
        if !matches!(method, "tasks/result" | "tasks/get") {
            return None;
        }
        let id: String = serde_json::from_str(params?.get("taskId")?.get()).ok()?;
        self.0.lock().get(&id).cloned()
    }
}

impl TailoredConnection {
    /// Formats the task's result: the whole of `tasks/result`, or a member of `tasks/get`.
    pub(super) async fn format_task(
        &self,
        method: &str,
        formatter: &ResultFormatter,
        answer: Box<RawValue>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        if method == "tasks/result" {
            return Ok(self.format(formatter, answer, context).await);
        }
        let Ok(mut members) = serde_json::from_str::<RawMembers>(answer.get()) else {
            return Ok(answer);
        };
        let Some(result) = members.get("result").cloned() else { return Ok(answer) };
        members.insert("result".to_owned(), self.format(formatter, result, context).await);
        Ok(to_raw_value(&members).unwrap_or(answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_both_eras_are_remembered_and_the_oldest_forgotten() {
        let formats = TaskFormats::default();
        let formatter = ResultFormatter { cmd: "cat".to_owned(), timeout_ms: 1 };
        let note = |answer: &str| {
            formats.remember(&RawValue::from_string(answer.to_owned()).unwrap(), &formatter);
        };
        let has = |method: &str, id: &str| {
            let id = to_raw_value(id).unwrap();
            let params = RawMembers::from_iter([("taskId".to_owned(), id)]);
            formats.formatter_for(method, Some(&params)).is_some()
        };
        note(r#"{"task":{"taskId":"old","status":"working"}}"#);
        note(r#"{"resultType":"task","taskId":"new","status":"working"}"#);
        note(r#"{"content":[],"taskId":"none"}"#);
        assert!(has("tasks/result", "old") && has("tasks/get", "new"));
        assert!(!has("tasks/get", "none") && !has("tasks/cancel", "new"));
        for number in 0..MAX_TASKS {
            note(&format!(r#"{{"task":{{"taskId":"{number}"}}}}"#));
        }
        assert!(!has("tasks/result", "old") && has("tasks/result", "0"));
    }
}
