//! Calls about signals and the caller's own memory.

use super::{CapsuleSession, Noted};
use crate::{MemoryItem, NewSignal, PollRequest, Signal, SignalPage, Store as _, StoreError};

impl CapsuleSession {
    pub async fn send_signal(&self, signal: NewSignal) -> Result<Signal, StoreError> {
        let (store, author, uri) = (self.store.clone(), (*self.author).clone(), signal.uri.clone());
        let work = async move { store.send_signal(signal, &author).await };
        self.audited("signal.send", uri.as_ref(), work, |_| Noted::recorded()).await
    }

    /// Signals for this caller, from its last acknowledged one on.
    pub async fn poll_signals(&self, request: PollRequest) -> Result<SignalPage, StoreError> {
        let (store, author) = (self.store.clone(), (*self.author).clone());
        let work = async move { store.poll_signals(&request, &author).await };
        self.audited("signal.poll", None, work, |_| Noted::default()).await
    }

    pub async fn acknowledge(&self, signal: &str) -> Result<(), StoreError> {
        let (store, author, signal) =
            (self.store.clone(), (*self.author).clone(), signal.to_owned());
        let work = async move { store.acknowledge(&signal, &author).await };
        self.audited("signal.ack", None, work, |()| Noted::default()).await
    }

    pub async fn memory_get(&self, key: &str) -> Result<String, StoreError> {
        let (store, owner, key) = (self.store.clone(), self.author.owner(), key.to_owned());
        let work = async move { store.memory_get(&owner, &key).await };
        self.audited("memory.get", None, work, |value| noted(value.len())).await
    }

    pub async fn memory_set(&self, key: &str, value: &str) -> Result<(), StoreError> {
        let (store, owner) = (self.store.clone(), self.author.owner());
        let (key, value) = (key.to_owned(), value.to_owned());
        let work = async move { store.memory_set(&owner, &key, &value).await };
        self.audited("memory.set", None, work, |()| Noted::recorded()).await
    }

    pub async fn memory_delete(&self, key: &str) -> Result<(), StoreError> {
        let (store, owner, key) = (self.store.clone(), self.author.owner(), key.to_owned());
        let work = async move { store.memory_delete(&owner, &key).await };
        self.audited("memory.delete", None, work, |()| Noted::recorded()).await
    }

    pub async fn memory_list(&self) -> Result<Vec<MemoryItem>, StoreError> {
        let (store, owner) = (self.store.clone(), self.author.owner());
        let work = async move { store.memory_list(&owner).await };
        self.audited("memory.list", None, work, |_| Noted::default()).await
    }

    pub async fn memory_search(&self, query: &str) -> Result<Vec<MemoryItem>, StoreError> {
        let (store, owner, query) = (self.store.clone(), self.author.owner(), query.to_owned());
        let work = async move { store.memory_search(&owner, &query).await };
        self.audited("memory.search", None, work, |_| Noted::default()).await
    }
}

fn noted(bytes: usize) -> Noted {
    Noted { bytes: Some(bytes as u64), ..Noted::default() }
}
