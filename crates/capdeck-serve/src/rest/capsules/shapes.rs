//! How capsules and entries look in answers.

use capdeck_auth::inbound::capsule_key;
use capdeck_host::{AuditOutcome, Format, Origin, RiskClass, Role, Visibility};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A capsule, and what whoever asks may do in it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(in crate::rest) struct Capsule {
    /// Made from the first name and never changed. A later capsule may have it again.
    pub(in crate::rest) id: String,
    /// Made with the capsule and never used for another one.
    pub(in crate::rest) uid: String,
    pub(in crate::rest) name: String,
    pub(in crate::rest) description: String,
    pub(in crate::rest) visibility: Visibility,
    /// The operator it belongs to; null: the machine's own.
    #[serde(default)]
    pub(in crate::rest) owner: Option<String>,
    pub(in crate::rest) created_at: Timestamp,
    /// What you may do in it.
    pub(in crate::rest) role: Role,
    /// The part of it that you reach; everything when absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::rest) uri_prefixes: Vec<String>,
    /// What you do not reach of that part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::rest) denied_prefixes: Vec<String>,
    /// How many entries you reach, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) entries: Option<u64>,
    /// Why its entries cannot be counted: the capsule cannot be opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) problem: Option<String>,
    /// The path of its MCP endpoint on this host.
    #[serde(default)]
    pub(in crate::rest) mcp_path: String,
}

impl Capsule {
    /// What records about it name.
    pub(in crate::rest) fn key(&self) -> String {
        capsule_key(&self.id, &self.uid)
    }
}

/// A capsule with what is in it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CapsuleDetails")]
pub(super) struct CapsuleWhole {
    #[serde(flatten)]
    pub(super) capsule: Capsule,
    /// How many entries there are under each scheme.
    pub(super) schemes: Vec<SchemeCount>,
    /// What was written last.
    pub(super) recent: Vec<EntryMeta>,
}

/// How many entries there are under a scheme.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct SchemeCount {
    pub(super) scheme: String,
    pub(super) entries: u64,
}

/// What is known about one version of an entry.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct EntryMeta {
    /// `<scheme>://<path>`.
    pub(super) uri: String,
    /// Starts at 1 and grows by one with every write.
    pub(super) version: u64,
    pub(super) title: String,
    pub(super) tags: Vec<String>,
    pub(super) risk_class: RiskClass,
    /// Why the store chose the class, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    promotion_reason: Option<String>,
    /// The writer called it structural, and yet it cites code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    anchors_detected: bool,
    /// Who wrote it, as this host established it.
    written_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    written_by_principal: Option<String>,
    /// What the writer's client calls itself, as `client@version`: a claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    connection_id: Option<String>,
    written_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit_at_write: Option<String>,
    file_anchors: Vec<String>,
    content_sha256: String,
    /// Bytes of the body.
    bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blob: Option<BlobRef>,
}

/// A binary payload of an entry.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct BlobRef {
    sha256: String,
    mime: String,
    bytes: u64,
}

/// An entry in one of its versions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Entry {
    pub(super) capsule: String,
    #[serde(flatten)]
    pub(super) meta: EntryMeta,
    mime_type: String,
    /// A file that it cites is gone or changed.
    stale: bool,
    anchors: Vec<Anchor>,
    /// Exactly what was written. It is data of others.
    body: String,
    /// The same between the lines that tell a model what to think of it.
    text: String,
}

/// A file that an entry cites.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EntryAnchor")]
pub(super) struct Anchor {
    path: String,
    /// `unchecked`, `present`, `changed` or `missing`.
    state: String,
}

/// An entry that a search found.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EntrySearchHit")]
pub(super) struct Hit {
    #[serde(flatten)]
    meta: EntryMeta,
    score: f64,
    snippet: String,
    stale: bool,
}

/// What was written.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EntryWriteResult")]
pub(super) struct Written {
    pub(super) capsule: String,
    pub(super) uri: String,
    /// The version that it is now.
    pub(super) version: u64,
    /// Whether there was no entry before.
    pub(super) created: bool,
    risk_class: RiskClass,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    promotion_reason: Option<String>,
    /// The answer is that of an earlier request with the same key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    repeated: bool,
}

/// An entry that was deleted and can be restored.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DeletedEntry")]
pub(super) struct Deleted {
    pub(super) uri: String,
    /// The last version it had.
    version: u64,
    deleted_by: String,
    deleted_at: Timestamp,
}

/// A typed drawer of a capsule.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CapsuleScheme")]
pub(super) struct SchemeShown {
    pub(super) name: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    description: String,
    format: Format,
    /// Whether its entries are offered as prompts.
    prompt_source: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default_risk_class: Option<RiskClass>,
    /// Who declared it.
    origin: Origin,
}

/// A short message of a capsule.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Signal {
    pub(super) id: String,
    ts: Timestamp,
    from: Sender,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    /// The client it is meant for; everyone when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Map<String, Value>>,
}

/// Who sent a message, as the host knows it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SignalSender")]
pub(super) struct Sender {
    /// What the client calls itself: a claim.
    client: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    principal: Option<String>,
    /// What the host calls the principal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    principal_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    connection: Option<String>,
}

/// One line of an audit.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in crate::rest) struct AuditLine {
    pub(in crate::rest) ts: Timestamp,
    /// What the client calls itself.
    pub(in crate::rest) agent: String,
    pub(in crate::rest) action: String,
    /// The capsule that was made, changed or taken away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) capsule: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) share: Option<String>,
    /// The id of the request, grant, client, operator or call that it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) uri: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    pub(in crate::rest) outcome: AuditOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) error_code: Option<String>,
    /// Of an approval of one's own request: what ties the two, `requester`, `program`, `enrollment`, `browser` or `address`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    self_approved: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    /// Bytes read or written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(default)]
    pub(in crate::rest) metadata: AuditMetadata,
    /// Names a change of a capsule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    change_id: Option<String>,
    /// When the line was written from the journal: the process that made the change ended before it wrote the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recovered_at: Option<Timestamp>,
    pub(in crate::rest) seq: u64,
    /// The hash of the line before.
    prev: String,
    /// The hash of this line without this field.
    #[serde(default)]
    h: String,
}

/// Where a call came from.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(in crate::rest) struct AuditMetadata {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    connection_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) principal_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_version: Option<String>,
}
