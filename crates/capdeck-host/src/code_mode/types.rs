//! Tools as TypeScript declarations, as `describeTool` responses and as what a script is checked against.

use std::sync::Arc;

use capdeck_backend::CallError;
use capdeck_catalog::{Capability, Tool, argument_list, compact, one_line};
use capdeck_definition::{Backend, UsageHints};
use capdeck_sandbox::{
    CapabilityDirectory, ToolSchemas, ToolSignature, call_text, tool_types, type_of,
};
use serde_json::{Map, Value, json};

use super::{bridge::coded_capability, may_code};
use crate::{
    RequestContext, View, calls, deck_snapshot::DeckSnapshot, listing, observed_shape, raw,
};

/// Declarations of one tool, or of all tools of a capability. Asks a backend without a known list.
pub async fn types_of(
    request: &RequestContext<'_>,
    id: &str,
    tool: Option<&str>,
) -> Result<String, CallError> {
    let capability = coded_capability(&request.deck, id)?;
    let tools = match tool {
        Some(name) => calls::find_tool(request, &capability, name).await?.into_iter().collect(),
        None => match &capability.discovery {
            Some(known) => known.tools.clone(),
            None => listing::discover(request, &capability.definition).await?.tools.clone(),
        },
    };
    let described: Vec<_> = tools
        .iter()
        .map(|tool| (tool.name(), with_hints(tool), script_schemas(&capability, tool)))
        .collect();
    let signatures = described.iter().map(|(name, description, schemas)| ToolSignature {
        name,
        description: description.as_deref(),
        input_schema: &schemas.input,
        output_schema: schemas.output.as_ref(),
    });
    let UsageHints { use_when, avoid_when } = &capability.definition.hints;
    let mut text = String::new();
    for (label, hint) in [("Use when", use_when), ("Avoid when", avoid_when)] {
        let hint = hint.as_deref().map(one_line);
        text.extend(hint.map(|hint| format!("// {label}: {hint}\n")));
    }
    Ok(text + &tool_types(id, &signatures.collect::<Vec<_>>()))
}

/// The description of a tool, after the hints when to use it: they are what a long one must not
/// cut off.
fn with_hints(tool: &Tool) -> Option<String> {
    let hint = |label: &str, key: &str| tool.text(key).map(|hint| format!("{label}: {hint}"));
    let hints = [hint("Use when", "useWhen"), hint("Avoid when", "avoidWhen")];
    let parts: Vec<String> = hints.into_iter().flatten().chain(tool.description()).collect();
    (!parts.is_empty()).then(|| parts.join(". "))
}

pub(super) async fn describe_tool(
    request: &RequestContext<'_>,
    capability: &Arc<Capability>,
    fields: &Map<String, Value>,
) -> raw::Answer {
    let name = fields
        .get("name")
        .and_then(Value::as_str)
        .ok_or_else(|| CallError::invalid_request("`describeTool` needs the name of a tool"))?;
    let id = capability.definition.id.as_str();
    let Some(tool) = calls::find_tool(request, capability, name).await? else {
        return Err(request.deck.unknown_tool(capability, name));
    };
    let schemas = script_schemas(capability, &tool);
    let mut described = json!({
        "id": id,
        "tool": compact(&tool),
        "inputSchema": schemas.input,
        "callSignature": call_text(id, tool.name(), &argument_list(&tool)),
        "inputTypeScript": type_of(&schemas.input),
        "outputTypeScript": schemas.output.as_ref().map_or_else(|| "any".to_owned(), type_of),
        "examples": [],
    });
    if let Some(output) = schemas.output {
        described["outputSchema"] = output;
    }
    if let Some(observed) = observed_shape(request.host(), &capability.definition, &tool) {
        described["observedOutputShape"] = observed;
    }
    raw::text(&described)
}

/// The schemas of a tool as a script sees it: its result is the data alone.
fn script_schemas(capability: &Capability, tool: &Tool) -> ToolSchemas {
    let output = tool.output_schema().and_then(raw::value);
    ToolSchemas {
        input: tool.input_schema().and_then(raw::value).unwrap_or_else(|| json!({})),
        output: match capability.definition.backend {
            Backend::Mcp(_) => output,
            _ => output.map(data_schema),
        },
    }
}

fn data_schema(schema: Value) -> Value {
    let is_response = schema.pointer("/properties/status").is_some();
    let Some(body) = schema.pointer("/properties/body").filter(|_| is_response) else {
        return schema;
    };
    let mut data = body.clone();
    // References point into the definitions of the whole schema.
    if let Some(members) = data.as_object_mut() {
        for key in ["$defs", "definitions"] {
            if let Some(definitions) = schema.get(key) {
                members.entry(key).or_insert_with(|| definitions.clone());
            }
        }
    }
    data
}

/// The capabilities that a script can see when its run begins.
pub(super) struct DeckDirectory<'a> {
    deck: &'a DeckSnapshot<'a>,
    view: Arc<View>,
}

impl<'a> DeckDirectory<'a> {
    pub(super) fn new(deck: &'a DeckSnapshot<'a>) -> Self {
        Self { deck, view: deck.view() }
    }

    fn may_code(&self, capability: &Capability) -> bool {
        may_code(self.deck, &self.view, capability)
    }

    fn get(&self, id: &str) -> Option<&Arc<Capability>> {
        self.deck.catalog().get(id).filter(|capability| self.may_code(capability))
    }

    /// Only capabilities with a current list. An old list rejects nothing: the call itself asks the
    /// server first.
    fn get_listed(&self, id: &str) -> Option<&Arc<Capability>> {
        let connections = &self.deck.session().connections;
        let is_old = |one: &Arc<Capability>| connections.discovery_is_old(&one.definition);
        self.get(id).filter(|capability| !is_old(capability))
    }
}

impl CapabilityDirectory for DeckDirectory<'_> {
    fn capabilities(&self) -> Vec<String> {
        let seen = self.deck.catalog().capabilities();
        let seen = seen.filter(|capability| self.may_code(capability));
        seen.map(|capability| capability.definition.id.to_string()).collect()
    }

    /// Blocked tools are included; calling one returns the reason.
    fn tools(&self, id: &str) -> Option<Vec<String>> {
        let capability = self.get_listed(id)?;
        let known = capability.discovery.as_ref()?.tools.iter();
        let mut names: Vec<String> = known.map(|tool| tool.name().to_owned()).collect();
        names.extend(self.deck.held_names(capability));
        Some(names)
    }

    fn schemas(&self, id: &str, tool: &str) -> Option<ToolSchemas> {
        let capability = self.get(id)?;
        Some(script_schemas(capability, self.deck.catalog().tool(id, tool)?))
    }

    fn check_arguments(&self, id: &str, tool: &str, arguments: &Value) -> Vec<String> {
        let Some(found) = self.get_listed(id).and_then(|_| self.deck.catalog().tool(id, tool))
        else {
            return Vec::new();
        };
        match found.argument_check().check(arguments) {
            Ok(()) => Vec::new(),
            Err(bad) => {
                let call = call_text(id, tool, &bad.arguments);
                vec![format!("{bad}; call it as: {call}")]
            }
        }
    }
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
