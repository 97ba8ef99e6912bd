//! Revokes the grants of deleted capsules, wherever they were deleted: over HTTP, by a command, or while no host was running.
//! Access is bound to a capsule's uid, so correctness does not depend on when this runs.

use std::sync::Arc;

use capdeck_auth::inbound::{Caller, PresentCapsule, Registry, capsule_key};
use capdeck_host::{
    Author, CapsuleCaller, CapsuleChange, CapsuleDesk, CapsuleFailure, CapsuleOperation,
};
use jiff::Timestamp;
use serde::Deserialize;
use tokio::sync::broadcast::error::RecvError;

const HOST: &str = "host";

#[derive(Deserialize)]
struct ListedCapsule {
    id: String,
    uid: String,
    created_at: Timestamp,
}

fn host() -> CapsuleCaller {
    CapsuleCaller::local(Author::client("capdeck").principal_name(HOST))
}

async fn present(desk: &dyn CapsuleDesk) -> Result<Vec<ListedCapsule>, CapsuleFailure> {
    let list = CapsuleOperation::ListCapsules { with_counts: false };
    let mut answer = desk.ask(host().request(None, list)).await?;
    serde_json::from_value(answer["capsules"].take())
        .map_err(|error| CapsuleFailure::new("internal", format!("cannot read the list: {error}")))
}

pub(crate) async fn present_keys(desk: &dyn CapsuleDesk) -> Result<Vec<String>, CapsuleFailure> {
    let present = present(desk).await?;
    Ok(present.iter().map(|one| capsule_key(&one.id, &one.uid)).collect())
}

/// Compares the registry with the existing capsules.
pub(crate) async fn reconcile(registry: &Registry, desk: &dyn CapsuleDesk) {
    // A missing list does not mean that the capsules are deleted: a backup may be half restored.
    let named = registry.named_capsules();
    if named.is_empty() || !desk.list_file().is_some_and(|list| list.exists()) {
        return;
    }
    let present = match present(desk).await {
        Ok(present) => present,
        Err(failure) => {
            tracing::warn!(code = failure.code, "cannot compare grants with capsules: {failure}");
            return;
        }
    };
    let capsule = |ListedCapsule { id, uid, created_at }| PresentCapsule { id, uid, created_at };
    let present = present.into_iter().map(capsule).collect();
    let host = Caller::new(HOST, None);
    if let Err(error) = registry.reconcile_capsules(&host, named, present).await {
        tracing::error!(%error, "cannot revoke the grants of deleted capsules");
    }
}

/// Reconciles whenever capsules change, until the stream ends.
pub(crate) async fn follow(registry: Registry, desk: Arc<dyn CapsuleDesk>) {
    let mut events = registry.changes();
    while registry.named_capsules().is_empty() {
        if let Err(RecvError::Closed) = events.recv().await {
            return;
        }
    }
    let mut changes = match desk.changes(host()).await {
        Ok(changes) => changes,
        Err(failure) => {
            tracing::warn!(code = failure.code, "cannot follow the capsules: {failure}");
            return;
        }
    };
    reconcile(&registry, desk.as_ref()).await;
    while let Some(change) = changes.next().await {
        match change {
            CapsuleChange::Capsules | CapsuleChange::Missed => {
                reconcile(&registry, desk.as_ref()).await;
            }
            CapsuleChange::Entry { .. } => {}
        }
    }
}
