//! Resolves a request to a tool, and checks its arguments, in one catalog.
//!
//! The lists in a catalog may be older than the server. A list rejects a request only after the
//! server was asked for it again.

use std::{borrow::Cow, sync::Arc};

use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::{Capability, Tool};
use capdeck_definition::{Backend, PinMode};
use serde_json::{Value, json, value::RawValue};

use super::{CallForm, ToolRequest, call_report::CallRejection};
use crate::{
    RequestContext, artifacts, deck_snapshot::ToolLookup, gate, pins::declares_its_tools,
    projection, raw,
};

pub(crate) struct ResolvedCall<'a> {
    pub(crate) request: RequestContext<'a>,
    pub(crate) call: Cow<'a, ToolRequest>,
    pub(crate) capability: Arc<Capability>,
    /// `None` only where the server itself decides.
    pub(crate) tool: Option<Arc<Tool>>,
}

#[derive(Default)]
struct ResolveAttempts {
    asked: Option<String>,
    has_rebuilt: bool,
}

impl ResolveAttempts {
    fn has_asked(&self, capability: &Capability) -> bool {
        self.asked.as_ref() == Some(&capability.definition.fingerprint)
    }

    fn may_ask(&mut self, capability: &Capability) -> bool {
        let is_first = !self.has_asked(capability);
        self.asked = Some(capability.definition.fingerprint.clone());
        is_first
    }
}

/// Finds the tool of a call and checks the arguments, in a catalog that is recent enough to decide by.
pub(super) async fn resolve<'a>(
    mut request: RequestContext<'a>,
    call: &'a ToolRequest,
) -> Result<ResolvedCall<'a>, CallRejection> {
    let mut attempts = ResolveAttempts::default();
    loop {
        let deck = &request.deck;
        let refused = |error| CallRejection::for_call(deck, call, error);
        let read = call.without_reserved(|| deck.is_of_capability_file(&call.capability));
        let capability = gate::require_offered(deck, &read.capability, Some(&read.tool));
        let capability = capability.map_err(refused)?;
        let arguments = read.arguments.as_deref();
        let mut found = deck.tool(&capability, &read.tool, attempts.has_asked(&capability));
        if found.is_usable() && !deck.catalog().is_open() {
            artifacts::check_arguments(deck, arguments).map_err(refused)?;
        }
        if let ToolLookup::Known(tool) = &found {
            let arguments = read_arguments(&capability, tool, arguments).map_err(refused)?;
            let checked = check_arguments(&capability, tool, &arguments, &read.form)
                .and_then(|()| projection::check(&read.fields, &capability, tool));
            if let Err(refusal) = checked {
                found = ToolLookup::Refused(refusal);
            }
        }
        let tool = match found {
            ToolLookup::Known(tool) => Some(tool),
            ToolLookup::LeftToServer => None,
            other => {
                let trying = try_again(&request, &capability, &read.tool, other, &mut attempts);
                trying.await.map_err(refused)?;
                request = request.renewed();
                continue;
            }
        };
        // Where changes are blocked, a tool that cannot be compared with its pin is refused.
        if capability.pins == PinMode::Block && attempts.may_ask(&capability) {
            let connections = request.connections();
            let checking = connections.require_current_list(&capability.definition, request.call);
            checking.await.map_err(refused)?;
            if !deck.is_current() {
                request = request.renewed();
                continue;
            }
        }
        return Ok(ResolvedCall { request, call: read, capability, tool });
    }
}

/// Returns the tool's definition. Asks the backend before reporting it as unknown. `None` only in a
/// transparent session, where the server decides.
pub async fn find_tool(
    request: &RequestContext<'_>,
    capability: &Arc<Capability>,
    name: &str,
) -> Result<Option<Arc<Tool>>, CallError> {
    let mut attempts = ResolveAttempts::default();
    let mut request = Cow::Borrowed(request);
    loop {
        match request.deck.tool(capability, name, attempts.has_asked(capability)) {
            ToolLookup::Known(tool) => return Ok(Some(tool)),
            ToolLookup::LeftToServer => return Ok(None),
            other => try_again(&request, capability, name, other, &mut attempts).await?,
        }
        request = Cow::Owned(request.renewed());
    }
}

/// Reads the list of a capability again because it rejects a request, unless that was done. `Ok`
/// when the request should be tried again; otherwise the refusal, and why there is no newer list.
pub(crate) async fn refresh_list(
    request: &RequestContext<'_>,
    capability: &Capability,
    refusal: CallError,
) -> Result<(), CallError> {
    let definition = &capability.definition;
    if declares_its_tools(definition) {
        return Err(refusal);
    }
    match request.connections().discover(definition, request.call).await {
        Ok(_) => Ok(()),
        Err(error) if capability.discovery.is_none() => Err(error),
        Err(error) => Err(CallError {
            message: format!(
                "{}; its list is old and could not be read again: {}",
                refusal.message, error.message
            ),
            ..refusal
        }),
    }
}

/// Brings the catalog up to date, once for each reason. `Err` when that would not help.
async fn try_again(
    request: &RequestContext<'_>,
    capability: &Capability,
    tool: &str,
    found: ToolLookup,
    attempts: &mut ResolveAttempts,
) -> Result<(), CallError> {
    let refusal = match found {
        ToolLookup::Known(_) | ToolLookup::LeftToServer => return Ok(()),
        ToolLookup::Held(error) => return Err(error),
        ToolLookup::Released if std::mem::replace(&mut attempts.has_rebuilt, true) => {
            let message = format!("the approval of `{tool}` is being changed; call again");
            return Err(CallError::new(ErrorCode::ApprovalRequired, message));
        }
        ToolLookup::Released => {
            request.host().rebuild();
            return Ok(());
        }
        ToolLookup::Refused(refusal) => refusal,
        ToolLookup::Unknown => request.deck.unknown_tool(capability, tool),
    };
    if !attempts.may_ask(capability) {
        return Err(refusal);
    }
    match refresh_list(request, capability, refusal).await {
        // The call goes to the server, which reports what is wrong.
        Err(_) if request.deck.server_decides(capability) => Ok(()),
        outcome => outcome,
    }
}

fn read_arguments(
    capability: &Capability,
    tool: &Tool,
    arguments: Option<&RawValue>,
) -> Result<Value, CallError> {
    let mut value: Value = match arguments {
        None => json!({}),
        Some(text) => serde_json::from_str(text.get()).map_err(|error| {
            CallError::invalid_request(format!("the arguments are not JSON: {error}"))
        })?,
    };
    let Some(members) = value.as_object_mut() else {
        return Err(CallError::invalid_request("the arguments must be a JSON object"));
    };
    if let Backend::Cmp(known) = &capability.definition.backend
        && let Some(intent) = known.intents.get(tool.name())
    {
        // This format takes numbers as text; its connection does the same.
        intent.coerce(members);
    }
    Ok(value)
}

/// Checks the arguments against the tool's schema; the error has everything needed to correct them.
fn check_arguments(
    capability: &Capability,
    tool: &Tool,
    value: &Value,
    form: &CallForm,
) -> Result<(), CallError> {
    tool.argument_check().check(value).map_err(|bad| {
        let mut facts = serde_json::to_value(&bad).unwrap_or_default();
        // The whole schema saves the next attempt another request.
        facts["inputSchema"] = tool.input_schema().and_then(raw::value).unwrap_or_default();
        let id = capability.definition.id.as_str();
        let signature = form.signature(id, tool.name(), &bad.arguments);
        facts["callSignature"] = json!(signature);
        CallError::invalid_request(format!("`{id}`: {bad}"))
            .hint(format!("call it as: {signature}"))
            .data(facts)
    })
}
