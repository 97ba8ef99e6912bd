//! The session that a request works through: calls over HTTP take the one path that all calls take.

use std::{sync::Arc, time::Duration};

use capdeck_host::{
    CallContext, Catalog, ClientProfile, Continuity, NoListener, Principal, Scope, Session,
    SessionSettings, TaskForm, ViewPolicy,
};

use crate::rest::call::Call;

/// What the client of these sessions is called in audits and in the policy.
const CLIENT: &str = "capdeck-rest";

impl Call {
    /// A session of whoever asks, with nobody there who could be asked something.
    pub(super) fn session(&self) -> Arc<Session> {
        let scope = match &self.access {
            // A client meets the deck as it does over MCP.
            Some(_) => Scope::Deck(ViewPolicy::default()),
            None => Scope::Operator,
        };
        self.rest.host.session(SessionSettings {
            scope,
            client_name: CLIENT.to_owned(),
            principal: Principal::named(&self.principal).shown_as(self.name().as_deref()),
            client: ClientProfile::default(),
            listener: Arc::new(NoListener),
            tasks: TaskForm::Awaited,
            continuity: Continuity::Requests,
            access: self.access.clone(),
        })
    }

    /// The catalog as far as whoever asks may know it.
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        self.session().catalog()
    }
}

/// A call that waits as long as its tool does, or this long.
pub(super) fn context(timeout: Option<Duration>) -> CallContext {
    CallContext { timeout, ..CallContext::detached(Duration::ZERO) }
}
