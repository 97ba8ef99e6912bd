//! The one path of every tool call: resolve, check arguments, gate, backend, audit.
//!
//! Every step reads one [`DeckSnapshot`]. What happens when a reload comes between is in
//! `docs/design/047-when-lists-are-read-again.md`.

use std::{sync::Arc, time::SystemTime};

use capdeck_backend::{CallContext, CallError, ErrorCode, ToolCall};
use capdeck_catalog::{Capability, RawObject, Tool};
use capdeck_definition::Backend;
use serde_json::value::RawValue;

use crate::{
    CallForm, Consent, FlowGuard, Scope, Session,
    audit::TOOL_CALL,
    consent::{EarlierApproval, GatedCall, Passage},
    deck_snapshot::DeckSnapshot,
    flow::Flow,
    projection,
    questions::Questions,
    resolve::{Refusal, Resolved},
    set_tools,
    spans::CallSpan,
    tasks::Calling,
};

/// A tool call in the host's words.
#[derive(Debug, Clone, Default)]
pub struct ToolRequest {
    pub capability: String,
    /// The backend's own name for the tool.
    pub tool: String,
    /// The arguments object, untouched. `None` when the caller sent none.
    pub arguments: Option<Box<RawValue>>,
    /// The caller's `_meta` without its progress token.
    pub meta: Option<RawObject>,
    /// Other members of the request, passed through.
    pub rest: RawObject,
    /// Dotted paths of the structured result to keep; empty keeps everything.
    pub fields: Vec<String>,
    /// What the person at the command line said. Set by that command line alone, here or through its own channel.
    pub consent: Consent,
    /// Follows data between the calls of a script; other callers have none.
    pub flow: Option<Arc<FlowGuard>>,
    /// A program reads the result and gets all of it, however large; nothing that comes over a wire sets this.
    pub whole: bool,
    /// Leave the result as the backend gave it, although a capability file names a formatter.
    pub unformatted: bool,
    /// How the caller writes this call; hints show calls in the same form.
    pub form: CallForm,
}

/// How often a call is decided again because the catalog was replaced meanwhile.
const MAX_ROUNDS: usize = 8;

/// A call that may run, with the catalog that decided about it.
struct AdmittedCall<'a> {
    resolved: Resolved<'a>,
    passage: Passage,
    flow: Option<Flow>,
}

impl Session {
    /// Calls a tool. The answer is an MCP `CallToolResult`, for MCP servers byte for byte theirs.
    pub async fn call(
        &self,
        request: &ToolRequest,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        self.call_in(self.snapshot(), request, context).await
    }

    /// The same, beginning with a catalog in which the caller found the tool.
    pub(crate) async fn call_in<'a>(
        &'a self,
        deck: DeckSnapshot<'a>,
        request: &'a ToolRequest,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let span = self.host.begin_span(request);
        let mut line = self.underway(TOOL_CALL, &request.capability, &request.tool);
        let outcome = match self.admit_call(deck, request, context).await {
            Ok(mut call) => {
                line.approved = Some(call.passage.as_str());
                line.data_from = call.flow.take().map(|flow| flow.from).unwrap_or_default();
                self.run_call(&call.resolved, span.as_ref(), context).await
            }
            Err(Refusal { error, by_gate }) => {
                line.approved = by_gate.then_some("refused");
                Err(*error)
            }
        };
        let outcome_name = match &outcome {
            Ok(result) if is_tool_error(result) => "tool_error",
            Ok(_) => "ok",
            Err(error) => error.code.as_str(),
        };
        line.ended(outcome_name);
        if let Some(span) = span {
            span.end(request, &self.client_name, outcome_name);
        }
        outcome
    }

    /// Whether a call would need a person's word, after every check that can be made without calling.
    pub async fn preview(
        &self,
        request: &ToolRequest,
        context: &CallContext,
    ) -> Result<bool, CallError> {
        let resolved = self.resolve(self.snapshot(), request, context).await;
        let Resolved { deck, capability, tool, .. } = resolved.map_err(|refusal| *refusal.error)?;
        match tool {
            Some(tool) => self.is_asked_about_in(&deck, &capability, &tool).await,
            None => Ok(false),
        }
    }

    /// Decides about a call, by one catalog that is still in force at the end: a person may take long to answer. What
    /// was decided by one that was replaced meanwhile is decided again, and a person who approved is asked again if
    /// the question is another one.
    async fn admit_call<'a>(
        &'a self,
        mut deck: DeckSnapshot<'a>,
        request: &'a ToolRequest,
        context: &CallContext,
    ) -> Result<AdmittedCall<'a>, Refusal> {
        let mut earlier = None;
        for _ in 0..MAX_ROUNDS {
            let resolved = self.resolve(deck, request, context).await?;
            let gated = self.gate(&resolved, &mut earlier, context).await;
            let (passage, flow) =
                gated.map_err(|error| Refusal::of(&resolved.deck, request, error))?;
            if passage != Passage::Policy {
                self.confirm_definition(&resolved.capability, context).await;
            }
            if resolved.deck.is_current() {
                return Ok(AdmittedCall { resolved, passage, flow });
            }
            deck = self.snapshot();
        }
        let message = format!("`{}` keeps changing while it is called", request.capability);
        let error = CallError::new(ErrorCode::ServerUnavailable, message)
            .hint("wait until its file is no longer written, then call again");
        Err(Refusal { error: Box::new(error), by_gate: false })
    }

    /// A person approved a definition. If the server has another one by now, the catalog is replaced and the person
    /// asked again. A server that does not answer leaves the one that is known.
    async fn confirm_definition(&self, capability: &Capability, context: &CallContext) {
        let (definition, connections) = (&capability.definition, &self.connections);
        let checked = self.host.require_current_list(definition, connections, context).await;
        if let Err(error) = checked {
            tracing::debug!(%error, "the approved definition could not be read again");
        }
    }

    async fn gate(
        &self,
        resolved: &Resolved<'_>,
        earlier: &mut Option<EarlierApproval>,
        context: &CallContext,
    ) -> Result<(Passage, Option<Flow>), CallError> {
        let Resolved { deck, request, capability, tool } = resolved;
        let tool = tool.as_deref();
        if capability.definition.backend != Backend::Capsules {
            // Capsules are granted by roles of their own.
            deck.require_use(&request.capability)?;
        }
        let flow = flow_into(deck, capability, tool, request);
        let asked = flow.as_ref().filter(|flow| flow.asks);
        let call = GatedCall { deck, capability, tool, request, flow: asked };
        let passage = self.pass(&call, earlier, context).await?;
        Ok((passage, flow))
    }

    async fn run_call(
        &self,
        call: &Resolved<'_>,
        span: Option<&CallSpan>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let Resolved { deck, request, capability, tool } = call;
        if let Backend::Caplets(_) = capability.definition.backend {
            return self.call_member(deck, capability, request, context).await;
        }
        let began = SystemTime::now();
        let outcome = self.call_backend(call, span, context).await;
        if let Some(span) = span {
            span.backend_answered(began);
        }
        self.host.note_outcome(&capability.definition, outcome.as_ref().err());
        let result = outcome?;
        let config = deck.catalog().config();
        if let Some(tool) = tool {
            self.host.observe(config, &capability.definition, tool, &result);
        }
        let chosen = match request.fields.as_slice() {
            [] => result,
            fields => projection::apply(fields, self.host.artifacts(), result).await?,
        };
        self.host.0.usage.note(&capability.definition.id);
        let told =
            if request.whole { chosen } else { self.fit(config, capability, chosen).await? };
        if capability.tools_only || self.admission.is_some() {
            self.handed_out.note(&told);
        }
        Ok(told)
    }

    async fn call_backend(
        &self,
        call: &Resolved<'_>,
        span: Option<&CallSpan>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let (capability, tool) = (&*call.capability, call.tool.as_deref());
        let request = &*call.request;
        if let Backend::Capsules = capability.definition.backend {
            return self.call_capsules(request, context).await;
        }
        let (questions, context) = Questions::watch(context, self.connections.audience());
        let lease = self.lease(capability, &context).await?;
        let meta = request.meta.clone();
        let traced = match span {
            Some(span) => Some(span.meta(meta)),
            None => meta,
        };
        let call = ToolCall {
            name: &request.tool,
            arguments: request.arguments.as_deref(),
            meta: traced,
            rest: request.rest.clone(),
            unformatted: request.unformatted,
        };
        let calling = Calling { lease, capability, tool, context: &context };
        let outcome = self.call_tool(calling, call).await;
        if let Scope::Transparent(_) = self.scope {
            return outcome;
        }
        questions.explain(&request.capability, &request.tool, outcome)
    }

    /// A set's tool is a member's wrapper; the inner call comes back through [`Session::call_in`].
    async fn call_member(
        &self,
        deck: &DeckSnapshot<'_>,
        set: &Capability,
        request: &ToolRequest,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let member = deck
            .catalog()
            .capabilities()
            .filter(|member| member.definition.member_of.as_ref() == Some(&set.definition.id))
            .find(|member| {
                set_tools::member_name(&set.definition.id, &member.definition.id) == request.tool
            })
            .ok_or_else(|| {
                CallError::new(
                    ErrorCode::ToolNotFound,
                    format!("`{}` has no member `{}`", set.definition.id, request.tool),
                )
            })?;
        Box::pin(self.run_wrapper(deck.clone(), member.definition.id.as_str(), request, context))
            .await
    }
}

/// The data of other capabilities that a script carries into a call.
fn flow_into(
    deck: &DeckSnapshot<'_>,
    capability: &Capability,
    tool: Option<&Tool>,
    request: &ToolRequest,
) -> Option<Flow> {
    let guard = request.flow.as_ref()?;
    // A set's tool only leads to its member.
    if let Backend::Caplets(_) = capability.definition.backend {
        return None;
    }
    let ids = deck.catalog().with_sets(capability);
    guard.check(&ids, &request.tool, tool, request.arguments.as_deref())
}

/// Whether the tool itself reported an error. Most results do not even hold the word and are not read.
pub(crate) fn is_tool_error(result: &RawValue) -> bool {
    if !result.get().contains("isError") {
        return false;
    }
    #[derive(serde::Deserialize)]
    struct Flag {
        #[serde(default, rename = "isError")]
        is_error: bool,
    }
    serde_json::from_str::<Flag>(result.get()).is_ok_and(|flag| flag.is_error)
}
