//! Answers every call of a script with the services that answer other clients' requests.

use std::{sync::Arc, time::Instant};

use async_trait::async_trait;
use capdeck_backend::{CallContext, CallError, ErrorCode};
use capdeck_catalog::{Capability, RawMembers};
use capdeck_sandbox::{
    CallFailure, CallHandler, CallRequest, DeckOperation, HandlerResponse, call_text,
};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use tokio::sync::watch;

use super::{data, failure, library, may_code, run_caller::RunCaller, types};
use crate::{
    CallConsent, CallForm, FlowGuard, RequestContext, Session, ToolRequest,
    calls::{self, nearest_of},
    check,
    deck_snapshot::DeckSnapshot,
    operations::{self, OperationArguments, OperationResult},
    raw,
};

pub(super) struct SandboxBridge {
    session: Arc<Session>,
    caller: Arc<RunCaller>,
    context: CallContext,
    options: CallOptions,
}

#[derive(Debug, Clone, Default)]
pub(super) struct CallOptions {
    pub(super) consent: CallConsent,
    pub(super) flow: Option<Arc<FlowGuard>>,
}

impl SandboxBridge {
    pub(super) fn new(
        session: &Session,
        context: &CallContext,
        options: CallOptions,
    ) -> Result<Self, CallError> {
        let session = session
            .me
            .upgrade()
            .ok_or_else(|| CallError::new(ErrorCode::Cancelled, "the client disconnected"))?;
        let caller = Arc::new(RunCaller::new(context.caller.clone()));
        let context = CallContext { caller: caller.clone(), ..context.clone() };
        Ok(Self { session, caller, context, options })
    }
}

#[async_trait]
impl CallHandler for SandboxBridge {
    fn waiting_for_people(&self) -> Option<watch::Receiver<usize>> {
        Some(self.caller.open_questions())
    }

    /// A call whose run has ended is cancelled and still awaited, so that it has its audit line.
    async fn call(&self, call: CallRequest) -> HandlerResponse {
        let cancel = self.context.cancel.child_token();
        let _ends_with_the_run = cancel.clone().drop_guard();
        let context = CallContext { cancel, ..self.context.clone() };
        let (session, options) = (self.session.clone(), self.options.clone());
        // Boxed first: the runtime moves the future several times, and it is large.
        let work = Box::pin(async move { answer(session.request(&context), &call, options).await });
        tokio::spawn(work).await.unwrap_or_else(|error| {
            let bug = CallError::new(ErrorCode::InternalError, error.to_string());
            HandlerResponse::failed(failure::of(&bug))
        })
    }
}

async fn answer(
    request: RequestContext<'_>,
    call: &CallRequest,
    options: CallOptions,
) -> HandlerResponse {
    let Some(id) = &call.capability else {
        return match library::answer(&request, call.method, &call.args).await {
            Ok(data) => HandlerResponse::data(data),
            Err(error) => HandlerResponse::failed(failure::of(&error)),
        };
    };
    let started = Instant::now();
    let mut facts = raw::object([("capletId", json!(id))]);
    let outcome = match coded_capability(&request.deck, id) {
        Ok(capability) => call_handle(request, &capability, call, options, &mut facts).await,
        Err(error) => Err(failure::of(&error)),
    };
    let elapsed = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    facts.extend(raw::object([("durationMs", json!(elapsed))]));
    HandlerResponse { outcome, meta: serde_json::value::to_raw_value(&facts).ok() }
}

#[derive(Deserialize)]
struct ToolArguments {
    name: String,
    #[serde(default)]
    args: Option<Box<RawValue>>,
    #[serde(default)]
    fields: Vec<String>,
}

impl ToolArguments {
    fn request(self, id: &str, options: CallOptions) -> ToolRequest {
        ToolRequest {
            capability: id.to_owned(),
            tool: self.name,
            arguments: self.args,
            fields: self.fields,
            consent: options.consent,
            flow: options.flow,
            whole: true,
            form: CallForm::Script,
            ..ToolRequest::default()
        }
    }
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
    options: CallOptions,
    facts: &mut RawMembers,
) -> Result<Box<RawValue>, CallFailure> {
    let failed = |error: CallError| failure::of(&error);
    let definition = &capability.definition;
    let id = definition.id.as_str();
    if call.method == DeckOperation::CallTool {
        let called: ToolArguments = arguments(call.method, &call.args).map_err(failed)?;
        return call_tool(request, called.request(id, options), facts).await;
    }
    let fields: Map<String, Value> = arguments(call.method, &call.args).map_err(failed)?;
    match call.method {
        DeckOperation::Check => {
            let report = check::check(&request, id).await;
            match &report.outcome {
                Ok(_) => library::to_json(&report.to_json()).map_err(failed),
                Err(error) => Err(failure::not_ready(error)),
            }
        }
        DeckOperation::DescribeTool => {
            types::describe_tool(&request, capability, &fields).await.map_err(failed)
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
    facts.extend(raw::object([("tool", json!(called.tool))]));
    let session = request.session();
    let result = calls::call(request, &called).await.map_err(|error| {
        let call = nearest_of(&error).map(|near| call_text(&called.capability, near, "…"));
        match call {
            Some(call) => failure::of(&error.hint(format!("did you mean `{call}`?"))),
            None => failure::of(&error),
        }
    })?;
    let mut parts = data::read(&result);
    let artifacts = session.host.artifacts();
    if let Some(whole) = parts.kept.take().filter(|_| !parts.is_error) {
        parts.restore(data::whole_body(artifacts, whole).await);
    }
    facts.extend(parts.facts);
    if parts.is_error {
        // Only a hint: the next call is decided by the catalog of that time.
        let catalog = session.catalog();
        let tool = catalog.tool(&called.capability, &called.tool).cloned();
        let (id, name) = (&called.capability, &called.tool);
        return Err(failure::of_tool(id, name, &parts.data, facts, tool.as_deref()));
    }
    Ok(parts.data)
}

pub(super) fn arguments<'a, T: Deserialize<'a>>(
    method: DeckOperation,
    args: &'a RawValue,
) -> Result<T, CallError> {
    serde_json::from_str(args.get()).map_err(|error| {
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        CallError::new(ErrorCode::RequestInvalid, format!("`{}`: {message}", method.script_name()))
    })
}
