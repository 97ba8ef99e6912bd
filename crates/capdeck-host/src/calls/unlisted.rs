//! Names that no list has: the tools that they mean after all, and their errors.

use capdeck_backend::{CallError, ErrorCode};
use capdeck_sandbox::call_text;

use super::refresh_list;
use crate::{
    LastFailure, RequestContext, ToolRoute,
    deck_snapshot::{DeckSnapshot, ToolLookup},
    gate, listing,
    pins::declares_its_tools,
    view::ResolvedName,
};

/// Resolves a name that no list has: asks backends without a known list, and again the one whose
/// name is a prefix.
pub(super) async fn find_unlisted<'a>(
    request: &RequestContext<'a>,
    name: &str,
) -> Result<Option<(RequestContext<'a>, ToolRoute)>, CallError> {
    let mut request = listing::with_direct(request).await;
    let deck = &request.deck;
    let view = deck.view();
    if let Some(route) = view.route(name) {
        return Ok(Some((request, route)));
    }
    let found = match ResolvedName::of(&view, name) {
        // The name of a tool alone would change its meaning with the deck.
        ResolvedName::Tool(id, tool) if tool != name => Some((id, tool)),
        ResolvedName::Several(names) => return Err(ambiguous(name, &names)),
        ResolvedName::Tool(..) | ResolvedName::Unknown { .. } => None,
    };
    let Some((id, tool)) = found else { return refuse_unlisted(deck, name) };
    let capability = gate::require_offered(deck, &id, Some(&tool))?;
    let is_direct = || view.direct().iter().any(|one| one.definition.id.as_str() == id);
    match deck.held(&capability, &tool) {
        ToolLookup::Held(error) => return Err(error),
        // A person approved it since the catalog was built.
        ToolLookup::Released => request.host().rebuild(),
        // Another spelling of a listed tool, such as `drive__drive.files.list` or `drive.files_list`.
        _ if is_direct() && deck.catalog().tool(&id, &tool).is_some() => {
            return Ok(Some((request, ToolRoute::Tool { capability: id, tool })));
        }
        _ if is_direct()
            && capability.discovery.is_some()
            && !declares_its_tools(&capability.definition) =>
        {
            let refusal = deck.unknown_tool(&capability, &tool);
            refresh_list(&request, &capability, refusal).await?;
        }
        _ => return refuse_unlisted(deck, name),
    }
    request = request.renewed();
    match request.deck.view().route(name) {
        Some(route) => Ok(Some((request, route))),
        None => refuse_unlisted(&request.deck, name),
    }
}

fn ambiguous(name: &str, names: &[String]) -> CallError {
    CallError::new(ErrorCode::ToolNotFound, format!("`{name}` may mean several tools"))
        .hint(format!("use one of: {}", names.join(", ")))
}

fn refuse_unlisted<T>(deck: &DeckSnapshot<'_>, name: &str) -> Result<Option<T>, CallError> {
    let view = deck.view();
    let Some((id, tool)) = view.find(name) else {
        return match offers_nothing(deck) {
            true => Err(gate::nothing_offered_error(name)),
            false => Ok(None),
        };
    };
    let capability = gate::require_offered(deck, &id, Some(&tool))?;
    if let ToolLookup::Held(error) = deck.held(&capability, &tool) {
        return Err(error);
    }
    let other_way = if view.is_searchable(&capability) {
        Some(format!("use `call_tool` with name `{name}`, or `search` for `{tool}`"))
    } else if view.is_on_demand(&capability) {
        let spoken = view.spoken_name(&id, &tool);
        Some(format!("use `setup_tools` with `@{id}`, then `call_tool` with name `{spoken}`"))
    } else if view.is_coded(&capability) {
        Some(format!("use `code_mode`: await {}", call_text(&id, &tool, "…")))
    } else {
        None
    };
    if let Some(hint) = other_way {
        let message = format!("`{name}` is not listed here");
        return Err(CallError::new(ErrorCode::ToolNotFound, message).hint(hint));
    }
    // A direct capability was asked for its tools before this point; without a list it did not
    // answer.
    if capability.discovery.is_none()
        && let Some(failure) = LastFailure::of(&deck.session().host, &id)
    {
        return Err(CallError::unavailable(failure.message).hint(format!("see: capdeck why {id}")));
    }
    let near = deck.catalog().nearest_tool(&id, &tool).map(|near| view.name_of(&id, near));
    match near.filter(|near| view.route(near).is_some()) {
        Some(near) => {
            Err(CallError::new(ErrorCode::ToolNotFound, format!("there is no tool `{name}`"))
                .hint(format!("did you mean `{near}`?")))
        }
        None => Ok(None),
    }
}

fn offers_nothing(deck: &DeckSnapshot<'_>) -> bool {
    let mut usable = deck.catalog().capabilities().filter(|one| one.is_usable()).peekable();
    usable.peek().is_some() && usable.all(|capability| !deck.may_see(capability))
}
