//! One request of a client: the deck as it was when the request began, and how its caller is reached.
//!
//! It is made in one place and given to every service. A service that changed the deck on behalf of its request, by
//! asking a backend for its list, goes on with [`RequestContext::renewed`]; nothing else takes another snapshot.

use std::sync::Arc;

use capdeck_backend::{CallContext, CallError};
use capdeck_catalog::Capability;

use crate::{Host, Session, connections::Connections, deck_snapshot::DeckSnapshot, pool::Lease};

/// What a service needs to know of the request that it answers.
#[derive(Clone)]
pub struct RequestContext<'a> {
    /// The catalog, the view and the access of the client.
    pub(crate) deck: DeckSnapshot<'a>,
    /// Cancellation, progress, time limits and questions to the caller.
    pub(crate) call: &'a CallContext,
}

impl Session {
    /// Begins a request with the deck that is in force now.
    pub fn request<'a>(&'a self, call: &'a CallContext) -> RequestContext<'a> {
        RequestContext { deck: self.snapshot(), call }
    }
}

impl<'a> RequestContext<'a> {
    /// The same request with the deck that is in force now.
    pub(crate) fn renewed(&self) -> Self {
        self.session().request(self.call)
    }

    /// The same request with another way to its caller.
    pub(crate) fn with_call<'b>(&self, call: &'b CallContext) -> RequestContext<'b>
    where
        'a: 'b,
    {
        RequestContext { deck: self.deck.clone(), call }
    }

    /// The client that asks.
    pub(crate) fn session(&self) -> &'a Session {
        self.deck.session()
    }

    pub(crate) fn host(&self) -> &'a Host {
        &self.session().host
    }

    pub(crate) fn connections(&self) -> &'a Connections {
        &self.session().connections
    }

    /// The capability of this id, if the client may use it.
    pub fn capability(&self, id: &str) -> Result<Arc<Capability>, CallError> {
        self.deck.capability(id)
    }

    /// The connection of a capability for this client, opened now if need be.
    pub(crate) async fn lease(&self, capability: &Capability) -> Result<Lease, CallError> {
        let (host, connections) = (self.host(), self.connections());
        let definition = &capability.definition;
        let lease = connections.lease(host, definition, &self.call.cancel).await?;
        host.check_list_when_due(definition, connections, &lease);
        Ok(lease)
    }
}
