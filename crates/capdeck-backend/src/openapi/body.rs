//! The bodies an operation takes: one per media type, the best one first.

use serde_json::{Map, Value, json};

use super::{
    document::{OpenApiDocument, OpenApiNode},
    file_schema::{file_schema, is_file},
    form_fields::{FormField, FormFieldKind, fields_of},
    media::{essence, is_json, is_range, is_text},
    problems::OpenApiProblems,
    schemas::{ConvertedSchema, SchemaConverter, SchemaDirection},
};

/// A way to send a body.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BodyPlan {
    /// As the description writes it, and as it is sent.
    pub(super) media_type: String,
    pub(super) kind: BodyKind,
}

/// What the `body` argument is made into.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum BodyKind {
    Json,
    Form(Vec<FormField>),
    Multipart(Vec<FormField>),
    Text,
    File,
}

/// All bodies of an operation, and the schemas of their arguments in the same order.
#[derive(Debug, Clone, Default)]
pub(super) struct OperationBodies {
    pub(super) plans: Vec<BodyPlan>,
    pub(super) schemas: Vec<ConvertedSchema>,
    pub(super) is_required: bool,
    pub(super) description: Option<String>,
}

/// Reads a `requestBody`. The error says why the operation cannot be called.
pub(super) fn read<'a>(
    document: &'a OpenApiDocument,
    body: OpenApiNode<'a>,
    place: &str,
    schemas: &mut SchemaConverter<'a>,
    problems: &mut OpenApiProblems,
) -> Result<OperationBodies, String> {
    let body = document.follow(body)?;
    let mut media: Vec<(&str, OpenApiNode<'a>)> = match body.get("content") {
        Some(content) => content.members().collect(),
        None => return Err("its request body has no `content`".to_owned()),
    };
    media.sort_by_key(|(media_type, _)| preference(media_type));
    let mut bodies = OperationBodies {
        is_required: body.is_true("required"),
        description: body.text("description").map(str::to_owned),
        ..OperationBodies::default()
    };
    for (media_type, media) in media {
        let media = document.follow(media)?;
        let (plan, schema) = read_media(document, media_type, media, place, schemas, problems);
        bodies.plans.push(plan);
        bodies.schemas.push(schema);
    }
    if bodies.plans.is_empty() {
        return Err("its request body names no media type".to_owned());
    }
    Ok(bodies)
}

fn read_media<'a>(
    document: &'a OpenApiDocument,
    media_type: &str,
    media: OpenApiNode<'a>,
    place: &str,
    schemas: &mut SchemaConverter<'a>,
    problems: &mut OpenApiProblems,
) -> (BodyPlan, ConvertedSchema) {
    let schema = media.get("schema");
    let plan = |media_type: &str, kind| BodyPlan { media_type: media_type.to_owned(), kind };
    let essence = essence(media_type);
    match essence.as_str() {
        "multipart/form-data" | "application/x-www-form-urlencoded" => {
            let is_multipart = essence.starts_with("multipart/");
            let (fields, schema) = form(
                document,
                schema,
                media.get("encoding"),
                is_multipart,
                place,
                schemas,
                problems,
            );
            let kind =
                if is_multipart { BodyKind::Multipart(fields) } else { BodyKind::Form(fields) };
            (plan(media_type, kind), schema)
        }
        _ if is_json(media_type) => {
            (plan(media_type, BodyKind::Json), json_schema(schema, place, schemas, problems))
        }
        _ if is_text(media_type) => (plan(media_type, BodyKind::Text), text_schema(&essence)),
        _ => match schema.map(|schema| document.follow(schema)) {
            // Any media type will do, so the one that fits the schema is taken.
            Some(Ok(target)) if is_range(media_type) && !is_plain_text(target) => {
                let schema = json_schema(schema, place, schemas, problems);
                (plan("application/json", BodyKind::Json), schema)
            }
            _ => {
                let sent =
                    if is_range(media_type) { "application/octet-stream" } else { media_type };
                let value = file_schema(Some("The content to send"));
                (plan(sent, BodyKind::File), ConvertedSchema { value, needs: Vec::new() })
            }
        },
    }
}

/// The schema and the fields of a form, which is always an object.
pub(super) fn form<'a>(
    document: &'a OpenApiDocument,
    schema: Option<OpenApiNode<'a>>,
    encoding: Option<OpenApiNode<'a>>,
    is_multipart: bool,
    place: &str,
    schemas: &mut SchemaConverter<'a>,
    problems: &mut OpenApiProblems,
) -> (Vec<FormField>, ConvertedSchema) {
    let form = fields_of(document, schema, encoding, is_multipart, place, problems);
    let mut properties = Map::new();
    let mut needs = Vec::new();
    let mut plans = Vec::new();
    for (field, node) in form.fields {
        let value = match field.kind {
            FormFieldKind::File | FormFieldKind::Files => {
                let description = document.follow(node).ok().and_then(|it| it.text("description"));
                let file = file_schema(description);
                if field.kind == FormFieldKind::Files {
                    json!({"type": "array", "items": file})
                } else {
                    file
                }
            }
            FormFieldKind::Value => {
                let schema = schemas.convert(node, SchemaDirection::Request, place, problems);
                needs.extend(schema.needs);
                schema.value
            }
        };
        properties.insert(field.name.clone(), value);
        plans.push(field);
    }
    let mut value = json!({"type": "object", "properties": properties});
    if let Value::Object(members) = &mut value {
        if !form.required.is_empty() {
            members.insert("required".to_owned(), json!(form.required));
        }
        if form.is_closed {
            members.insert("additionalProperties".to_owned(), false.into());
        }
    }
    (plans, ConvertedSchema { value, needs })
}

fn json_schema<'a>(
    schema: Option<OpenApiNode<'a>>,
    place: &str,
    schemas: &mut SchemaConverter<'a>,
    problems: &mut OpenApiProblems,
) -> ConvertedSchema {
    match schema {
        Some(schema) => schemas.convert(schema, SchemaDirection::Request, place, problems),
        None => ConvertedSchema { value: json!({}), needs: Vec::new() },
    }
}

fn text_schema(essence: &str) -> ConvertedSchema {
    let description = format!("The text to send, as `{essence}`");
    ConvertedSchema {
        value: json!({"type": "string", "description": description}),
        needs: Vec::new(),
    }
}

fn is_plain_text(schema: OpenApiNode<'_>) -> bool {
    is_file(schema) || schema.text("type") == Some("string")
}

/// Smaller is better. Equal ones stay in the order of the description.
fn preference(media_type: &str) -> u8 {
    let essence = essence(media_type);
    match essence.as_str() {
        "application/json" => 0,
        _ if is_json(media_type) => 1,
        "multipart/form-data" => 2,
        "application/x-www-form-urlencoded" => 3,
        _ if is_text(media_type) => 5,
        _ if is_range(media_type) => 4,
        _ => 6,
    }
}
