//! A share lasts no longer than the right of its maker to share the capsule.

use capdeck_auth::inbound::{ADMIN_OPERATOR, LOCAL_OPERATOR, OperatorRole};
use capdeck_host::{
    Author, CapsuleCaller, CapsuleError, CapsuleServiceExt as _, RevokeShareRequest, Share,
    SharesRequest,
};

use crate::{capsule_follower::present_keys, reception::Reception};

impl Reception {
    /// Whether its maker may share a capsule now: the owner of this machine (`None`, or signed in to the dashboard), an
    /// admin, or the operator whose capsule it is.
    pub(crate) fn may_share(&self, maker: Option<&str>, capsule_key: &str) -> bool {
        let Some(maker) = maker.filter(|id| ![ADMIN_OPERATOR, LOCAL_OPERATOR].contains(id)) else {
            return true;
        };
        // A maker that cannot be looked up may not.
        let Some(registry) = self.registry() else { return false };
        registry.operator(maker).is_some_and(|operator| {
            operator.role == OperatorRole::Admin
                || registry.capsule_owner(capsule_key).as_deref() == Some(maker)
        })
    }

    /// Revokes the shares whose makers may no longer share their capsules. Such a share opens nothing in any case; this
    /// also ends what listens with it.
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
        let host = CapsuleCaller::local(Author::client("capdeck").principal_name("host"));
        for key in present_keys(service.as_ref()).await? {
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
