//! What a backend said it offers: plain data, exactly as it was sent.

use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::value::RawValue;

use crate::ArgumentCheck;

/// A JSON object whose members keep their order and their exact text.
pub type RawMembers = IndexMap<String, Box<RawValue>>;

/// One answer to "what do you offer?", all pages read. Cached on disk and fed into the next catalog.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Discovery {
    pub tools: Vec<Arc<Tool>>,
    #[serde(default)]
    pub resources: Vec<RawMembers>,
    #[serde(default)]
    pub resource_templates: Vec<RawMembers>,
    #[serde(default)]
    pub prompts: Vec<RawMembers>,
    /// Set for MCP servers only.
    pub server: Option<ServerDetails>,
    /// What a description holds that could not be made into a tool; the rest works.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<ImportProblem>,
    /// The rights that calling these tools takes, where a description says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
}

/// One part of a description that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportProblem {
    /// Its place in the description, such as `GET /users` or `Query.search`.
    pub place: String,
    pub reason: String,
}

/// What an MCP server said about itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerDetails {
    pub protocol_version: String,
    pub capabilities: RawMembers,
    pub server_info: RawMembers,
    pub instructions: Option<String>,
    /// True when the server refused the other era of the protocol; false when it was not asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refuses_other_era: bool,
}

impl ServerDetails {
    /// True for servers without sessions, since revision 2026-07-28. Revisions are dates, so text order is
    /// their order.
    pub fn is_modern(&self) -> bool {
        self.protocol_version.as_str() >= "2026-07-28"
    }
}

/// One callable, with its definition byte for byte as the backend sent it.
#[derive(Debug, Clone)]
pub struct Tool {
    name: String,
    raw: RawMembers,
    /// Compiled when the first call is checked: most tools are never called.
    check: OnceLock<Arc<ArgumentCheck>>,
}

impl Tool {
    /// Wraps a tool definition. `None` when its `name` is no string, or an empty one.
    pub fn new(raw: RawMembers) -> Option<Self> {
        let name: String = serde_json::from_str(raw.get("name")?.get()).ok()?;
        (!name.is_empty()).then(|| Self { name, raw, check: OnceLock::new() })
    }

    /// The name the backend knows it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole definition, as sent.
    pub fn raw(&self) -> &RawMembers {
        &self.raw
    }

    pub fn description(&self) -> Option<String> {
        self.text("description")
    }

    pub fn title(&self) -> Option<String> {
        self.text("title")
    }

    pub fn input_schema(&self) -> Option<&RawValue> {
        self.raw.get("inputSchema").map(AsRef::as_ref)
    }

    pub fn output_schema(&self) -> Option<&RawValue> {
        self.raw.get("outputSchema").map(AsRef::as_ref)
    }

    /// One boolean member of `annotations`, such as `readOnlyHint`.
    pub fn annotation(&self, hint: &str) -> Option<bool> {
        let annotations: IndexMap<String, serde_json::Value> =
            serde_json::from_str(self.raw.get("annotations")?.get()).ok()?;
        annotations.get(hint)?.as_bool()
    }

    pub fn argument_check(&self) -> &ArgumentCheck {
        self.check.get_or_init(|| Arc::new(ArgumentCheck::compile(self)))
    }

    /// One string member of the definition.
    pub fn text(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.raw.get(key)?.get()).ok()
    }
}

impl Serialize for Tool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Tool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(RawMembers::deserialize(deserializer)?)
            .ok_or_else(|| D::Error::custom("a tool needs a string `name`"))
    }
}
