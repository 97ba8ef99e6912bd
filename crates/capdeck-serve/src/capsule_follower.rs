//! Revokes the grants and the shares of capsules that their holders may no longer use.
//!
//! Revokes grants of deleted capsules, whether deleted over HTTP, by a command, or while no host was running.
//! Access is bound to a capsule's uid, so correctness does not depend on when this runs. A share is valid only as long as its
//! creator can share the capsule.

use std::sync::Arc;

use capdeck_auth::inbound::{
    ADMIN_OPERATOR, EventCaller, ExistingCapsule, LOCAL_OPERATOR, OperatorRole, Registry,
};
use capdeck_host::{
    CapsuleAuthor, CapsuleCaller, CapsuleChange, CapsuleError, CapsuleInfo, CapsuleService,
    CapsuleServiceExt as _, ListCapsulesRequest, RevokeShareRequest, Share, SharesRequest,
};
use tokio::sync::broadcast::error::RecvError;

use crate::http_state::HttpState;

const HOST: &str = "host";

fn host() -> CapsuleCaller {
    CapsuleCaller::local(CapsuleAuthor::client("capdeck").principal_name(HOST))
}

async fn list_capsules(service: &dyn CapsuleService) -> Result<Vec<CapsuleInfo>, CapsuleError> {
    let listed = service.ask(host().request(None, ListCapsulesRequest::default())).await?;
    Ok(listed.capsules.into_iter().map(|capsule| capsule.info).collect())
}

/// Compares the registry with the existing capsules.
pub(crate) async fn reconcile(registry: &Registry, service: &dyn CapsuleService) {
    // A missing list does not mean that the capsules are deleted: a backup may be half restored.
    let named = registry.capsules().referenced();
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
    while registry.capsules().referenced().is_empty() {
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

impl HttpState {
    /// True for the local owner (`None`, or signed in to the dashboard), an admin, and the operator who owns the capsule.
    pub(crate) fn may_share(&self, maker: Option<&str>, capsule_key: &str) -> bool {
        let Some(maker) = maker.filter(|id| ![ADMIN_OPERATOR, LOCAL_OPERATOR].contains(id)) else {
            return true;
        };
        // Unknown creators cannot share.
        let Some(registry) = self.registry() else { return false };
        registry.operators().get(maker).is_some_and(|operator| {
            operator.role == OperatorRole::Admin
                || registry.capsules().owner(capsule_key).as_deref() == Some(maker)
        })
    }

    /// Revokes shares whose creators can no longer share the capsule. Such shares grant nothing anyway; this also ends their
    /// open streams.
    pub(crate) async fn end_orphaned_shares(&self) {
        if let Err(failure) = self.revoke_orphaned_shares().await {
            tracing::error!(
                code = failure.code.as_str(),
                "cannot revoke shares: {}",
                failure.message
            );
        }
    }

    async fn revoke_orphaned_shares(&self) -> Result<(), CapsuleError> {
        let Some(service) = self.host.capsules().filter(|service| service.may_have_capsules())
        else {
            return Ok(());
        };
        let host = host();
        for key in list_capsules(service.as_ref()).await?.iter().map(CapsuleInfo::key) {
            let listed = service.ask(host.request(Some(&key), SharesRequest)).await?;
            let is_orphaned =
                |share: &Share| !self.may_share(share.created_by_principal.as_deref(), &key);
            for Share { id, .. } in listed.shares.into_iter().filter(is_orphaned) {
                service.ask(host.request(None, RevokeShareRequest { id })).await?;
            }
        }
        Ok(())
    }
}
