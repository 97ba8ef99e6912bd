//! Asks a person before a call runs: through the client that called, or by a command that approves it.

mod question;
mod summary;

use capdeck_backend::{CallContext, CallError, ErrorCode};
use capdeck_catalog::{Capability, Tool, canonical, definition_digest, sha256_hex};
use capdeck_definition::{Backend, PolicyEffect};
use jiff::Timestamp;
use serde_json::{json, value::RawValue};

pub(crate) use summary::{shorten, substitutions};

use self::question::ApprovalAnswer;
use crate::{
    Approval, ApprovalDuration, ApprovalError, ApprovalStore, Session, SessionScope, ToolRequest,
    approvals::ApprovalRequest, deck_snapshot::DeckSnapshot, flow::DataFlow,
};

/// What the person at the command line has already said about a call.
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
    /// No rule stands in its way.
    Policy,
    /// A person approved this call.
    Once,
    /// A person approved the tool for good.
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

impl From<ApprovalDuration> for ApprovalSource {
    fn from(hold: ApprovalDuration) -> Self {
        match hold {
            ApprovalDuration::Once => Self::Once,
            ApprovalDuration::Always => Self::Always,
        }
    }
}

/// A call at the gate, with everything that decides about it.
pub(crate) struct GatedCall<'a> {
    pub(crate) deck: &'a DeckSnapshot<'a>,
    pub(crate) capability: &'a Capability,
    pub(crate) tool: Option<&'a Tool>,
    pub(crate) request: &'a ToolRequest,
    /// Data of other capabilities that a person has to approve.
    pub(crate) flow: Option<&'a DataFlow>,
}

/// What a person approved, and how.
pub(crate) struct EarlierApproval {
    call: ApprovalRequest,
    approval: ApprovalSource,
}

impl Session {
    /// True when a call of the tool needs the word of the person at the command line.
    pub async fn is_asked_about(
        &self,
        capability: &Capability,
        tool: &Tool,
    ) -> Result<bool, CallError> {
        self.is_asked_about_in(&self.snapshot(), capability, tool).await
    }

    /// The same in one catalog.
    pub(crate) async fn is_asked_about_in(
        &self,
        deck: &DeckSnapshot<'_>,
        capability: &Capability,
        tool: &Tool,
    ) -> Result<bool, CallError> {
        if deck.effect_on(capability, tool.name(), Some(tool)) != PolicyEffect::Ask {
            return Ok(false);
        }
        let request = ToolRequest { tool: tool.name().to_owned(), ..ToolRequest::default() };
        let call = self.asked_call(capability, Some(tool), &request);
        self.store(&call, ApprovalStore::is_tool_approved).await.map(|stands| !stands)
    }

    /// Lets a call pass that the client's scopes and grants give it, and that the policy allows or a person approves. `earlier` is what a person approved for this
    /// very request before the catalog was replaced; it holds as long as the question would be the same.
    pub(crate) async fn pass(
        &self,
        call: &GatedCall<'_>,
        earlier: &mut Option<EarlierApproval>,
        context: &CallContext,
    ) -> Result<ApprovalSource, CallError> {
        let GatedCall { deck, capability, tool, request, flow } = *call;
        // Capsules are granted by roles of their own.
        if capability.definition.backend != Backend::Capsules {
            deck.require_use(&request.capability)?;
        }
        // A set's tool only leads to its member, where the call itself is decided.
        if let Backend::Caplets(_) = capability.definition.backend {
            return Ok(ApprovalSource::Policy);
        }
        match deck.effect_on(capability, &request.tool, tool) {
            PolicyEffect::Deny => Err(deck.unknown_tool(capability, &request.tool)),
            PolicyEffect::Allow if flow.is_none() => Ok(ApprovalSource::Policy),
            PolicyEffect::Allow | PolicyEffect::Ask => {
                let mut asked = self.asked_call(capability, tool, request);
                asked.carries = flow.map(DataFlow::sources);
                if let Some(earlier) = earlier.as_ref().filter(|earlier| earlier.call == asked) {
                    return Ok(earlier.approval);
                }
                let approval = self.ask(&asked, request, context).await?;
                *earlier = Some(EarlierApproval { call: asked, approval });
                Ok(approval)
            }
        }
    }

    async fn ask(
        &self,
        call: &ApprovalRequest,
        request: &ToolRequest,
        context: &CallContext,
    ) -> Result<ApprovalSource, CallError> {
        if let Some(hold) = self.store(call, ApprovalStore::use_approval).await? {
            return Ok(hold.into());
        }
        let is_operator = self.scope == SessionScope::Operator;
        match request.consent {
            CallConsent::Given if is_operator => return Ok(ApprovalSource::Once),
            CallConsent::AskedLater if is_operator => return Err(needs_approval(call)),
            CallConsent::Given | CallConsent::AskedLater | CallConsent::NotAsked => {}
        }
        // A command line asks the person before it calls. One that could not may be an agent's: its call waits, too.
        if !is_operator && self.can_be_asked() {
            match question::put(call, context).await? {
                ApprovalAnswer::Once => return Ok(ApprovalSource::Once),
                ApprovalAnswer::Always => {
                    self.store(call, ApprovalStore::remember).await?;
                    return Ok(ApprovalSource::Always);
                }
                ApprovalAnswer::No => return Err(declined(call)),
                // A client that cannot answer after all leaves the command line.
                ApprovalAnswer::None => {}
            }
        }
        let waiting = self.store(call, ApprovalStore::request).await?;
        Err(waits(call, &waiting))
    }

    fn asked_call(
        &self,
        capability: &Capability,
        tool: Option<&Tool>,
        request: &ToolRequest,
    ) -> ApprovalRequest {
        let definition = &capability.definition;
        let arguments = request.arguments.as_deref();
        let text = arguments.map_or_else(|| "{}".to_owned(), canonical);
        ApprovalRequest {
            capability: definition.id.to_string(),
            fingerprint: definition.fingerprint.clone(),
            tool: request.tool.clone(),
            definition: tool.map(definition_digest),
            arguments_digest: sha256_hex(&text),
            arguments: summary::of_arguments(
                arguments.map_or("{}", RawValue::get),
                definition,
                self.host.settings(),
            ),
            client: self.client_name.clone(),
            principal: self.principal.to_string(),
            carries: None,
        }
    }

    /// Works on the approvals without holding up other calls: the disk, or another process, may be slow.
    async fn store<T: Send + 'static>(
        &self,
        call: &ApprovalRequest,
        work: impl FnOnce(&ApprovalStore, &ApprovalRequest, Timestamp) -> Result<T, ApprovalError>
        + Send
        + 'static,
    ) -> Result<T, CallError> {
        let (store, call) = (self.host.approvals(), call.clone());
        let refused = needs_approval(&call);
        let done = tokio::task::spawn_blocking(move || work(&store, &call, Timestamp::now())).await;
        match done {
            Ok(outcome) => outcome.map_err(|error| {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                CallError { message: format!("{}, but {error}", refused.message), ..refused }
                    .detail(cause.unwrap_or_default())
            }),
            Err(panic) => Err(CallError::new(
                ErrorCode::InternalError,
                format!("looking up approvals ended by a bug: {panic}"),
            )),
        }
    }
}

fn needs_approval(call: &ApprovalRequest) -> CallError {
    CallError::new(
        ErrorCode::ApprovalRequired,
        format!(
            "`{}` of `{}` runs only with a person's approval{}",
            call.tool,
            call.capability,
            call.reason_text()
        ),
    )
}

fn declined(call: &ApprovalRequest) -> CallError {
    CallError::new(
        ErrorCode::Denied,
        format!("the person did not approve `{}` of `{}`", call.tool, call.capability),
    )
    .hint("do not repeat the call; ask the person what to do instead")
}

fn waits(call: &ApprovalRequest, waiting: &Approval) -> CallError {
    needs_approval(call)
        .hint(format!(
            "the person runs: capdeck approve {}; then repeat the call with the same arguments",
            waiting.id
        ))
        .data(json!({ "approval": waiting }))
}
