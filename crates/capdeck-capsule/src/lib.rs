//! Capsules: entries under schemes in plain files, with versions, roles, provenance, memory, search and an audit.
//!
//! Three types are the crate: [`service::CapsuleService`] is what everything outside asks, [`CapsuleHandle`] is one capsule
//! for one caller (role, prefixes, audit), and [`Store`] is what a capsule is kept in. Start with `service.rs`; a request
//! goes from there through `service/local.rs` and `capsule_handle.rs` to `file_store.rs`. [`Capsules`] is the data folder
//! with all capsules.
//!
//! Nothing here knows HTTP, MCP or a terminal. Identities come from the host; content of entries is data of strangers.

mod audit;
mod author;
mod capsule_handle;
mod capsules;
mod change;
mod day_file;
mod digest;
mod entry;
mod error;
mod error_code;
mod file_store;
mod machine;
mod merge;
mod options;
mod page;
mod patch;
mod registry;
mod registry_audit;
mod scheme;
mod search;
pub mod service;
mod share;
mod signal;
mod signal_id;
mod store;
mod transfer;
mod trust;
mod verify;
mod write;

pub use capdeck_access::{
    CapsuleAccess as Access, EntryScope as Scope, EntryUri, Role, UriError, UriPrefix as Prefix,
    UriProblem,
};

pub use audit::{
    AuditLine, AuditMetadata, AuditOutcome, AuditProblem, AuditQuery, AuditReport, PrunedLines,
    query_audit, tail_audit, verify_audit,
};
pub use author::{Author, Owner};
pub use capsule_handle::{CapsuleHandle, Overview, Prompt, PromptArgument, ReadEntry, Skill};
pub use capsules::{Capsules, probe_folder};
pub use change::{Change, ChangeKind, Changes, Heard};
pub use entry::{
    BadBlobId, BadCommit, BlobId, BlobRef, Commit, Entry, EntryMeta, PromotionReason, RiskClass,
};
pub use error::StoreError;
pub use error_code::CapsuleErrorCode;
pub use file_store::{Durability, FileStore};
pub use merge::{Conflict, MergeProposal, merge, unified_diff};
pub use options::{AuditMode, Clock, Indexing, Limits, Mode, StoreOptions};
pub use page::{ListRequest, MOST_LISTED, Order, Page};
pub use registry::{CapsuleInfo, CapsuleUpdate, NameScope, RegistryError, Visibility};
pub use registry_audit::{AccessEvent, REGISTRY_LOG};
pub use scheme::{Format, Origin, Scheme, SchemeError};
pub use search::{MOST_FOUND, SearchHit, SearchPage, SearchRequest};
pub use share::{BadShareExpiry, NewShare, Share, ShareExpiry, ShareToken};
pub use signal::{MOST_POLLED, NewSignal, PollRequest, Signal, SignalPage};
pub use store::{Blob, BlobCollection, DeletedEntry, MemoryItem, SchemeCount, Store};
pub use transfer::{
    Existing, ExportForm, ExportReport, ImportForm, ImportMode, ImportOutcome, ImportReport,
    ImportRequest, ImportedFile, SkippedEntry, SkippedFile, export, export_folder,
    export_git_stream, export_tar, import,
};
pub use trust::{
    AnchorReport, AnchorState, Bands, CheckedAnchor, GitProject, Project, age_in_words, neutralise,
    one_line,
};
pub use verify::{VerifyProblem, VerifyReport};
pub use write::{BlobSource, Content, PatchStep, Write, WriteOutcome};
