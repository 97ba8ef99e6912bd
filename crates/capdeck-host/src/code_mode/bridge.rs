//! Answers every call of a script with the services that answer other clients' requests.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Instant,
};

use async_trait::async_trait;
use capdeck_backend::{CallContext, CallError, CallerHandle, ErrorCode};
use capdeck_catalog::{Capability, RawMembers};
use capdeck_definition::BackendKind;
use capdeck_sandbox::{
    CallFailure, CallHandler, CallRequest, DeckOperation, HandlerResponse, call_text,
};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use tokio::sync::watch;

use super::{data, failure, library, may_code, types};
use crate::{
    CallConsent, CallForm, FlowGuard, RequestContext, Session, ToolRequest,
    audit::elapsed_ms,
    calls::{self, nearest_of},
    check,
    deck_snapshot::DeckSnapshot,
    journal::MAX_ANSWER_BYTES,
    meta_tools,
    operations::{self, OperationArguments, OperationResult},
    raw,
};

/// The calls of one run.
pub(crate) struct SandboxBridge {
    session: Arc<Session>,
    caller: Arc<RunCaller>,
    context: CallContext,
    /// What every tool call of the run has in common.
    template: ToolRequest,
    /// Only a recorded run can pause.
    can_pause: bool,
    /// Bytes of results so far. A run whose results are too large to store cannot be resumed, so it
    /// does not pause.
    answered: AtomicUsize,
}

impl SandboxBridge {
    pub(super) fn new(
        request: &RequestContext<'_>,
        consent: CallConsent,
        flow: Option<Arc<FlowGuard>>,
        can_pause: bool,
    ) -> Result<Self, CallError> {
        let (session, context) = (request.session(), request.call);
        let session = session
            .me
            .upgrade()
            .ok_or_else(|| CallError::new(ErrorCode::Cancelled, "the client disconnected"))?;
        let caller = Arc::new(RunCaller::new(context.caller.clone()));
        let context = CallContext { caller: caller.clone(), ..context.clone() };
        let template = ToolRequest {
            consent,
            flow,
            whole: true,
            form: CallForm::Script,
            ..ToolRequest::default()
        };
        let answered = AtomicUsize::new(0);
        Ok(Self { session, caller, context, template, can_pause, answered })
    }

    pub(crate) fn flow(&self) -> Option<&FlowGuard> {
        self.template.flow.as_deref()
    }

    pub(crate) fn add_answered(&self, bytes: usize) {
        self.answered.fetch_add(bytes, Ordering::Relaxed);
    }
}

#[async_trait]
impl CallHandler for SandboxBridge {
    fn waiting_for_people(&self) -> Option<watch::Receiver<usize>> {
        Some(self.caller.open.subscribe())
    }

    /// A call whose run has ended is cancelled and still awaited, so that it has its audit line.
    async fn call(&self, call: CallRequest) -> HandlerResponse {
        let cancel = self.context.cancel.child_token();
        let _ends_with_the_run = cancel.clone().drop_guard();
        let context = CallContext { cancel, ..self.context.clone() };
        let (session, template) = (self.session.clone(), self.template.clone());
        // Boxed first: the runtime moves the future several times, and it is large.
        let work =
            Box::pin(async move { answer(session.request(&context), &call, template).await });
        let response = tokio::spawn(work).await.unwrap_or_else(|error| {
            let bug = CallError::internal(error);
            HandlerResponse::failed(failure::of(&bug))
        });
        if let Ok(data) = &response.outcome {
            self.add_answered(data.get().len());
        }
        response
    }

    /// A run pauses at the calls that need a person who could not be asked.
    fn is_waiting(&self, failure: &CallFailure) -> bool {
        let required = || failure.details.as_ref()?.get("requiredCapability")?.as_str();
        let needs_person = failure.code == ErrorCode::ApprovalRequired.as_str()
            || failure.code == ErrorCode::UnsupportedCapability.as_str()
                && required() == Some("elicitation");
        self.can_pause && needs_person && self.answered.load(Ordering::Relaxed) < MAX_ANSWER_BYTES
    }
}

async fn answer(
    request: RequestContext<'_>,
    call: &CallRequest,
    template: ToolRequest,
) -> HandlerResponse {
    let Some(id) = &call.capability else {
        let answer = library::answer(&request, call.method, &call.args).await;
        return HandlerResponse {
            outcome: answer.map_err(|error| failure::of(&error)),
            meta: None,
        };
    };
    let started = Instant::now();
    let mut facts = raw::object([("capletId", json!(id))]);
    let flow = template.flow.clone();
    let outcome = match coded_capability(&request.deck, id) {
        Ok(capability) => call_handle(request, &capability, call, template, &mut facts).await,
        Err(error) => Err(failure::of(&error)),
    };
    if let (Some(guard), Ok(data)) = (flow, &outcome) {
        guard.record_data(id, call.method, data);
    }
    raw::set(&mut facts, "durationMs", &elapsed_ms(started));
    HandlerResponse { outcome, meta: serde_json::value::to_raw_value(&facts).ok() }
}

#[derive(Deserialize)]
struct ToolArguments {
    name: String,
    args: Option<Box<RawValue>>,
    #[serde(default)]
    fields: Vec<String>,
}

/// A capability that the client's scripts may not use gives the same error as an unknown one.
pub(super) fn coded_capability(
    deck: &DeckSnapshot<'_>,
    id: &str,
) -> Result<Arc<Capability>, CallError> {
    let capability = deck.capability(id)?;
    if may_code(deck, &deck.view(), &capability) {
        return Ok(capability);
    }
    Err(CallError::new(ErrorCode::ServerNotFound, format!("there is no capability `{id}`"))
        .hint("find one with `caplets.search`"))
}

async fn call_handle(
    request: RequestContext<'_>,
    capability: &Arc<Capability>,
    call: &CallRequest,
    template: ToolRequest,
    facts: &mut RawMembers,
) -> Result<Box<RawValue>, CallFailure> {
    let failed = |error: CallError| failure::of(&error);
    let definition = &capability.definition;
    let id = definition.id.as_str();
    if call.method == DeckOperation::CallTool {
        let ToolArguments { name: tool, args, fields } =
            arguments(call.method, &call.args).map_err(failed)?;
        let capability = id.to_owned();
        let called = ToolRequest { capability, tool, arguments: args, fields, ..template };
        return call_tool(request, called, facts).await;
    }
    let fields: Map<String, Value> = arguments(call.method, &call.args).map_err(failed)?;
    match call.method {
        DeckOperation::Check => {
            let report = check::check(&request, id).await;
            match &report.outcome {
                Ok(_) => raw::text(&report.to_json()).map_err(failed),
                Err(error) => Err(failure::not_ready(error)),
            }
        }
        DeckOperation::DescribeTool => {
            types::describe_tool(&request, capability, &fields).await.map_err(failed)
        }
        // A script may ask every capability for its resources; most kinds have none.
        operation
            if operation.lists_of_mcp_server() && definition.backend.kind() != BackendKind::Mcp =>
        {
            raw::text(&json!({ "items": [] })).map_err(failed)
        }
        operation => {
            let kind = definition.backend.kind();
            let arguments = OperationArguments::new(&definition.id, kind, operation, fields);
            let arguments = arguments.map_err(failed)?;
            let rest = RawMembers::new();
            let answer = operations::run(&request, capability, operation, &arguments, &rest).await;
            answer.and_then(OperationResult::into_data).map_err(failed)
        }
    }
}

async fn call_tool(
    request: RequestContext<'_>,
    called: ToolRequest,
    facts: &mut RawMembers,
) -> Result<Box<RawValue>, CallFailure> {
    raw::set(facts, "tool", &called.tool);
    let session = request.session();
    let result = calls::call(request.clone(), &called).await.map_err(|error| {
        let call = nearest_of(&error).map(|near| call_text(&called.capability, near, "…"));
        match call {
            Some(call) => failure::of(&error.hint(format!("did you mean `{call}`?"))),
            None => failure::of(&error),
        }
    })?;
    let mut parts = data::read(&result);
    let artifacts = session.host.artifacts();
    if let Some(stored) = parts.stored.take().filter(|_| !parts.is_error)
        && let Some(whole) = data::whole_body(artifacts, stored).await
    {
        parts.data = whole;
    }
    facts.extend(parts.facts);
    if parts.is_error {
        // Its list may have been read for this call.
        let deck = request.renewed().deck;
        let tool = deck.catalog().tool(&called.capability, &called.tool).cloned();
        let (id, name) = (&called.capability, &called.tool);
        return Err(failure::of_tool(id, name, &parts.data, facts, tool.as_deref()));
    }
    Ok(parts.data)
}

pub(super) fn arguments<'a, T: Deserialize<'a>>(
    method: DeckOperation,
    args: &'a RawValue,
) -> Result<T, CallError> {
    meta_tools::parse(method.script_name(), Some(args))
}

/// The client behind a run, for the calls of the run.
struct RunCaller {
    client: Arc<dyn CallerHandle>,
    steps: AtomicU64,
    open: watch::Sender<usize>,
}

impl RunCaller {
    fn new(client: Arc<dyn CallerHandle>) -> Self {
        Self { client, steps: AtomicU64::new(0), open: watch::Sender::new(0) }
    }
}

struct RunQuestionGuard<'a>(&'a watch::Sender<usize>);

impl<'a> RunQuestionGuard<'a> {
    fn new(open: &'a watch::Sender<usize>) -> Self {
        open.send_modify(|open| *open += 1);
        Self(open)
    }
}

impl Drop for RunQuestionGuard<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

#[async_trait]
impl CallerHandle for RunCaller {
    fn wants_progress(&self) -> bool {
        self.client.wants_progress()
    }

    /// Each call counts its own progress; the client gets the steps of the run, which only grow.
    fn progress(&self, params: RawMembers) {
        let step = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        let mut progress = raw::object([("progress", json!(step))]);
        progress.extend(params.into_iter().filter(|(key, _)| key == "message"));
        self.client.progress(progress);
    }

    fn notify(&self, method: &str, params: Option<RawMembers>) {
        self.client.notify(method, params);
    }

    async fn request(&self, method: &str, params: Option<RawMembers>) -> raw::Answer {
        let _open = RunQuestionGuard::new(&self.open);
        self.client.request(method, params).await
    }

    /// The run handles questions: the answer goes to the call that asked, and the script continues.
    fn takes_input_required(&self) -> bool {
        false
    }
}
