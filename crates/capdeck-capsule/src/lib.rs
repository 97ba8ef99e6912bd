//! Capsules: entries under schemes in plain files, with versions, roles, provenance, memory, search and an audit.
//!
//! Three types are the crate: [`service::CapsuleService`] is what everything outside asks, [`CapsuleHandle`] is one capsule
//! for one caller (role, prefixes, audit), and [`Store`] is what a capsule is kept in. Start with `service.rs`; a request
//! goes from there through `service/local.rs` and `capsule_handle.rs` to `file_store.rs`. [`CapsuleRegistry`] is the data folder
//! with all capsules.
//!
//! Nothing here knows HTTP, MCP or a terminal. Identities come from the host; content of entries is data of strangers.

mod audit;
mod author;
mod blocking;
mod capsule_handle;
mod capsule_info;
mod capsule_registry;
mod change;
mod day_file;
mod entry;
mod error;
mod error_code;
mod file_store;
mod machine;
mod merge;
mod options;
mod page;
mod patch;
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
    CapsuleAccess, EntryScope, EntryUri, Role, UriError, UriPrefix, UriProblem,
};

pub use audit::{
    AccessEvent, AuditFollower, AuditLogLine, AuditOrigin, AuditOutcome, AuditProblem, AuditReport,
    PrunedLines, REGISTRY_LOG, query_audit, verify_audit,
};
pub use author::{CapsuleAuthor, MemoryOwner};
pub use capsule_handle::{CapsuleHandle, EntryPrompt, PromptArgument};
pub use capsule_info::{CapsuleInfo, CapsuleUpdate, CapsuleVisibility, NameScope};
pub use capsule_registry::{CapsuleRegistry, probe_folder};
pub use change::{ChangeEvent, ChangeKind};
pub use entry::{
    BlobId, BlobIdError, BlobRef, CommitRef, CommitRefError, Entry, EntryMeta, PromotionReason,
    RiskClass,
};
pub use error::{StoreError, StoreResult};
pub use error_code::CapsuleErrorCode;
pub use file_store::{FileStore, FileStoreFactory, WriteDurability};
pub use merge::{MergeProposal, WriteConflict, merge, unified_diff};
pub use options::{AuditMode, IndexTiming, StoreLimits, StoreMode, StoreOptions};
pub use page::{MAX_LIST_PAGE_SIZE, StorePage};
pub use scheme::{BodyFormat, Scheme, SchemeError, SchemeOrigin};
pub use search::{EntrySearchPage, MAX_SEARCH_PAGE_SIZE};
pub use service::{
    AddShareRequest, AuditFilter, ImportFilesRequest, ImportSource, ListQuery, PollSignalsRequest,
    SearchQuery, SendSignalRequest,
};
pub use share::{Share, ShareExpiry, ShareExpiryError, ShareToken};
pub use signal::{MAX_SIGNAL_PAGE_SIZE, Signal, SignalPage};
pub use store::{
    BlobCollection, BlobContent, ChangeAuthor, DeletedEntry, MemoryItem, MemoryMap, SchemeCount,
    Store, StoreFactory,
};
pub use transfer::{
    ExistingEntryMode, ExportFormat, ExportReport, ImportMode, ImportOutcome, ImportReport,
    ImportedFile, SkippedEntry, SkippedFile, export, import,
};
pub use trust::{
    AnchorProject, AnchorReport, AnchorState, CheckedAnchor, GitProject, ProvenanceFrame,
    age_in_words, neutralise, one_line,
};
pub use verify::{VerifyProblem, VerifyReport};
pub use write::{BlobSource, PatchStep, StoreWrite, WriteContent, WriteOutcome};
