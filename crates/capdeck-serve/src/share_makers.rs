//! A share is valid only as long as its creator can share the capsule.

use capdeck_auth::inbound::{ADMIN_OPERATOR, LOCAL_OPERATOR, OperatorRole};
use capdeck_host::{
    CapsuleAuthor, CapsuleCaller, CapsuleError, CapsuleServiceExt as _, RevokeShareRequest, Share,
    SharesRequest,
};

use crate::{capsule_follower::list_capsule_keys, http_state::HttpState};

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
        let host = CapsuleCaller::local(CapsuleAuthor::client("capdeck").principal_name("host"));
        for key in list_capsule_keys(service.as_ref()).await? {
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
