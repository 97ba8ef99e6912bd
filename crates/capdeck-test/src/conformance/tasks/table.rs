//! Every task of the process, by id.

use std::sync::Arc;

use indexmap::IndexMap;
use parking_lot::Mutex;
use serde_json::Value;

use super::{legacy, task::FixtureTask};
use crate::conformance::{call::FixtureCall, tools::FixtureJob};

/// The tasks, in the order they were started. They live as long as the process, which is short.
#[derive(Default)]
pub(in crate::conformance) struct FixtureTaskTable(Mutex<IndexMap<String, Arc<FixtureTask>>>);

impl FixtureTaskTable {
    /// Starts a task. It can be found before this returns.
    pub(super) fn start(
        &self,
        job: FixtureJob,
        before: Value,
        call: &FixtureCall<'_>,
    ) -> Arc<FixtureTask> {
        let task = Arc::new(FixtureTask::new(uuid::Uuid::new_v4().to_string()));
        self.0.lock().insert(task.id.clone(), Arc::clone(&task));
        if !call.is_modern {
            let reporting = legacy::report(Arc::clone(&task), task.watch(), call.session.clone());
            tokio::spawn(reporting);
        }
        let working = Arc::clone(&task);
        tokio::spawn(async move { working.work(job, before).await });
        task
    }

    /// The task a request names.
    pub(super) fn find(&self, id: &Value) -> Option<Arc<FixtureTask>> {
        self.0.lock().get(id.as_str()?).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<FixtureTask>> {
        self.0.lock().values().cloned().collect()
    }
}
