//! What may stop a call. Every path to a backend goes through here.

use std::sync::Arc;

use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::{Capability, CapabilityStatus, Catalog, HiddenReason, shell_word};

use crate::{SessionScope, deck_snapshot::DeckSnapshot};

/// The capability of this id, if the client may use it; otherwise why not and what to do.
pub(crate) fn admit(deck: &DeckSnapshot<'_>, id: &str) -> Result<Arc<Capability>, CallError> {
    let catalog = deck.catalog();
    let Some(capability) = catalog.get(id) else {
        return Err(unknown_or_unready(catalog, id));
    };
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
    if deck.may_see(capability) {
        return Ok(capability.clone());
    }
    match deck.scope() {
        SessionScope::Deck(_) | SessionScope::Transparent(_) => Err(not_offered_error(id, None)),
        SessionScope::Operator => Err(unknown(catalog, id)),
    }
}

/// What an agent is told of a capability that is not offered to it: the command that reaches it.
pub(crate) fn not_offered_error(id: &str, tool: Option<&str>) -> CallError {
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

/// What an agent is told that calls something where nothing is offered at all.
pub(crate) fn nothing_offered_error(name: &str) -> CallError {
    CallError::new(
        ErrorCode::Denied,
        format!("`{name}` cannot be called: no tools are offered over MCP here"),
    )
    .hint("use the shell: `capdeck sh` lists what there is")
}

/// What a client is told that may look at the deck and make nothing in it work.
pub(crate) fn read_only_error(id: &str) -> CallError {
    CallError::new(ErrorCode::Denied, format!("`{id}` may be looked at here, but not used"))
        .hint("ask the person who runs the host for an access that may call")
}

fn unknown_or_unready(catalog: &Catalog, id: &str) -> CallError {
    if let Some(capability) =
        catalog.untrusted().iter().find(|capability| capability.definition.id.as_str() == id)
        && let CapabilityStatus::Untrusted { reason } = &capability.status
    {
        return untrusted(id, reason);
    }
    if let Some(entry) = catalog.quarantined().iter().find(|entry| entry.id == id) {
        return CallError::new(
            ErrorCode::ConfigInvalid,
            format!("`{id}` does not load: {}", entry.reason),
        )
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

fn unavailable(message: String) -> CallError {
    CallError::new(ErrorCode::ServerUnavailable, message)
}

fn unknown(catalog: &Catalog, id: &str) -> CallError {
    let error = CallError::new(ErrorCode::ServerNotFound, format!("there is no capability `{id}`"));
    match catalog.nearest_capability(id) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("the person sees what there is with: capdeck list"),
    }
}
