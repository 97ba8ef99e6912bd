//! Calls that change entries and schemes.

use super::{AuditNote, CapsuleHandle};
use crate::{
    BlobCollection, DeletedEntry, EntryUri, Role, Scheme, StoreError, StoreWrite, WriteContent,
    WriteOutcome,
};

impl CapsuleHandle {
    /// How a body is written when the caller does not say: those who may only add, add.
    pub fn default_content(&self, body: String) -> WriteContent {
        if self.access().role >= Role::Writer {
            WriteContent::Replace(body)
        } else {
            WriteContent::Create(body)
        }
    }

    pub async fn write(&self, write: StoreWrite) -> Result<WriteOutcome, StoreError> {
        let (handle, uri) = (self.clone(), write.uri.clone());
        let (action, bytes) = (write.content.action(), write.content.bytes());
        let work = async move {
            handle.may_write(&write).await?;
            let written = handle.store.write(write, &handle.author).await;
            handle.seen(written).await
        };
        self.audited(action, Some(&uri), work, move |written| AuditNote {
            version: Some(written.version),
            bytes,
            // What was done before is not done again.
            is_recorded: !written.repeated,
        })
        .await
    }

    /// Writes an old version again, as a new one.
    pub async fn restore(
        &self,
        uri: &EntryUri,
        version: u64,
        if_version: Option<u64>,
    ) -> Result<WriteOutcome, StoreError> {
        let (handle, address) = (self.clone(), uri.clone());
        let work = async move {
            handle.require(Role::Writer, "restore versions")?;
            handle.reach(&address, Some(version)).await?;
            let author = &handle.author;
            let restored = handle.store.restore(&address, version, if_version, author).await;
            handle.seen(restored).await
        };
        self.audited("restore", Some(uri), work, |_| AuditNote::recorded()).await
    }

    pub async fn delete(
        &self,
        uri: &EntryUri,
        if_version: Option<u64>,
    ) -> Result<DeletedEntry, StoreError> {
        let (handle, address) = (self.clone(), uri.clone());
        let work = async move {
            handle.require(Role::Owner, "delete entries")?;
            handle.reach(&address, None).await?;
            let deleted = handle.store.delete(&address, if_version, &handle.author).await;
            handle.seen(deleted).await
        };
        self.audited("delete", Some(uri), work, |_| AuditNote::recorded()).await
    }

    /// What was deleted and can be restored.
    pub async fn deleted(&self) -> Result<Vec<DeletedEntry>, StoreError> {
        let handle = self.clone();
        let work = async move {
            handle.require(Role::Writer, "list deleted entries")?;
            handle.store.deleted(&handle.access.scope).await
        };
        self.audited("trash.list", None, work, |_| AuditNote::default()).await
    }

    pub async fn purge(&self, uri: &EntryUri) -> Result<(), StoreError> {
        let (handle, address) = (self.clone(), uri.clone());
        let work = async move {
            handle.require(Role::Owner, "purge entries")?;
            handle.reach(&address, None).await?;
            let purged = handle.store.purge(&address, &handle.author).await;
            handle.seen(purged).await
        };
        self.audited("purge", Some(uri), work, |()| AuditNote::recorded()).await
    }

    pub async fn collect_blobs(&self) -> Result<BlobCollection, StoreError> {
        let handle = self.clone();
        let work = async move {
            handle.require(Role::Owner, "collect blobs")?;
            handle.store.collect_blobs().await
        };
        self.audited("blob.collect", None, work, |done| AuditNote {
            bytes: Some(done.bytes),
            ..AuditNote::default()
        })
        .await
    }

    pub async fn add_scheme(&self, scheme: Scheme) -> Result<(), StoreError> {
        let handle = self.clone();
        let work = async move {
            handle.require_whole_owner("add schemes")?;
            handle.store.add_scheme(scheme).await
        };
        self.audited("scheme.add", None, work, |()| AuditNote::recorded()).await
    }

    pub async fn remove_scheme(&self, name: &str) -> Result<(), StoreError> {
        let (handle, name) = (self.clone(), name.to_owned());
        let work = async move {
            handle.require_whole_owner("remove schemes")?;
            handle.store.remove_scheme(&name).await
        };
        self.audited("scheme.remove", None, work, |()| AuditNote::recorded()).await
    }
}
