//! Shares of capsules: made, listed, found by their tokens, revoked.

use std::sync::Arc;

use super::{CapsuleRegistry, CapsuleRegistryInner, blocking};
use crate::{
    CapsuleInfo, CapsuleRegistryError, NewShare, Share, ShareToken,
    registry_audit::AuditSubject,
    share::{self, ShareRecord},
};

impl CapsuleRegistry {
    /// Makes a share. The token is returned here and nowhere else.
    pub async fn add_share(
        &self,
        id: &str,
        new: NewShare,
    ) -> Result<(Share, ShareToken), CapsuleRegistryError> {
        let capsule = self.find(id)?;
        let now = self.inner.options.clock.now();
        let (record, token) = ShareRecord::create(&capsule, new, &self.author, now)?;
        let share = record.share.clone();
        let subject = AuditSubject { capsule: Some(capsule.id), share: Some(share.id.clone()) };
        let change = move |inner: &CapsuleRegistryInner| {
            inner.change_shares(|shares| {
                shares.push(record);
                Ok(())
            })
        };
        self.change("share.add", subject.clone(), change, |()| subject).await?;
        Ok((share, token))
    }

    /// The shares of a capsule, those that are over included.
    pub fn shares(&self, id: &str) -> Result<Vec<Share>, CapsuleRegistryError> {
        let capsule = self.find(id)?;
        let uses = self.inner.share_uses.lock();
        let with_use = |mut share: Share| {
            share.last_used_at = uses.get(&share.id).copied().max(share.last_used_at);
            share
        };
        let shares = self.inner.shares.all().into_iter().map(|record| record.share);
        Ok(shares.filter(|share| share.is_of(&capsule)).map(with_use).collect())
    }

    /// The capsule of a share, while there is one.
    pub fn capsule_of(&self, share: &Share) -> Option<CapsuleInfo> {
        self.inner.boxes.all().into_iter().find(|capsule| share.is_of(capsule))
    }

    /// Revokes a share; its token opens nothing from now on.
    pub async fn revoke_share(&self, share: &str) -> Result<(), CapsuleRegistryError> {
        let id = share.to_owned();
        // What somebody calls a share is no name for the trail until there is such a share.
        let change = move |inner: &CapsuleRegistryInner| {
            inner.change_shares(|shares| {
                let place = shares.iter().position(|record| record.share.id == id);
                place
                    .map(|place| shares.remove(place).share)
                    .ok_or(CapsuleRegistryError::NoSuchShare { id })
            })
        };
        let named = |share: &Share| AuditSubject {
            capsule: Some(share.capsule.clone()),
            share: Some(share.id.clone()),
        };
        self.change("share.revoke", AuditSubject::default(), change, named).await.map(drop)
    }

    /// The share that a token opens, if it opens one. A token that opens none is recorded.
    pub fn share_by_token(&self, token: &str) -> Option<Share> {
        let (shares, now) = (self.inner.shares.all(), self.inner.options.clock.now());
        let found = share::opened_by(&shares, token, now).cloned();
        let found = found.filter(|share| self.capsule_of(share).is_some());
        match &found {
            Some(share) => drop(self.inner.share_uses.lock().insert(share.id.clone(), now)),
            None => self.inner.audit.refused(&self.author),
        }
        found
    }

    /// The share with this id, while it opens something.
    pub fn share(&self, id: &str) -> Option<Share> {
        let now = self.inner.options.clock.now();
        let mut shares = self.inner.shares.all().into_iter().map(|record| record.share);
        let share = shares.find(|share| share.id == id)?;
        (share.is_live(now) && self.capsule_of(&share).is_some()).then_some(share)
    }

    /// Writes down when shares were last used, if any was.
    pub(super) async fn save_share_uses(&self) {
        let is_open = self.inner.lock.lock().is_some();
        if !is_open || self.inner.share_uses.lock().is_empty() {
            return;
        }
        let inner = Arc::clone(&self.inner);
        if let Err(error) = blocking(move || inner.change_shares(|_| Ok(()))).await {
            tracing::warn!(%error, "cannot write down when shares were last used");
        }
    }
}

impl CapsuleRegistryInner {
    /// Changes the shares, and writes down with them when they were last used. Blocks.
    fn change_shares<R>(
        &self,
        change: impl FnOnce(&mut Vec<ShareRecord>) -> Result<R, CapsuleRegistryError>,
    ) -> Result<R, CapsuleRegistryError> {
        let uses = self.share_uses.lock().clone();
        self.shares.change(&self.disk, |shares| {
            for ShareRecord { share, .. } in shares.iter_mut() {
                share.last_used_at = uses.get(&share.id).copied().max(share.last_used_at);
            }
            change(shares)
        })
    }
}
