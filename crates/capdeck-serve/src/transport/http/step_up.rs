//! Requests that a token's scopes do not cover are refused before anything sees them, with everything that they need in
//! one challenge, so that a client can ask its person once.

use std::{sync::Arc, time::Duration};

use axum::{body::Body, response::Response};
use capdeck_auth::inbound::{Scope, Scopes, Standing};
use capdeck_host::CapsuleTool;
use http::{Method, request::Parts};
use serde::Deserialize;

use super::{access::insufficient_scope, read_body};
use crate::{actor::Actor, oauth::Resource, reception::Reception, refusals::Place};

/// Refuses calls that the token was not given for; gives the body back otherwise. Grants are another matter: what is not
/// granted does not exist.
pub(super) async fn check_scopes(
    reception: &Reception,
    standing: &Arc<Standing>,
    parts: &Parts,
    body: Body,
    body_timeout: Duration,
) -> Result<Body, Response> {
    let Some(resource) = Resource::at(parts.uri.path()) else { return Ok(body) };
    let refuse = async |lacking: &Scopes| {
        let actor = Actor::Credential(Arc::clone(standing));
        let place = Place::of(&parts.method, &parts.extensions);
        reception.note_refusal(&actor, place, "insufficient_scope").await;
        let issuer = reception.issuer(&parts.headers, parts.extensions.get().copied());
        Err(insufficient_scope(&resource, &issuer, &standing.scopes.union(lacking)))
    };
    let first = needed_at_all(&resource);
    if !first.iter().any(|scope| standing.scopes.allows(*scope)) {
        return refuse(&resource.first_scopes()).await;
    }
    if parts.method != Method::POST || is_enough_for_all(&standing.scopes, &resource) {
        return Ok(body);
    }
    let body = read_body(body, capdeck_mcp::MAX_MESSAGE_BYTES, body_timeout).await?;
    match missing(&body, standing, &resource) {
        Some(missing) => refuse(&missing).await,
        None => Ok(Body::from(body)),
    }
}

/// One of these is needed to have anything to look for.
fn needed_at_all(resource: &Resource) -> &'static [Scope] {
    match resource {
        Resource::Host | Resource::Deck => &[Scope::DeckRead, Scope::CapsuleRead],
        Resource::Capsule(_) => &[Scope::CapsuleRead],
        Resource::View(_) | Resource::Server(_) => &[Scope::DeckRead],
    }
}

/// Whether there is nothing there that these scopes do not cover, so that nothing need be read.
fn is_enough_for_all(scopes: &Scopes, resource: &Resource) -> bool {
    let deck = || scopes.allows(Scope::DeckCall);
    let capsules = || scopes.allows(Scope::CapsuleWrite);
    match resource {
        Resource::Host | Resource::Deck => deck() && capsules(),
        Resource::Capsule(_) => capsules(),
        Resource::View(_) | Resource::Server(_) => deck(),
    }
}

#[derive(Deserialize)]
struct Message<'m> {
    #[serde(borrow)]
    method: Option<std::borrow::Cow<'m, str>>,
    params: Option<Params>,
}

#[derive(Deserialize)]
struct Params {
    name: Option<String>,
    arguments: Option<Arguments>,
}

/// What says how much a call wants. `call_tool` names the tool it calls, and has its arguments in `data`.
#[derive(Deserialize, Default)]
struct Arguments {
    mode: Option<String>,
    name: Option<String>,
    data: Option<Box<Arguments>>,
}

/// The scopes that a message needs and the token lacks. What cannot be read is the endpoint's to refuse.
fn missing(body: &[u8], standing: &Standing, resource: &Resource) -> Option<Scopes> {
    // Older clients may send several at once; what one of them needs all of them wait for.
    let messages: Vec<Message<'_>> = match body.trim_ascii_start().first() {
        Some(b'[') => serde_json::from_slice(body).ok()?,
        _ => vec![serde_json::from_slice(body).ok()?],
    };
    let needed = messages.iter().filter_map(|message| needed_for(message, resource));
    let missing: Scopes = needed.filter(|scope| !standing.scopes.allows(*scope)).collect();
    (!missing.is_empty()).then_some(missing)
}

fn needed_for(message: &Message<'_>, resource: &Resource) -> Option<Scope> {
    let params = message.params.as_ref();
    if message.method.as_deref() != Some("tools/call") {
        return None;
    }
    let (name, arguments) = (params?.name.as_deref()?, params?.arguments.as_ref());
    let (called, data) = match (name, arguments) {
        ("call_tool", Some(Arguments { name: Some(called), data, .. })) => {
            (called.as_str(), data.as_deref())
        }
        _ => (name, arguments),
    };
    if let Some(tool) = capsule_tool(called) {
        return Some(needed_for_capsule(tool, data));
    }
    match resource {
        Resource::Capsule(_) => None,
        Resource::Host | Resource::Deck | Resource::View(_) | Resource::Server(_) => {
            // Looking for tools is no call of one.
            let only_looks = matches!(name, "search" | "describe" | "setup_tools");
            Some(if only_looks { Scope::DeckRead } else { Scope::DeckCall })
        }
    }
}

/// The tool of capsules with this name: its own, or with the capability's before it.
fn capsule_tool(name: &str) -> Option<CapsuleTool> {
    CapsuleTool::named(name.get(name.rfind("capsol_")?..)?)
}

fn needed_for_capsule(tool: CapsuleTool, arguments: Option<&Arguments>) -> Scope {
    let mode = arguments.and_then(|arguments| arguments.mode.as_deref());
    match tool {
        CapsuleTool::Read | CapsuleTool::Signal | CapsuleTool::Capsules | CapsuleTool::Memory => {
            Scope::CapsuleRead
        }
        CapsuleTool::Write => match mode {
            Some("replace" | "patch") => Scope::CapsuleWrite,
            _ => Scope::CapsuleAppend,
        },
        CapsuleTool::Manage => Scope::RegistryManage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed(message: &str, resource: &Resource) -> Option<Scope> {
        needed_for(&serde_json::from_str(message).unwrap(), resource)
    }

    #[test]
    fn a_message_needs_what_it_does() {
        let call = |name: &str, arguments: &str| {
            format!(
                r#"{{"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
            )
        };
        let write = |mode: &str| format!(r#"{{"uri":"docs://a","mode":"{mode}"}}"#);
        for (message, scope) in [
            (r#"{"method":"tools/list"}"#.to_owned(), None),
            (r#"{"method":"initialize","params":{}}"#.to_owned(), None),
            (call("search", "{}"), Some(Scope::DeckRead)),
            (call("mail__send", "{}"), Some(Scope::DeckCall)),
            (call("call_tool", r#"{"name":"mail__send","data":{}}"#), Some(Scope::DeckCall)),
            (call("code_mode", "{}"), Some(Scope::DeckCall)),
            (call("capsol_read", "{}"), Some(Scope::CapsuleRead)),
            (call("capsol_manage", "{}"), Some(Scope::RegistryManage)),
            (call("capsules__capsol_write", &write("create")), Some(Scope::CapsuleAppend)),
            (call("capsol_write", &write("patch")), Some(Scope::CapsuleWrite)),
            (
                call(
                    "call_tool",
                    &format!(r#"{{"name":"capsules__capsol_write","data":{}}}"#, write("replace")),
                ),
                Some(Scope::CapsuleWrite),
            ),
        ] {
            assert_eq!(needed(&message, &Resource::Deck), scope, "{message}");
        }
        let capsule = Resource::Capsule("team".to_owned());
        assert_eq!(needed(&call("unknown", "{}"), &capsule), None);
    }

    #[test]
    fn whoever_has_everything_is_not_read() {
        let all = Scopes::parse("deck:call capsule:write").unwrap();
        assert!(is_enough_for_all(&all, &Resource::Deck));
        let some = Scopes::parse("deck:call capsule:read").unwrap();
        assert!(!is_enough_for_all(&some, &Resource::Deck));
        assert!(is_enough_for_all(&some, &Resource::Server("a".to_owned())));
    }
}
