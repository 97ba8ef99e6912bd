//! Shares of a capsule: made, listed, taken back, and recognised by their token.

use capdeck_capsule::{Access, NewShare, Scope, Share, ShareExpiry, StoreError};
use serde_json::{Value, json};

use super::{Answer, LocalDesk};
use crate::capsules::{CapsuleCaller, CapsuleFailure};

impl LocalDesk {
    pub(super) fn shares(&self, caller: &CapsuleCaller, capsule: Option<&str>) -> Answer {
        let admitted = self.admit(caller);
        let id = &admitted.choose(capsule)?.0.id;
        admitted.require_machine("list shares")?;
        let shares: Vec<_> = self.capsules.shares(id)?.iter().map(shown).collect();
        Ok(json!({ "capsule": id, "shares": shares }))
    }

    pub(super) async fn add_share(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
        name: String,
        access: Access,
        expires_at: ShareExpiry,
    ) -> Answer {
        let admitted = self.admit(caller);
        let id = &admitted.choose(capsule)?.0.id;
        admitted.require_machine("make shares")?;
        let new = NewShare { name, access, expires_at };
        let acting = self.capsules.acting_for(caller.author.clone());
        let (share, token) = acting.add_share(id, new).await?;
        self.hub.capsules_changed();
        let mut fields = shown(&share);
        if let Some(fields) = fields.as_object_mut() {
            fields.insert("token".to_owned(), token.reveal().into());
        }
        Ok(fields)
    }

    pub(super) async fn revoke_share(&self, caller: &CapsuleCaller, id: &str) -> Answer {
        self.admit(caller).require_machine("take shares back")?;
        self.capsules.acting_for(caller.author.clone()).revoke_share(id).await?;
        self.hub.capsules_changed();
        Ok(json!({ "id": id, "revoked": true }))
    }

    /// The share that a token opens, for a transport that was given one.
    pub(super) fn open_share(&self, caller: &CapsuleCaller, token: &str) -> Answer {
        self.admit(caller).require_machine("try tokens")?;
        let unknown = || CapsuleFailure::new("not_found", "the token opens nothing");
        let acting = self.capsules.acting_for(caller.author.clone());
        acting.share_by_token(token).as_ref().map(shown).ok_or_else(unknown)
    }
}

/// Which part of a capsule a share is to open.
pub(super) fn scope(allow: &[String], deny: &[String]) -> Result<Scope, CapsuleFailure> {
    let parsed = Scope::parse(allow.iter().map(String::as_str), deny.iter().map(String::as_str));
    Ok(parsed.map_err(StoreError::from)?)
}

/// A share without the hash of its token.
fn shown(share: &Share) -> Value {
    let mut fields = json!(share);
    if let Some(fields) = fields.as_object_mut() {
        fields.shift_remove("token_sha256");
    }
    fields
}
