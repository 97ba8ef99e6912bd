//! Lists of backends for a client, read where they are not known.

use std::sync::Arc;

use capdeck_backend::CallError;
use capdeck_catalog::{Capability, Discovery};
use capdeck_definition::{Backend, Definition, Exposure};
use futures_util::future::join_all;

use crate::{
    RequestContext, SessionScope, View,
    deck_snapshot::DeckSnapshot,
    discover::{DiscoveryPurpose, MissingList},
    pins::declares_its_tools,
};

/// The client's view, after asking directly offered backends without a known list.
pub async fn discovered_view(request: &RequestContext<'_>) -> Arc<View> {
    with_direct(request).await.deck.view()
}

pub(crate) async fn with_direct<'a>(request: &RequestContext<'a>) -> RequestContext<'a> {
    ask_unknown(request, request.deck.view().direct(), |_| true).await
}

/// The client's view, after asking those that may have resources and prompts, including members of
/// sets. A set that is served alone lists its members' resources and prompts under the deck's
/// names.
pub async fn discovered_offers(request: &RequestContext<'_>) -> Arc<View> {
    offers_in(&with_offers(request).await.deck)
}

pub(crate) async fn with_offers<'a>(request: &RequestContext<'a>) -> RequestContext<'a> {
    let is_server = |one: &Capability| matches!(one.definition.backend, Backend::Mcp(_));
    ask_unknown(request, offers_in(&request.deck).offering(), is_server).await
}

pub(crate) fn offers_in(deck: &DeckSnapshot<'_>) -> Arc<View> {
    match deck.scope() {
        SessionScope::Transparent(id) => {
            Arc::new(View::alone(deck.catalog().clone(), id.as_str(), Exposure::Direct))
        }
        SessionScope::Deck(_) | SessionScope::Operator => deck.view(),
    }
}

/// Asks the capabilities without a known list, and continues with the deck that has their answers.
/// Due lists of connected ones are read again in the background; a list is no reason to connect.
async fn ask_unknown<'a>(
    request: &RequestContext<'a>,
    capabilities: &[Arc<Capability>],
    may_offer: impl Fn(&Capability) -> bool,
) -> RequestContext<'a> {
    let connections = request.connections();
    let is_unknown = |one: &&Arc<Capability>| may_offer(one) && !connections.has_discovery(one);
    let unknown: Vec<_> = capabilities.iter().filter(is_unknown).cloned().collect();
    for definition in capabilities.iter().map(|one| &one.definition) {
        if let Some(lease) = connections.pool(definition).lease_open(definition) {
            connections.check_list_when_due(definition, &lease);
        }
    }
    if unknown.is_empty() {
        return request.clone();
    }
    let asking = connections.discover_unknown(unknown.into_iter(), DiscoveryPurpose::Listing);
    for MissingList { id, error, .. } in asking.await {
        tracing::warn!(capability = %id, %error, "the capability could not be listed");
    }
    request.renewed()
}

pub(crate) async fn discover(
    request: &RequestContext<'_>,
    definition: &Arc<Definition>,
) -> Result<Arc<Discovery>, CallError> {
    let discovery = request.connections().discover(definition, request.call).await?;
    let deck = request.session().snapshot();
    if deck.catalog().is_open() {
        return Ok(discovery);
    }
    let capability = deck.capability(definition.id.as_str())?;
    Ok(capability.discovery.clone().unwrap_or_default())
}

/// Asks every connected server again, because a client uses a name that no list has.
pub(crate) async fn ask_connected(request: &RequestContext<'_>) {
    let (deck, connections) = (&request.deck, request.connections());
    let seen = deck.catalog().capabilities().filter(|one| one.is_usable() && deck.may_see(one));
    let connected = seen.filter(|one| {
        let definition = &one.definition;
        !declares_its_tools(definition)
            && connections.pool(definition).lease_open(definition).is_some()
    });
    join_all(connected.map(|one| ask_again(request, one))).await;
}

/// The same for resources and prompts: the server whose name is a prefix, else those that are
/// connected.
pub(crate) async fn ask_about(request: &RequestContext<'_>, name: &str) {
    let deck = &request.deck;
    let owner = deck.view().find(name).and_then(|(id, _)| deck.capability(&id).ok());
    match owner.filter(|one| matches!(one.definition.backend, Backend::Mcp(_))) {
        Some(owner) => ask_again(request, &owner).await,
        None => ask_connected(request).await,
    }
}

async fn ask_again(request: &RequestContext<'_>, capability: &Capability) {
    let asking = request.connections().discover(&capability.definition, request.call);
    if let Err(error) = asking.await {
        tracing::debug!(%error, "a list could not be read again");
    }
}
