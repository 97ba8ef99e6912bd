//! The way of every call out of a script, to where requests of other clients go.

use std::{sync::Arc, time::Instant};

use async_trait::async_trait;
use capdeck_backend::{CallContext, CallError, ErrorCode};
use capdeck_catalog::{Capability, RawObject};
use capdeck_sandbox::{CallAnswer, CallOut, CallRequest, Method, call_text};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use tokio::sync::watch;

use super::{data, failure, run_caller::RunCaller};
use crate::{
    CallForm, Consent, FlowGuard, Session, ToolRequest, call_form::nearest_of,
    deck_snapshot::DeckSnapshot, raw,
};

/// Answers the calls of one run as calls of the client that runs it.
pub(super) struct Bridge {
    session: Arc<Session>,
    caller: Arc<RunCaller>,
    context: CallContext,
    manner: Manner,
}

/// What goes along with every call of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Manner {
    pub(super) consent: Consent,
    pub(super) flow: Option<Arc<FlowGuard>>,
}

impl Bridge {
    pub(super) fn new(
        session: &Session,
        context: &CallContext,
        manner: Manner,
    ) -> Result<Self, CallError> {
        let session = session
            .me
            .upgrade()
            .ok_or_else(|| CallError::new(ErrorCode::Cancelled, "the client has gone"))?;
        let caller = Arc::new(RunCaller::new(context.caller.clone()));
        let context = CallContext { caller: caller.clone(), ..context.clone() };
        Ok(Self { session, caller, context, manner })
    }
}

#[async_trait]
impl CallOut for Bridge {
    /// People take their time.
    fn waiting_for_people(&self) -> Option<watch::Receiver<usize>> {
        Some(self.caller.open_questions())
    }

    /// A call whose run has ended is cancelled and still comes to its end, which the audit trail tells.
    async fn call(&self, call: CallRequest) -> CallAnswer {
        let cancel = self.context.cancel.child_token();
        let _ends_with_the_run = cancel.clone().drop_guard();
        let context = CallContext { cancel, ..self.context.clone() };
        let (session, manner) = (self.session.clone(), self.manner.clone());
        // Boxed first: the runtime moves what it is given several times, and this is large.
        let work = Box::pin(async move { answer(&session, &call, manner, &context).await });
        tokio::spawn(work).await.unwrap_or_else(|error| {
            let bug = CallError::new(ErrorCode::InternalError, error.to_string());
            CallAnswer::failed(failure::of(&bug))
        })
    }
}

async fn answer(
    session: &Session,
    call: &CallRequest,
    manner: Manner,
    context: &CallContext,
) -> CallAnswer {
    let Some(id) = &call.capability else {
        let answer = session.library(call.method, &call.args, context).await;
        return match answer {
            Ok(data) => CallAnswer::data(data),
            Err(error) => CallAnswer::failed(failure::of(&error)),
        };
    };
    let started = Instant::now();
    let mut facts = raw::object([("capletId", json!(id))]);
    let deck = session.snapshot();
    let outcome = match session.handle_in(&deck, id) {
        Ok(_) => session.call_handle(deck, id, call, manner, &mut facts, context).await,
        Err(error) => Err(failure::of(&error)),
    };
    let elapsed = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    facts.extend(raw::object([("durationMs", json!(elapsed))]));
    CallAnswer { outcome, meta: serde_json::value::to_raw_value(&facts).ok() }
}

/// The arguments of `callTool`.
#[derive(Deserialize)]
struct Called {
    name: String,
    #[serde(default)]
    args: Option<Box<RawValue>>,
    #[serde(default)]
    fields: Vec<String>,
}

impl Called {
    fn request(self, id: &str, manner: Manner) -> ToolRequest {
        ToolRequest {
            capability: id.to_owned(),
            tool: self.name,
            arguments: self.args,
            fields: self.fields,
            consent: manner.consent,
            flow: manner.flow,
            whole: true,
            form: CallForm::Script,
            ..ToolRequest::default()
        }
    }
}

type Outcome = Result<Box<RawValue>, capdeck_sandbox::CallFailure>;

impl Session {
    /// Refuses a capability that this client's scripts may not use, in the words for one that does not exist.
    pub(super) fn handle(&self, id: &str) -> Result<Arc<Capability>, CallError> {
        self.handle_in(&self.snapshot(), id)
    }

    /// The same in one catalog.
    fn handle_in(&self, deck: &DeckSnapshot<'_>, id: &str) -> Result<Arc<Capability>, CallError> {
        let capability = deck.capability(id)?;
        if self.may_code_in(&deck.view(), &capability) {
            return Ok(capability);
        }
        Err(CallError::new(ErrorCode::ServerNotFound, format!("there is no capability `{id}`"))
            .hint("`caplets.search` finds what there is"))
    }

    async fn call_handle(
        &self,
        deck: DeckSnapshot<'_>,
        id: &str,
        call: &CallRequest,
        manner: Manner,
        facts: &mut RawObject,
        context: &CallContext,
    ) -> Outcome {
        let told = |error: CallError| failure::of(&error);
        if call.method == Method::CallTool {
            let called: Called = arguments(call.method, &call.args).map_err(told)?;
            let request = called.request(id, manner);
            return self.call_from_code(deck, request, facts, context).await;
        }
        let fields: Map<String, Value> = arguments(call.method, &call.args).map_err(told)?;
        match operation(call.method) {
            Some("check") => {
                let report = self.check(id, context).await;
                match &report.outcome {
                    Ok(_) => super::library::answer(&report.to_json()).map_err(told),
                    Err(error) => Err(failure::not_ready(error)),
                }
            }
            Some("describe_tool") => {
                self.describe_for_code(id, &fields, context).await.map_err(told)
            }
            Some(operation) => {
                self.run_operation(deck, id, operation, fields, context).await.map_err(told)
            }
            None => {
                let message = format!("`{}` is no method of a handle", call.method.name());
                Err(told(CallError::new(ErrorCode::UnknownOperation, message)))
            }
        }
    }

    async fn call_from_code(
        &self,
        deck: DeckSnapshot<'_>,
        request: ToolRequest,
        facts: &mut RawObject,
        context: &CallContext,
    ) -> Outcome {
        facts.extend(raw::object([("tool", json!(request.tool))]));
        let result = self.call_in(deck, &request, context).await.map_err(|error| {
            let call = nearest_of(&error).map(|near| call_text(&request.capability, near, "…"));
            match call {
                Some(call) => failure::of(&error.hint(format!("did you mean `{call}`?"))),
                None => failure::of(&error),
            }
        })?;
        let mut parts = data::read(&result);
        let artifacts = self.host.artifacts();
        if let Some(whole) = parts.kept.take().filter(|_| !parts.is_error) {
            parts.restore(data::whole_body(artifacts, whole).await);
        }
        facts.extend(parts.facts);
        if parts.is_error {
            // A hint for the next call, which is decided by the catalog of then.
            let catalog = self.catalog();
            let tool = catalog.tool(&request.capability, &request.tool).cloned();
            let (id, name) = (&request.capability, &request.tool);
            return Err(failure::of_tool(id, name, &parts.data, facts, tool.as_deref()));
        }
        Ok(parts.data)
    }
}

pub(super) fn arguments<'a, T: Deserialize<'a>>(
    method: Method,
    args: &'a RawValue,
) -> Result<T, CallError> {
    serde_json::from_str(args.get()).map_err(|error| {
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        CallError::new(ErrorCode::RequestInvalid, format!("`{}`: {message}", method.name()))
    })
}

/// The operation of a wrapper that a method stands for.
fn operation(method: Method) -> Option<&'static str> {
    Some(match method {
        Method::Inspect => "inspect",
        Method::Check => "check",
        Method::Tools => "tools",
        Method::SearchTools => "search_tools",
        Method::DescribeTool => "describe_tool",
        Method::Resources => "resources",
        Method::SearchResources => "search_resources",
        Method::ResourceTemplates => "resource_templates",
        Method::ReadResource => "read_resource",
        Method::Prompts => "prompts",
        Method::SearchPrompts => "search_prompts",
        Method::GetPrompt => "get_prompt",
        Method::Complete => "complete",
        Method::CallTool
        | Method::Search
        | Method::Types
        | Method::ReadArtifact
        | Method::ReadLogs
        | Method::ReadRecovery => return None,
    })
}
