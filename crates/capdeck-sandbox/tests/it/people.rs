//! A person who is asked in the middle of a run takes longer than the run may.

use std::time::Duration;

use async_trait::async_trait;
use capdeck_sandbox::{
    CallHandler, CallRequest, CapabilityDirectory, CellRun, HandlerResponse, RunErrorCode,
};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::support::{envelope, pool, raw};

const TIMEOUT: Duration = Duration::from_millis(400);
const THINKING: Duration = Duration::from_millis(900);

/// One capability whose only tool asks a person who thinks for a while.
struct Asking {
    open: watch::Sender<usize>,
}

#[async_trait]
impl CallHandler for Asking {
    fn waiting_for_people(&self) -> Option<watch::Receiver<usize>> {
        Some(self.open.subscribe())
    }

    async fn call(&self, _: CallRequest) -> HandlerResponse {
        self.open.send_modify(|open| *open += 1);
        tokio::time::sleep(THINKING).await;
        self.open.send_modify(|open| *open -= 1);
        HandlerResponse::data(raw(&json!("yes")))
    }
}

impl CapabilityDirectory for Asking {
    fn capabilities(&self) -> Vec<String> {
        vec!["person".to_owned()]
    }

    fn tools(&self, _: &str) -> Option<Vec<String>> {
        None
    }

    fn check_arguments(&self, _: &str, _: &str, _: &Value) -> Vec<String> {
        Vec::new()
    }
}

async fn run(code: &str) -> (Option<RunErrorCode>, Value) {
    let asking = Asking { open: watch::Sender::new(0) };
    let run = CellRun { timeout: Some(TIMEOUT), ..CellRun::new(code) };
    let report = pool().run(run, &asking, &asking).await;
    (report.envelope.outcome.as_ref().err().map(|error| error.code), envelope(&report))
}

#[tokio::test]
async fn the_time_stands_still_while_a_person_is_asked() {
    let (code, envelope) =
        run("return [await caplets.person.ask(), await caplets.person.ask()]").await;
    assert_eq!(code, None, "{envelope}");
    assert_eq!(envelope.pointer("/value"), Some(&json!(["yes", "yes"])));
}

#[tokio::test]
async fn it_goes_on_after_that_and_computing_always_counts() {
    let late = "await caplets.person.ask(); await new Promise(() => setInterval(() => {}, 50))";
    let (code, envelope) = run(late).await;
    assert_eq!(code, Some(RunErrorCode::Timeout), "{envelope}");
    let (code, envelope) = run("await caplets.person.ask(); for (;;) {}").await;
    assert_eq!(code, Some(RunErrorCode::Timeout), "{envelope}");
}
