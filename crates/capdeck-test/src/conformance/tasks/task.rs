//! One task: what it is doing, what it wants to know, how it ended.

use capdeck_mcp::RpcError;
use indexmap::IndexMap;
use jiff::Timestamp;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::conformance::{call::FixtureResult, questions::FixtureQuestion, tools::FixtureJob};

/// Work that goes on after its request was answered.
pub(super) struct FixtureTask {
    pub(super) id: String,
    pub(super) created: Timestamp,
    state: watch::Sender<FixtureTaskState>,
    cancelled: CancellationToken,
}

/// A task at one moment.
#[derive(Debug, Clone)]
pub(super) struct FixtureTaskState {
    pub(super) status: FixtureTaskStatus,
    pub(super) updated: Timestamp,
    /// Questions without an answer.
    pub(super) pending: IndexMap<&'static str, FixtureQuestion>,
    answers: Map<String, Value>,
    /// Set when the work is done.
    pub(super) outcome: Option<FixtureResult>,
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FixtureTaskStatus {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

impl FixtureTask {
    pub(super) fn new(id: String) -> Self {
        let created = Timestamp::now();
        let state = FixtureTaskState {
            status: FixtureTaskStatus::Working,
            updated: created,
            pending: IndexMap::new(),
            answers: Map::new(),
            outcome: None,
        };
        Self { id, created, state: watch::Sender::new(state), cancelled: CancellationToken::new() }
    }

    pub(super) fn state(&self) -> FixtureTaskState {
        self.state.borrow().clone()
    }

    /// Follows the task from now on.
    pub(super) fn watch(&self) -> watch::Receiver<FixtureTaskState> {
        self.state.subscribe()
    }

    /// Does the work. Ends early when the task is cancelled.
    pub(super) async fn work(&self, job: FixtureJob, before: Value) {
        let work = async {
            let answers = self.ask(job.questions()).await;
            tokio::time::sleep(job.duration()).await;
            job.finish(&super::merged(before, answers))
        };
        tokio::select! {
            () = self.cancelled.cancelled() => {}
            outcome = work => self.end(outcome),
        }
    }

    /// Takes answers; those to no open question are ignored.
    pub(super) fn answer(&self, answers: &Map<String, Value>) {
        self.change(|state| {
            for (key, answer) in answers {
                if state.pending.shift_remove(key.as_str()).is_some() {
                    state.answers.insert(key.clone(), answer.clone());
                }
            }
            if state.pending.is_empty() && state.status == FixtureTaskStatus::InputRequired {
                state.status = FixtureTaskStatus::Working;
            }
        });
    }

    /// Ends the work. Gives false when it had ended before.
    pub(super) fn cancel(&self) -> bool {
        let mut was_open = false;
        self.change(|state| {
            was_open = !state.status.is_terminal();
            if was_open {
                state.status = FixtureTaskStatus::Cancelled;
                state.pending.clear();
                state.outcome = Some(Err(RpcError::invalid_params("the task was cancelled")));
            }
        });
        self.cancelled.cancel();
        was_open
    }

    async fn ask(&self, questions: Vec<FixtureQuestion>) -> Value {
        if !questions.is_empty() {
            self.change(|state| {
                state.status = FixtureTaskStatus::InputRequired;
                state.pending =
                    questions.into_iter().map(|question| (question.key, question)).collect();
            });
            // The sender is `self`, so there is always a next state to wait for.
            self.watch().wait_for(|state| state.pending.is_empty()).await.ok();
        }
        self.state().answers.into()
    }

    fn end(&self, outcome: FixtureResult) {
        self.change(|state| {
            if !state.status.is_terminal() {
                state.status = if outcome.is_ok() {
                    FixtureTaskStatus::Completed
                } else {
                    FixtureTaskStatus::Failed
                };
                state.outcome = Some(outcome);
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut FixtureTaskState)) {
        self.state.send_modify(|state| {
            change(state);
            state.updated = Timestamp::now();
        });
    }
}

impl FixtureTaskStatus {
    pub(super) fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}
