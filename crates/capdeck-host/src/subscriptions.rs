//! Resource subscriptions. A server gets one subscription per connection, for any number of
//! clients.

use std::{collections::HashMap, sync::Arc, time::Duration};

use capdeck_backend::{CallContext, CallError};
use capdeck_definition::{CapabilityId, Definition};
use parking_lot::Mutex;
use serde_json::json;

use crate::{
    HostEvent, RequestContext, Session,
    audit::without_query,
    raw,
    resources::{self, ResourceRoute},
    session_connections::{OwnConnections, RESOURCE_UPDATED, SessionConnections},
    view::resource_uri,
};

const NOTIFY_TIMEOUT: Duration = Duration::from_secs(10);

/// Per session.
const MAX_WATCHED: usize = 1024;

const SUBSCRIBE: &str = "resources/subscribe";
const UNSUBSCRIBE: &str = "resources/unsubscribe";

#[derive(Debug, Default)]
pub(crate) struct ResourceSubscriptions(Mutex<HashMap<WatchedResource, Vec<ResourceWatcher>>>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct WatchedResource {
    /// The session whose own connection it is; `None` for the shared one.
    connection: Option<Arc<str>>,
    capability: CapabilityId,
    uri: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ResourceWatcher {
    session: Arc<str>,
    shown: String,
}

/// Subscribes to a resource of one server under its own URI.
pub async fn subscribe(request: &RequestContext<'_>, id: &str, uri: &str) -> Result<(), CallError> {
    let watching = watch(request, id, uri, uri);
    request.session().audited(SUBSCRIBE, id, without_query(uri), watching).await
}

/// Subscribes to a listed resource.
pub async fn subscribe_listed(request: &RequestContext<'_>, uri: &str) -> Result<(), CallError> {
    on_listed(request, SUBSCRIBE, uri).await
}

/// Unsubscribes; the server is notified after the last subscriber of its connection.
pub async fn unsubscribe(
    request: &RequestContext<'_>,
    id: &str,
    uri: &str,
) -> Result<(), CallError> {
    let unwatching = unwatch(request, id, uri);
    request.session().audited(UNSUBSCRIBE, id, without_query(uri), unwatching).await
}

/// Unsubscribes from a listed resource.
pub async fn unsubscribe_listed(request: &RequestContext<'_>, uri: &str) -> Result<(), CallError> {
    on_listed(request, UNSUBSCRIBE, uri).await
}

async fn on_listed(request: &RequestContext<'_>, method: &str, uri: &str) -> Result<(), CallError> {
    let route = resources::find_route(request, uri).await;
    let id = route.as_ref().map(|route| route.capability.clone()).unwrap_or_default();
    let changing = async {
        let ResourceRoute { request, capability, uri: real } = route?;
        match method {
            SUBSCRIBE => watch(&request, &capability, &real, uri).await,
            _ => unwatch(&request, &capability, &real).await,
        }
    };
    request.session().audited(method, &id, without_query(uri), changing).await
}

async fn watch(
    request: &RequestContext<'_>,
    id: &str,
    uri: &str,
    shown: &str,
) -> Result<(), CallError> {
    let (session, subscriptions) = (request.session(), &request.host().0.subscriptions);
    if subscriptions.uris_of(&session.id).len() >= MAX_WATCHED {
        let message = format!("this client is already subscribed to {MAX_WATCHED} resources");
        return Err(CallError::invalid_request(message).hint("unsubscribe from some of them first"));
    }
    let capability = request.deck.whole_capability(id)?;
    let lease = request.connections().lease(&capability.definition, request.call).await?;
    let params = raw::object([("uri", json!(uri))]);
    lease.request(SUBSCRIBE, Some(params), request.call).await?;
    let watcher = ResourceWatcher { session: session.id.clone(), shown: shown.to_owned() };
    let watched = watched_resource(request, &capability.definition, uri);
    subscriptions.0.lock().entry(watched).or_default().push(watcher);
    Ok(())
}

async fn unwatch(request: &RequestContext<'_>, id: &str, uri: &str) -> Result<(), CallError> {
    let capability = request.capability(id)?;
    let watched = watched_resource(request, &capability.definition, uri);
    if request.host().0.subscriptions.remove(&watched, &request.session().id) {
        let lease = request.connections().lease(&capability.definition, request.call).await?;
        let params = raw::object([("uri", json!(uri))]);
        lease.request(UNSUBSCRIBE, Some(params), request.call).await?;
    }
    Ok(())
}

fn watched_resource(
    request: &RequestContext<'_>,
    definition: &Definition,
    uri: &str,
) -> WatchedResource {
    let is_shared = request.connections().shares(definition);
    WatchedResource {
        connection: (!is_shared).then(|| request.session().id.clone()),
        capability: definition.id.clone(),
        uri: uri.to_owned(),
    }
}

impl Session {
    /// The updated resource of an event under the client's URI, if the client is subscribed to it.
    pub fn watched_resource(&self, event: &HostEvent) -> Option<String> {
        let HostEvent::ServerNotified { capability, session, method, params } = event else {
            return None;
        };
        if &**method != RESOURCE_UPDATED || session.as_ref().is_some_and(|own| *own != self.id) {
            return None;
        }
        if self.access.is_some() {
            // No notifications after a grant was revoked.
            self.snapshot().whole_capability(capability.as_str()).ok()?;
        }
        let uri = raw::string(params.as_ref()?.get("uri")?)?;
        self.host.0.subscriptions.client_uri(session.as_ref(), capability, &uri, &self.id)
    }

    /// Every URI this client is subscribed to.
    pub fn watched_resources(&self) -> Vec<String> {
        self.host.0.subscriptions.uris_of(&self.id)
    }
}

/// Ends all subscriptions of a session. Its own connections end anyway; shared servers are
/// notified.
pub(crate) fn unsubscribe_all(session: &Session) {
    let catalog = session.host.catalog();
    for watched in session.host.0.subscriptions.remove_all(&session.id) {
        if watched.connection.is_none()
            && let Some(capability) = catalog.get(watched.capability.as_str())
        {
            let audience = session.connections.audience().clone();
            let connections = SessionConnections::shared(&session.host, audience);
            let definition = capability.definition.clone();
            send_each(connections, definition, UNSUBSCRIBE, vec![watched.uri]);
        }
    }
}

/// Repeats the subscriptions of a connection that was opened again.
pub(crate) fn subscribe_again(
    connections: &SessionConnections,
    definition: &Arc<Definition>,
    own: Option<&OwnConnections>,
) {
    let host = &connections.host;
    let uris = host.0.subscriptions.uris(own.map(|own| &own.client.session), &definition.id);
    if !uris.is_empty() {
        let connections = match own {
            Some(_) => connections.clone(),
            None => SessionConnections::shared(host, connections.audience().clone()),
        };
        send_each(connections, definition.clone(), SUBSCRIBE, uris);
    }
}

fn send_each(
    connections: SessionConnections,
    definition: Arc<Definition>,
    method: &'static str,
    uris: Vec<String>,
) {
    tokio::spawn(async move {
        let context = CallContext::detached(NOTIFY_TIMEOUT);
        let Ok(lease) = connections.lease_unchecked(&definition, &context).await else {
            return;
        };
        for uri in uris {
            let params = raw::object([("uri", json!(uri))]);
            if let Err(error) = lease.request(method, Some(params), &context).await {
                tracing::warn!(capability = %definition.id, uri, %error, method, "a resource subscription failed");
            }
        }
    });
}

impl ResourceSubscriptions {
    fn remove(&self, watched: &WatchedResource, session: &Arc<str>) -> bool {
        let mut table = self.0.lock();
        let Some(watchers) = table.get_mut(watched) else { return false };
        let Some(place) = watchers.iter().position(|watcher| watcher.session == *session) else {
            return false;
        };
        watchers.swap_remove(place);
        watchers.is_empty() && table.remove(watched).is_some()
    }

    fn remove_all(&self, session: &Arc<str>) -> Vec<WatchedResource> {
        let mut abandoned = Vec::new();
        self.0.lock().retain(|watched, watchers| {
            let before = watchers.len();
            watchers.retain(|watcher| watcher.session != *session);
            if watchers.is_empty() && before > 0 {
                abandoned.push(watched.clone());
            }
            !watchers.is_empty()
        });
        abandoned
    }

    fn uris(&self, connection: Option<&Arc<str>>, capability: &CapabilityId) -> Vec<String> {
        let table = self.0.lock();
        let of_this = table.keys().filter(|watched| {
            watched.connection.as_ref() == connection && watched.capability == *capability
        });
        of_this.map(|watched| watched.uri.clone()).collect()
    }

    /// Whether a session is subscribed to resources on its own connection to a capability.
    pub(crate) fn has_any(&self, session: &Arc<str>, capability: &CapabilityId) -> bool {
        !self.uris(Some(session), capability).is_empty()
    }

    fn uris_of(&self, session: &Arc<str>) -> Vec<String> {
        let table = self.0.lock();
        let own = table.values().flatten().filter(|watcher| watcher.session == *session);
        own.map(|watcher| watcher.shown.clone()).collect()
    }

    /// The client's URI of an updated resource. A server may name a part of it.
    fn client_uri(
        &self,
        connection: Option<&Arc<str>>,
        capability: &CapabilityId,
        uri: &str,
        session: &Arc<str>,
    ) -> Option<String> {
        let table = self.0.lock();
        table.iter().find_map(|(watched, watchers)| {
            if watched.connection.as_ref() != connection || watched.capability != *capability {
                return None;
            }
            let rest = uri.strip_prefix(watched.uri.as_str())?;
            let watcher = watchers.iter().find(|watcher| watcher.session == *session)?;
            if rest.is_empty() {
                return Some(watcher.shown.clone());
            }
            let is_part = watched.uri.ends_with('/') || rest.starts_with(['/', '#', '?']);
            is_part.then(|| match watcher.shown == watched.uri {
                true => uri.to_owned(),
                false => resource_uri(capability.as_str(), uri),
            })
        })
    }
}
