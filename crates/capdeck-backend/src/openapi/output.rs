//! The output schema of an operation: the body of its good answers, in the shape that call results have.

use serde_json::{Value, json};

use super::{
    document::{OpenApiDocument, OpenApiNode, OpenApiVersion},
    media::{is_json, is_text},
    problems::OpenApiProblems,
    schemas::{ConvertedSchema, SchemaConverter, SchemaDirection},
};
use crate::api_connection::answer_schema;

/// The output schema as text. `None` when the description does not say what comes back.
pub(super) fn read<'a>(
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
