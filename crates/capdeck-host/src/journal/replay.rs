//! Answers the calls of a run from its record, in the recorded order of the results; beyond the
//! record it calls live or fails.

use async_trait::async_trait;
use capdeck_catalog::sha256_hex;
use capdeck_sandbox::{CallAnswer, CallFailure, CallOut, CallRequest, DeckOperation};
use parking_lot::Mutex;
use serde_json::{Value, value::RawValue};
use tokio::sync::watch;

use super::record::{RecordedCall, RecordedOutcome};

const REDACTED: &str = "[redacted]";

#[derive(Debug)]
pub(crate) struct KnownCall {
    pub(crate) capability: Option<String>,
    pub(crate) method: DeckOperation,
    pub(crate) args: KnownArgs,
    pub(crate) target: String,
    pub(crate) answer: Option<(usize, KnownAnswer)>,
}

#[derive(Debug)]
pub(crate) enum KnownArgs {
    Digest(String),
    /// Arguments written by a person; a redacted member matches anything.
    Like(Value),
}

#[derive(Debug, Clone)]
pub(crate) struct KnownAnswer {
    pub(crate) outcome: Result<Box<RawValue>, CallFailure>,
    pub(crate) meta: Option<Box<RawValue>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strictness {
    Exact,
    /// Any known call, each once: the code may have changed since.
    AnyOrder,
}

pub(crate) struct Replay<'a> {
    calls: Vec<KnownCall>,
    strictness: Strictness,
    live: Option<&'a dyn CallOut>,
    answers: usize,
    state: Mutex<State>,
    turn: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct State {
    made: usize,
    used: Vec<bool>,
    diverged: Option<String>,
}

enum Step {
    Answer(usize, KnownAnswer),
    Live,
    Wait,
    Diverged(String),
}

impl From<RecordedCall> for KnownCall {
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
            .map(|(place, outcome)| (place, KnownAnswer { outcome, meta: call.meta }));
        Self {
            capability: call.capability,
            method: call.method,
            args: KnownArgs::Digest(call.args_sha256),
            target,
            answer,
        }
    }
}

impl<'a> Replay<'a> {
    pub(crate) fn offline(calls: Vec<KnownCall>, strictness: Strictness) -> Self {
        let answers = calls.iter().filter(|call| call.answer.is_some()).count();
        let state = State { used: vec![false; calls.len()], ..State::default() };
        let turn = watch::Sender::default();
        Self { calls, strictness, live: None, answers, state: Mutex::new(state), turn }
    }

    /// Answers from the record first; calls without a recorded result are made now.
    pub(crate) fn going_on(calls: Vec<KnownCall>, live: &'a dyn CallOut) -> Self {
        Self { live: Some(live), ..Self::offline(calls, Strictness::Exact) }
    }

    /// Where the run left the record: by another call, or by ending before it had all the results.
    pub(crate) fn divergence(&self) -> Option<String> {
        let state = self.state.lock();
        if let Some(diverged) = &state.diverged {
            return Some(diverged.clone());
        }
        if self.strictness == Strictness::AnyOrder {
            return None;
        }
        let missing = self.calls.get(state.made)?;
        Some(format!("it did not make the recorded call {}, `{}`", state.made + 1, missing.target))
    }

    fn step(&self, request: &CallRequest) -> Step {
        let mut state = self.state.lock();
        if let Some(diverged) = &state.diverged {
            return Step::Diverged(diverged.clone());
        }
        let number = state.made;
        state.made += 1;
        let in_order = self.calls.get(number).filter(|known| {
            known.fits(request) && !state.used.get(number).copied().unwrap_or_default()
        });
        let found = match (in_order, self.strictness) {
            (Some(known), _) => Some((number, known)),
            (None, Strictness::Exact) => None,
            (None, Strictness::AnyOrder) => {
                // The recorded order of results belongs to another order of calls.
                self.turn.send_replace(usize::MAX);
                let unused = |(index, _): &(usize, &KnownCall)| {
                    !state.used.get(*index).copied().unwrap_or(true)
                };
                let mut others = self.calls.iter().enumerate().filter(unused);
                others.find(|(_, known)| known.fits(request))
            }
        };
        if let Some((index, known)) = found {
            if let Some(used) = state.used.get_mut(index) {
                *used = true;
            }
            return match (&known.answer, self.live) {
                (Some((place, answer)), _) => Step::Answer(*place, answer.clone()),
                (None, Some(_)) => Step::Live,
                (None, None) => Step::Wait,
            };
        }
        if self.live.is_some() && number >= self.calls.len() {
            return Step::Live;
        }
        let made = told(request);
        let diverged = match self.calls.get(number) {
            Some(known) if self.strictness == Strictness::Exact => {
                let same = known.capability == request.capability && known.method == request.method;
                let with = if same { " with other arguments" } else { "" };
                format!(
                    "call {} is {made}{with}, but the record has `{}`",
                    number + 1,
                    known.target
                )
            }
            _ => format!("call {} is {made}, which has no recorded result", number + 1),
        };
        state.diverged = Some(diverged.clone());
        Step::Diverged(diverged)
    }

    async fn turn(&self, place: usize) {
        // The sender lives as long as this, so there is always a next value.
        let mut turn = self.turn.subscribe();
        let _reached = turn.wait_for(|turn| *turn >= place).await;
    }
}

#[async_trait]
impl CallOut for Replay<'_> {
    async fn call(&self, call: CallRequest) -> CallAnswer {
        match self.step(&call) {
            Step::Answer(place, KnownAnswer { outcome, meta }) => {
                self.turn(place).await;
                self.turn.send_modify(|turn| *turn = turn.saturating_add(1));
                CallAnswer { outcome, meta }
            }
            Step::Live => match self.live {
                Some(live) => {
                    self.turn(self.answers).await;
                    live.call(call).await
                }
                None => std::future::pending().await,
            },
            Step::Wait => std::future::pending().await,
            Step::Diverged(why) => CallAnswer::failed(CallFailure {
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

    fn holds(&self, failure: &CallFailure) -> bool {
        self.live.is_some_and(|live| live.holds(failure))
    }
}

impl KnownCall {
    fn fits(&self, request: &CallRequest) -> bool {
        self.capability == request.capability
            && self.method == request.method
            && match &self.args {
                KnownArgs::Digest(digest) => *digest == sha256_hex(request.args.get()),
                KnownArgs::Like(known) => {
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

fn told(request: &CallRequest) -> String {
    let args = serde_json::from_str::<Value>(request.args.get()).unwrap_or_default();
    format!("`{}`", RecordedCall::name(request.capability.as_deref(), request.method, &args))
}
