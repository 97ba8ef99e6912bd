//! Capsules for everyone who asks for them here: MCP, the command line, the deck.
//!
//! [`CapsuleDesk`] is the one way to them. [`LocalDesk`] answers from the data folder, which one process has at a time;
//! the others ask that process, where a [`LocalDesk`] answers too, so that no two ways can differ.

pub(crate) mod capability;
mod changes;
mod deck_entries;
mod entries;
mod entry_search;
mod failure;
mod local;
mod look_around;
mod operation;
mod request;
mod tools;

use std::{fmt, path::PathBuf};

use async_trait::async_trait;
use serde_json::Value;

pub use self::{
    changes::{CapsuleChange, CapsuleChanges},
    entries::{EntryNaming, EntryOffer, EntryPage, EntryPlace},
    entry_search::EntryHit,
    failure::CapsuleFailure,
    local::LocalDesk,
    look_around::{Look, LookAround},
    operation::{
        AuditFilter, CapsuleOperation, EntryWrite, ExportForm, ImportForm, ListQuery, ReadBody,
        SearchQuery, WriteBlob, WriteMode,
    },
    request::{AmbiguousName, CapsuleCaller, CapsuleRequest, Reach, find_capsule},
    tools::{CapsuleTool, Mount, ToolCaller},
};

/// All capsules of this machine, for callers whose identity the host established.
#[async_trait]
pub trait CapsuleDesk: fmt::Debug + Send + Sync {
    /// False when there is certainly no capsule. Costs one look at the disk and opens nothing.
    fn may_have_capsules(&self) -> bool;

    /// The file that is written whenever there are other capsules, where there is one to watch.
    fn list_file(&self) -> Option<PathBuf>;

    /// Does one operation for one caller. The answer is the operation's JSON.
    async fn ask(&self, request: CapsuleRequest) -> Result<Value, CapsuleFailure>;

    /// What changes within the caller's reach, from now on.
    async fn changes(&self, caller: CapsuleCaller) -> Result<CapsuleChanges, CapsuleFailure>;

    /// Finishes what was begun and lets the data folder go.
    async fn close(&self);
}
