//! The fields of a form: from a schema and its `encoding` to a plan for each field.

use serde_json::Value;

use super::{
    document::{OpenApiDocument, OpenApiNode},
    file_schema::is_file,
    media::is_json,
    parameter::{self, ParameterEncoding, ParameterLocation},
    problems::OpenApiProblems,
    style::{ParameterFormat, ParameterStyle},
};

/// How deep `allOf` is followed to find the fields of a form.
const MAX_LEVELS: usize = 16;

/// One field of a form, as a call needs it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FormField {
    pub(super) name: String,
    pub(super) kind: FormFieldKind,
    pub(super) spelling: ParameterEncoding,
    /// The media type that the description asks for.
    pub(super) media_type: Option<String>,
}

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormFieldKind {
    Value,
    File,
    Files,
}

/// All fields of a form.
#[derive(Debug, Default)]
pub(super) struct FormFields<'a> {
    pub(super) fields: Vec<(FormField, OpenApiNode<'a>)>,
    pub(super) required: Vec<String>,
    /// True when no other fields are taken.
    pub(super) is_closed: bool,
}

/// The spelling of a field that nothing is said about: lists repeat the name.
pub(super) const FORM_ENCODING: ParameterEncoding = ParameterEncoding::Styled(ParameterFormat {
    style: ParameterStyle::Form,
    explode: true,
    allow_reserved: false,
});

/// Collects the fields of a form's schema.
pub(super) fn fields_of<'a>(
    document: &'a OpenApiDocument,
    schema: Option<OpenApiNode<'a>>,
    encoding: Option<OpenApiNode<'a>>,
    is_multipart: bool,
    place: &str,
    problems: &mut OpenApiProblems,
) -> FormFields<'a> {
    let mut form = FormFields::default();
    let mut pending: Vec<(OpenApiNode<'a>, usize)> =
        schema.into_iter().map(|node| (node, 0)).collect();
    while let Some((node, level)) = pending.pop() {
        let node = match document.follow(node) {
            Ok(node) => node,
            Err(reason) => {
                problems.add(place, format!("{reason}; some form fields may be missing"));
                continue;
            }
        };
        if let Some(parts) = node.get("allOf").filter(|_| level < MAX_LEVELS) {
            pending.extend(parts.items().map(|part| (part, level + 1)));
        }
        form.is_closed |= node.value.get("additionalProperties") == Some(&Value::Bool(false));
        for name in node.get("required").into_iter().flat_map(OpenApiNode::items) {
            if let Some(name) = name.value.as_str()
                && !form.required.iter().any(|known| known == name)
            {
                form.required.push(name.to_owned());
            }
        }
        for (name, property) in node.get("properties").into_iter().flat_map(OpenApiNode::members) {
            let is_known = form.fields.iter().any(|(field, _)| field.name == name);
            let target = document.follow(property);
            let only_answers = target.as_ref().is_ok_and(|target| target.is_true("readOnly"));
            if is_known || only_answers {
                continue;
            }
            let encoding = encoding.and_then(|all| all.get(name));
            let field = field(document, name, target.ok(), encoding, is_multipart);
            form.fields.push((field, property));
        }
    }
    let is_field = |name: &String| form.fields.iter().any(|(field, _)| field.name == *name);
    form.required.retain(is_field);
    form
}

fn field<'a>(
    document: &'a OpenApiDocument,
    name: &str,
    target: Option<OpenApiNode<'a>>,
    encoding: Option<OpenApiNode<'a>>,
    is_multipart: bool,
) -> FormField {
    let media_type = encoding.and_then(|encoding| encoding.text("contentType"));
    let items = target.and_then(|it| it.get("items")).and_then(|it| document.follow(it).ok());
    // A field without a type of its own is a file when its encoding names one that is not text.
    let is_untyped =
        |it: OpenApiNode<'_>| it.value.as_object().is_some_and(serde_json::Map::is_empty);
    let encoded_file = media_type.is_some_and(|it| !is_json(it) && !it.starts_with("text/"));
    let kind = match (target, items) {
        _ if !is_multipart => FormFieldKind::Value,
        (Some(target), _) if is_file(target) => FormFieldKind::File,
        (Some(target), _) if is_untyped(target) && encoded_file => FormFieldKind::File,
        (_, Some(items)) if is_file(items) => FormFieldKind::Files,
        _ => FormFieldKind::Value,
    };
    FormField {
        name: name.to_owned(),
        kind,
        spelling: spelling(target, encoding, media_type),
        media_type: media_type.map(str::to_owned),
    }
}

fn spelling(
    target: Option<OpenApiNode<'_>>,
    encoding: Option<OpenApiNode<'_>>,
    media_type: Option<&str>,
) -> ParameterEncoding {
    let has_style = encoding.is_some_and(|encoding| {
        ["style", "explode", "allowReserved"].iter().any(|key| encoding.value.get(key).is_some())
    });
    if let Some(encoding) = encoding.filter(|_| has_style)
        && let Ok(format) = parameter::format(encoding, ParameterLocation::Query)
    {
        return ParameterEncoding::Styled(format);
    }
    // An object has no plain spelling; the format's own default for it is JSON.
    let is_object = target.is_some_and(|target| {
        target.text("type") == Some("object") || target.get("properties").is_some()
    });
    if is_object || media_type.is_some_and(is_json) {
        ParameterEncoding::Json
    } else {
        FORM_ENCODING
    }
}
