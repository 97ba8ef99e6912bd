//! The bodies an operation takes: one per media type, the best one first.

use serde_json::{Map, Value, json};

use super::{
    document::{OpenApiDocument, OpenApiNode},
    file_input::{essence, file_schema, is_file, is_json, is_range, is_text},
    form::{FormField, FormFieldKind, fields_of},
    import::OpenApiProblems,
    operation::OpenApiImporter,
    parameter::{ParameterEncoding, ParameterLocation, annotate, collection_format},
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

/// The body of an operation: its `in: body` parameter, or its `in: formData` parameters together.
pub(super) fn read_swagger_body<'a>(
    import: &mut OpenApiImporter<'a>,
    operation: OpenApiNode<'a>,
    body: Option<OpenApiNode<'a>>,
    form_fields: &[OpenApiNode<'a>],
    place: &str,
) -> Result<OperationBodies, String> {
    let consumes = operation.get("consumes").or_else(|| import.document.root().get("consumes"));
    let consumes: Vec<&str> = consumes
        .into_iter()
        .flat_map(OpenApiNode::items)
        .filter_map(|it| it.value.as_str())
        .collect();
    if let Some(body) = body {
        return Ok(read_parameter(import, body, &consumes, place));
    }
    if form_fields.is_empty() {
        return Ok(OperationBodies::default());
    }
    read_form(import, form_fields, &consumes, place)
}

fn read_parameter<'a>(
    import: &mut OpenApiImporter<'a>,
    body: OpenApiNode<'a>,
    consumes: &[&str],
    place: &str,
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
        (_, Some(schema)) => {
            import.schemas.convert(schema, SchemaDirection::Request, place, &mut import.problems)
        }
        (_, None) => plain(json!({})),
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
    place: &str,
) -> Result<OperationBodies, String> {
    let mut fields = Vec::new();
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    let mut needs = Vec::new();
    for node in nodes {
        let name = node.text("name").ok_or("a form field has no `name`")?;
        let kind = if is_file(*node) { FormFieldKind::File } else { FormFieldKind::Value };
        let schema = match kind {
            FormFieldKind::File | FormFieldKind::Files => {
                plain(file_schema(node.text("description")))
            }
            FormFieldKind::Value => {
                import.schemas.convert(*node, SchemaDirection::Request, place, &mut import.problems)
            }
        };
        needs.extend(schema.needs);
        let value =
            if kind == FormFieldKind::Value { annotate(*node, schema.value) } else { schema.value };
        properties.insert(name.to_owned(), value);
        if node.is_true("required") {
            required.push(name);
        }
        fields.push(FormField {
            name: name.to_owned(),
            kind,
            spelling: ParameterEncoding::Styled(collection_format(*node, ParameterLocation::Query)),
            media_type: None,
        });
    }
    let has_file = fields.iter().any(|field| field.kind == FormFieldKind::File);
    let multipart = consumes.iter().find(|it| essence(it) == "multipart/form-data");
    let urlencoded = consumes.iter().find(|it| essence(it) == "application/x-www-form-urlencoded");
    let plan = match (has_file, multipart, urlencoded) {
        (true, _, _) | (false, Some(_), None) => BodyPlan {
            media_type: "multipart/form-data".to_owned(),
            kind: BodyKind::Multipart(fields),
        },
        (false, _, _) => BodyPlan {
            media_type: "application/x-www-form-urlencoded".to_owned(),
            kind: BodyKind::Form(fields),
        },
    };
    let mut value = json!({
        "type": "object", "properties": properties, "additionalProperties": false,
    });
    if let Value::Object(members) = &mut value
        && !required.is_empty()
    {
        members.insert("required".to_owned(), json!(required));
    }
    Ok(OperationBodies {
        plans: vec![plan],
        schemas: vec![ConvertedSchema { value, needs }],
        is_required: !required.is_empty(),
        description: None,
    })
}

fn plain(value: Value) -> ConvertedSchema {
    ConvertedSchema { value, needs: Vec::new() }
}
