//! The bodies an operation takes: one per media type, the best one first.

use serde_json::{Map, Value, json};

use super::{
    document::OpenApiNode,
    file_input::{essence, file_schema, is_file, is_json, is_range, is_text},
    operation::OpenApiImporter,
    parameter::{ParameterLocation, annotate, collection_format},
    request::{FormField, FormFieldKind, FormFields, fields_of},
    schemas::{ConvertedSchema, SchemaDirection},
};
use crate::api_connection::object_schema;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct BodyPlan {
    /// As the description writes it, and as it is sent.
    pub(super) media_type: String,
    pub(super) kind: BodyKind,
}

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
    import: &mut OpenApiImporter<'a>,
    body: OpenApiNode<'a>,
) -> Result<OperationBodies, String> {
    let body = import.document.follow(body)?;
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
        let media = import.document.follow(media)?;
        let (media_type, kind, schema) = read_media(import, media_type, media);
        bodies.plans.push(BodyPlan { media_type: media_type.to_owned(), kind });
        bodies.schemas.push(schema);
    }
    if bodies.plans.is_empty() {
        return Err("its request body names no media type".to_owned());
    }
    Ok(bodies)
}

fn read_media<'a, 't>(
    import: &mut OpenApiImporter<'a>,
    media_type: &'t str,
    media: OpenApiNode<'a>,
) -> (&'t str, BodyKind, ConvertedSchema) {
    let schema = media.get("schema");
    let essence = essence(media_type);
    match essence.as_str() {
        "multipart/form-data" => {
            let form = fields_of(import, schema, media.get("encoding"), true);
            let (fields, schema) = convert_form(import, form);
            (media_type, BodyKind::Multipart(fields), schema)
        }
        "application/x-www-form-urlencoded" => {
            let form = fields_of(import, schema, media.get("encoding"), false);
            let (fields, schema) = convert_form(import, form);
            (media_type, BodyKind::Form(fields), schema)
        }
        _ if is_json(media_type) => (media_type, BodyKind::Json, json_schema(import, schema)),
        _ if is_text(media_type) => {
            let description = format!("The text to send, as `{essence}`");
            let schema = json!({"type": "string", "description": description});
            (media_type, BodyKind::Text, plain(schema))
        }
        _ => match schema.map(|schema| import.document.follow(schema)) {
            // Any media type will do, so the one that fits the schema is taken.
            Some(Ok(target)) if is_range(media_type) && !is_plain_text(target) => {
                ("application/json", BodyKind::Json, json_schema(import, schema))
            }
            _ => {
                let is_range = is_range(media_type);
                let sent = if is_range { "application/octet-stream" } else { media_type };
                (sent, BodyKind::File, plain(file_schema(Some("The content to send"))))
            }
        },
    }
}

/// The fields of a form, and its schema, which is always an object.
fn convert_form<'a>(
    import: &mut OpenApiImporter<'a>,
    form: FormFields<'a>,
) -> (Vec<FormField>, ConvertedSchema) {
    let (mut properties, mut needs, mut plans) = (Map::new(), Vec::new(), Vec::new());
    for (field, node) in form.fields {
        let file = || {
            let target = import.document.follow(node).ok();
            file_schema(target.and_then(|target| target.text("description")))
        };
        let value = match field.kind {
            FormFieldKind::File => file(),
            FormFieldKind::Files => json!({"type": "array", "items": file()}),
            FormFieldKind::Value => {
                let schema = import.convert(node, SchemaDirection::Request);
                needs.extend(schema.needs);
                if import.is_swagger() { annotate(node, schema.value) } else { schema.value }
            }
        };
        properties.insert(field.name.clone(), value);
        plans.push(field);
    }
    let value = object_schema(properties, &form.required, form.is_closed).into();
    (plans, ConvertedSchema { value, needs })
}

fn json_schema<'a>(
    import: &mut OpenApiImporter<'a>,
    schema: Option<OpenApiNode<'a>>,
) -> ConvertedSchema {
    match schema {
        Some(schema) => import.convert(schema, SchemaDirection::Request),
        None => plain(json!({})),
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

/// The body of an operation: its `in: body` parameter, or its `in: formData` parameters together.
pub(super) fn read_swagger_body<'a>(
    import: &mut OpenApiImporter<'a>,
    operation: OpenApiNode<'a>,
    body: Option<OpenApiNode<'a>>,
    form_fields: &[OpenApiNode<'a>],
) -> Result<OperationBodies, String> {
    let has_own = operation.get("consumes").is_some();
    let consumes = if has_own { operation } else { import.document.root() };
    let consumes: Vec<&str> = consumes.texts("consumes").collect();
    if let Some(body) = body {
        return Ok(read_parameter(import, body, &consumes));
    }
    if form_fields.is_empty() {
        return Ok(OperationBodies::default());
    }
    read_form(import, form_fields, &consumes)
}

fn read_parameter<'a>(
    import: &mut OpenApiImporter<'a>,
    body: OpenApiNode<'a>,
    consumes: &[&str],
) -> OperationBodies {
    let json = consumes.iter().find(|it| is_json(it));
    let other = consumes.first().filter(|it| !it.contains('*'));
    let (media_type, kind) = match (json, other) {
        (Some(json), _) => (*json, BodyKind::Json),
        (None, Some(text)) if is_text(text) => (*text, BodyKind::Text),
        (None, Some(other)) if !essence(other).contains("form") => (*other, BodyKind::File),
        // Nothing usable is said; JSON is what nearly everybody means.
        (None, _) => ("application/json", BodyKind::Json),
    };
    let schema = match (&kind, body.get("schema")) {
        (BodyKind::Text, _) => plain(json!({"type": "string"})),
        (BodyKind::File, _) => plain(file_schema(body.text("description"))),
        (_, schema) => json_schema(import, schema),
    };
    OperationBodies {
        plans: vec![BodyPlan { media_type: media_type.to_owned(), kind }],
        schemas: vec![schema],
        is_required: body.is_true("required"),
        description: body.text("description").map(str::to_owned),
    }
}

fn read_form<'a>(
    import: &mut OpenApiImporter<'a>,
    nodes: &[OpenApiNode<'a>],
    consumes: &[&str],
) -> Result<OperationBodies, String> {
    let mut form = FormFields { is_closed: true, ..FormFields::default() };
    for node in nodes {
        let name = node.text("name").ok_or("a form field has no `name`")?.to_owned();
        if node.is_true("required") {
            form.required.push(name.clone());
        }
        let kind = if is_file(*node) { FormFieldKind::File } else { FormFieldKind::Value };
        let format = collection_format(*node, ParameterLocation::Query);
        form.fields.push((FormField { name, kind, format, media_type: None }, *node));
    }
    let is_required = !form.required.is_empty();
    let (fields, schema) = convert_form(import, form);
    let has_file = fields.iter().any(|field| field.kind == FormFieldKind::File);
    let multipart = consumes.iter().find(|it| essence(it) == "multipart/form-data");
    let urlencoded = consumes.iter().find(|it| essence(it) == "application/x-www-form-urlencoded");
    let (media_type, kind) = match (has_file, multipart, urlencoded) {
        (true, _, _) | (false, Some(_), None) => {
            ("multipart/form-data", BodyKind::Multipart(fields))
        }
        (false, _, _) => ("application/x-www-form-urlencoded", BodyKind::Form(fields)),
    };
    Ok(OperationBodies {
        plans: vec![BodyPlan { media_type: media_type.to_owned(), kind }],
        schemas: vec![schema],
        is_required,
        description: None,
    })
}

fn plain(value: Value) -> ConvertedSchema {
    ConvertedSchema { value, needs: Vec::new() }
}
