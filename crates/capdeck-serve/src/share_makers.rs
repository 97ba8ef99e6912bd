//! A share lasts no longer than the right of its maker to share the capsule.

use capdeck_auth::inbound::{ADMIN_OPERATOR, LOCAL_OPERATOR, OperatorRole};
use capdeck_host::{Author, CapsuleCaller, CapsuleFailure, CapsuleOperation};
use serde_json::Value;

use crate::{capsule_follower::present_keys, http_state::HttpState};

impl HttpState {
    /// Whether somebody may share a capsule now: the owner of this machine (`None`, or signed in to the dashboard), an
    /// admin, or the operator whose capsule it is.
    pub(crate) fn may_share(&self, maker: Option<&str>, capsule_key: &str) -> bool {
        let Some(maker) = maker.filter(|id| ![ADMIN_OPERATOR, LOCAL_OPERATOR].contains(id)) else {
            return true;
        };
        // Whoever cannot be looked up may not.
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
