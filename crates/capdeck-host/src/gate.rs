//! What may stop a call. Every path to a backend goes through here.

use std::sync::Arc;

use capdeck_backend::{CallError, ErrorCode, SignIn};
use capdeck_catalog::{Capability, CapabilityStatus, Catalog, HiddenReason, shell_word};

use crate::deck_snapshot::DeckSnapshot;

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

fn unknown(catalog: &Catalog, id: &str) -> CallError {
    let error = CallError::new(ErrorCode::ServerNotFound, format!("there is no capability `{id}`"));
    match catalog.nearest_capability(id) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("the person sees what there is with: capdeck list"),
    }
}
