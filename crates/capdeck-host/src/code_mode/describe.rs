//! `describeTool`: everything about one tool, for a script that reads it.

use capdeck_backend::{CallContext, CallError, ErrorCode};
use capdeck_catalog::{argument_list, compact};
use capdeck_sandbox::{call_text, type_of};
use serde_json::{Map, Value, json, value::RawValue};

use super::{library::answer, types::Shape};
use crate::Session;

impl Session {
    pub(super) async fn describe_for_code(
        &self,
        id: &str,
        fields: &Map<String, Value>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let name = fields.get("name").and_then(Value::as_str).ok_or_else(|| {
            CallError::new(ErrorCode::RequestInvalid, "`describeTool` needs the name of a tool")
        })?;
        let capability = self.capability(id)?;
        let Some(tool) = self.find_tool(&capability, name, context).await? else {
            return Err(self.snapshot().unknown_tool(&capability, name));
        };
        let shape = Shape::of(&capability, &tool);
        let mut described = json!({
            "id": id,
            "tool": compact(&tool),
            "inputSchema": shape.input,
            "callSignature": call_text(id, tool.name(), &argument_list(&tool)),
            "inputTypeScript": type_of(&shape.input),
            "outputTypeScript": shape.output.as_ref().map_or_else(|| "any".to_owned(), type_of),
            "examples": [],
        });
        if let Some(output) = shape.output {
            described["outputSchema"] = output;
        }
        if let Some(observed) = self.host.observed_shape(&capability.definition, &tool) {
            described["observedOutputShape"] = observed;
        }
        answer(&described)
    }
}
