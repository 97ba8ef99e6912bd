//! Long-running work that servers handed out, and whose it is.
//!
//! A task id is a handle, not a proof: whoever names one must be the principal it was given to.

use std::collections::{HashMap, VecDeque};

use capdeck_backend::{CallError, ErrorCode};
use capdeck_definition::CapabilityId;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{Principal, Session};

/// How many tasks are remembered. The oldest make room.
const MOST_TASKS: usize = 4096;

/// Tasks by server and id.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    owners: HashMap<(CapabilityId, String), Principal>,
    oldest_first: VecDeque<(CapabilityId, String)>,
}

/// As much of a result as says whether it is a task: the extension's form, and the one of 2025-11-25.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MaybeTask {
    #[serde(default)]
    result_type: Option<String>,
    #[serde(default)]
    task_id: Option<String>,
    #[serde(default)]
    task: Option<Named>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    task_id: String,
}

impl Tasks {
    fn add(&self, capability: &CapabilityId, id: String, owner: &Principal) {
        let mut table = self.0.lock();
        let key = (capability.clone(), id);
        if table.owners.insert(key.clone(), owner.clone()).is_none() {
            table.oldest_first.push_back(key);
        }
        if table.oldest_first.len() > MOST_TASKS
            && let Some(oldest) = table.oldest_first.pop_front()
        {
            table.owners.remove(&oldest);
        }
    }

    fn is_owned(&self, capability: &CapabilityId, id: &str, by: &Principal) -> bool {
        self.0.lock().owners.get(&(capability.clone(), id.to_owned())) == Some(by)
    }
}

impl Session {
    /// Remembers whose task it is, when a server answered with one.
    pub fn note_task(&self, capability: &CapabilityId, result: &RawValue) {
        // Most results are none, and some are large; a look at the text is enough to tell.
        if result.get().contains("\"taskId\"")
            && let Some(id) = task_id(result)
        {
            self.host.0.tasks.add(capability, id, &self.principal);
        }
    }

    /// Refuses a task that was not handed out to this principal. Unknown and foreign ones look alike.
    pub fn check_task(&self, capability: &CapabilityId, id: &str) -> Result<(), CallError> {
        if self.host.0.tasks.is_owned(capability, id, &self.principal) {
            return Ok(());
        }
        Err(CallError::new(ErrorCode::RequestInvalid, format!("there is no task `{id}`")))
    }
}

fn task_id(result: &RawValue) -> Option<String> {
    let seen: MaybeTask = serde_json::from_str(result.get()).ok()?;
    match (seen.result_type.as_deref(), seen.task) {
        (Some("task"), None) => seen.task_id,
        (_, Some(task)) => Some(task.task_id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_in(text: &str) -> Option<String> {
        task_id(&RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn both_forms_of_a_task_are_seen_and_nothing_else() {
        assert_eq!(id_in(r#"{"resultType":"task","taskId":"a","status":"working"}"#).unwrap(), "a");
        assert_eq!(id_in(r#"{"task":{"taskId":"b","status":"working"}}"#).unwrap(), "b");
        assert_eq!(id_in(r#"{"content":[],"structuredContent":{"taskId":"c"}}"#), None);
        assert_eq!(id_in(r#"{"taskId":"d","content":[]}"#), None);
    }

    #[test]
    fn the_table_is_bounded_and_owned() {
        let (tasks, fake) = (Tasks::default(), CapabilityId::new("fake").unwrap());
        let (ada, eve) = (Principal::named("ada"), Principal::named("eve"));
        for number in 0..=MOST_TASKS {
            tasks.add(&fake, number.to_string(), &ada);
        }
        assert!(!tasks.is_owned(&fake, "0", &ada), "the oldest made room");
        assert!(tasks.is_owned(&fake, "1", &ada) && !tasks.is_owned(&fake, "1", &eve));
        let other = CapabilityId::new("other").unwrap();
        assert!(!tasks.is_owned(&other, "1", &ada));
    }
}
