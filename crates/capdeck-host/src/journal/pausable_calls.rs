//! Finds the calls that pause a run: those that need a person who could not be asked.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use capdeck_backend::ErrorCode;
use capdeck_sandbox::{CallFailure, CallHandler, CallRequest, HandlerResponse};
use serde_json::Value;
use tokio::sync::watch;

use super::finished_run::MAX_ANSWER_BYTES;

pub(crate) struct PausableCalls<'a> {
    calls: &'a dyn CallHandler,
    /// Bytes of results so far. A run whose results are too large to store cannot be resumed, so it
    /// does not pause.
    answered: AtomicUsize,
}

impl<'a> PausableCalls<'a> {
    pub(crate) fn new(calls: &'a dyn CallHandler, answered: usize) -> Self {
        Self { calls, answered: AtomicUsize::new(answered) }
    }
}

#[async_trait]
impl CallHandler for PausableCalls<'_> {
    async fn call(&self, call: CallRequest) -> HandlerResponse {
        let answer = self.calls.call(call).await;
        if let Ok(data) = &answer.outcome {
            self.answered.fetch_add(data.get().len(), Ordering::Relaxed);
        }
        answer
    }

    fn waiting_for_people(&self) -> Option<watch::Receiver<usize>> {
        self.calls.waiting_for_people()
    }

    fn is_waiting(&self, failure: &CallFailure) -> bool {
        needs_person(failure) && self.answered.load(Ordering::Relaxed) < MAX_ANSWER_BYTES
    }
}

fn needs_person(failure: &CallFailure) -> bool {
    let wanted = || failure.details.as_ref()?.get("requiredCapability").and_then(Value::as_str);
    failure.code == ErrorCode::ApprovalRequired.as_str()
        || failure.code == ErrorCode::UnsupportedCapability.as_str()
            && wanted() == Some("elicitation")
}
