//! Shares of a capsule: made, listed, revoked, and recognised by their token.

use super::LocalCapsuleService;
use crate::{CapsuleAccess, CapsuleErrorCode, EntryScope, NewShare, Share, StoreError, service::*};

impl LocalCapsuleService {
    pub(super) fn shares(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
    ) -> Result<SharesResponse, CapsuleError> {
        let resolved = self.resolve(caller);
        let id = &resolved.choose(capsule)?.0.id;
        resolved.require_machine("list shares")?;
        Ok(SharesResponse { capsule: id.clone(), shares: self.capsules.shares(id)? })
    }

    pub(super) async fn add_share(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
        request: AddShareRequest,
    ) -> Result<AddShareResponse, CapsuleError> {
        let AddShareRequest { name, role, uri_prefixes, denied_prefixes, expires_at } = request;
        let allow = uri_prefixes.iter().map(String::as_str);
        let deny = denied_prefixes.iter().map(String::as_str);
        let scope = EntryScope::parse(allow, deny).map_err(StoreError::from)?;
        let resolved = self.resolve(caller);
        let id = &resolved.choose(capsule)?.0.id;
        resolved.require_machine("make shares")?;
        let new = NewShare { name, access: CapsuleAccess { role, scope }, expires_at };
        let acting = self.acting_for(caller);
        let (share, token) = acting.add_share(id, new).await?;
        self.hub.capsules_changed();
        Ok(AddShareResponse { share, token: token.reveal().to_owned() })
    }

    pub(super) async fn revoke_share(
        &self,
        caller: &CapsuleCaller,
        request: RevokeShareRequest,
    ) -> Result<RevokeShareResponse, CapsuleError> {
        self.resolve(caller).require_machine("take shares back")?;
        self.acting_for(caller).revoke_share(&request.id).await?;
        self.hub.capsules_changed();
        Ok(RevokeShareResponse { id: request.id, revoked: true })
    }

    /// The share that a token opens, for a transport that was given one.
    pub(super) fn open_share(
        &self,
        caller: &CapsuleCaller,
        token: &str,
    ) -> Result<Share, CapsuleError> {
        self.resolve(caller).require_machine("try tokens")?;
        let acting = self.acting_for(caller);
        acting
            .share_by_token(token)
            .ok_or_else(|| CapsuleError::new(CapsuleErrorCode::NotFound, "the token opens nothing"))
    }
}
