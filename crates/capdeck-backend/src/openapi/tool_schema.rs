//! The schemas of an operation's tool: its parameters in groups and its body, and the body of its good answers in the
//! shape that call results have.

use serde_json::{Map, Value, json};

use super::{
    body::OperationBodies,
    document::{OpenApiDocument, OpenApiNode, OpenApiVersion},
    file_input::{is_json, is_text},
    import::OpenApiProblems,
    operation::OpenApiImporter,
    parameter::{ParameterDescription, ParameterLocation, annotate},
    schemas::{ConvertedSchema, SchemaConverter, SchemaDefinitionId, SchemaDirection},
};
use crate::api_connection::answer_schema;

/// The schema as text, complete in itself. `own` are arguments beside parameters and body.
pub(super) fn input_schema<'a>(
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

/// The output schema as text. `None` when the description does not say what comes back.
pub(super) fn output_schema<'a>(
    document: &'a OpenApiDocument,
    operation: OpenApiNode<'a>,
    place: &str,
    schemas: &mut SchemaConverter<'a>,
    problems: &mut OpenApiProblems,
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
        let response = match document.follow(response) {
            Ok(response) => response,
            Err(reason) => {
                problems.add(place, format!("{reason}; that answer is not described"));
                continue;
            }
        };
        let body = match body_schema(document, operation, response) {
            Some(ResponseBodySchema::Schema(node)) => {
                schemas.convert(node, SchemaDirection::Response, place, problems)
            }
            Some(ResponseBodySchema::Text) => {
                ConvertedSchema { value: json!({"type": "string"}), needs: Vec::new() }
            }
            None => continue,
        };
        let is_known = bodies.iter().any(|known| known.value == body.value);
        if !is_known {
            bodies.push(body);
        }
    }
    let needs: Vec<_> = bodies.iter().flat_map(|body| body.needs.iter().copied()).collect();
    let mut values: Vec<Value> = bodies.into_iter().map(|body| body.value).collect();
    let body = match values.len() {
        0 => return None,
        1 => values.pop()?,
        _ => json!({"anyOf": values}),
    };
    Some(schemas.assemble(&answer_schema(body), &needs))
}

enum ResponseBodySchema<'a> {
    Schema(OpenApiNode<'a>),
    Text,
}

/// The JSON body of an answer, else its text. Other answers are artifacts and have no schema.
fn body_schema<'a>(
    document: &'a OpenApiDocument,
    operation: OpenApiNode<'a>,
    response: OpenApiNode<'a>,
) -> Option<ResponseBodySchema<'a>> {
    if document.version == OpenApiVersion::Swagger2 {
        let schema = response.get("schema")?;
        let produces = operation.get("produces").or_else(|| document.root().get("produces"));
        let types: Vec<&str> = produces
            .into_iter()
            .flat_map(OpenApiNode::items)
            .filter_map(|it| it.value.as_str())
            .collect();
        let is_file = document.follow(schema).is_ok_and(|it| it.text("type") == Some("file"));
        let gives_json = types.is_empty() || types.iter().any(|it| is_json(it) || *it == "*/*");
        return (gives_json && !is_file).then_some(ResponseBodySchema::Schema(schema));
    }
    let content = response.get("content")?;
    let json =
        content.members().find(|(media_type, _)| is_json(media_type) || *media_type == "*/*");
    if let Some((_, media)) = json {
        return document.follow(media).ok()?.get("schema").map(ResponseBodySchema::Schema);
    }
    content.members().any(|(media_type, _)| is_text(media_type)).then_some(ResponseBodySchema::Text)
}
