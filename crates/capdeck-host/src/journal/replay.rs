//! Answers the calls of a run from its record, in the recorded order of the results; beyond the
//! record it calls live or fails.

use async_trait::async_trait;
use capdeck_sandbox::{CallFailure, CallHandler, CallRequest, DeckOperation, HandlerResponse};
use capdeck_storage::sha256_hex;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use super::record::{RecordedCall, RecordedOutcome};
use crate::raw;

const REDACTED: &str = "[redacted]";

#[derive(Debug)]
pub(crate) struct ExpectedCall {
    pub(crate) capability: Option<String>,
    pub(crate) method: DeckOperation,
    pub(crate) args: ExpectedArgs,
    pub(crate) target: String,
    pub(crate) answer: Option<(usize, HandlerResponse)>,
}

#[derive(Debug)]
pub(crate) enum ExpectedArgs {
    Digest(String),
    /// Arguments written by a person; a redacted member matches anything.
    Like(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplayStrictness {
    Exact,
    /// Any known call, each once: the code may have changed since.
    AnyOrder,
}

pub(crate) struct CallReplay<'a> {
    strictness: ReplayStrictness,
    live: Option<&'a dyn CallHandler>,
    answers: usize,
    state: Mutex<ReplayState>,
    turn: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct ReplayState {
    /// `None` for those that were made again.
    calls: Vec<Option<ExpectedCall>>,
    made: usize,
    diverged: Option<String>,
}

impl From<RecordedCall> for ExpectedCall {
    fn from(call: RecordedCall) -> Self {
        let target = call.target();
        let outcome = match call.outcome {
            RecordedOutcome::Data(data) => Some(Ok(data)),
            RecordedOutcome::Failure(failure) => Some(Err(failure)),
            RecordedOutcome::Held(_)
            | RecordedOutcome::Cancelled
            | RecordedOutcome::LeftOut { .. } => None,
        };
        let answer = call
            .place
            .zip(outcome)
            .map(|(place, outcome)| (place, HandlerResponse { outcome, meta: call.meta }));
        Self {
            capability: call.capability,
            method: call.method,
            args: ExpectedArgs::Digest(call.args_sha256),
            target,
            answer,
        }
    }
}

impl<'a> CallReplay<'a> {
    pub(crate) fn offline(calls: Vec<ExpectedCall>, strictness: ReplayStrictness) -> Self {
        let answers = calls.iter().filter(|call| call.answer.is_some()).count();
        let calls = calls.into_iter().map(Some).collect();
        let state = Mutex::new(ReplayState { calls, ..ReplayState::default() });
        Self { strictness, live: None, answers, state, turn: watch::Sender::default() }
    }

    /// Answers from the record first; calls without a recorded result are made now.
    pub(crate) fn resuming(calls: Vec<ExpectedCall>, live: &'a dyn CallHandler) -> Self {
        Self { live: Some(live), ..Self::offline(calls, ReplayStrictness::Exact) }
    }

    /// Where the run left the record: by another call, or by ending before it had all the results.
    pub(crate) fn divergence(&self) -> Option<String> {
        let state = self.state.lock();
        if let Some(diverged) = &state.diverged {
            return Some(diverged.clone());
        }
        if self.strictness == ReplayStrictness::AnyOrder {
            return None;
        }
        let missing = state.calls.get(state.made)?.as_ref()?;
        Some(format!("it did not make the recorded call {}, `{}`", state.made + 1, missing.target))
    }

    /// The recorded answer of a call and its place among the answers. `None` for a call that has
    /// none, an error for one that is not in the record.
    fn recorded(&self, request: &CallRequest) -> Result<Option<(usize, HandlerResponse)>, String> {
        let mut state = self.state.lock();
        if let Some(diverged) = &state.diverged {
            return Err(diverged.clone());
        }
        let number = state.made;
        state.made += 1;
        let fits = |known: &mut ExpectedCall| known.fits(request);
        let in_order = state.calls.get_mut(number).and_then(|known| known.take_if(fits));
        let found = match (in_order, self.strictness) {
            (None, ReplayStrictness::AnyOrder) => {
                // The recorded order of results belongs to another order of calls.
                self.turn.send_replace(usize::MAX);
                state.calls.iter_mut().find_map(|known| known.take_if(fits))
            }
            (in_order, _) => in_order,
        };
        if let Some(known) = found {
            return Ok(known.answer);
        }
        if self.live.is_some() && number >= state.calls.len() {
            return Ok(None);
        }
        let args: Value = raw::parse(&request.args).unwrap_or_default();
        let made = RecordedCall::name(request.capability.as_deref(), request.method, &args);
        let diverged = match state.calls.get(number) {
            Some(Some(known)) if self.strictness == ReplayStrictness::Exact => {
                let same = known.capability == request.capability && known.method == request.method;
                let with = if same { " with other arguments" } else { "" };
                format!(
                    "call {} is `{made}`{with}, but the record has `{}`",
                    number + 1,
                    known.target
                )
            }
            _ => format!("call {} is `{made}`, which has no recorded result", number + 1),
        };
        state.diverged = Some(diverged.clone());
        Err(diverged)
    }

    async fn turn(&self, place: usize) {
        // The sender lives as long as this, so there is always a next value.
        let mut turn = self.turn.subscribe();
        let _reached = turn.wait_for(|turn| *turn >= place).await;
    }
}

#[async_trait]
impl CallHandler for CallReplay<'_> {
    async fn call(&self, call: CallRequest) -> HandlerResponse {
        match (self.recorded(&call), self.live) {
            (Ok(Some((place, answer))), _) => {
                self.turn(place).await;
                self.turn.send_modify(|turn| *turn = turn.saturating_add(1));
                answer
            }
            (Ok(None), Some(live)) => {
                self.turn(self.answers).await;
                live.call(call).await
            }
            (Ok(None), None) => std::future::pending().await,
            (Err(why), _) => HandlerResponse::failed(CallFailure {
                code: "REPLAY_DIVERGED".to_owned(),
                message: format!("the run differs from its record: {why}"),
                details: None,
                hint: None,
            }),
        }
    }

    fn waiting_for_people(&self) -> Option<watch::Receiver<usize>> {
        self.live?.waiting_for_people()
    }

    fn is_waiting(&self, failure: &CallFailure) -> bool {
        self.live.is_some_and(|live| live.is_waiting(failure))
    }
}

impl ExpectedCall {
    fn fits(&self, request: &CallRequest) -> bool {
        self.capability == request.capability
            && self.method == request.method
            && match &self.args {
                ExpectedArgs::Digest(digest) => *digest == sha256_hex(request.args.get()),
                ExpectedArgs::Like(known) => {
                    let args = serde_json::from_str::<Value>(request.args.get());
                    args.is_ok_and(|args| is_like(known, &args))
                }
            }
    }
}

fn is_like(known: &Value, args: &Value) -> bool {
    match (known, args) {
        (Value::String(text), _) if text == REDACTED => true,
        // A long text is stored as its beginning and the number of omitted letters.
        (Value::String(text), Value::String(arg)) => match text.rsplit_once("… (") {
            Some((start, rest)) if rest.ends_with(" more)") => arg.starts_with(start),
            _ => text == arg,
        },
        (Value::Object(known), Value::Object(args)) => {
            known.len() == args.len()
                && known
                    .iter()
                    .all(|(key, known)| args.get(key).is_some_and(|arg| is_like(known, arg)))
        }
        (Value::Array(known), Value::Array(args)) => {
            known.len() == args.len()
                && known.iter().zip(args).all(|(known, arg)| is_like(known, arg))
        }
        _ => known == args,
    }
}
