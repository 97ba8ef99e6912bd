//! What may stop a call. Every path to a backend goes through here.
//!
//! [`require_offered`] decides about the capability. [`requires_approval`] decides about the tool, once it is known: by the
//! client's scopes, its grants and the policy, and nothing else does. A person is asked about what is left (`consent.rs`).

mod required_scopes;

use std::sync::Arc;

use capdeck_backend::{CallError, ErrorCode, SignIn};
use capdeck_catalog::{
    CallSubject, Capability, CapabilityStatus, Catalog, HiddenReason, Tool, grants_tool, shell_word,
};
use capdeck_definition::{Backend, PolicyEffect};

pub use self::required_scopes::capsule_scope;
use crate::{calls::ResolvedCall, deck_snapshot::DeckSnapshot};

/// The capability of this id, if the client may use it; otherwise why not and what to do. With a
/// tool, a refusal names the command that calls it.
pub(crate) fn require_offered(
    deck: &DeckSnapshot<'_>,
    id: &str,
    tool: Option<&str>,
) -> Result<Arc<Capability>, CallError> {
    let catalog = deck.catalog();
    let Some(capability) = catalog.get(id) else {
        return Err(unknown_or_unready(catalog, id));
    };
    let unavailable = CallError::unavailable;
    match &capability.status {
        CapabilityStatus::Disabled => return Err(unknown(catalog, id)),
        CapabilityStatus::Hidden { reason: HiddenReason::SetupRequired } => {
            return Err(unavailable(format!("`{id}` needs its set-up first"))
                .hint(format!("the person runs: capdeck setup {id}")));
        }
        CapabilityStatus::Hidden { reason: HiddenReason::ProjectMissing } => {
            return Err(unavailable(format!("`{id}` works only inside a project"))
                .hint("start capdeck in a project folder, or with --project DIR"));
        }
        CapabilityStatus::Untrusted { reason } => return Err(untrusted(id, reason)),
        CapabilityStatus::Ready | CapabilityStatus::Stale { .. } => {}
    }
    match deck.may_see(capability) {
        true => Ok(capability.clone()),
        false => Err(not_offered(id, tool)),
    }
}

/// Whether a call needs the approval of a person; an error when the client's scopes, its grants or the policy deny it.
pub(crate) fn requires_approval(resolved: &ResolvedCall<'_>) -> Result<bool, CallError> {
    let ResolvedCall { request, call, capability, tool } = resolved;
    let deck = &request.deck;
    match capability.definition.backend {
        // Capsules are granted by roles of their own.
        Backend::Capsules => {}
        // A set's tool only leads to its member, where the call itself is decided.
        Backend::Caplets(_) => return deck.require_use(&call.capability).map(|()| false),
        _ => deck.require_use(&call.capability)?,
    }
    match deck.effect_on(capability, &call.tool, tool.as_deref()) {
        PolicyEffect::Deny => Err(deck.unknown_tool(capability, &call.tool)),
        PolicyEffect::Ask => Ok(true),
        PolicyEffect::Allow => Ok(false),
    }
}

impl DeckSnapshot<'_> {
    /// Refuses to make a capability work for a client that may only look at the deck.
    pub(crate) fn require_use(&self, id: &str) -> Result<(), CallError> {
        match self.access() {
            Some(access) if !access.may_call => {
                let message = format!("`{id}` may be looked at here, but not used");
                Err(CallError::new(ErrorCode::Denied, message)
                    .hint("ask the person who runs the host for an access that may call"))
            }
            _ => Ok(()),
        }
    }

    /// What the policy says about a tool for this client. What was not granted to it is denied.
    pub(crate) fn effect_on(
        &self,
        capability: &Capability,
        name: &str,
        tool: Option<&Tool>,
    ) -> PolicyEffect {
        let ids = self.catalog().with_sets(capability);
        if let Some(access) = self.access()
            && !grants_tool(&access.deck, capability, &ids, name)
        {
            return PolicyEffect::Deny;
        }
        let subject = CallSubject { capabilities: &ids, tool: name, definition: tool };
        self.clearance().rule_on(&self.catalog().config().policy, &subject).effect
    }
}

/// The sign-in of a capability, behind the same gate as its calls.
pub fn sign_in(deck: &DeckSnapshot<'_>, id: &str) -> Result<Arc<SignIn>, CallError> {
    let capability = deck.capability(id)?;
    let described = capability.discovery.as_ref().map(|known| known.scopes.as_slice());
    let connector = &deck.session().host.0.connector;
    connector.sign_in(&capability.definition, described.unwrap_or_default())
}

/// The error for a capability that is not offered to the client: it names the command that reaches it.
fn not_offered(id: &str, tool: Option<&str>) -> CallError {
    let command = match tool {
        // A word that begins with a hyphen would be read as a flag.
        Some(tool) if tool.starts_with('-') => {
            format!("capdeck sh {}", shell_word(&format!("{id}.{tool}")))
        }
        Some(tool) => format!("capdeck sh {} {}", shell_word(id), shell_word(tool)),
        None => format!("capdeck sh {}", shell_word(id)),
    };
    CallError::new(
        ErrorCode::Denied,
        format!("`{id}` is not offered over MCP (its exposure is `none`)"),
    )
    .hint(format!("use the shell: {command}"))
}

/// The error for a call where nothing is offered.
pub(crate) fn nothing_offered_error(name: &str) -> CallError {
    CallError::new(
        ErrorCode::Denied,
        format!("`{name}` cannot be called: no tools are offered over MCP here"),
    )
    .hint("use the shell: `capdeck sh` lists what there is")
}

fn unknown_or_unready(catalog: &Catalog, id: &str) -> CallError {
    if let Some(capability) =
        catalog.untrusted().iter().find(|capability| capability.definition.id.as_str() == id)
        && let CapabilityStatus::Untrusted { reason } = &capability.status
    {
        return untrusted(id, reason);
    }
    if let Some(entry) = catalog.quarantined().iter().find(|entry| entry.id == id) {
        return CallError::invalid_config(format!("`{id}` does not load: {}", entry.reason))
            .hint(format!("the person runs: capdeck validate {}", entry.source.path.display()));
    }
    unknown(catalog, id)
}

pub(crate) fn untrusted(id: &str, reason: &str) -> CallError {
    CallError::new(
        ErrorCode::Denied,
        format!("`{id}` comes from a project that may not act: {reason}"),
    )
    .hint("the person reviews the files, then runs: capdeck trust")
}

/// What an agent does that names a capability which is not there.
pub const UNKNOWN_ID_HINT: &str = "use an id that `search` or `capdeck list` shows";

fn unknown(catalog: &Catalog, id: &str) -> CallError {
    let error = CallError::new(ErrorCode::ServerNotFound, format!("there is no capability `{id}`"));
    match catalog.nearest_capability(id) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(UNKNOWN_ID_HINT),
    }
}
