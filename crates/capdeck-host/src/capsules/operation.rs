//! Everything that can be asked of capsules, as plain data. Addresses are texts here: they are checked where the
//! operation is done, so that a wrong one is recorded like every other refusal.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use capdeck_capsule::{
    AccessEvent, AuditOutcome, Existing, ImportMode, PatchStep, RiskClass, Role, Scheme,
    ShareExpiry, Visibility,
};
use jiff::{Timestamp, civil::Date};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::LookAround;

/// One operation. Those about capsules as a whole take no capsule in the request.
#[derive(Clone, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case")]
pub enum CapsuleOperation {
    /// All that the caller reaches: `{capsules: [{id, name, description, visibility, created_at, role, uri_prefixes?,
    /// denied_prefixes?, entries?, problem?}]}`. Counting entries opens every capsule; one that cannot be opened has a
    /// `problem` instead.
    ListCapsules {
        #[serde(default)]
        with_counts: bool,
    },
    /// Makes a capsule: its `{id, name, …}`.
    CreateCapsule {
        name: String,
        #[serde(default)]
        description: Option<String>,
        #[serde(default)]
        visibility: Option<Visibility>,
    },
    UpdateCapsule {
        #[serde(default)]
        name: Option<String>,
        #[serde(default)]
        description: Option<String>,
        #[serde(default)]
        visibility: Option<Visibility>,
    },
    /// Its files are kept aside.
    DeleteCapsule,
    /// For good; of a capsule that was deleted before, what was kept of it. Adds how many were `purged`.
    PurgeCapsule,
    /// What may be found without a grant: `{capsules: [{name, description}]}`.
    Discover,
    /// `{capsule, name, role, schemes: [{scheme, entries}], recent: [entry…]}`.
    Overview,
    Read {
        uri: String,
        #[serde(default)]
        version: Option<u64>,
        #[serde(default)]
        body: ReadBody,
    },
    List(ListQuery),
    Search(SearchQuery),
    History {
        uri: String,
    },
    Diff {
        uri: String,
        from: u64,
        /// Absent: the current version.
        #[serde(default)]
        to: Option<u64>,
    },
    Schemes,
    AddScheme {
        scheme: Scheme,
    },
    RemoveScheme {
        name: String,
    },
    Prompts,
    Prompt {
        name: String,
        #[serde(default)]
        arguments: BTreeMap<String, String>,
    },
    /// Entries of `skills://` as files: `{skills: [{name, uri, frontmatter, digest, size}]}`.
    Skills,
    /// One of these files: the same with its `text`.
    Skill {
        name: String,
    },
    Write(EntryWrite),
    Restore {
        uri: String,
        version: u64,
        #[serde(default)]
        if_version: Option<u64>,
    },
    Delete {
        uri: String,
        #[serde(default)]
        if_version: Option<u64>,
    },
    /// What was deleted and can be restored.
    Deleted,
    Purge {
        uri: String,
    },
    SendSignal {
        kind: String,
        #[serde(default)]
        text: Option<String>,
        #[serde(default)]
        uri: Option<String>,
        #[serde(default)]
        to: Option<String>,
        #[serde(default)]
        data: Option<Map<String, Value>>,
    },
    PollSignals {
        /// The signal after which to start; absent: after the last one acknowledged.
        #[serde(default)]
        after: Option<String>,
        #[serde(default)]
        kinds: Vec<String>,
        #[serde(default)]
        limit: usize,
    },
    Acknowledge {
        signal: String,
    },
    MemoryGet {
        key: String,
    },
    MemorySet {
        key: String,
        value: String,
    },
    MemoryDelete {
        key: String,
    },
    MemoryList,
    MemorySearch {
        query: String,
    },
    /// `{sha256, mime, bytes, data}`, with the data in base64.
    ReadBlob {
        uri: String,
        #[serde(default)]
        version: Option<u64>,
    },
    CollectBlobs,
    Shares,
    /// The share with its `token`, which is told this once.
    AddShare {
        name: String,
        role: Role,
        #[serde(default)]
        uri_prefixes: Vec<String>,
        #[serde(default)]
        denied_prefixes: Vec<String>,
        #[serde(default)]
        expires_at: ShareExpiry,
    },
    RevokeShare {
        id: String,
    },
    /// The share that a token opens: `{id, capsule, name, role, principal, …}`. For a transport that was given one.
    OpenShare {
        token: String,
    },
    /// Records a call of a tool whose arguments did not fit: `{}`.
    Refused {
        tool: String,
    },
    /// Records that the caller looked around among the capsules: `{}`.
    Looked(LookAround),
    /// Records what was decided about access: `{}`. For the process that decides.
    NoteAccess(AccessEvent),
    Verify,
    /// Writes to a path of the machine: `{path, entries, blobs, bytes}`.
    Export {
        path: PathBuf,
        form: ExportForm,
    },
    /// Reads from a path of the machine: `{schemes: [name…], entries: [{file, uri, version, outcome}],
    /// skipped: [{file, reason}]}`.
    Import {
        path: PathBuf,
        form: ImportForm,
        #[serde(default)]
        existing: Existing,
        #[serde(default)]
        mode: ImportMode,
    },
    AuditVerify,
    AuditTail {
        #[serde(default)]
        limit: usize,
    },
    AuditQuery(AuditFilter),
    /// Removes the files of days before one from the audit: `{files, lines}`.
    AuditPrune {
        before: Date,
    },
    /// Whether the data folder can be written, and which capsules cannot be used or are not whole: `{writable, reason?,
    /// capsules: [{id, problem, is_open}]}`. Opens every capsule that the caller reaches.
    StorageStatus,
    /// The same as for one capsule, for what happens to capsules as a whole and to their shares: takes no capsule.
    RegistryAuditPrune {
        before: Date,
    },
    RegistryAuditVerify,
    RegistryAuditQuery(AuditFilter),
}

/// How much of an entry to answer with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadBody {
    /// The body, and the text with its bands.
    #[default]
    Banded,
    /// Provenance only.
    Meta,
}

/// Which entries to list.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListQuery {
    #[serde(default)]
    pub scheme: Option<String>,
    #[serde(default)]
    pub prefix: Option<String>,
    #[serde(default)]
    pub tag: Option<String>,
    #[serde(default)]
    pub written_after: Option<Timestamp>,
    /// Latest first instead of by address.
    #[serde(default)]
    pub latest_first: bool,
    /// 0 means 50, at most 200.
    #[serde(default)]
    pub limit: usize,
    #[serde(default)]
    pub cursor: Option<String>,
}

/// What to search for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchQuery {
    pub query: String,
    #[serde(default)]
    pub scheme: Option<String>,
    #[serde(default)]
    pub prefix: Option<String>,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub author: Option<String>,
    #[serde(default)]
    pub risk_class: Option<RiskClass>,
    #[serde(default)]
    pub written_after: Option<Timestamp>,
    #[serde(default)]
    pub written_before: Option<Timestamp>,
    /// 0 means 10, at most 50.
    #[serde(default)]
    pub limit: usize,
    #[serde(default)]
    pub cursor: Option<String>,
}

/// What to write.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct EntryWrite {
    pub uri: String,
    /// Absent: `patch` when there are steps, else `replace` for writers and `create` for appenders.
    #[serde(default)]
    pub mode: Option<WriteMode>,
    #[serde(default)]
    pub content: Option<String>,
    #[serde(default)]
    pub patch: Option<Vec<PatchStep>>,
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub tags: Option<Vec<String>>,
    #[serde(default)]
    pub risk_class: Option<RiskClass>,
    #[serde(default)]
    pub file_anchors: Vec<String>,
    /// The commit that the writer says it worked on; absent: the one checked out in the caller's project.
    #[serde(default)]
    pub commit: Option<String>,
    #[serde(default)]
    pub if_version: Option<u64>,
    #[serde(default)]
    pub idempotency_key: Option<String>,
    #[serde(default)]
    pub blob: Option<WriteBlob>,
}

/// What a write does with an entry that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteMode {
    Create,
    Replace,
    Patch,
}

/// The binary payload of a write.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteBlob {
    /// New bytes, in base64.
    Bytes { data: String, mime: String },
    /// A blob that is in the capsule.
    Pointer { id: String, mime: String },
    /// No blob any more.
    Remove,
}

/// How an export is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExportForm {
    /// Bare files in a new or empty folder.
    Folder,
    /// A tar archive with the same layout.
    Tar,
    /// A new git repository, with a commit for every version.
    Git,
}

/// What an import reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportForm {
    /// What an export wrote, as a folder or as a tar archive.
    Export,
    /// One file, to this address.
    File { uri: String },
    /// The files of a folder, to this scheme.
    Folder { scheme: String },
    /// Folders with a `SKILL.md` each.
    Skills,
}

/// Which audit lines to get.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct AuditFilter {
    #[serde(default)]
    pub since: Option<Timestamp>,
    #[serde(default)]
    pub until: Option<Timestamp>,
    #[serde(default)]
    pub agent: Option<String>,
    #[serde(default)]
    pub principal: Option<String>,
    /// An action, or its first part.
    #[serde(default)]
    pub action: Option<String>,
    #[serde(default)]
    pub prefix: Option<String>,
    #[serde(default)]
    pub outcome: Option<AuditOutcome>,
    #[serde(default)]
    pub after_seq: Option<u64>,
    /// 0 means 50.
    #[serde(default)]
    pub limit: usize,
}

impl CapsuleOperation {
    /// The operation's name, as it stands in a request.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ListCapsules { .. } => "list_capsules",
            Self::CreateCapsule { .. } => "create_capsule",
            Self::UpdateCapsule { .. } => "update_capsule",
            Self::DeleteCapsule => "delete_capsule",
            Self::PurgeCapsule => "purge_capsule",
            Self::Discover => "discover",
            Self::Overview => "overview",
            Self::Read { .. } => "read",
            Self::List(_) => "list",
            Self::Search(_) => "search",
            Self::History { .. } => "history",
            Self::Diff { .. } => "diff",
            Self::Schemes => "schemes",
            Self::AddScheme { .. } => "add_scheme",
            Self::RemoveScheme { .. } => "remove_scheme",
            Self::Prompts => "prompts",
            Self::Prompt { .. } => "prompt",
            Self::Skills => "skills",
            Self::Skill { .. } => "skill",
            Self::Write(_) => "write",
            Self::Restore { .. } => "restore",
            Self::Delete { .. } => "delete",
            Self::Deleted => "deleted",
            Self::Purge { .. } => "purge",
            Self::SendSignal { .. } => "send_signal",
            Self::PollSignals { .. } => "poll_signals",
            Self::Acknowledge { .. } => "acknowledge",
            Self::MemoryGet { .. } => "memory_get",
            Self::MemorySet { .. } => "memory_set",
            Self::MemoryDelete { .. } => "memory_delete",
            Self::MemoryList => "memory_list",
            Self::MemorySearch { .. } => "memory_search",
            Self::ReadBlob { .. } => "read_blob",
            Self::CollectBlobs => "collect_blobs",
            Self::Shares => "shares",
            Self::AddShare { .. } => "add_share",
            Self::RevokeShare { .. } => "revoke_share",
            Self::OpenShare { .. } => "open_share",
            Self::Refused { .. } => "refused",
            Self::Looked(_) => "looked",
            Self::NoteAccess(_) => "note_access",
            Self::Verify => "verify",
            Self::Export { .. } => "export",
            Self::Import { .. } => "import",
            Self::AuditVerify => "audit_verify",
            Self::AuditTail { .. } => "audit_tail",
            Self::AuditQuery(_) => "audit_query",
            Self::AuditPrune { .. } => "audit_prune",
            Self::RegistryAuditPrune { .. } => "registry_audit_prune",
            Self::StorageStatus => "storage_status",
            Self::RegistryAuditVerify => "registry_audit_verify",
            Self::RegistryAuditQuery(_) => "registry_audit_query",
        }
    }
}

impl CapsuleOperation {
    /// Whether doing it twice is the same as doing it once, for those who do not know whether it was done.
    pub fn is_repeatable(&self) -> bool {
        match self {
            Self::Write(write) => write.idempotency_key.is_some(),
            Self::CreateCapsule { .. }
            | Self::DeleteCapsule
            | Self::PurgeCapsule
            | Self::AddScheme { .. }
            | Self::RemoveScheme { .. }
            | Self::Restore { .. }
            | Self::Delete { .. }
            | Self::Purge { .. }
            | Self::SendSignal { .. }
            | Self::MemoryDelete { .. }
            | Self::AddShare { .. }
            | Self::RevokeShare { .. }
            | Self::Refused { .. }
            | Self::Looked(_)
            | Self::NoteAccess(_)
            | Self::Export { .. }
            | Self::Import { .. } => false,
            Self::ListCapsules { .. }
            | Self::UpdateCapsule { .. }
            | Self::Discover
            | Self::Overview
            | Self::Read { .. }
            | Self::List(_)
            | Self::Search(_)
            | Self::History { .. }
            | Self::Diff { .. }
            | Self::Schemes
            | Self::Prompts
            | Self::Prompt { .. }
            | Self::Skills
            | Self::Skill { .. }
            | Self::Deleted
            | Self::PollSignals { .. }
            | Self::Acknowledge { .. }
            | Self::MemoryGet { .. }
            | Self::MemorySet { .. }
            | Self::MemoryList
            | Self::MemorySearch { .. }
            | Self::ReadBlob { .. }
            | Self::CollectBlobs
            | Self::Shares
            | Self::OpenShare { .. }
            | Self::Verify
            | Self::AuditVerify
            | Self::AuditTail { .. }
            | Self::AuditQuery(_)
            | Self::AuditPrune { .. }
            | Self::RegistryAuditPrune { .. }
            | Self::StorageStatus
            | Self::RegistryAuditVerify
            | Self::RegistryAuditQuery(_) => true,
        }
    }
}

/// Only the name: bodies, memories and tokens have no place in a log.
impl fmt::Debug for CapsuleOperation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
