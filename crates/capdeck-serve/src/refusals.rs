//! Refusals of somebody who is known leave one line in the registry's audit: who, where, why.
//!
//! Strangers leave none here: whoever has nothing to show could fill the disk with them.

use axum::extract::MatchedPath;
use capdeck_auth::inbound::{RegistryEvent, Subject};
use http::{Extensions, Method};
use jiff::Timestamp;

use crate::{actor::Actor, reception::Reception, transport::http::ClientAddress};

/// What the audit calls it.
const ACTION: &str = "access.refuse";

/// Where a request was refused. The path as it is declared, so that nothing of what was sent gets into the audit.
/// Noted of every request that may be refused, and written out only of those that are.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    method: Method,
    declared: Option<MatchedPath>,
    address: Option<ClientAddress>,
}

impl Place {
    pub(crate) fn of(method: &Method, extensions: &Extensions) -> Self {
        Self {
            method: method.clone(),
            declared: extensions.get().cloned(),
            address: extensions.get().copied(),
        }
    }
}

impl Reception {
    /// Records that somebody was refused, under a word for the reason.
    pub(crate) async fn note_refusal(&self, actor: &Actor, place: Place, code: &'static str) {
        let Some(registry) = self.registry() else { return };
        let (principal, client_id) = match actor {
            Actor::Credential(standing) => {
                (Some(standing.principal.clone()), standing.client_id.clone())
            }
            Actor::Owner | Actor::Operator(_) | Actor::Share(_) => (None, None),
        };
        let Place { method, declared, address } = place;
        let what = declared.map(|path| format!("{method} {}", path.as_str()));
        let event = RegistryEvent {
            at: Timestamp::now(),
            action: ACTION,
            error_code: Some(code),
            is_refused: true,
            actor: self.id_of(actor),
            address: address.map(|address| address.ip),
            subject: Subject { id: what, capsule: None, principal, client_id },
            self_approved: None,
        };
        registry.record_event(event).await;
    }

    /// The id that somebody has in the audit.
    fn id_of(&self, actor: &Actor) -> String {
        match (actor, self.operator(actor)) {
            (_, Some(operator)) => operator.id,
            (Actor::Credential(standing), None) => standing.principal.clone(),
            (Actor::Share(via), None) => via.share.clone(),
            (Actor::Owner | Actor::Operator(_), None) => String::new(),
        }
    }
}
