//! The input schema of an operation: its parameters in groups, and its body.

use serde_json::{Map, Value, json};

use super::{
    body::OperationBodies,
    document::OpenApiNode,
    operation::OpenApiImporter,
    parameter::{ParameterDescription, ParameterLocation, annotate},
    schemas::{SchemaDefinitionId, SchemaDirection},
};

/// The schema as text, complete in itself. `own` are arguments beside parameters and body.
pub(super) fn schema<'a>(
    import: &mut OpenApiImporter<'a>,
    parameters: &[ParameterDescription<'a>],
    bodies: &OperationBodies,
    own: Option<OpenApiNode<'a>>,
    place: &str,
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
        let schema = group(import, &members, place, &mut needs);
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
    let mut root = Map::new();
    root.insert("type".to_owned(), "object".into());
    root.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        root.insert("required".to_owned(), json!(required));
    }
    root.insert("additionalProperties".to_owned(), false.into());
    import.schemas.assemble(&root, &needs)
}

fn group<'a>(
    import: &mut OpenApiImporter<'a>,
    members: &[&ParameterDescription<'a>],
    place: &str,
    needs: &mut Vec<SchemaDefinitionId>,
) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for member in members {
        let name = &member.parameter.name;
        let value = match member.schema {
            Some(node) => {
                let problems = &mut import.problems;
                let schema =
                    import.schemas.convert(node, SchemaDirection::Request, place, problems);
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
    let mut group = json!({"type": "object", "properties": properties});
    if let Value::Object(group) = &mut group {
        if !required.is_empty() {
            group.insert("required".to_owned(), json!(required));
        }
        group.insert("additionalProperties".to_owned(), false.into());
    }
    group
}

/// What the body may be, whichever way it is sent.
fn body(bodies: &OperationBodies, needs: &mut Vec<SchemaDefinitionId>) -> Option<Value> {
    let mut options: Vec<Value> = Vec::new();
    for schema in &bodies.schemas {
        needs.extend(schema.needs.iter().copied());
        if !options.contains(&schema.value) {
            options.push(schema.value.clone());
        }
    }
    let mut schema = match options.len() {
        0 => return None,
        1 => options.pop()?,
        _ => json!({"anyOf": options}),
    };
    if let (Value::Object(members), Some(description)) = (&mut schema, &bodies.description) {
        members.entry("description").or_insert_with(|| description.as_str().into());
    }
    Some(schema)
}

/// Which of several media types to send.
fn content_type(bodies: &OperationBodies) -> Option<Value> {
    let mut types: Vec<&str> = Vec::new();
    for plan in &bodies.plans {
        if !types.contains(&plan.media_type.as_str()) {
            types.push(&plan.media_type);
        }
    }
    let (first, more) = types.split_first()?;
    (!more.is_empty()).then(|| {
        json!({"enum": types, "default": first, "description": "The media type to send the body as"})
    })
}
