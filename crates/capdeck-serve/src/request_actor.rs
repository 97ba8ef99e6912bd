//! The sender of a request, which `transport::http::authenticate` adds to its extensions, and the audit of refused senders: one
//! line each, with who, where and why.
//!
//! Requests without a credential leave none: anyone could fill the disk with them. Credentials that open nothing leave one line
//! for each burst.

use std::sync::Arc;

use axum::extract::MatchedPath;
use capdeck_auth::inbound::{
    AuthenticatedClient, AuthenticatedOperator, EventSubject, FailedAttempt, RegistryEvent,
};
use http::{Extensions, Method};
use jiff::Timestamp;

use crate::{http_state::HttpState, mcp::ShareAccess, transport::http::ClientAddress};

/// Who sends a request.
#[derive(Debug, Clone)]
pub(crate) enum RequestActor {
    /// The holder of the host's key, or the person at this machine where that is enough.
    Owner,
    /// A person who signed in, or sent a key of their own.
    Operator(AuthenticatedOperator),
    /// A client with a token.
    Credential(Arc<AuthenticatedClient>),
    /// The holder of a share's token, which opens one capsule.
    Share(ShareAccess),
}

/// The principal of the owner who sent the host's key.
pub(crate) const KEY_PRINCIPAL: &str = "key";

impl RequestActor {
    /// A name for people, from what this host knows and never from what the client says. Shares are named by the capsules.
    pub(crate) fn name(&self, principal: &str) -> Option<String> {
        match self {
            Self::Owner if principal == KEY_PRINCIPAL => Some("admin".to_owned()),
            Self::Owner => Some("local".to_owned()),
            Self::Operator(operator) => Some(format!("operator {}", operator.name)),
            Self::Credential(client) => Some(format!("client {}", client.client_name)),
            Self::Share(_) => None,
        }
    }
}

/// What the audit calls it.
const ACTION: &str = "access.refuse";
const FAILED_CREDENTIAL: &str = "credential.fail";

/// Where a request was refused. The path as it is declared, so that nothing of what was sent gets into the audit.
/// Noted of every request that may be refused, and written out only of those that are.
#[derive(Debug, Clone)]
pub(crate) struct RefusalLocation {
    method: Method,
    declared: Option<MatchedPath>,
    address: Option<ClientAddress>,
}

impl RefusalLocation {
    pub(crate) fn of(method: &Method, extensions: &Extensions) -> Self {
        Self {
            method: method.clone(),
            declared: extensions.get().cloned(),
            address: extensions.get().copied(),
        }
    }
}

impl HttpState {
    /// Records that a known sender was refused.
    pub(crate) async fn record_refusal(
        &self,
        actor: &RequestActor,
        place: RefusalLocation,
        code: &'static str,
    ) {
        let Some(registry) = self.registry() else { return };
        let (principal, client_id) = match actor {
            RequestActor::Credential(client) => {
                (Some(client.principal.clone()), client.client_id.clone())
            }
            RequestActor::Owner | RequestActor::Operator(_) | RequestActor::Share(_) => {
                (None, None)
            }
        };
        let RefusalLocation { method, declared, address } = place;
        let what = declared.map(|path| format!("{method} {}", path.as_str()));
        let event = RegistryEvent {
            at: Timestamp::now(),
            action: ACTION,
            error_code: Some(code),
            is_refused: true,
            actor: self.audit_id(actor),
            address: address.map(|address| address.ip),
            subject: EventSubject { id: what, capsule: None, principal, client_id },
            self_approved: None,
        };
        registry.record_event(event).await;
    }

    /// Counts a credential that opened nothing, and records the first of a burst.
    pub(crate) async fn record_failed_credential(
        &self,
        address: Option<ClientAddress>,
        attempt: FailedAttempt,
    ) {
        let FailedAttempt { class, retry_after, starts_burst } = attempt;
        metrics::counter!("capdeck_failed_credentials_total", "class" => class.as_str())
            .increment(1);
        if !starts_burst {
            return;
        }
        let ip = address.map(|address| address.ip);
        let from = ip.map_or_else(|| "an unknown address".to_owned(), |ip| ip.to_string());
        tracing::warn!(class = class.as_str(), %from, "credentials that open nothing are sent");
        let Some(registry) = self.registry() else { return };
        let event = RegistryEvent {
            at: Timestamp::now(),
            action: FAILED_CREDENTIAL,
            error_code: Some(if retry_after.is_some() { "too_soon" } else { "wrong_credential" }),
            is_refused: true,
            actor: String::new(),
            address: ip,
            subject: EventSubject {
                id: Some(format!("{} from {from}", class.as_str())),
                ..EventSubject::default()
            },
            self_approved: None,
        };
        registry.record_event(event).await;
    }

    /// The id of a sender in the audit.
    fn audit_id(&self, actor: &RequestActor) -> String {
        match (actor, self.operator(actor)) {
            (_, Some(operator)) => operator.id,
            (RequestActor::Credential(client), None) => client.principal.clone(),
            (RequestActor::Share(via), None) => via.share.clone(),
            (RequestActor::Owner | RequestActor::Operator(_), None) => String::new(),
        }
    }
}
