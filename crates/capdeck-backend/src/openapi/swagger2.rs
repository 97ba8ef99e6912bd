//! Bodies of Swagger 2, which are parameters there.

use serde_json::{Value, json};

use super::{
    body::{BodyKind, BodyPlan, OperationBodies},
    document::OpenApiNode,
    file_schema::{file_schema, is_file},
    form_fields::{FormField, FormFieldKind},
    media::{essence, is_json, is_text},
    operation::OpenApiImporter,
    parameter::{ParameterEncoding, ParameterLocation, annotate, collection_format},
    schemas::{ConvertedSchema, SchemaDirection},
};

/// The body of an operation: its `in: body` parameter, or its `in: formData` parameters together.
pub(super) fn read_body<'a>(
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
