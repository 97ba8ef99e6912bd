//! What every store of a capsule can do.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::Serialize;

use crate::{
    Author, BlobId, BlobRef, Changes, Entry, EntryMeta, EntryUri, ListRequest, NewSignal, Owner,
    Page, PollRequest, Scheme, Scope, SearchPage, SearchRequest, Signal, SignalPage, StoreError,
    Write, Written,
};

/// One capsule. [`crate::FileStore`] keeps it in plain files; [`crate::FilteredStore`] wraps any other with a role and
/// prefixes. Callers are a host's sessions.
///
/// Nothing here is a path, so that the same calls can be answered by a database. A write that was begun is finished
/// even when its caller stops waiting. What a request's `scope` does not reach is treated as if it did not exist.
#[async_trait]
pub trait Store: Send + Sync {
    /// The entry, in its current version or an older one.
    async fn read(&self, uri: &EntryUri, version: Option<u64>) -> Result<Entry, StoreError>;

    async fn list(&self, request: &ListRequest) -> Result<Page<EntryMeta>, StoreError>;

    /// Entries per scheme, schemes without entries included.
    async fn counts(&self, scope: &Scope) -> Result<Vec<SchemeCount>, StoreError>;

    async fn search(&self, request: &SearchRequest) -> Result<SearchPage, StoreError>;

    async fn write(&self, write: Write, author: &Author) -> Result<Written, StoreError>;

    /// What [`Self::write`] would answer now. Nothing is written.
    async fn rehearse(&self, write: Write, author: &Author) -> Result<Written, StoreError>;

    /// Writes an old version again, as a new one. Brings back what was deleted, too.
    async fn restore(
        &self,
        uri: &EntryUri,
        version: u64,
        if_version: Option<u64>,
        author: &Author,
    ) -> Result<Written, StoreError>;

    /// Takes an entry away; it can be restored until it is purged.
    async fn delete(
        &self,
        uri: &EntryUri,
        if_version: Option<u64>,
        author: &Author,
    ) -> Result<Deleted, StoreError>;

    /// What was deleted and can be restored.
    async fn deleted(&self, scope: &Scope) -> Result<Vec<Deleted>, StoreError>;

    /// Takes an entry away with everything it ever was.
    async fn purge(&self, uri: &EntryUri, author: &Author) -> Result<(), StoreError>;

    /// All kept versions, oldest first.
    async fn history(&self, uri: &EntryUri) -> Result<Vec<EntryMeta>, StoreError>;

    /// The binary payload of an entry.
    async fn read_blob(&self, uri: &EntryUri, version: Option<u64>) -> Result<Blob, StoreError>;

    /// Whether a current entry within the scope has this blob.
    async fn has_blob(&self, id: &BlobId, scope: &Scope) -> Result<bool, StoreError>;

    /// Removes blobs that no version of any entry has.
    async fn collect_blobs(&self) -> Result<Collected, StoreError>;

    async fn schemes(&self) -> Result<Vec<Scheme>, StoreError>;

    async fn add_scheme(&self, scheme: Scheme) -> Result<(), StoreError>;

    /// Removes a scheme of the capsule that has no entries.
    async fn remove_scheme(&self, name: &str) -> Result<(), StoreError>;

    async fn send_signal(&self, signal: NewSignal, author: &Author) -> Result<Signal, StoreError>;

    async fn poll_signals(
        &self,
        request: &PollRequest,
        author: &Author,
    ) -> Result<SignalPage, StoreError>;

    /// Remembers that the author dealt with everything up to a signal.
    async fn acknowledge(&self, signal: &str, author: &Author) -> Result<(), StoreError>;

    async fn memory_get(&self, owner: &Owner, key: &str) -> Result<String, StoreError>;

    async fn memory_set(&self, owner: &Owner, key: &str, value: &str) -> Result<(), StoreError>;

    async fn memory_delete(&self, owner: &Owner, key: &str) -> Result<(), StoreError>;

    async fn memory_list(&self, owner: &Owner) -> Result<Vec<MemoryItem>, StoreError>;

    /// Keys and values that hold all words of a question, best first.
    async fn memory_search(
        &self,
        owner: &Owner,
        query: &str,
    ) -> Result<Vec<MemoryItem>, StoreError>;

    /// Changes from now on.
    fn changes(&self) -> Changes;
}

/// A scheme and how many entries it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchemeCount {
    pub scheme: String,
    pub entries: usize,
}

/// An entry that was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Deleted {
    pub uri: EntryUri,
    /// The last version it had.
    pub version: u64,
    pub deleted_by: String,
    pub deleted_at: Timestamp,
}

/// A binary payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    pub reference: BlobRef,
    pub bytes: Vec<u8>,
}

/// What a collection of blobs removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    pub removed: usize,
    pub bytes: u64,
    pub kept: usize,
}

/// One key of an agent's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryItem {
    pub key: String,
    pub value: String,
}
