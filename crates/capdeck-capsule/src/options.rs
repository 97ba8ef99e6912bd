//! How a store is opened.

use capdeck_storage::WallClock;

use crate::{Scheme, WriteDurability};

/// Settings of every capsule of a data folder.
#[derive(Debug, Clone, Default)]
pub struct StoreOptions {
    pub mode: StoreMode,
    pub durability: WriteDurability,
    pub limits: StoreLimits,
    /// Schemes that every capsule has besides the built-in ones.
    pub schemes: Vec<Scheme>,
    /// Whether a call fails when its audit line cannot be written.
    pub audit: AuditMode,
    pub clock: WallClock,
    pub indexing: IndexTiming,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IndexTiming {
    /// By the first search, for those who may never search.
    #[default]
    WhenSearched,
    /// Beside everything else once a capsule is opened, so that the first search does not wait.
    WhenOpened,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StoreMode {
    /// Alone: a second process that wants to write is refused.
    #[default]
    ReadWrite,
    /// Beside others, and on disks that cannot be written. Nothing is swept, locked or recorded.
    ReadOnly,
}

/// What happens when a call cannot be recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AuditMode {
    /// It is logged, and the call succeeds.
    #[default]
    Lenient,
    /// The call fails, and so do all others until the line is written.
    Strict,
}

/// Sizes that a capsule does not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLimits {
    /// Bytes of one body.
    pub body: u64,
    /// Bytes of one blob.
    pub blob: u64,
    pub entries: u64,
    /// Bytes of everything kept: bodies, old versions, blobs.
    pub bytes: u64,
    pub memory_value: u64,
    pub memory_keys: u64,
    /// Agents with a memory.
    pub memories: u64,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self {
            body: 1024 * 1024,
            blob: 25 * 1024 * 1024,
            entries: 10_000,
            bytes: 1024 * 1024 * 1024,
            memory_value: 16 * 1024,
            memory_keys: 500,
            memories: 10_000,
        }
    }
}
