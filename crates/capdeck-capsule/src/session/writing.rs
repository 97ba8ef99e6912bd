//! Calls that change entries and schemes.

use super::{CapsuleSession, Noted};
use crate::{
    Collected, Content, Deleted, EntryUri, Role, Scheme, Scope, Store as _, StoreError, Write,
    Written,
};

impl CapsuleSession {
    /// How a body is written when the caller does not say: those who may only add, add.
    pub fn default_content(&self, body: String) -> Content {
        if self.access().role >= Role::Writer {
            Content::Replace(body)
        } else {
            Content::Create(body)
        }
    }

    pub async fn write(&self, write: Write) -> Result<Written, StoreError> {
        let (store, author, uri) = (self.store.clone(), (*self.author).clone(), write.uri.clone());
        let (action, bytes) = (write.content.action(), write.content.bytes());
        let work = async move { store.write(write, &author).await };
        self.audited(action, Some(&uri), work, move |written| Noted {
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
    ) -> Result<Written, StoreError> {
        let (store, author, address) = (self.store.clone(), (*self.author).clone(), uri.clone());
        let work = async move { store.restore(&address, version, if_version, &author).await };
        self.audited("restore", Some(uri), work, |_| Noted::recorded()).await
    }

    pub async fn delete(
        &self,
        uri: &EntryUri,
        if_version: Option<u64>,
    ) -> Result<Deleted, StoreError> {
        let (store, author, address) = (self.store.clone(), (*self.author).clone(), uri.clone());
        let work = async move { store.delete(&address, if_version, &author).await };
        self.audited("delete", Some(uri), work, |_| Noted::recorded()).await
    }

    /// What was deleted and can be restored.
    pub async fn deleted(&self) -> Result<Vec<Deleted>, StoreError> {
        let store = self.store.clone();
        self.audited("trash.list", None, async move { store.deleted(&Scope::all()).await }, |_| {
            Noted::default()
        })
        .await
    }

    pub async fn purge(&self, uri: &EntryUri) -> Result<(), StoreError> {
        let (store, author, address) = (self.store.clone(), (*self.author).clone(), uri.clone());
        let work = async move { store.purge(&address, &author).await };
        self.audited("purge", Some(uri), work, |()| Noted::recorded()).await
    }

    pub async fn collect_blobs(&self) -> Result<Collected, StoreError> {
        let store = self.store.clone();
        let work = async move { store.collect_blobs().await };
        self.audited("blob.collect", None, work, |done| Noted {
            bytes: Some(done.bytes),
            ..Noted::default()
        })
        .await
    }

    pub async fn add_scheme(&self, scheme: Scheme) -> Result<(), StoreError> {
        let store = self.store.clone();
        self.audited("scheme.add", None, async move { store.add_scheme(scheme).await }, |()| {
            Noted::recorded()
        })
        .await
    }

    pub async fn remove_scheme(&self, name: &str) -> Result<(), StoreError> {
        let (store, name) = (self.store.clone(), name.to_owned());
        let work = async move { store.remove_scheme(&name).await };
        self.audited("scheme.remove", None, work, |()| Noted::recorded()).await
    }
}
