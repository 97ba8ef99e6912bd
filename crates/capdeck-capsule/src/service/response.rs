//! What operations on capsules respond with. The REST API, the MCP tools and the command line give these to their
//! clients as they are, so their fields are part of three wire formats.

use jiff::Timestamp;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

use crate::{
    AuditLogLine, AuditReport, BlobCollection, BlobId, BlobRef, CapsuleAccess, CapsuleInfo,
    CheckedAnchor, CommitRef, DeletedEntry, EntryMeta, EntryPrompt, EntryUri, ExportReport,
    ImportReport, MemoryItem, PromotionReason, PrunedLines, RiskClass, Role, Scheme, SchemeCount,
    Share, Signal, SignalPage, VerifyReport, WriteOutcome,
};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListCapsulesResponse {
    pub capsules: Vec<CapsuleSummary>,
}

/// A capsule, and what the caller may do in it.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CapsuleSummary {
    #[serde(flatten)]
    pub info: CapsuleInfo,
    #[serde(flatten)]
    pub access: CapsuleAccess,
    /// How many entries the caller reaches, where that was asked for.
    pub entries: Option<usize>,
    /// Why its entries cannot be counted: the capsule cannot be opened.
    pub problem: Option<String>,
}

/// What was removed for good.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PurgeCapsuleResponse {
    Capsule {
        #[serde(flatten)]
        info: CapsuleInfo,
        purged: usize,
    },
    /// What was moved aside of capsules that had this id.
    Remains { id: String, purged: usize },
}

impl PurgeCapsuleResponse {
    pub fn id(&self) -> &str {
        match self {
            Self::Capsule { info, .. } => &info.id,
            Self::Remains { id, .. } => id,
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DiscoverResponse {
    pub capsules: Vec<DiscoverableCapsule>,
}

/// What anyone may learn of a capsule that is discoverable.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DiscoverableCapsule {
    pub name: String,
    pub description: String,
}

/// Whether the data folder can be written, and which capsules cannot be used or are not whole.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StorageStatusResponse {
    pub writable: bool,
    /// Why it cannot be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub capsules: Vec<CapsuleProblem>,
}

/// What is wrong with a capsule.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CapsuleProblem {
    pub id: String,
    pub problem: String,
    /// Whether the rest of it can be used.
    pub is_open: bool,
}

/// What a capsule holds.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct OverviewResponse {
    pub capsule: String,
    pub name: String,
    pub description: String,
    pub role: Role,
    pub schemes: Vec<SchemeCount>,
    /// What was written last.
    pub recent: Vec<EntryInfo>,
}

/// What is known about one version of an entry.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EntryMeta")]
pub struct EntryInfo {
    /// `<scheme>://<path>`.
    pub uri: EntryUri,
    /// Starts at 1 and grows by one with every write.
    pub version: u64,
    pub title: String,
    pub tags: Vec<String>,
    pub risk_class: RiskClass,
    /// Why the store chose the class, if it did.
    #[schemars(with = "Option<String>")]
    pub promotion_reason: Option<PromotionReason>,
    /// The writer called it structural, and yet it cites code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anchors_detected: bool,
    /// Who wrote it, as this host established it.
    pub written_by: String,
    pub written_by_principal: Option<String>,
    /// What the writer's client calls itself, as `client@version`: a claim.
    pub client: Option<String>,
    pub connection_id: Option<String>,
    pub written_at: Timestamp,
    #[schemars(with = "Option<String>")]
    pub commit_at_write: Option<CommitRef>,
    pub file_anchors: Vec<String>,
    pub content_sha256: String,
    /// Bytes of the body.
    pub bytes: u64,
    pub blob: Option<BlobRef>,
}

impl From<EntryMeta> for EntryInfo {
    fn from(meta: EntryMeta) -> Self {
        let title = match (meta.title, meta.heading) {
            (Some(title), _) | (None, Some(title)) => title,
            (None, None) => meta.uri.path().to_owned(),
        };
        Self {
            uri: meta.uri,
            version: meta.version,
            title,
            tags: meta.tags,
            risk_class: meta.risk_class,
            promotion_reason: meta.promotion_reason,
            anchors_detected: meta.anchors_detected,
            written_by: meta.written_by,
            written_by_principal: meta.written_by_principal,
            client: meta.client,
            connection_id: meta.connection_id,
            written_at: meta.written_at,
            commit_at_write: meta.commit_at_write,
            file_anchors: meta.file_anchors,
            content_sha256: meta.content_sha256,
            bytes: meta.bytes,
            blob: meta.blob,
        }
    }
}

/// An entry in one of its versions.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Entry", transform = require_content)]
pub struct ReadResponse {
    pub capsule: String,
    #[serde(flatten)]
    pub info: EntryInfo,
    pub mime_type: String,
    /// A file that it cites is gone or changed.
    pub stale: bool,
    pub anchors: Vec<CheckedAnchor>,
    /// Exactly what was written. It is data of others.
    pub body: Option<String>,
    /// The same between the lines that tell a model what to think of it: the only form in which content goes to an
    /// agent as text.
    pub text: Option<String>,
}

/// Readers of the REST API get both fields of every entry; only requests of this machine can leave them out.
fn require_content(schema: &mut Schema) {
    let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) else { return };
    required.extend(["body", "text"].map(Value::from));
    for field in ["/properties/body", "/properties/text"] {
        if let Some(field) = schema.pointer_mut(field).and_then(Value::as_object_mut) {
            field.insert("type".to_owned(), "string".into());
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListResponse {
    pub capsule: String,
    pub entries: Vec<EntryInfo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SearchResponse {
    pub capsule: String,
    pub hits: Vec<EntryMatch>,
    /// How many there are on all pages.
    pub total: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// An entry that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EntrySearchHit")]
pub struct EntryMatch {
    #[serde(flatten)]
    pub info: EntryInfo,
    pub score: f64,
    pub snippet: String,
    pub stale: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct HistoryResponse {
    pub capsule: String,
    pub uri: EntryUri,
    /// All versions, oldest first.
    pub versions: Vec<EntryInfo>,
}

/// What changed between two versions.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EntryDiff")]
pub struct DiffResponse {
    pub capsule: String,
    pub uri: EntryUri,
    pub from: u64,
    /// Null: the current version.
    pub to: Option<u64>,
    /// As `diff -u` writes it.
    pub diff: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PromptsResponse {
    pub capsule: String,
    pub prompts: Vec<EntryPrompt>,
}

/// A prompt with its arguments put in.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PromptResponse {
    #[serde(flatten)]
    pub entry: ReadResponse,
    pub name: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SkillsResponse {
    pub capsule: String,
    pub skills: Vec<SkillInfo>,
}

/// What a client needs to recognise the file of a skill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillInfo {
    pub name: String,
    pub uri: EntryUri,
    pub frontmatter: Map<String, Value>,
    /// `sha256:` and the hash of the file.
    pub digest: String,
    /// Bytes of the file.
    pub size: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillResponse {
    pub capsule: String,
    #[serde(flatten)]
    pub skill: SkillInfo,
    /// The file.
    pub text: String,
}

/// The binary payload of an entry.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BlobResponse {
    pub capsule: String,
    pub uri: EntryUri,
    pub sha256: BlobId,
    pub mime: String,
    pub bytes: u64,
    /// The bytes in base64.
    pub data: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SchemesResponse {
    pub capsule: String,
    pub schemes: Vec<Scheme>,
}

/// A scheme that was added or removed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SchemeResponse {
    pub capsule: String,
    pub scheme: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub added: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

/// What was written.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EntryWriteResult")]
pub struct WriteResponse {
    pub capsule: String,
    #[serde(flatten)]
    pub outcome: WriteOutcome,
}

/// What was deleted.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EntryDeleteResult")]
pub struct DeleteResponse {
    pub capsule: String,
    #[serde(flatten)]
    pub entry: DeletedEntry,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DeletedResponse {
    pub capsule: String,
    pub deleted: Vec<DeletedEntry>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PurgeResponse {
    pub capsule: String,
    pub uri: EntryUri,
    pub purged: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CollectBlobsResponse {
    pub capsule: String,
    #[serde(flatten)]
    pub collection: BlobCollection,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SignalResponse {
    pub capsule: String,
    #[serde(flatten)]
    pub signal: Signal,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PollSignalsResponse {
    pub capsule: String,
    #[serde(flatten)]
    pub page: SignalPage,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AcknowledgeResponse {
    pub capsule: String,
    /// The last signal that is done.
    pub acknowledged: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MemoryGetResponse {
    pub capsule: String,
    pub key: String,
    pub value: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MemorySetResponse {
    pub capsule: String,
    pub key: String,
    pub stored: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MemoryDeleteResponse {
    pub capsule: String,
    pub key: String,
    pub deleted: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MemoryItemsResponse {
    pub capsule: String,
    pub items: Vec<MemoryItem>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SharesResponse {
    pub capsule: String,
    pub shares: Vec<Share>,
}

/// A share with its token, which is in this response and nowhere else.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AddShareResponse {
    #[serde(flatten)]
    pub share: Share,
    pub token: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RevokeShareResponse {
    pub id: String,
    pub revoked: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct VerifyResponse {
    pub capsule: String,
    #[serde(flatten)]
    pub report: VerifyReport,
    /// Whether nothing is damaged.
    pub clean: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExportResponse {
    pub capsule: String,
    #[serde(flatten)]
    pub report: ExportReport,
    pub path: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ImportResponse {
    pub capsule: String,
    #[serde(flatten)]
    pub report: ImportReport,
}

/// What is wrong with an audit.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AuditVerifyResponse {
    /// Absent: the registry's own audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capsule: Option<String>,
    #[serde(flatten)]
    pub report: AuditReport,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AuditLinesResponse {
    /// Absent: the registry's own audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capsule: Option<String>,
    /// The last lines that match, oldest first.
    pub lines: Vec<AuditLogLine>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AuditPruneResponse {
    /// Absent: the registry's own audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capsule: Option<String>,
    #[serde(flatten)]
    pub pruned: PrunedLines,
}
