//! Records changes and denials of the registry in the audit trail of the data folder.

use std::{fmt, sync::Arc};

use capdeck_auth::inbound::{AuditSink, RegistryEvent, capsule_id_of};
use capdeck_host::{
    AccessEvent, AuditOutcome, CapsuleAuthor, CapsuleCaller, CapsuleService, CapsuleServiceExt as _,
};
use tokio::runtime::Handle;

/// Writes registry events to the capsule store, through the process that holds it.
pub struct RegistryTrail {
    service: Arc<dyn CapsuleService>,
    runtime: Handle,
}

impl RegistryTrail {
    /// Creates the trail. The runtime must outlive the registry.
    pub fn new(service: Arc<dyn CapsuleService>, runtime: Handle) -> Arc<Self> {
        Arc::new(Self { service, runtime })
    }
}

impl AuditSink for RegistryTrail {
    fn record(&self, event: &RegistryEvent) {
        let agent = if event.actor.is_empty() { "unknown" } else { &event.actor };
        let principal = event.subject.principal.as_deref().unwrap_or_default();
        let author = CapsuleAuthor::client(agent).principal(principal);
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
        // The registry calls this from a blocking thread, after the change is on disk.
        if let Err(failure) = self.runtime.block_on(self.service.ask(request)) {
            tracing::error!(
                code = failure.code.as_str(),
                action = event.action,
                "cannot record a change of the registry: {}",
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
