//! What may stop a call. Every path to a backend goes through here.

use std::sync::Arc;

use capdeck_access::{Access, OAuthScope, Scopes};
use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::{Capability, Catalog, HiddenReason, Status, shell_word};
use capdeck_definition::Backend;
use capdeck_sandbox::DeckOperation;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    CapsuleTool, Host, Route, Scope, audience::AudienceKey, deck_snapshot::DeckSnapshot, meta_tools,
};

/// The capability of this id, if the client may use it; otherwise why not and what to do.
pub(crate) fn admit(deck: &DeckSnapshot<'_>, id: &str) -> Result<Arc<Capability>, CallError> {
    let catalog = deck.catalog();
    let Some(capability) = catalog.get(id) else {
        return Err(unknown_or_unready(catalog, id));
    };
    match &capability.status {
        Status::Disabled => return Err(unknown(catalog, id)),
        Status::Hidden { reason: HiddenReason::SetupRequired } => {
            return Err(unavailable(format!("`{id}` needs its set-up first"))
                .hint(format!("the person runs: capdeck setup {id}")));
        }
        Status::Hidden { reason: HiddenReason::ProjectMissing } => {
            return Err(unavailable(format!("`{id}` works only inside a project"))
                .hint("start capdeck in a project folder, or with --project DIR"));
        }
        Status::Untrusted { reason } => return Err(untrusted(id, reason)),
        Status::Ready | Status::Stale { .. } => {}
    }
    if deck.may_see(capability) {
        return Ok(capability.clone());
    }
    match deck.scope() {
        Scope::Deck(_) | Scope::Transparent(_) => Err(not_offered(id, None)),
        Scope::Operator => Err(unknown(catalog, id)),
    }
}

impl Host {
    /// The OAuth scopes that a call of a listed tool needs and the client's token lacks. Transports ask before they
    /// dispatch the call, so that the client can request all of them at once; what was not granted to the client is
    /// refused by the gate like for every other caller.
    pub fn missing_scopes(
        &self,
        scope: &Scope,
        access: &Access,
        name: &str,
        arguments: Option<&RawValue>,
    ) -> Scopes {
        let has = |scope| access.scopes.allows(scope);
        if has(OAuthScope::DeckCall) && has(OAuthScope::CapsuleWrite) {
            return Scopes::default();
        }
        access.missing([self.needed_scope(scope, access, name, arguments)])
    }

    fn needed_scope(
        &self,
        scope: &Scope,
        access: &Access,
        name: &str,
        arguments: Option<&RawValue>,
    ) -> OAuthScope {
        let policy = match scope {
            Scope::Deck(policy) => policy,
            Scope::Transparent(id) => return self.tool_scope(id.as_str(), name, arguments),
            Scope::Operator => return OAuthScope::DeckCall,
        };
        // A client without grants of the deck has the tools of capsules under their own names.
        if let Some(tool) = CapsuleTool::named(name) {
            return capsule_scope(tool, arguments);
        }
        let (audience, names) = (AudienceKey::default(), [access.principal.as_str()]);
        let view = self.view_for(policy, &audience, &names, Some(Arc::clone(&access.deck)));
        match view.route(name) {
            Some(Route::Tool { capability, tool }) => {
                self.tool_scope(&capability, &tool, arguments)
            }
            Some(Route::Deck(
                DeckOperation::Search | DeckOperation::DescribeTool | DeckOperation::SetUpTools,
            )) => OAuthScope::DeckRead,
            Some(Route::Deck(DeckOperation::CallTool)) => {
                let Some((inner, data)) = meta_tools::called_tool(arguments) else {
                    return OAuthScope::DeckCall;
                };
                self.named_scope(&inner, data.as_deref())
            }
            Some(Route::Deck(_) | Route::Wrapper { .. }) => OAuthScope::DeckCall,
            None => self.named_scope(name, arguments),
        }
    }

    /// The same for a name that no list of the client has. Capsules may be hidden from it only because its token has no
    /// scope for them.
    fn named_scope(&self, name: &str, arguments: Option<&RawValue>) -> OAuthScope {
        let parts = name.rsplit_once("__").or_else(|| name.split_once('.'));
        match parts {
            Some((id, tool)) => self.tool_scope(id, tool, arguments),
            None => CapsuleTool::named(name)
                .map_or(OAuthScope::DeckCall, |tool| capsule_scope(tool, arguments)),
        }
    }

    fn tool_scope(&self, id: &str, tool: &str, arguments: Option<&RawValue>) -> OAuthScope {
        let catalog = self.catalog();
        let is_capsules = |one: &&Arc<Capability>| one.definition.backend == Backend::Capsules;
        match catalog.get(id).filter(is_capsules).and_then(|_| CapsuleTool::named(tool)) {
            Some(tool) => capsule_scope(tool, arguments),
            None => OAuthScope::DeckCall,
        }
    }
}

/// The scope that a call of a tool of capsules needs.
pub fn capsule_scope(tool: CapsuleTool, arguments: Option<&RawValue>) -> OAuthScope {
    #[derive(Deserialize)]
    struct WriteArguments {
        mode: Option<String>,
    }
    match tool {
        CapsuleTool::Read | CapsuleTool::Signal | CapsuleTool::Capsules | CapsuleTool::Memory => {
            OAuthScope::CapsuleRead
        }
        CapsuleTool::Write => {
            let read = arguments.and_then(|sent| serde_json::from_str(sent.get()).ok());
            match read.and_then(|WriteArguments { mode }| mode).as_deref() {
                Some("replace" | "patch") => OAuthScope::CapsuleWrite,
                _ => OAuthScope::CapsuleAppend,
            }
        }
        CapsuleTool::Manage => OAuthScope::RegistryManage,
    }
}

/// What an agent is told of a capability that is not offered to it: the command that reaches it.
pub(crate) fn not_offered(id: &str, tool: Option<&str>) -> CallError {
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
pub(crate) fn nothing_offered(name: &str) -> CallError {
    CallError::new(
        ErrorCode::Denied,
        format!("`{name}` cannot be called: no tools are offered over MCP here"),
    )
    .hint("use the shell: `capdeck sh` lists what there is")
}

/// What a client is told that may look at the deck and make nothing in it work.
pub(crate) fn only_looked_at(id: &str) -> CallError {
    CallError::new(ErrorCode::Denied, format!("`{id}` may be looked at here, but not used"))
        .hint("ask the person who runs the host for an access that may call")
}

fn unknown_or_unready(catalog: &Catalog, id: &str) -> CallError {
    if let Some(capability) =
        catalog.untrusted().iter().find(|capability| capability.definition.id.as_str() == id)
        && let Status::Untrusted { reason } = &capability.status
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
