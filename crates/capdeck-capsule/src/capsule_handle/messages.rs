//! Calls about signals and the caller's own memory.

use super::{AuditNote, CapsuleHandle};
use crate::{MemoryItem, PollRequest, Signal, SignalDraft, SignalPage, StoreError};

impl CapsuleHandle {
    pub async fn send_signal(&self, signal: SignalDraft) -> Result<Signal, StoreError> {
        let (handle, uri) = (self.clone(), signal.uri.clone());
        let work = async move {
            if let Some(uri) = &signal.uri {
                handle.reach_to_write(uri).await?;
            }
            handle.store.send_signal(signal, &handle.author).await
        };
        self.audited("signal.send", uri.as_ref(), work, |_| AuditNote::recorded()).await
    }

    /// Signals for this caller, from its last acknowledged one on.
    pub async fn poll_signals(&self, mut request: PollRequest) -> Result<SignalPage, StoreError> {
        let handle = self.clone();
        request.scope = handle.access.scope.clone();
        let work = async move { handle.store.poll_signals(&request, &handle.author).await };
        self.audited("signal.poll", None, work, |_| AuditNote::default()).await
    }

    pub async fn acknowledge(&self, signal: &str) -> Result<(), StoreError> {
        let (handle, signal) = (self.clone(), signal.to_owned());
        let work = async move { handle.store.acknowledge(&signal, &handle.author).await };
        self.audited("signal.ack", None, work, |()| AuditNote::default()).await
    }

    pub async fn memory_get(&self, key: &str) -> Result<String, StoreError> {
        let (store, owner, key) = (self.store.clone(), self.author.owner(), key.to_owned());
        let work = async move { store.memory_get(&owner, &key).await };
        self.audited("memory.get", None, work, |value| with_bytes(value.len())).await
    }

    pub async fn memory_set(&self, key: &str, value: &str) -> Result<(), StoreError> {
        let (store, owner) = (self.store.clone(), self.author.owner());
        let (key, value) = (key.to_owned(), value.to_owned());
        let work = async move { store.memory_set(&owner, &key, &value).await };
        self.audited("memory.set", None, work, |()| AuditNote::recorded()).await
    }

    pub async fn memory_delete(&self, key: &str) -> Result<(), StoreError> {
        let (store, owner, key) = (self.store.clone(), self.author.owner(), key.to_owned());
        let work = async move { store.memory_delete(&owner, &key).await };
        self.audited("memory.delete", None, work, |()| AuditNote::recorded()).await
    }

    pub async fn memory_list(&self) -> Result<Vec<MemoryItem>, StoreError> {
        let (store, owner) = (self.store.clone(), self.author.owner());
        let work = async move { store.memory_list(&owner).await };
        self.audited("memory.list", None, work, |_| AuditNote::default()).await
    }

    pub async fn memory_search(&self, query: &str) -> Result<Vec<MemoryItem>, StoreError> {
        let (store, owner, query) = (self.store.clone(), self.author.owner(), query.to_owned());
        let work = async move { store.memory_search(&owner, &query).await };
        self.audited("memory.search", None, work, |_| AuditNote::default()).await
    }
}

fn with_bytes(bytes: usize) -> AuditNote {
    AuditNote { bytes: Some(bytes as u64), ..AuditNote::default() }
}
