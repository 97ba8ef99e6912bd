//! Resources of the deck: those of servers, artifacts, files of skills and entries of capsules.

use capdeck_backend::{ArtifactUri, CallError, ErrorCode};
use capdeck_catalog::RawMembers;

use crate::{RequestContext, SessionScope, artifacts, forward::forward, listing, raw, skills};

pub(crate) struct ResourceRoute<'a> {
    pub(crate) request: RequestContext<'a>,
    pub(crate) capability: String,
    pub(crate) uri: String,
}

/// Reads a listed resource, a URI made from a listed template, or an artifact. `params` are the
/// client's own.
pub async fn read(request: &RequestContext<'_>, uri: &str, mut params: RawMembers) -> raw::Answer {
    if ArtifactUri::is_meant(uri) {
        return artifacts::read(&request.deck, uri).await;
    }
    if uri.starts_with("skill://")
        && let Some(read) = skills::read_file(request, uri, params.clone()).await
    {
        return read;
    }
    let entries = request.deck.entries();
    if let Some(entries) = &entries
        && let Some(read) = entries.read_named(uri, request.call).await
    {
        return read;
    }
    let route = match (find_route(request, uri).await, entries) {
        (Ok(route), _) => route,
        (Err(unknown), None) => return Err(unknown),
        (Err(unknown), Some(entries)) => {
            return entries.read_short(uri, request.call).await.unwrap_or(Err(unknown));
        }
    };
    raw::set(&mut params, "uri", &route.uri);
    forward(&route.request, &route.capability, "resources/read", Some(params)).await
}

pub(crate) async fn find_route<'a>(
    request: &RequestContext<'a>,
    uri: &str,
) -> Result<ResourceRoute<'a>, CallError> {
    let route = |request: RequestContext<'a>, (capability, uri): (String, String)| ResourceRoute {
        request,
        capability,
        uri,
    };
    // A URI of the deck names its server, so that none is asked. A set's may take many.
    if !matches!(request.deck.scope(), SessionScope::Transparent(_))
        && let Some(found) = request.deck.view().named_route(uri)
    {
        return Ok(route(request.clone(), found));
    }
    let mut request = listing::with_offers(request).await;
    if let Some(found) = listing::offers_in(&request.deck).resource_route(uri) {
        return Ok(route(request, found));
    }
    listing::ask_connected(&request).await;
    request = listing::with_offers(&request.renewed()).await;
    match listing::offers_in(&request.deck).resource_route(uri) {
        Some(found) => Ok(route(request, found)),
        None => {
            let message = format!("there is no resource `{uri}`");
            let error = CallError::new(ErrorCode::ResourceNotFound, message);
            Err(error.hint("list the resources first"))
        }
    }
}
