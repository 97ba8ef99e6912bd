//! Which OAuth scope a call needs. Transports ask before a request has a session, to challenge a token that lacks one;
//! nothing is allowed here.

use std::sync::Arc;

use capdeck_access::{Access, OAuthScope, Scopes};
use capdeck_catalog::Capability;
use capdeck_definition::Backend;
use capdeck_sandbox::DeckOperation;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{CapsuleTool, Host, SessionScope, ToolRoute, meta_tools};

impl Host {
    /// The OAuth scopes that a call of a listed tool needs and the client's token lacks. Transports ask before they
    /// dispatch the call, so that the client can request all of them at once, and not for a token that has enough for
    /// any call. What was not granted to the client is refused by the gate like for every other caller.
    pub fn missing_scopes(
        &self,
        scope: &SessionScope,
        access: &Access,
        name: &str,
        arguments: Option<&RawValue>,
    ) -> Scopes {
        access.missing([needed_scope(self, scope, access, name, arguments)])
    }
}

fn needed_scope(
    host: &Host,
    scope: &SessionScope,
    access: &Access,
    name: &str,
    arguments: Option<&RawValue>,
) -> OAuthScope {
    let policy = match scope {
        SessionScope::Deck(policy) => policy,
        SessionScope::Transparent(id) => return tool_scope(host, id.as_str(), name, arguments),
        SessionScope::Operator => return OAuthScope::DeckCall,
    };
    // A client without grants of the deck has the tools of capsules under their own names.
    if let Some(tool) = CapsuleTool::named(name) {
        return capsule_scope(tool, arguments);
    }
    let names = [access.principal.as_str()];
    match host.client(&names, Some(access)).current_view(policy).route(name) {
        Some(ToolRoute::Tool { capability, tool }) => {
            tool_scope(host, &capability, &tool, arguments)
        }
        Some(ToolRoute::Deck(
            DeckOperation::Search | DeckOperation::DescribeTool | DeckOperation::SetUpTools,
        )) => OAuthScope::DeckRead,
        Some(ToolRoute::Deck(DeckOperation::CallTool | DeckOperation::CallReadOnly)) => {
            let Some((inner, data)) = meta_tools::called_tool(arguments) else {
                return OAuthScope::DeckCall;
            };
            named_scope(host, &inner, data.as_deref())
        }
        Some(ToolRoute::Deck(_) | ToolRoute::Wrapper { .. }) => OAuthScope::DeckCall,
        None => named_scope(host, name, arguments),
    }
}

/// The same for a name that no list of the client has. Capsules may be hidden from it only because its token has no
/// scope for them.
fn named_scope(host: &Host, name: &str, arguments: Option<&RawValue>) -> OAuthScope {
    let parts = name.rsplit_once("__").or_else(|| name.split_once('.'));
    match parts {
        Some((id, tool)) => tool_scope(host, id, tool, arguments),
        None => CapsuleTool::named(name)
            .map_or(OAuthScope::DeckCall, |tool| capsule_scope(tool, arguments)),
    }
}

fn tool_scope(host: &Host, id: &str, tool: &str, arguments: Option<&RawValue>) -> OAuthScope {
    let catalog = host.catalog();
    let is_capsules = |one: &&Arc<Capability>| one.definition.backend == Backend::Capsules;
    match catalog.get(id).filter(is_capsules).and_then(|_| CapsuleTool::named(tool)) {
        Some(tool) => capsule_scope(tool, arguments),
        None => OAuthScope::DeckCall,
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
