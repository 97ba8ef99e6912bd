//! The one path of every tool call: resolve, check arguments, gate, backend, audit.
//!
//! Every step reads the deck of one [`RequestContext`].
//! `docs/design/047-when-lists-are-read-again.md` describes what a reload during a call does.

mod call_report;
mod resolve;
mod tool_request;
mod unlisted;

use std::{sync::Arc, time::SystemTime};

use capdeck_backend::{CallError, ErrorCode, ToolCall};
use capdeck_catalog::Capability;
use capdeck_definition::Backend;
use serde_json::value::RawValue;

pub(crate) use self::resolve::ResolvedCall;
use self::{
    call_report::{CallRejection, CallReport},
    resolve::resolve,
    unlisted::find_unlisted,
};
pub use self::{
    resolve::find_tool,
    tool_request::{CallForm, ToolRequest},
};
pub(crate) use self::{resolve::refresh_list, tool_request::nearest_of};
use crate::{
    RequestContext, SessionScope, ToolRoute, audit,
    capsules::call_capsules,
    client_questions::ClientQuestions,
    consent::{self, ApprovalSource},
    flow::DataFlow,
    gate, local_artifacts, long_result, meta_tools, operations, projection, raw,
    spans::CallSpan,
    tasks::{self, TaskCall, TaskHandling},
};

/// How often a call is decided again because the catalog was replaced.
const MAX_ROUNDS: usize = 8;

/// Calls a tool by its listed name. `Ok(None)` when no such tool is listed.
pub async fn call_listed(
    request: RequestContext<'_>,
    name: &str,
    mut called: ToolRequest,
) -> Result<Option<Box<RawValue>>, CallError> {
    let (request, route) = match request.deck.view().route(name) {
        Some(route) => (request, route),
        None => match find_unlisted(&request, name).await? {
            Some(found) => found,
            None => return Ok(None),
        },
    };
    let outcome = match route {
        ToolRoute::Tool { capability, tool } => {
            (called.capability, called.tool) = (capability, tool);
            called.form = CallForm::ListedName(name.to_owned());
            call(request, &called).await
        }
        ToolRoute::Wrapper { capability } => {
            operations::call_wrapper(&request, &capability, &called).await
        }
        ToolRoute::Deck(operation) => meta_tools::run(&request, operation, called).await,
    };
    outcome.map(Some)
}

/// Calls a tool. Returns an MCP `CallToolResult`, of MCP servers byte for byte.
///
/// The call is decided by a catalog that is still in force at the end: a person may take long to answer. If the catalog
/// was replaced, the call is decided again, and the person is asked again if the question changed.
pub async fn call(mut request: RequestContext<'_>, call: &ToolRequest) -> raw::Answer {
    let mut trail = CallReport::begin(request.session(), call);
    let mut earlier = None;
    for _ in 0..MAX_ROUNDS {
        let resolved = resolve(request, call).await.map_err(|error| trail.refuse(error))?;
        let current = &resolved.request;
        let refused = |error| CallRejection::for_call(&current.deck, call, error);
        let flow = flow_into(&resolved);
        let asking = flow.as_ref().filter(|flow| flow.asks);
        let asks = gate::requires_approval(&resolved);
        let asks = asks.map_err(|error| trail.refuse(refused(error)))?;
        let approval = match asks || asking.is_some() {
            true => {
                let asking = consent::require_approval(&resolved, asking, &mut earlier);
                asking.await.map_err(|error| trail.refuse(refused(error)))?
            }
            false => ApprovalSource::Policy,
        };
        if approval != ApprovalSource::Policy {
            confirm_definition(current, &resolved.capability).await;
        }
        audit::require_trail(current.host()).map_err(|error| trail.refuse(refused(error)))?;
        if current.deck.is_current() {
            trail.allow(approval, flow);
            let outcome = make(&resolved, trail.span()).await;
            trail.end(&outcome);
            return outcome;
        }
        request = current.renewed();
    }
    let message = format!("`{}` keeps changing while it is called", call.capability);
    let error = CallError::unavailable(message)
        .hint("wait until its file is no longer written, then call again");
    Err(trail.refuse(CallRejection { error: Box::new(error), by_gate: false }))
}

/// Returns whether a call would need approval, after every check that needs no call.
pub async fn preview(request: RequestContext<'_>, call: &ToolRequest) -> Result<bool, CallError> {
    let resolved = resolve(request, call).await.map_err(|refusal| *refusal.error)?;
    let ResolvedCall { request, capability, tool, .. } = resolved;
    match tool {
        Some(tool) => consent::is_asked_about(&request.deck, &capability, &tool).await,
        None => Ok(false),
    }
}

/// A person approved a definition. If the server has another one by now, the catalog is replaced
/// and the person is asked again. If the server does not answer, the known one remains.
async fn confirm_definition(request: &RequestContext<'_>, capability: &Capability) {
    let connections = request.connections();
    let checking = connections.require_current_list(&capability.definition, request.call);
    if let Err(error) = checking.await {
        tracing::debug!(%error, "the approved definition could not be read again");
    }
}

/// Makes an allowed call, and shapes its result for the caller.
async fn make(resolved: &ResolvedCall<'_>, span: Option<&CallSpan>) -> raw::Answer {
    let ResolvedCall { request, call, capability, tool } = resolved;
    let (session, host) = (request.session(), request.host());
    let (definition, tool) = (&capability.definition, tool.as_ref());
    let began = SystemTime::now();
    let outcome = match definition.backend {
        Backend::Caplets(_) => return call_member(request, capability, call).await,
        Backend::Capsules => call_capsules(request, call).await,
        // A server that cannot be reached is an outcome of the call, too.
        _ => match request.connections().lease(definition, request.call).await {
            Ok(lease) => {
                let audience = session.connections.audience();
                let (questions, context) = ClientQuestions::watch(request.call, audience);
                let sent = ToolCall {
                    name: &call.tool,
                    arguments: call.arguments.as_deref(),
                    meta: match span {
                        Some(span) => Some(span.meta(call.meta.clone())),
                        None => call.meta.clone(),
                    },
                    rest: call.rest.clone(),
                    unformatted: call.unformatted,
                };
                let (tool, context) = (tool.map(Arc::as_ref), &context);
                let outcome = match TaskHandling::of_call(request, definition, tool) {
                    Some(handling) => {
                        let target = TaskCall { request, lease, capability, tool, context };
                        tasks::call_tool(handling, target, sent).await
                    }
                    None => lease.call_tool(sent, context).await,
                };
                match session.scope {
                    SessionScope::Transparent(_) => outcome,
                    _ => questions.explain(&call.capability, &call.tool, outcome),
                }
            }
            Err(error) => Err(error),
        },
    };
    if let Some(span) = span {
        span.backend_answered(began);
    }
    host.0.health.note_outcome(definition, outcome.as_ref().err());
    let result = outcome?;
    let config = request.deck.catalog().config();
    if let Some(tool) = tool {
        host.0.shapes.observe(config, definition, tool, &result);
    }
    let chosen = match call.fields.as_slice() {
        [] => result,
        fields => projection::apply(fields, host.artifacts(), result).await?,
    };
    host.0.usage.note(&definition.id);
    let chosen = match session.shares_files && !matches!(definition.backend, Backend::Mcp(_)) {
        true => local_artifacts::with_paths(host.artifacts(), chosen),
        false => chosen,
    };
    let sent = match call.whole {
        true => chosen,
        false => {
            let fitted = long_result::fit_result(session, config, capability, chosen).await?;
            match (&definition.backend, &session.scope) {
                // What a server sent stays as it is; everything else is made here.
                (Backend::Mcp(_), _) | (_, SessionScope::Transparent(_)) => fitted,
                _ => session.as_read(Ok(fitted))?,
            }
        }
    };
    if capability.tools_only || session.access.is_some() {
        session.known_artifacts.note(&sent);
    }
    Ok(sent)
}

/// A set's tool is a member's wrapper; the inner call comes back through [`call`].
async fn call_member(
    request: &RequestContext<'_>,
    set: &Capability,
    call: &ToolRequest,
) -> raw::Answer {
    let set = &set.definition.id;
    let mut members = request.deck.catalog().capabilities();
    let member = members.find(|member| {
        let definition = &member.definition;
        definition.member_of.as_ref() == Some(set)
            && operations::member_name(set, &definition.id) == call.tool
    });
    let member = member.ok_or_else(|| {
        let message = format!("`{set}` has no member `{}`", call.tool);
        CallError::new(ErrorCode::ToolNotFound, message)
    })?;
    let id = member.definition.id.as_str();
    Box::pin(operations::call_wrapper(request, id, call)).await
}

fn flow_into(resolved: &ResolvedCall<'_>) -> Option<DataFlow> {
    let ResolvedCall { request, call, capability, tool } = resolved;
    let guard = call.flow.as_ref()?;
    if let Backend::Caplets(_) = capability.definition.backend {
        return None;
    }
    let ids = request.deck.catalog().with_sets(capability);
    guard.check(&ids, &call.tool, tool.as_deref(), call.arguments.as_deref())
}

/// Whether the tool reported an error. Most results do not contain the word and are not parsed.
pub(crate) fn is_tool_error(result: &RawValue) -> bool {
    if !result.get().contains("isError") {
        return false;
    }
    #[derive(serde::Deserialize)]
    struct ToolErrorFlag {
        #[serde(default, rename = "isError")]
        is_error: bool,
    }
    serde_json::from_str::<ToolErrorFlag>(result.get()).is_ok_and(|flag| flag.is_error)
}
