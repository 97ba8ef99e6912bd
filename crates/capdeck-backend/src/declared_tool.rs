//! Tools that stand in a definition rather than being told by a remote.

use std::sync::Arc;

use capdeck_auth::SecretScrubber;
use capdeck_catalog::{CONFIRM, Discovery, Tool};
use serde_json::{Map, Value, json};

use crate::{CallError, ErrorCode, scrub_json::scrub_json};

/// One declared tool, in the parts a definition gives.
#[derive(Debug, Default)]
pub(crate) struct DeclaredTool<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: String,
    pub(crate) use_when: Option<&'a String>,
    pub(crate) avoid_when: Option<&'a String>,
    pub(crate) input_schema: Option<&'a Map<String, Value>>,
    pub(crate) output_schema: Option<&'a Map<String, Value>>,
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
        for (key, hint) in [("useWhen", self.use_when), ("avoidWhen", self.avoid_when)] {
            if let Some(hint) = hint {
                members.insert(key.into(), hint.as_str().into());
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
            members.insert("outputSchema".into(), Value::Object(schema.clone()));
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
            CallError::new(
                ErrorCode::InternalError,
                format!("the tool `{}` cannot be described", self.name),
            )
            .detail(error)
        })
    }
}
