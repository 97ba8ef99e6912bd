//! What can be asked of capsules, as plain data. Addresses are texts here: they are checked where the operation is done,
//! so that a wrong one is recorded like every other refusal.

use std::{collections::BTreeMap, path::PathBuf};

use jiff::{Timestamp, civil::Date};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    AuditOutcome, CapsuleErrorCode, CapsuleVisibility, ExistingEntryMode, ImportMode, PatchStep,
    RiskClass, Role, Scheme, ShareExpiry,
};

/// Declares requests that say nothing but what they are.
macro_rules! plain_requests {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
            pub struct $name;
        )*
    };
}

plain_requests! {
    /// Deletes a capsule; its files are moved aside.
    DeleteCapsuleRequest,
    /// Removes a capsule for good; of one that was deleted before, the files that were moved aside.
    PurgeCapsuleRequest,
    /// Lists what may be found without a grant.
    DiscoverRequest,
    /// Asks whether the data folder can be written, and which capsules cannot be used. Opens every capsule that the
    /// caller reaches.
    StorageStatusRequest,
    /// Asks for the schemes of a capsule and its latest entries.
    OverviewRequest,
    /// Lists the entries that are prompts.
    PromptsRequest,
    /// Lists the entries of `skills://` as files.
    SkillsRequest,
    SchemesRequest,
    /// Lists the entries that were deleted and can be restored.
    DeletedRequest,
    /// Removes blobs that no version of any entry has.
    CollectBlobsRequest,
    MemoryListRequest,
    SharesRequest,
    /// Reads every file of a capsule and checks it.
    VerifyRequest,
    AuditVerifyRequest,
    RegistryAuditVerifyRequest,
}

/// Lists all capsules that the caller reaches.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListCapsulesRequest {
    /// Opens every capsule to count its entries.
    pub with_counts: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewCapsule")]
pub struct CreateCapsuleRequest {
    #[schemars(length(min = 1, max = 100))]
    pub name: String,
    #[schemars(length(max = 1000))]
    pub description: Option<String>,
    pub visibility: Option<CapsuleVisibility>,
}

impl CreateCapsuleRequest {
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), description: None, visibility: None }
    }
}

/// Reads an entry.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReadRequest {
    pub uri: String,
    /// Absent: the current version.
    pub version: Option<u64>,
    pub body: ReadBody,
}

/// How much of an entry to respond with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadBody {
    /// The body, and the text with its bands.
    #[default]
    Banded,
    /// Provenance only.
    Meta,
}

/// Which entries to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListQuery {
    #[serde(default)]
    pub scheme: Option<String>,
    #[serde(default)]
    pub prefix: Option<String>,
    #[serde(default)]
    pub tag: Option<String>,
    /// Only entries written after this moment.
    #[serde(default)]
    pub written_after: Option<Timestamp>,
    /// Latest first instead of by address.
    #[serde(default)]
    pub latest_first: bool,
    /// 0 means 50, at most 200.
    #[serde(default)]
    pub limit: usize,
    /// `next_cursor` of the page before, for the same query.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// What to search for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchQuery {
    /// Plain words; `"…"` is a phrase that must occur, `begin*` matches longer words.
    pub query: String,
    #[serde(default)]
    pub scheme: Option<String>,
    #[serde(default)]
    pub prefix: Option<String>,
    /// Entries must have all of these tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// What the writer's name or what its client calls itself starts with, in any case, or the whole principal.
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

/// Lists all versions of an entry.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct HistoryRequest {
    pub uri: String,
}

/// Compares two versions of an entry.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DiffRequest {
    pub uri: String,
    pub from: u64,
    /// Absent: the current version.
    pub to: Option<u64>,
}

/// Renders a prompt with its arguments.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PromptRequest {
    pub name: String,
    pub arguments: BTreeMap<String, String>,
}

/// Reads the file of one skill.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SkillRequest {
    pub name: String,
}

/// Reads the binary payload of an entry.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReadBlobRequest {
    pub uri: String,
    pub version: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AddSchemeRequest {
    pub scheme: Scheme,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RemoveSchemeRequest {
    pub name: String,
}

/// What to write.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct WriteRequest {
    pub uri: String,
    /// Absent: `patch` when there are steps, else `replace` for writers and `create` for appenders.
    pub mode: Option<WriteMode>,
    pub content: Option<String>,
    pub patch: Option<Vec<PatchStep>>,
    pub title: Option<String>,
    pub tags: Option<Vec<String>>,
    pub risk_class: Option<RiskClass>,
    pub file_anchors: Vec<String>,
    /// The commit that the writer says it worked on; absent: the one checked out in the caller's project.
    pub commit: Option<String>,
    pub if_version: Option<u64>,
    pub idempotency_key: Option<String>,
    pub blob: Option<WriteBlob>,
}

/// What a write does with an entry that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteMode {
    Create,
    Replace,
    Patch,
}

/// The binary payload of a write.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteBlob {
    /// New bytes, in base64.
    Bytes { data: String, mime: String },
    /// A blob that is in the capsule.
    Pointer { id: String, mime: String },
    /// Removes the blob.
    Remove,
}

/// Writes an old version again, as a new one.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RestoreRequest {
    pub uri: String,
    pub version: u64,
    pub if_version: Option<u64>,
}

/// Deletes an entry; it can be restored until it is purged.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DeleteRequest {
    pub uri: String,
    pub if_version: Option<u64>,
}

/// Removes an entry with all its versions.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PurgeRequest {
    pub uri: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewSignal")]
pub struct SendSignalRequest {
    #[schemars(length(min = 1, max = 64))]
    pub kind: String,
    pub text: Option<String>,
    /// The entry it is about.
    pub uri: Option<String>,
    /// The client it is meant for.
    pub to: Option<String>,
    pub data: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct PollSignalsRequest {
    /// The signal after which to start; absent: after the last one acknowledged.
    pub after: Option<String>,
    /// None means all kinds.
    pub kinds: Vec<String>,
    /// 0 means 50, at most 100.
    pub limit: usize,
}

/// Marks all signals up to one as done.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AcknowledgeRequest {
    pub signal: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MemoryGetRequest {
    pub key: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MemorySetRequest {
    pub key: String,
    pub value: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MemoryDeleteRequest {
    pub key: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MemorySearchRequest {
    pub query: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewConnection")]
pub struct AddShareRequest {
    /// What it is for.
    #[schemars(length(min = 1, max = 100))]
    pub name: String,
    pub role: Role,
    /// The part of the capsule, such as `docs://team`; everything when empty.
    #[serde(default)]
    pub uri_prefixes: Vec<String>,
    /// What is left out of that part.
    #[serde(default)]
    pub denied_prefixes: Vec<String>,
    /// A time such as `2030-01-31T00:00:00Z`, or `never`. Without it the share ends after 90 days.
    #[serde(default)]
    pub expires_at: ShareExpiry,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RevokeShareRequest {
    pub id: String,
}

/// Finds the share that a token opens, for a transport that was given one.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct OpenShareRequest {
    pub token: String,
}

/// Records a call whose arguments kept it from the service.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct NoteRefusalRequest {
    /// The action of the audit line.
    pub action: String,
}

/// Records that the caller listed or chose capsules. That is about the entries of no capsule, so the line is in the
/// registry's audit.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct NoteLookRequest {
    pub look: BrowseAction,
    /// The capsule that was chosen.
    pub capsule: Option<String>,
    /// Why it failed, if it did.
    pub error_code: Option<CapsuleErrorCode>,
}

/// How a caller looks among capsules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BrowseAction {
    List,
    Discover,
    Mount,
    Unmount,
}

impl BrowseAction {
    /// What the audit calls it.
    pub(super) fn action(self) -> &'static str {
        match self {
            Self::List => "capsule.list",
            Self::Discover => "capsule.discover",
            Self::Mount => "capsule.mount",
            Self::Unmount => "capsule.unmount",
        }
    }
}

/// Writes a capsule to a path of the machine.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExportRequest {
    pub path: PathBuf,
    pub form: ExportTarget,
}

/// How an export is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExportTarget {
    /// Bare files in a new or empty folder.
    Folder,
    /// A tar archive with the same layout.
    Tar,
    /// A new git repository, with a commit for every version.
    Git,
}

/// Reads entries from a path of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportFilesRequest {
    pub path: PathBuf,
    pub form: ImportSource,
    pub existing: ExistingEntryMode,
    pub mode: ImportMode,
}

/// What an import reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImportSource {
    /// What an export wrote, as a folder or as a tar archive. Any other tar archive is read the same way.
    Export,
    /// One file, such as `AGENTS.md`, to this address.
    File { uri: String },
    /// The files of a folder, to this scheme.
    Folder { scheme: String },
    /// A folder with `<name>/SKILL.md` or `<name>.md`.
    Skills,
}

/// Which audit lines of a capsule to get.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct AuditFilter {
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    pub agent: Option<String>,
    pub principal: Option<String>,
    /// An action, or its first part.
    pub action: Option<String>,
    pub prefix: Option<String>,
    pub outcome: Option<AuditOutcome>,
    pub after_seq: Option<u64>,
    /// 0 means 50.
    pub limit: usize,
}

/// The same for the registry's own audit: what happens to capsules as a whole and to their shares.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct RegistryAuditFilter(pub AuditFilter);

/// Removes the files of days before one from the audit.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct AuditPruneRequest {
    pub before: Date,
}

/// The same for the registry's own audit.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct RegistryAuditPruneRequest {
    pub before: Date,
}
