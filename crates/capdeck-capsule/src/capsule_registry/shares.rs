//! Shares of capsules: made, listed, found by their tokens, revoked.

use std::sync::Arc;

use super::{AuditSubject, CapsuleRegistry, CapsuleRegistryInner, on_disk};
use crate::{
    CapsuleInfo, Share, ShareToken, StoreError, StoreResult,
    capsule_info::new_uid,
    service::AddShareRequest,
    share::{self, ShareRecord},
};

impl CapsuleRegistry {
    /// Makes a share. The token is returned here and nowhere else.
    pub async fn add_share(
        &self,
        id: &str,
        new: AddShareRequest,
    ) -> StoreResult<(Share, ShareToken)> {
        let capsule = self.find(id)?;
        let now = self.inner.options.clock.now();
        let (record, token) = ShareRecord::create(&capsule, new, &self.author, now)?;
        let share = record.share.clone();
        let subject = AuditSubject { capsule: Some(capsule.id), share: Some(share.id.clone()) };
        let change = move |inner: &CapsuleRegistryInner, _: &mut AuditSubject| {
            inner.change_shares(|shares| {
                shares.push(record);
                Ok(())
            })
        };
        self.change("share.add", subject, change).await?;
        Ok((share, token))
    }

    /// The shares of a capsule, those that are over included.
    pub fn shares(&self, id: &str) -> StoreResult<Vec<Share>> {
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
    pub async fn revoke_share(&self, share: &str) -> StoreResult<()> {
        let id = share.to_owned();
        // The name in a request is no name for the trail until there is such a share.
        let change = move |inner: &CapsuleRegistryInner, subject: &mut AuditSubject| {
            let revoked = inner.change_shares(|shares| {
                let place = shares.iter().position(|record| record.share.id == id);
                place.map(|place| shares.remove(place).share).ok_or(StoreError::NoSuchShare { id })
            })?;
            *subject = AuditSubject { capsule: Some(revoked.capsule), share: Some(revoked.id) };
            Ok(())
        };
        self.change("share.revoke", AuditSubject::default(), change).await
    }

    /// The share that a token opens, if it opens one. A token that opens none is recorded.
    pub fn share_by_token(&self, token: &str) -> Option<Share> {
        let (shares, now) = (self.inner.shares.all(), self.inner.options.clock.now());
        let found = share::opened_by(&shares, token, now).cloned();
        let found = found.filter(|share| self.capsule_of(share).is_some());
        match &found {
            Some(share) => drop(self.inner.share_uses.lock().insert(share.id.clone(), now)),
            // The token is no part of it.
            None => self.record_denial("share.open", "invalid_token"),
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
        if let Err(error) = on_disk(move || inner.change_shares(|_| Ok(()))).await {
            tracing::warn!(%error, "cannot write down when shares were last used");
        }
    }
}

impl CapsuleRegistryInner {
    /// Changes the shares, and writes down with them when they were last used. Blocks.
    fn change_shares<R>(
        &self,
        change: impl FnOnce(&mut Vec<ShareRecord>) -> StoreResult<R>,
    ) -> StoreResult<R> {
        let uses = self.share_uses.lock().clone();
        self.shares.change(&self.disk, |shares| {
            for ShareRecord { share, .. } in shares.iter_mut() {
                share.last_used_at = uses.get(&share.id).copied().max(share.last_used_at);
            }
            change(shares)
        })
    }

    /// Gives a uid to capsules of version 0.1, once, and binds their shares to it. The id of a capsule may be used again
    /// once it is gone, the uid may not. A share that is older than the capsule of its id was made for an earlier one and
    /// stays without a capsule.
    pub(super) fn identify_capsules(&self) -> StoreResult<()> {
        if self.boxes.all().iter().any(|capsule| capsule.uid.is_empty()) {
            self.boxes.change(&self.disk, |capsules| {
                let unknown = capsules.iter_mut().filter(|capsule| capsule.uid.is_empty());
                unknown.for_each(|capsule| capsule.uid = new_uid());
                Ok(())
            })?;
        }
        let capsules = self.boxes.all();
        let uid_of = |share: &Share| {
            let of = |capsule: &&CapsuleInfo| {
                capsule.id == share.capsule && capsule.created_at <= share.created_at
            };
            capsules.iter().find(of).map(|capsule| capsule.uid.clone())
        };
        let is_unbound = |record: &ShareRecord| {
            record.share.capsule_uid.is_none() && uid_of(&record.share).is_some()
        };
        if self.shares.all().iter().any(is_unbound) {
            self.shares.change(&self.disk, |shares| {
                let shares = shares.iter_mut().map(|record| &mut record.share);
                let unbound = shares.filter(|share| share.capsule_uid.is_none());
                unbound.for_each(|share| share.capsule_uid = uid_of(share));
                Ok(())
            })?;
        }
        Ok(())
    }
}
