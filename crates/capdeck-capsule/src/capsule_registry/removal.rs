//! Taking a capsule away: aside, from where it can be put back by hand, or for good.

use std::{io, path::PathBuf};

use capdeck_storage::{list_folder, make_private_folder};
use jiff::Timestamp;

use super::{AuditSubject, CapsuleRegistry, CapsuleRegistryInner};
use crate::{CapsuleInfo, StoreError};

impl CapsuleRegistry {
    /// Takes a capsule and its shares away. Its folder is moved to `deleted/` and can be put back by hand.
    pub async fn delete(&self, id: &str) -> Result<CapsuleInfo, StoreError> {
        let now = self.inner.options.clock.now();
        self.remove_capsule(id, "capsule.delete", move |inner, id| inner.set_aside(id, now)).await
    }

    /// Takes a capsule and its shares away for good: entries, versions, memory, signals and its own audit.
    pub async fn purge(&self, id: &str) -> Result<CapsuleInfo, StoreError> {
        self.remove_capsule(id, "capsule.purge", |inner, id| {
            inner.disk.erase(&inner.box_folder(id))
        })
        .await
    }

    /// Removes for good what [`Self::delete`] kept of capsules that had this id. Returns how many there were.
    pub async fn purge_deleted(&self, id: &str) -> Result<usize, StoreError> {
        let failed = || StoreError::io("remove what was kept of the capsule");
        let kept = self.inner.deleted_folders(id).map_err(failed())?;
        // Where there was no such capsule there is nothing to change and no name for the trail.
        if kept.is_empty() {
            return Err(StoreError::CapsuleNotFound { name: id.to_owned() });
        }
        let change = move |inner: &CapsuleRegistryInner, _: &mut AuditSubject| {
            for folder in &kept {
                inner.disk.erase(folder).map_err(failed())?;
            }
            Ok(kept.len())
        };
        self.change("capsule.purge", AuditSubject::capsule(id), change).await
    }

    async fn remove_capsule(
        &self,
        id: &str,
        action: &'static str,
        remove: impl FnOnce(&CapsuleRegistryInner, &str) -> io::Result<()> + Send + 'static,
    ) -> Result<CapsuleInfo, StoreError> {
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
            match remove(inner, &info.id) {
                // It was removed by hand before.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(info),
                removed => removed
                    .map(|()| info)
                    .map_err(StoreError::io("remove the folder of the capsule")),
            }
        };
        self.change(action, subject, change).await
    }
}

impl CapsuleRegistryInner {
    /// Moves the folder of a capsule to `deleted/`, from where it can be put back by hand.
    pub(super) fn set_aside(&self, id: &str, now: Timestamp) -> io::Result<()> {
        let deleted = self.folder.join("deleted");
        make_private_folder(&deleted)?;
        let to = deleted.join(format!("{id}-{}", now.as_millisecond()));
        self.disk.rename(&self.box_folder(id), &to)
    }

    /// The folders in `deleted/` of capsules that had this id, whose names end with when that was.
    fn deleted_folders(&self, id: &str) -> io::Result<Vec<PathBuf>> {
        let is_time = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let mut kept = Vec::new();
        for entry in list_folder(&self.folder.join("deleted"))? {
            let name = entry.file_name();
            let name = name.to_str().and_then(|name| name.rsplit_once('-'));
            if name.is_some_and(|(of, when)| of == id && is_time(when)) {
                kept.push(entry.path());
            }
        }
        Ok(kept)
    }
}
