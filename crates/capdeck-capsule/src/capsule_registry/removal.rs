//! Taking a capsule away: aside, from where it can be put back by hand, or for good.

use super::{AuditSubject, CapsuleRegistry, CapsuleRegistryInner};
use crate::{CapsuleInfo, StoreError, StoreFactory, StoreResult};

impl CapsuleRegistry {
    /// Takes a capsule and its shares away. It is set aside and can be put back by hand.
    pub async fn delete(&self, id: &str) -> StoreResult<CapsuleInfo> {
        let now = self.inner.options.clock.now();
        self.remove_capsule(id, "capsule.delete", move |stores, id| stores.set_aside(id, now)).await
    }

    /// Takes a capsule and its shares away for good: entries, versions, memory, signals and its own audit.
    pub async fn purge(&self, id: &str) -> StoreResult<CapsuleInfo> {
        self.remove_capsule(id, "capsule.purge", |stores, id| stores.purge(id)).await
    }

    /// Removes for good what [`Self::delete`] kept of capsules that had this id. Returns how many there were.
    pub async fn purge_deleted(&self, id: &str) -> StoreResult<usize> {
        // Where there was no such capsule there is nothing to change and no name for the trail.
        if self.inner.stores.count_set_aside(id)? == 0 {
            return Err(StoreError::CapsuleNotFound { name: id.to_owned() });
        }
        let name = id.to_owned();
        let change = move |inner: &CapsuleRegistryInner, _: &mut AuditSubject| {
            inner.stores.purge_set_aside(&name)
        };
        self.change("capsule.purge", AuditSubject::capsule(id), change).await
    }

    async fn remove_capsule(
        &self,
        id: &str,
        action: &'static str,
        remove: impl FnOnce(&dyn StoreFactory, &str) -> StoreResult<()> + Send + 'static,
    ) -> StoreResult<CapsuleInfo> {
        let info = self.find(id)?;
        let open = self.inner.open.lock().remove(&info.id);
        if let Some(store) = open.as_ref().and_then(|cell| cell.get()) {
            store.close().await;
        }
        let subject = AuditSubject::capsule(&info.id);
        let change = move |inner: &CapsuleRegistryInner, _: &mut AuditSubject| {
            inner.boxes.change(&inner.disk, |capsules| {
                capsules.retain(|capsule| capsule.id != info.id);
                Ok(())
            })?;
            inner.shares.change(&inner.disk, |shares| {
                shares.retain(|record| record.share.capsule != info.id);
                Ok(())
            })?;
            remove(&*inner.stores, &info.id).map(|()| info)
        };
        self.change(action, subject, change).await
    }
}
