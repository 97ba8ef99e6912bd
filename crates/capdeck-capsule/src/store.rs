//! The seam to storage: what every store of a capsule can do, and what it promises.

use std::{collections::BTreeMap, fmt, sync::Arc};

use async_trait::async_trait;
use jiff::{Timestamp, civil::Date};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use crate::{
    AuditLogLine, BlobId, BlobRef, CapsuleAuthor, ChangeEvent, Entry, EntryMeta, EntryScope,
    EntrySearchPage, EntryUri, MemoryOwner, PrunedLines, Role, Scheme, Signal, SignalPage,
    StoreError, StorePage, StoreResult, StoreWrite, VerifyProblem, VerifyReport, WriteOutcome,
    service::{ListQuery, PollSignalsRequest, SearchQuery},
};

/// What one capsule is kept in. [`crate::FileStore`] keeps it in plain files; a database can take its place. Only
/// [`crate::CapsuleHandle`] calls it, after it checked role and prefixes.
///
/// Nothing here is a path. Every implementation keeps these promises:
///
/// - **Atomic.** A change happens whole or not at all: the new version with its body, blob, tags and signal, and the
///   audit line of the change. Readers see the state before it or after it.
/// - **Versioned.** A write never changes a version that exists. Versions of an entry count up by one from 1, also after
///   it was deleted and restored, and stay until the entry is purged. `if_version` is checked in the same step as the
///   write, so that of two writers with the same version one fails with a conflict.
/// - **Ordered.** Changes of one capsule have one order. Signals, change notifications and audit lines have it too, and
///   a read after a finished write sees that write.
/// - **Durable.** A change that was confirmed survives a crash of the process and a loss of power, as far as
///   [`crate::WriteDurability`] was asked for. After a crash each change that was not confirmed is either whole or absent, and
///   the audit has exactly one line for each that is whole.
/// - **Finished.** A change that was started is finished even when its caller stops waiting.
/// - **Repeatable.** A write with the idempotency key of an earlier one and the same content returns the first outcome and
///   changes nothing.
/// - **Scoped.** What the `scope` of a request does not reach is treated as if it did not exist: it is neither listed nor
///   counted nor found, and it moves no cursor.
/// - **Separate.** Memory belongs to its owner: no key of one is visible to another.
#[async_trait]
pub trait Store: fmt::Debug + Send + Sync {
    /// The entry, in its current version or an older one.
    async fn read(&self, uri: &EntryUri, version: Option<u64>) -> StoreResult<Entry>;

    async fn list(
        &self,
        query: &ListQuery,
        scope: &EntryScope,
    ) -> StoreResult<StorePage<EntryMeta>>;

    /// Entries per scheme, schemes without entries included.
    async fn counts(&self, scope: &EntryScope) -> StoreResult<Vec<SchemeCount>>;

    async fn search(&self, query: &SearchQuery, scope: &EntryScope)
    -> StoreResult<EntrySearchPage>;

    async fn write(&self, write: StoreWrite, by: &ChangeAuthor) -> StoreResult<WriteOutcome>;

    /// What [`Self::write`] would answer now. Nothing is written.
    async fn dry_run(&self, write: StoreWrite, author: &CapsuleAuthor)
    -> StoreResult<WriteOutcome>;

    /// Writes an old version again, as a new one. Brings back what was deleted, too.
    async fn restore(
        &self,
        uri: &EntryUri,
        version: u64,
        if_version: Option<u64>,
        by: &ChangeAuthor,
    ) -> StoreResult<WriteOutcome>;

    /// Takes an entry away; it can be restored until it is purged.
    async fn delete(
        &self,
        uri: &EntryUri,
        if_version: Option<u64>,
        by: &ChangeAuthor,
    ) -> StoreResult<DeletedEntry>;

    /// What was deleted and can be restored.
    async fn deleted(&self, scope: &EntryScope) -> StoreResult<Vec<DeletedEntry>>;

    /// Takes an entry away with everything it ever was.
    async fn purge(&self, uri: &EntryUri, by: &ChangeAuthor) -> StoreResult<()>;

    /// All kept versions, oldest first.
    async fn history(&self, uri: &EntryUri) -> StoreResult<Vec<EntryMeta>>;

    /// The binary payload of an entry.
    async fn read_blob(&self, uri: &EntryUri, version: Option<u64>) -> StoreResult<BlobContent>;

    /// Whether a current entry within the scope has this blob.
    async fn has_blob(&self, id: &BlobId, scope: &EntryScope) -> StoreResult<bool>;

    /// Removes blobs that no version of any entry has.
    async fn collect_blobs(&self) -> StoreResult<BlobCollection>;

    async fn schemes(&self) -> StoreResult<Vec<Scheme>>;

    async fn add_scheme(&self, scheme: Scheme, by: &ChangeAuthor) -> StoreResult<()>;

    /// Removes a scheme of the capsule that has no entries.
    async fn remove_scheme(&self, name: &str, by: &ChangeAuthor) -> StoreResult<()>;

    /// Sends a signal, which gets its id and its time.
    async fn send_signal(&self, signal: Signal, by: &ChangeAuthor) -> StoreResult<Signal>;

    async fn poll_signals(
        &self,
        request: &PollSignalsRequest,
        scope: &EntryScope,
        author: &CapsuleAuthor,
    ) -> StoreResult<SignalPage>;

    /// Remembers that the author dealt with everything up to a signal.
    async fn acknowledge(&self, signal: &str, author: &CapsuleAuthor) -> StoreResult<()>;

    /// Everything that an owner remembers.
    async fn memory(&self, owner: &MemoryOwner) -> StoreResult<MemoryMap>;

    /// Sets a key of the author's memory, or removes it.
    async fn change_memory(
        &self,
        key: &str,
        value: Option<String>,
        by: &ChangeAuthor,
    ) -> StoreResult<()>;

    /// Changes from now on. A subscriber that is too slow misses some and gets an error for them.
    fn changes(&self) -> broadcast::Receiver<ChangeEvent>;

    /// Writes the audit line of a call that changed nothing; a change comes with its own. Writes none where the capsule is
    /// only read.
    fn record(&self, line: AuditLogLine) -> StoreResult<()>;

    /// Fails while an earlier line is not written, where calls wait for that ([`crate::AuditMode::Strict`]).
    fn settle_audit(&self) -> StoreResult<()>;

    /// Removes the lines of days before one from the audit.
    async fn prune_audit(&self, before: Date) -> StoreResult<PrunedLines>;

    /// Checks that everything is there, and is what was written.
    async fn verify(&self) -> StoreResult<VerifyReport>;

    /// What could not be read when the store was opened and was left out.
    fn left_out(&self) -> Vec<VerifyProblem>;

    /// Waits for everything in flight and takes nothing more.
    async fn close(&self);
}

/// Makes, opens and removes the stores of all capsules, by their ids. [`crate::FileStoreFactory`] has each in a folder.
///
/// The registry asks for one change at a time. The list of capsules, shares and the audit of both are the registry's own,
/// and so is the question whether an id is free. Everything here blocks.
pub trait StoreFactory: fmt::Debug + Send + Sync {
    /// Makes the place of a new capsule, which is empty. What an unfinished removal left under the id is set aside.
    fn create(&self, id: &str, now: Timestamp) -> StoreResult<()>;

    /// Takes back a [`Self::create`] whose capsule could not be listed. Nothing that is not empty is removed.
    fn discard(&self, id: &str);

    /// Opens the store of a capsule. Fails if its place is gone: made again it would be an empty capsule, open to everyone
    /// who had access to the one that was removed.
    fn open(&self, id: &str) -> StoreResult<Arc<dyn Store>>;

    /// Removes a capsule so that a person can put it back. A place that is gone is no error.
    fn set_aside(&self, id: &str, now: Timestamp) -> StoreResult<()>;

    /// Removes a capsule for good. A place that is gone is no error.
    fn purge(&self, id: &str) -> StoreResult<()>;

    /// How many capsules of this id were set aside.
    fn count_set_aside(&self, id: &str) -> StoreResult<usize>;

    /// Removes for good what was set aside of capsules of this id. Returns how many there were.
    fn purge_set_aside(&self, id: &str) -> StoreResult<usize>;
}

/// Who changes something: named as the writer, and in the audit line of the change.
#[derive(Debug, Clone)]
pub struct ChangeAuthor {
    pub author: Arc<CapsuleAuthor>,
    /// What it is done as.
    pub role: Role,
}

/// An agent's memory by its keys.
pub type MemoryMap = BTreeMap<String, String>;

const MAX_KEY_LENGTH: usize = 128;

/// Fails for a text that is no key of a memory.
pub(crate) fn check_key(key: &str) -> StoreResult<()> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_.:-/".contains(letter);
    if (1..=MAX_KEY_LENGTH).contains(&key.len()) && key.chars().all(is_plain) {
        return Ok(());
    }
    let rule = format!("1 to {MAX_KEY_LENGTH} letters, digits, `_`, `.`, `:`, `-` or `/`");
    Err(StoreError::invalid("key", rule))
}

/// A scheme and how many entries it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchemeCount {
    pub scheme: String,
    pub entries: usize,
}

/// An entry that was deleted and can be restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeletedEntry {
    pub uri: EntryUri,
    /// The last version it had.
    pub version: u64,
    pub deleted_by: String,
    pub deleted_at: Timestamp,
}

/// A binary payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobContent {
    pub reference: BlobRef,
    pub bytes: Vec<u8>,
}

/// What a collection of blobs removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlobCollection {
    pub removed: usize,
    pub bytes: u64,
    pub kept: usize,
}

/// One key of an agent's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryItem {
    pub key: String,
    pub value: String,
}
