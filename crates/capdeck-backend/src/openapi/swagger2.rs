//! Bodies of Swagger 2, which are parameters there.

use serde_json::{Value, json};

use super::{
    body::{Bodies, BodyKind, BodyPlan},
    document::Node,
    file_schema::{file_schema, is_file},
    form_fields::{Field, FieldKind},
    media::{essence, is_json, is_text},
    operation::Import,
    parameter::{Location, Spelling, annotate, collection_format},
    schemas::{Direction, Schema},
};

/// The body of an operation: its `in: body` parameter, or its `in: formData` parameters together.
pub(super) fn read_body<'a>(
    import: &mut Import<'a>,
    operation: Node<'a>,
    body: Option<Node<'a>>,
    form_fields: &[Node<'a>],
    place: &str,
) -> Result<Bodies, String> {
    let consumes = operation.get("consumes").or_else(|| import.document.root().get("consumes"));
    let consumes: Vec<&str> =
        consumes.into_iter().flat_map(Node::items).filter_map(|it| it.value.as_str()).collect();
    if let Some(body) = body {
        return Ok(read_parameter(import, body, &consumes, place));
    }
    if form_fields.is_empty() {
        return Ok(Bodies::default());
    }
    read_form(import, form_fields, &consumes, place)
}

fn read_parameter<'a>(
    import: &mut Import<'a>,
    body: Node<'a>,
    consumes: &[&str],
    place: &str,
) -> Bodies {
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
            import.schemas.convert(schema, Direction::Request, place, &mut import.problems)
        }
        (_, None) => plain(json!({})),
    };
    Bodies {
        plans: vec![BodyPlan { media_type: media_type.to_owned(), kind }],
        schemas: vec![schema],
        is_required: body.is_true("required"),
        description: body.text("description").map(str::to_owned),
    }
}

fn read_form<'a>(
    import: &mut Import<'a>,
    nodes: &[Node<'a>],
    consumes: &[&str],
    place: &str,
) -> Result<Bodies, String> {
    let mut fields = Vec::new();
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    let mut needs = Vec::new();
    for node in nodes {
        let name = node.text("name").ok_or("a form field has no `name`")?;
        let kind = if is_file(*node) { FieldKind::File } else { FieldKind::Value };
        let schema = match kind {
            FieldKind::File | FieldKind::Files => plain(file_schema(node.text("description"))),
            FieldKind::Value => {
                import.schemas.convert(*node, Direction::Request, place, &mut import.problems)
            }
        };
        needs.extend(schema.needs);
        let value =
            if kind == FieldKind::Value { annotate(*node, schema.value) } else { schema.value };
        properties.insert(name.to_owned(), value);
        if node.is_true("required") {
            required.push(name);
        }
        fields.push(Field {
            name: name.to_owned(),
            kind,
            spelling: Spelling::Styled(collection_format(*node, Location::Query)),
            media_type: None,
        });
    }
    let has_file = fields.iter().any(|field| field.kind == FieldKind::File);
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
    Ok(Bodies {
        plans: vec![plan],
        schemas: vec![Schema { value, needs }],
        is_required: !required.is_empty(),
        description: None,
    })
}

fn plain(value: Value) -> Schema {
    Schema { value, needs: Vec::new() }
}
