//! Asks a person before a call runs: through the client that called, or by a command that approves it.

mod question;
mod summary;

use capdeck_backend::{CallContext, CallError, ErrorCode};
use capdeck_catalog::{Capability, Tool, canonical, definition_digest};
use capdeck_definition::PolicyEffect;
use capdeck_storage::sha256_hex;
use jiff::Timestamp;
use serde_json::{json, value::RawValue};

pub(crate) use summary::{shorten, substitutions};

use self::question::ApprovalAnswer;
use crate::{
    ApprovalDuration, ApprovalError, ApprovalStore, Session, SessionScope, ToolRequest,
    approvals::ApprovalRequest, calls::ResolvedCall, deck_snapshot::DeckSnapshot, durable,
    flow::DataFlow,
};

/// The consent of the person at the command line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallConsent {
    /// Nothing yet.
    #[default]
    NotAsked,
    /// Nothing yet; the surface asks them itself once it learns that the call needs approval.
    AskedLater,
    /// They want this very call.
    Given,
}

/// How a call got past the gate, for the audit trail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApprovalSource {
    /// No rule denies it or asks.
    Policy,
    /// A person approved this call.
    Once,
    /// A person approved the tool permanently.
    Always,
}

impl ApprovalSource {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Once => "once",
            Self::Always => "always",
        }
    }
}

/// What a person approved, and how.
pub(crate) struct EarlierApproval {
    call: ApprovalRequest,
    approval: ApprovalSource,
}

/// True when a call of the tool needs the approval of the person at the command line.
pub async fn is_asked_about(
    deck: &DeckSnapshot<'_>,
    capability: &Capability,
    tool: &Tool,
) -> Result<bool, CallError> {
    if deck.effect_on(capability, tool.name(), Some(tool)) != PolicyEffect::Ask {
        return Ok(false);
    }
    let request = ToolRequest { tool: tool.name().to_owned(), ..ToolRequest::default() };
    let call = asked_call(deck.session(), capability, Some(tool), &request);
    in_store(deck.session(), &call, ApprovalStore::is_tool_approved)
        .await
        .map(|is_approved| !is_approved)
}

/// Lets a call pass that the gate leaves to a person, once one approves it. `flow` is data of other
/// capabilities that a person has to approve. `earlier` is what a person approved for this very
/// request before the catalog was replaced; it holds as long as the question would be the same.
pub(crate) async fn require_approval(
    resolved: &ResolvedCall<'_>,
    flow: Option<&DataFlow>,
    earlier: &mut Option<EarlierApproval>,
) -> Result<ApprovalSource, CallError> {
    let ResolvedCall { request, call, capability, tool } = resolved;
    let session = request.session();
    let mut asked = asked_call(session, capability, tool.as_deref(), call);
    asked.carries = flow.map(DataFlow::sources);
    if let Some(earlier) = earlier.as_ref().filter(|earlier| earlier.call == asked) {
        return Ok(earlier.approval);
    }
    let approval = ask(session, &asked, call.consent, request.call).await?;
    *earlier = Some(EarlierApproval { call: asked, approval });
    Ok(approval)
}

async fn ask(
    session: &Session,
    call: &ApprovalRequest,
    consent: CallConsent,
    context: &CallContext,
) -> Result<ApprovalSource, CallError> {
    match in_store(session, call, ApprovalStore::use_approval).await? {
        Some(ApprovalDuration::Once) => return Ok(ApprovalSource::Once),
        Some(ApprovalDuration::Always) => return Ok(ApprovalSource::Always),
        None => {}
    }
    let is_operator = session.scope == SessionScope::Operator;
    match consent {
        CallConsent::Given if is_operator => return Ok(ApprovalSource::Once),
        CallConsent::AskedLater if is_operator => return Err(needs_approval(call)),
        CallConsent::Given | CallConsent::AskedLater | CallConsent::NotAsked => {}
    }
    // A command line asks the person before it calls. One that could not may be an agent's: its call waits, too.
    if !is_operator && question::can_be_asked(session) {
        match question::put(call, context).await? {
            ApprovalAnswer::Once => return Ok(ApprovalSource::Once),
            ApprovalAnswer::Always => {
                in_store(session, call, ApprovalStore::remember).await?;
                return Ok(ApprovalSource::Always);
            }
            ApprovalAnswer::No => return Err(declined(call)),
            // A client that cannot answer after all, or whose person is not there, leaves the command line.
            ApprovalAnswer::None => {}
        }
    }
    let waiting = in_store(session, call, ApprovalStore::request).await?;
    let hint = format!(
        "the person runs: capdeck approve {}; then repeat the call with the same arguments",
        waiting.id
    );
    Err(needs_approval(call).hint(hint).data(json!({ "approval": waiting })))
}

fn asked_call(
    session: &Session,
    capability: &Capability,
    tool: Option<&Tool>,
    request: &ToolRequest,
) -> ApprovalRequest {
    let definition = &capability.definition;
    let arguments = request.arguments.as_deref();
    let text = arguments.map_or("{}", RawValue::get);
    ApprovalRequest {
        capability: definition.id.to_string(),
        fingerprint: definition.fingerprint.clone(),
        tool: request.tool.clone(),
        definition: tool.map(definition_digest),
        arguments_digest: sha256_hex(arguments.map_or_else(|| "{}".to_owned(), canonical)),
        arguments: summary::of_arguments(text, definition, session.host.settings()),
        client: session.client_name.clone(),
        principal: session.principal.to_string(),
        carries: None,
    }
}

/// Works on the approvals without holding up other calls: the disk, or another process, may be slow.
async fn in_store<T: Send + 'static>(
    session: &Session,
    call: &ApprovalRequest,
    work: impl FnOnce(&ApprovalStore, &ApprovalRequest, Timestamp) -> Result<T, ApprovalError>
    + Send
    + 'static,
) -> Result<T, CallError> {
    let (store, call) = (ApprovalStore::new(&session.host.settings().state_dir), call.clone());
    let refused = needs_approval(&call);
    let outcome = durable::blocking(move || work(&store, &call, Timestamp::now())).await?;
    outcome.map_err(|error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        CallError { message: format!("{}, but {error}", refused.message), ..refused }
            .detail(cause.unwrap_or_default())
    })
}

fn needs_approval(call: &ApprovalRequest) -> CallError {
    let carries = |from: &String| format!(": it carries data from {from}");
    let reason = call.carries.as_ref().map(carries).unwrap_or_default();
    let (tool, id) = (&call.tool, &call.capability);
    let message = format!("`{id}.{tool}` requires approval{reason}");
    CallError::new(ErrorCode::ApprovalRequired, message)
}

fn declined(call: &ApprovalRequest) -> CallError {
    CallError::new(
        ErrorCode::Denied,
        format!("the person did not approve `{}` of `{}`", call.tool, call.capability),
    )
    .hint("do not repeat the call; ask the person what to do instead")
}
