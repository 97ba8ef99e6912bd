//! A share is valid only as long as its creator can share the capsule.

use capdeck_auth::inbound::{ADMIN_OPERATOR, LOCAL_OPERATOR, OperatorRole};
use capdeck_host::{Author, CapsuleCaller, CapsuleFailure, CapsuleOperation};
use serde_json::Value;

use crate::{capsule_follower::present_keys, http_state::HttpState};

impl HttpState {
    /// True for the local owner (`None`, or signed in to the dashboard), an admin, and the operator who owns the capsule.
    pub(crate) fn may_share(&self, maker: Option<&str>, capsule_key: &str) -> bool {
        let Some(maker) = maker.filter(|id| ![ADMIN_OPERATOR, LOCAL_OPERATOR].contains(id)) else {
            return true;
        };
        // Unknown creators cannot share.
        let Some(registry) = self.registry() else { return false };
        registry.operator(maker).is_some_and(|operator| {
            operator.role == OperatorRole::Admin
                || registry.capsule_owner(capsule_key).as_deref() == Some(maker)
        })
    }

    /// Revokes shares whose creators can no longer share the capsule. Such shares grant nothing anyway; this also ends their
    /// open streams.
    pub(crate) async fn end_orphaned_shares(&self) {
        if let Err(failure) = self.revoke_orphaned_shares().await {
            tracing::error!(code = failure.code, "cannot revoke shares: {}", failure.message);
        }
    }

    async fn revoke_orphaned_shares(&self) -> Result<(), CapsuleFailure> {
        let Some(desk) = self.host.capsules().filter(|desk| desk.may_have_capsules()) else {
            return Ok(());
        };
        let host = CapsuleCaller::local(Author::client("capdeck").principal_name("host"));
        for key in present_keys(desk.as_ref()).await? {
            let listed = desk.ask(host.request(Some(&key), CapsuleOperation::Shares)).await?;
            let shares = listed["shares"].as_array().map(Vec::as_slice).unwrap_or_default();
            let is_orphaned =
                |share: &&Value| !self.may_share(share["created_by_principal"].as_str(), &key);
            for share in shares.iter().filter(is_orphaned) {
                let id = share["id"].as_str().unwrap_or_default().to_owned();
                desk.ask(host.request(None, CapsuleOperation::RevokeShare { id })).await?;
            }
        }
        Ok(())
    }
}
