//! A call that was to become a task and ended at once. Its client still asks for the result of a
//! task.

use std::time::Duration;

use capdeck_catalog::RawMembers;
use jiff::Timestamp;
use serde_json::{json, value::RawValue};

use crate::{calls::is_tool_error, raw};

/// A result is stored as long as the client requested, within these bounds.
const MIN_RESULT_TTL: Duration = Duration::from_secs(60);
const MAX_RESULT_TTL: Duration = Duration::from_secs(60 * 60);
const DEFAULT_RESULT_TTL: Duration = Duration::from_secs(5 * 60);

pub(crate) struct CompletedTask {
    pub(super) result: Box<RawValue>,
    at: Timestamp,
    pub(super) ttl: Duration,
}

impl CompletedTask {
    pub(super) fn new(result: Box<RawValue>, task: &RawValue) -> Self {
        let wish = || {
            let task: RawMembers = serde_json::from_str(task.get()).ok()?;
            serde_json::from_str(task.get("ttl")?.get()).ok().map(Duration::from_millis)
        };
        let ttl =
            wish().map_or(DEFAULT_RESULT_TTL, |ttl| ttl.clamp(MIN_RESULT_TTL, MAX_RESULT_TTL));
        Self { result, at: Timestamp::now(), ttl }
    }

    pub(super) fn bytes(&self) -> usize {
        self.result.get().len()
    }

    pub(super) fn task(&self, id: &str) -> RawMembers {
        let status = if is_tool_error(&self.result) { "failed" } else { "completed" };
        self.task_with(id, status)
    }

    /// As first returned: every task begins as working.
    pub(super) fn begun(&self, id: &str) -> RawMembers {
        self.task_with(id, "working")
    }

    fn task_with(&self, id: &str, status: &str) -> RawMembers {
        let at = self.at.to_string();
        raw::object([
            ("taskId", json!(id)),
            ("status", json!(status)),
            ("createdAt", json!(at)),
            ("lastUpdatedAt", json!(at)),
            ("ttl", json!(u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX))),
        ])
    }
}
