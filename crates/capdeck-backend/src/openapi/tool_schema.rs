//! The schemas of an operation's tool: its parameters in groups and its body, and the body of its good answers in the
//! shape that call results have.

use indexmap::IndexSet;
use serde_json::{Map, Value, json};

use super::{
    body::OperationBodies,
    document::OpenApiNode,
    file_input::{is_json, is_text},
    operation::OpenApiImporter,
    parameter::{ParameterDescription, ParameterLocation, annotate},
    schemas::{ConvertedSchema, SchemaDefinitionId, SchemaDirection},
};
use crate::api_connection::{answer_schema, object_schema};

/// The schema as text, complete in itself. `own` are arguments beside parameters and body.
pub(super) fn input_schema<'a>(
    import: &mut OpenApiImporter<'a>,
    parameters: &[ParameterDescription<'a>],
    bodies: &OperationBodies,
    own: Option<OpenApiNode<'a>>,
) -> String {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut needs = Vec::new();
    for location in ParameterLocation::ALL {
        let members = parameters.iter().filter(|one| one.parameter.location == location);
        let members: Vec<&ParameterDescription<'a>> = members.collect();
        if members.is_empty() {
            continue;
        }
        if members.iter().any(|member| member.is_required) {
            required.push(location.group());
        }
        let schema = group(import, &members, &mut needs);
        properties.insert(location.group().to_owned(), schema);
    }
    if let Some(schema) = body(bodies, &mut needs) {
        properties.insert("body".to_owned(), schema);
        if bodies.is_required {
            required.push("body");
        }
        if let Some(choice) = content_type(bodies) {
            properties.insert("contentType".to_owned(), choice);
        }
    }
    for (name, schema) in own.into_iter().flat_map(OpenApiNode::members) {
        properties.insert(name.to_owned(), schema.value.clone());
    }
    let root = object_schema(properties, &required, true);
    import.schemas.assemble(&root, &needs)
}

fn group<'a>(
    import: &mut OpenApiImporter<'a>,
    members: &[&ParameterDescription<'a>],
    needs: &mut Vec<SchemaDefinitionId>,
) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for member in members {
        let name = &member.parameter.name;
        let value = match member.schema {
            Some(node) => {
                let schema = import.convert(node, SchemaDirection::Request);
                needs.extend(schema.needs);
                schema.value
            }
            None if member.parameter.location == ParameterLocation::Path => {
                json!({"type": "string"})
            }
            None => json!({}),
        };
        properties.insert(name.clone(), annotate(member.node, value));
        if member.is_required {
            required.push(name);
        }
    }
    object_schema(properties, &required, true).into()
}

fn any_of(mut options: Vec<Value>) -> Option<Value> {
    if options.len() > 1 { Some(json!({"anyOf": options})) } else { options.pop() }
}

fn body(bodies: &OperationBodies, needs: &mut Vec<SchemaDefinitionId>) -> Option<Value> {
    let mut options: Vec<Value> = Vec::new();
    for schema in &bodies.schemas {
        needs.extend(schema.needs.iter().copied());
        if !options.contains(&schema.value) {
            options.push(schema.value.clone());
        }
    }
    let mut schema = any_of(options)?;
    if let (Value::Object(members), Some(description)) = (&mut schema, &bodies.description) {
        members.entry("description").or_insert_with(|| description.as_str().into());
    }
    Some(schema)
}

fn content_type(bodies: &OperationBodies) -> Option<Value> {
    let types: IndexSet<&str> = bodies.plans.iter().map(|plan| plan.media_type.as_str()).collect();
    let first = types.first().filter(|_| types.len() > 1)?;
    let description = "The media type to send the body as";
    Some(json!({"enum": types, "default": first, "description": description}))
}

/// The output schema as text. `None` when the description does not say what comes back.
pub(super) fn output_schema<'a>(
    import: &mut OpenApiImporter<'a>,
    operation: OpenApiNode<'a>,
) -> Option<String> {
    let responses = operation.get("responses")?;
    let is_good = |status: &str| status.len() == 3 && status.starts_with('2');
    let mut good: Vec<OpenApiNode<'a>> = responses
        .members()
        .filter(|(status, _)| is_good(status))
        .map(|(_, response)| response)
        .collect();
    if good.is_empty() {
        good.extend(responses.get("default"));
    }
    let mut bodies: Vec<ConvertedSchema> = Vec::new();
    for response in good {
        let response = match import.document.follow(response) {
            Ok(response) => response,
            Err(reason) => {
                import.add_problem(format!("{reason}; that answer is not described"));
                continue;
            }
        };
        let Some(body) = response_schema(import, operation, response) else { continue };
        let is_known = bodies.iter().any(|known| known.value == body.value);
        if !is_known {
            bodies.push(body);
        }
    }
    let needs: Vec<_> = bodies.iter().flat_map(|body| body.needs.iter().copied()).collect();
    let body = any_of(bodies.into_iter().map(|body| body.value).collect())?;
    Some(import.schemas.assemble(&answer_schema(body), &needs))
}

/// The JSON body of an answer, else its text. Other answers are artifacts and have no schema.
fn response_schema<'a>(
    import: &mut OpenApiImporter<'a>,
    operation: OpenApiNode<'a>,
    response: OpenApiNode<'a>,
) -> Option<ConvertedSchema> {
    let document = import.document;
    let gives_json = |media_type: &str| is_json(media_type) || media_type == "*/*";
    let schema = if import.is_swagger() {
        let schema = response.get("schema")?;
        let has_own = operation.get("produces").is_some();
        let produces = if has_own { operation } else { document.root() };
        let is_file = document.follow(schema).is_ok_and(|it| it.text("type") == Some("file"));
        let is_silent = produces.texts("produces").next().is_none();
        let is_json = is_silent || produces.texts("produces").any(gives_json);
        Some(schema).filter(|_| is_json && !is_file)?
    } else {
        let content = response.get("content")?;
        match content.members().find(|(media_type, _)| gives_json(media_type)) {
            Some((_, media)) => document.follow(media).ok()?.get("schema")?,
            None if content.members().any(|(media_type, _)| is_text(media_type)) => {
                let value = json!({"type": "string"});
                return Some(ConvertedSchema { value, needs: Vec::new() });
            }
            None => return None,
        }
    };
    Some(import.convert(schema, SchemaDirection::Response))
}
