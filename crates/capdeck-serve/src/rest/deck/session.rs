//! The session of a REST request; its calls use the same path as MCP calls.

use std::{sync::Arc, time::Duration};

use capdeck_host::{
    CallContext, Catalog, ClientProfile, Continuity, NoListener, Principal, Scope, Session,
    SessionSettings, TaskForm, ViewPolicy,
};

use crate::rest::call::Call;

/// The client name in audits and policies.
const CLIENT: &str = "capdeck-rest";

impl Call {
    /// A session without elicitation.
    pub(super) fn session(&self) -> Arc<Session> {
        let scope = match &self.access {
            // A client gets the same view as over MCP.
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

    /// The part of the catalog that the sender can see.
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        self.session().catalog()
    }
}

/// A context with the timeout of the tool, or this one.
pub(super) fn context(timeout: Option<Duration>) -> CallContext {
    CallContext { timeout, ..CallContext::detached(Duration::ZERO) }
}
