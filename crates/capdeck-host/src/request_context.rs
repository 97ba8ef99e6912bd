//! One request of a client: the deck as it was when the request began, and its caller. A service
//! that asked a backend for its list continues with [`RequestContext::renewed`]; nothing else takes
//! another snapshot.

use std::sync::Arc;

use capdeck_backend::{CallContext, CallError};
use capdeck_catalog::Capability;

use crate::{Host, Session, deck_snapshot::DeckSnapshot, session_connections::SessionConnections};

/// What a service needs to know of its request.
#[derive(Clone)]
pub struct RequestContext<'a> {
    pub(crate) deck: DeckSnapshot<'a>,
    pub(crate) call: &'a CallContext,
}

impl Session {
    /// Begins a request with the deck in force.
    pub fn request<'a>(&'a self, call: &'a CallContext) -> RequestContext<'a> {
        RequestContext { deck: self.snapshot(), call }
    }
}

impl<'a> RequestContext<'a> {
    pub(crate) fn renewed(&self) -> Self {
        self.session().request(self.call)
    }

    pub(crate) fn with_call<'b>(&self, call: &'b CallContext) -> RequestContext<'b>
    where
        'a: 'b,
    {
        RequestContext { deck: self.deck.clone(), call }
    }

    pub(crate) fn session(&self) -> &'a Session {
        self.deck.session()
    }

    pub(crate) fn host(&self) -> &'a Host {
        &self.session().host
    }

    pub(crate) fn connections(&self) -> &'a SessionConnections {
        &self.session().connections
    }

    /// The capability of this id, if the client may use it.
    pub fn capability(&self, id: &str) -> Result<Arc<Capability>, CallError> {
        self.deck.capability(id)
    }
}
