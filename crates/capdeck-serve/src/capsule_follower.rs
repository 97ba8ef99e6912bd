//! Revokes the grants of deleted capsules, wherever they were deleted: over HTTP, by a command, or while no host was running.
//! Access is bound to a capsule's uid, so correctness does not depend on when this runs.

use std::sync::Arc;

use capdeck_auth::inbound::{EventCaller, ExistingCapsule, Registry};
use capdeck_host::{
    CapsuleAuthor, CapsuleCaller, CapsuleChange, CapsuleError, CapsuleInfo, CapsuleService,
    CapsuleServiceExt as _, ListCapsulesRequest,
};
use tokio::sync::broadcast::error::RecvError;

const HOST: &str = "host";

fn host() -> CapsuleCaller {
    CapsuleCaller::local(CapsuleAuthor::client("capdeck").principal_name(HOST))
}

async fn list_capsules(service: &dyn CapsuleService) -> Result<Vec<CapsuleInfo>, CapsuleError> {
    let listed = service.ask(host().request(None, ListCapsulesRequest::default())).await?;
    Ok(listed.capsules.into_iter().map(|capsule| capsule.info).collect())
}

pub(crate) async fn list_capsule_keys(
    service: &dyn CapsuleService,
) -> Result<Vec<String>, CapsuleError> {
    Ok(list_capsules(service).await?.iter().map(CapsuleInfo::key).collect())
}

/// Compares the registry with the existing capsules.
pub(crate) async fn reconcile(registry: &Registry, service: &dyn CapsuleService) {
    // A missing list does not mean that the capsules are deleted: a backup may be half restored.
    let named = registry.capsules().named();
    if named.is_empty() || !service.list_file().is_some_and(|list| list.exists()) {
        return;
    }
    let present = match list_capsules(service).await {
        Ok(present) => present,
        Err(failure) => {
            tracing::warn!(
                code = failure.code.as_str(),
                "cannot compare grants with capsules: {failure}"
            );
            return;
        }
    };
    let capsule = |CapsuleInfo { id, uid, created_at, .. }| ExistingCapsule { id, uid, created_at };
    let present = present.into_iter().map(capsule).collect();
    let host = EventCaller::new(HOST, None);
    if let Err(error) = registry.capsules().reconcile(&host, named, present).await {
        tracing::error!(%error, "cannot revoke the grants of deleted capsules");
    }
}

/// Reconciles whenever capsules change, until the stream ends.
pub(crate) async fn follow(registry: Registry, service: Arc<dyn CapsuleService>) {
    let mut events = registry.changes();
    while registry.capsules().named().is_empty() {
        if let Err(RecvError::Closed) = events.recv().await {
            return;
        }
    }
    let mut changes = match service.changes(host()).await {
        Ok(changes) => changes,
        Err(failure) => {
            tracing::warn!(code = failure.code.as_str(), "cannot follow the capsules: {failure}");
            return;
        }
    };
    reconcile(&registry, service.as_ref()).await;
    while let Some(change) = changes.next().await {
        match change {
            CapsuleChange::Capsules | CapsuleChange::Missed => {
                reconcile(&registry, service.as_ref()).await;
            }
            CapsuleChange::Entry { .. } => {}
        }
    }
}
