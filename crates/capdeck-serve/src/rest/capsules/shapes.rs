//! How capsules and schemes look in responses of the REST API, where that differs from the capsule service.

use capdeck_auth::inbound::capsule_key;
use capdeck_host::{
    BodyFormat, CapsuleVisibility, EntryInfo, RiskClass, Role, Scheme, SchemeCount, SchemeOrigin,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// A capsule, and what the client may do in it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Capsule")]
pub(in crate::rest) struct CapsuleItem {
    /// Made from the first name and never changed. A later capsule may have it again.
    pub(in crate::rest) id: String,
    /// Made with the capsule and never used for another one.
    pub(in crate::rest) uid: String,
    pub(in crate::rest) name: String,
    pub(in crate::rest) description: String,
    pub(in crate::rest) visibility: CapsuleVisibility,
    /// The operator it belongs to; null: the machine's own.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) entries: Option<usize>,
    /// Why its entries cannot be counted: the capsule cannot be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) problem: Option<String>,
    /// The path of its MCP endpoint on this host.
    pub(in crate::rest) mcp_path: String,
}

impl CapsuleItem {
    /// What records about it name.
    pub(in crate::rest) fn key(&self) -> String {
        capsule_key(&self.id, &self.uid)
    }
}

/// A capsule with what is in it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CapsuleDetails")]
pub(super) struct CapsuleDetails {
    #[serde(flatten)]
    pub(super) capsule: CapsuleItem,
    /// How many entries there are under each scheme.
    pub(super) schemes: Vec<SchemeCount>,
    /// What was written last.
    pub(super) recent: Vec<EntryInfo>,
}

/// A scheme of a capsule.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CapsuleScheme")]
pub(super) struct SchemeDetails {
    name: String,
    title: String,
    description: String,
    format: BodyFormat,
    /// Whether its entries are offered as prompts.
    prompt_source: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_risk_class: Option<RiskClass>,
    /// Who declared it.
    origin: SchemeOrigin,
}

impl From<Scheme> for SchemeDetails {
    fn from(scheme: Scheme) -> Self {
        let Scheme { name, title, description, format, prompt_source, default_risk_class, origin } =
            scheme;
        Self { name, title, description, format, prompt_source, default_risk_class, origin }
    }
}
