//! Tools that a definition declares, and the results of backends that are not MCP
//! servers.

use std::{borrow::Cow, sync::Arc};

use capdeck_auth::SecretScrubber;
use capdeck_catalog::{CONFIRM, Discovery, Tool};
use capdeck_definition::{ActionText, Backend, Definition};
use serde_json::{Map, Value, json};

use crate::{Artifact, CallError, CallResult, call_error::scrub_json, cli, cmp, http_actions};

#[derive(Debug, Default)]
pub(crate) struct DeclaredTool<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: String,
    pub(crate) hints: Option<&'a ActionText>,
    pub(crate) input_schema: Option<&'a Map<String, Value>>,
    pub(crate) output_schema: Option<Cow<'a, Map<String, Value>>>,
    pub(crate) annotations: Value,
    /// Phrases it answers to, for the search.
    pub(crate) patterns: Vec<&'a String>,
    /// A person is asked before it runs.
    pub(crate) confirm: bool,
}

/// The discovery of a backend whose tools are all declared, sorted by name.
pub(crate) fn declared_discovery<'a>(
    tools: impl IntoIterator<Item = DeclaredTool<'a>>,
    scrubber: &SecretScrubber,
) -> Result<Discovery, CallError> {
    let mut tools: Vec<Arc<Tool>> = tools
        .into_iter()
        .map(|tool| tool.build(scrubber).map(Arc::new))
        .collect::<Result<_, _>>()?;
    tools.sort_by(|one, other| one.name().cmp(other.name()));
    Ok(Discovery { tools, ..Discovery::default() })
}

impl DeclaredTool<'_> {
    fn build(self, scrubber: &SecretScrubber) -> Result<Tool, CallError> {
        let mut members = Map::new();
        members.insert("name".into(), self.name.into());
        members.insert("description".into(), self.description.into());
        if let Some(ActionText { use_when, avoid_when, .. }) = self.hints {
            for (key, hint) in [("useWhen", use_when), ("avoidWhen", avoid_when)] {
                if let Some(hint) = hint {
                    members.insert(key.into(), hint.as_str().into());
                }
            }
        }
        if !self.patterns.is_empty() {
            members.insert("patterns".into(), json!(self.patterns));
        }
        let schema = match self.input_schema {
            Some(schema) => {
                let mut schema = schema.clone();
                // Clients refuse an input schema that does not say it is an object.
                schema.entry("type").or_insert_with(|| "object".into());
                Value::Object(schema)
            }
            None => json!({"type": "object", "additionalProperties": true}),
        };
        members.insert("inputSchema".into(), schema);
        if let Some(schema) = self.output_schema {
            members.insert("outputSchema".into(), Value::Object(schema.into_owned()));
        }
        if !self.annotations.is_null() {
            members.insert("annotations".into(), self.annotations);
        }
        if self.confirm {
            members.insert("_meta".into(), json!({ CONFIRM: true }));
        }
        let mut tool = Value::Object(members);
        // A file may refer to a variable inside a description or a schema.
        scrub_json(&mut tool, scrubber);
        serde_json::from_str(&tool.to_string()).map_err(|error| {
            CallError::internal(format!("the tool `{}` cannot be described", self.name))
                .detail(error)
        })
    }
}

/// What a definition declares, references left as text. `None` for backends that must be asked.
pub fn static_discovery(definition: &Definition) -> Option<Discovery> {
    let scrubber = SecretScrubber::default();
    match &definition.backend {
        Backend::Cli(tools) => {
            let declared = tools.actions.iter().map(|(name, action)| cli::declare(name, action));
            declared_discovery(declared, &scrubber).ok()
        }
        Backend::Http(api) => {
            let declared =
                api.actions.iter().map(|(name, action)| http_actions::declare(name, action));
            declared_discovery(declared, &scrubber).ok()
        }
        Backend::Cmp(tool) => cmp::discovery(tool).ok(),
        Backend::Mcp(_)
        | Backend::OpenApi(_)
        | Backend::GoogleDiscovery(_)
        | Backend::GraphQl(_)
        | Backend::Caplets(_)
        | Backend::Capsules => None,
    }
}

#[derive(Debug, Default)]
pub(crate) struct ToolResult {
    pub(crate) text: String,
    pub(crate) artifacts: Vec<Artifact>,
    /// Nothing at all when it could not be what the tool's output schema promises.
    pub(crate) structured: Option<Map<String, Value>>,
    pub(crate) is_error: bool,
    pub(crate) meta: Map<String, Value>,
}

impl ToolResult {
    /// The `CallToolResult`. An artifact is a link, so that clients can read it as a resource.
    pub(crate) fn build(self) -> CallResult {
        let mut content = vec![json!({"type": "text", "text": self.text})];
        for artifact in self.artifacts {
            let mut link = json!({
                "type": "resource_link",
                "uri": artifact.uri,
                "name": artifact.filename,
                "size": artifact.byte_length,
                "_meta": { "capdeck/sha256": artifact.sha256 },
            });
            if let (Some(mime_type), Some(members)) = (artifact.mime_type, link.as_object_mut()) {
                members.insert("mimeType".into(), mime_type.into());
            }
            content.push(link);
        }
        let mut result = Map::new();
        result.insert("content".into(), content.into());
        if let Some(structured) = self.structured {
            result.insert("structuredContent".into(), Value::Object(structured));
        }
        result.insert("isError".into(), self.is_error.into());
        if !self.meta.is_empty() {
            result.insert("_meta".into(), Value::Object(self.meta));
        }
        serde_json::value::to_raw_value(&result).map_err(|error| {
            CallError::internal("the result cannot be written as JSON").detail(error)
        })
    }
}
