//! TypeScript declarations of what a capability's tools take and give in a script.

use capdeck_backend::{CallContext, CallError};
use capdeck_catalog::{Capability, Tool};
use capdeck_definition::Backend;
use capdeck_sandbox::{ToolShape, tool_types};
use serde_json::{Value, json};

use crate::{Session, raw};

impl Session {
    /// Declarations of one tool, or of all tools of a capability. Asks the backend if it never answered.
    pub async fn types_of(
        &self,
        id: &str,
        tool: Option<&str>,
        context: &CallContext,
    ) -> Result<String, CallError> {
        let capability = self.handle(id)?;
        let tools = match tool {
            Some(name) => self.find_tool(&capability, name, context).await?.into_iter().collect(),
            None => match &capability.discovery {
                Some(known) => known.tools.clone(),
                None => self.discover(&capability.definition, context).await?.tools.clone(),
            },
        };
        let shapes: Vec<Shape> = tools.iter().map(|tool| Shape::of(&capability, tool)).collect();
        let shapes: Vec<ToolShape<'_>> = shapes.iter().map(Shape::as_tool_shape).collect();
        Ok(tool_types(id, &shapes))
    }
}

/// A tool as declarations are made of it.
pub(super) struct Shape {
    name: String,
    description: Option<String>,
    pub(super) input: Value,
    pub(super) output: Option<Value>,
}

impl Shape {
    pub(super) fn of(capability: &Capability, tool: &Tool) -> Self {
        let output = tool.output_schema().and_then(raw::value);
        Self {
            name: tool.name().to_owned(),
            description: tool.description(),
            input: tool.input_schema().and_then(raw::value).unwrap_or_else(|| json!({})),
            output: match capability.definition.backend {
                Backend::Mcp(_) => output,
                _ => output.map(data_schema),
            },
        }
    }

    fn as_tool_shape(&self) -> ToolShape<'_> {
        ToolShape {
            name: &self.name,
            description: self.description.as_deref(),
            input_schema: &self.input,
            output_schema: self.output.as_ref(),
        }
    }
}

/// The schema of what a script is given: of a response that is its body.
fn data_schema(schema: Value) -> Value {
    let is_response = schema.pointer("/properties/status").is_some();
    let Some(body) = schema.pointer("/properties/body").filter(|_| is_response) else {
        return schema;
    };
    let mut data = body.clone();
    // References lead into the definitions of the whole.
    if let Some(members) = data.as_object_mut() {
        for key in ["$defs", "definitions"] {
            if let Some(definitions) = schema.get(key) {
                members.entry(key).or_insert_with(|| definitions.clone());
            }
        }
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_typed_as_its_body() {
        let schema = json!({
            "type": "object",
            "properties": {"status": {"type": "integer"}, "body": {"$ref": "#/$defs/Pet"}},
            "$defs": {"Pet": {"type": "object"}},
        });
        assert_eq!(
            data_schema(schema),
            json!({"$ref": "#/$defs/Pet", "$defs": {"Pet": {"type": "object"}}})
        );
        let other = json!({"type": "object", "properties": {"body": {"type": "string"}}});
        assert_eq!(data_schema(other.clone()), other);
    }
}
