//! What the registry decides, in the data folder's own audit: one line for every change and every refusal.

use std::{fmt, sync::Arc};

use capdeck_auth::inbound::{AuditSink, RegistryEvent, capsule_id_of};
use capdeck_host::{
    AccessEvent, AuditOutcome, Author, CapsuleCaller, CapsuleService, CapsuleServiceExt as _,
};
use tokio::runtime::Handle;

/// Writes events of the registry where the capsules are, by way of whichever process has them.
pub struct RegistryTrail {
    service: Arc<dyn CapsuleService>,
    runtime: Handle,
}

impl RegistryTrail {
    /// A trail in this service. Needs a runtime that goes on while events are sent.
    pub fn new(service: Arc<dyn CapsuleService>, runtime: Handle) -> Arc<Self> {
        Arc::new(Self { service, runtime })
    }
}

impl AuditSink for RegistryTrail {
    fn record(&self, event: &RegistryEvent) {
        let agent = if event.actor.is_empty() { "somebody unknown" } else { &event.actor };
        let author = Author::client(agent);
        let author = match &event.subject.principal {
            Some(principal) => author.principal(principal),
            None => author,
        };
        let outcome = match event.error_code {
            None => AuditOutcome::Ok,
            Some(_) if event.is_refused => AuditOutcome::Denied,
            Some(_) => AuditOutcome::Error,
        };
        let noted = AccessEvent {
            action: event.action.to_owned(),
            capsule: event.subject.capsule.as_deref().map(|key| capsule_id_of(key).to_owned()),
            subject: event.subject.id.clone().or_else(|| event.subject.client_id.clone()),
            outcome,
            error_code: event.error_code.map(str::to_owned),
            self_approved: event.self_approved.map(|link| link.as_str().to_owned()),
        };
        let request = CapsuleCaller::local(author).request(None, noted);
        // The registry tells from a thread that may wait, after the change is on disk.
        if let Err(failure) = self.runtime.block_on(self.service.ask(request)) {
            tracing::error!(
                code = failure.code.as_str(),
                action = event.action,
                "a change of the registry could not be recorded: {}",
                failure.message
            );
        }
    }
}

impl fmt::Debug for RegistryTrail {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RegistryTrail").finish_non_exhaustive()
    }
}
