//! The session of a REST request; its calls use the same path as MCP calls.

use std::{sync::Arc, time::Duration};

use capdeck_host::{
    CallContext, Catalog, ClientProfile, NoListener, Principal, Session, SessionContinuity,
    SessionScope, SessionSettings, TaskForm, ViewPolicy,
};

use crate::rest::call::RestCall;

/// The client name in audits and policies.
const CLIENT: &str = "capdeck-rest";

impl RestCall {
    /// A session without elicitation.
    pub(super) fn session(&self) -> Arc<Session> {
        let scope = match &self.access {
            // A client gets the same view as over MCP.
            Some(_) => SessionScope::Deck(ViewPolicy::default()),
            None => SessionScope::Operator,
        };
        self.rest.host.session(SessionSettings {
            scope,
            client_name: CLIENT.to_owned(),
            principal: Principal::named(&self.principal).shown_as(self.name().as_deref()),
            client: ClientProfile::default(),
            listener: Arc::new(NoListener),
            tasks: TaskForm::Awaited,
            continuity: SessionContinuity::Requests,
            access: self.access.clone(),
        })
    }

    /// The part of the catalog that the sender can see.
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        self.session().catalog()
    }
}

/// A context with the timeout of the tool, or this one.
pub(super) fn context(timeout: Option<Duration>) -> CallContext {
    CallContext { timeout, ..CallContext::detached(Duration::ZERO) }
}
