//! Capsules for everyone who asks for them here: MCP, the command line, the deck.
//!
//! [`CapsuleDesk`] is the one way to them. [`LocalDesk`] answers from the data folder, which one process has at a time;
//! the others ask that process, where a [`LocalDesk`] answers too, so that no two ways can differ.

mod changes;
mod failure;
mod local;
mod operation;
mod request;

use async_trait::async_trait;
use serde_json::Value;

pub use self::{
    changes::{CapsuleChange, CapsuleChanges},
    failure::CapsuleFailure,
    local::LocalDesk,
    operation::{
        AuditFilter, CapsuleOperation, EntryWrite, ExportForm, ImportForm, ListQuery, ReadBody,
        SearchQuery, WriteBlob, WriteMode,
    },
    request::{CapsuleCaller, CapsuleRequest, Reach},
};

/// All capsules of this machine, for callers whose identity the host established.
#[async_trait]
pub trait CapsuleDesk: Send + Sync {
    /// Does one operation for one caller. The answer is the operation's JSON.
    async fn ask(&self, request: CapsuleRequest) -> Result<Value, CapsuleFailure>;

    /// What changes within the caller's reach, from now on.
    async fn changes(&self, caller: CapsuleCaller) -> Result<CapsuleChanges, CapsuleFailure>;
}
