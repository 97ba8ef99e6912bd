//! One request, put together from an operation's plan and a call's arguments, and the plan of a form's fields. Nothing is
//! sent here.

use reqwest::header::{CONTENT_TYPE, COOKIE, HeaderValue};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{
    body::{BodyKind, BodyPlan},
    document::{OpenApiDocument, OpenApiNode},
    file_input::{FileInput, FileInputSources, is_file, is_json},
    operation::{OpenApiImporter, OpenApiOperation},
    parameter::{self, OpenApiParameter, ParameterLocation},
    style::{ParameterFormat, ParameterStyle, encode, text},
};
use crate::{
    CallError,
    http::{EndpointRequest, HttpRequestBody, below, header_name, header_value},
};

pub(crate) fn build(
    operation: &OpenApiOperation,
    arguments: &Map<String, Value>,
    files: FileInputSources<'_>,
) -> Result<EndpointRequest, CallError> {
    let nothing = Map::new();
    let group = |location: ParameterLocation| match arguments.get(location.group()) {
        None | Some(Value::Null) => Ok(&nothing),
        Some(Value::Object(members)) => Ok(members),
        Some(_) => Err(not_an_object(location.group())),
    };
    let (path, fixed_query) =
        operation.path.fill(&operation.parameters, group(ParameterLocation::Path)?)?;
    let mut url = below(&operation.server, &path)?;
    let given = pairs(operation, ParameterLocation::Query, group(ParameterLocation::Query)?);
    let query: Vec<String> =
        fixed_query.into_iter().filter(|query| !query.is_empty()).chain(given).collect();
    if !query.is_empty() {
        url.set_query(Some(&query.join("&")));
    }
    let mut request = EndpointRequest::new(operation.method.clone(), url);
    for (name, value) in &operation.default_headers {
        request.headers.insert(name.clone(), value.clone());
    }
    let headers = group(ParameterLocation::Header)?;
    for parameter in in_place(operation, ParameterLocation::Header) {
        if let Some(value) = headers.get(&parameter.name).filter(|value| !value.is_null()) {
            let (name, text) = (&parameter.name, parameter.format.header_text(value));
            request.headers.insert(header_name(name)?, header_value(name, &text)?);
        }
    }
    let cookies = pairs(operation, ParameterLocation::Cookie, group(ParameterLocation::Cookie)?);
    if !cookies.is_empty() {
        request.headers.insert(COOKIE, header_value("cookie", &cookies.join("; "))?);
    }
    if let Some(value) = arguments.get("body").filter(|value| !value.is_null()) {
        let plan = chosen_plan(operation, arguments)?;
        let (content_type, body) = build_body(plan, value, files)?;
        request.headers.insert(CONTENT_TYPE, content_type);
        request.body = Some(body);
    }
    Ok(request)
}

fn in_place(
    operation: &OpenApiOperation,
    location: ParameterLocation,
) -> impl Iterator<Item = &OpenApiParameter> {
    operation.parameters.iter().filter(move |parameter| parameter.location == location)
}

/// The given parameters of a place as encoded `name=value`, in the order of the description.
fn pairs(
    operation: &OpenApiOperation,
    location: ParameterLocation,
    values: &Map<String, Value>,
) -> Vec<String> {
    let given = in_place(operation, location).filter_map(|parameter| {
        let value = values.get(&parameter.name)?;
        Some(parameter.format.pairs(&parameter.name, value))
    });
    given.flatten().map(|(name, value)| format!("{name}={value}")).collect()
}

/// The body in the media type that the caller chose, else in the best one.
fn chosen_plan<'a>(
    operation: &'a OpenApiOperation,
    arguments: &Map<String, Value>,
) -> Result<&'a BodyPlan, CallError> {
    match arguments.get("contentType").and_then(Value::as_str) {
        None => operation
            .bodies
            .first()
            .ok_or_else(|| CallError::invalid_request("this operation takes no `body`")),
        Some(wanted) => {
            operation.bodies.iter().find(|plan| plan.media_type == wanted).ok_or_else(|| {
                let known: Vec<String> =
                    operation.bodies.iter().map(|plan| format!("`{}`", plan.media_type)).collect();
                let message = format!("this operation takes no body of the type `{wanted}`");
                CallError::invalid_request(message)
                    .hint(format!("use one of: {}", known.join(", ")))
            })
        }
    }
}

fn build_body(
    plan: &BodyPlan,
    value: &Value,
    files: FileInputSources<'_>,
) -> Result<(HeaderValue, HttpRequestBody), CallError> {
    let members = || value.as_object().ok_or_else(|| not_an_object("body"));
    let mut declared = header_value("content-type", &plan.media_type)?;
    let body = match &plan.kind {
        BodyKind::Json => HttpRequestBody::bytes(value.to_string()),
        BodyKind::Text => HttpRequestBody::bytes(text(value)),
        BodyKind::Form(fields) => HttpRequestBody::bytes(urlencoded(fields, members()?)),
        BodyKind::Multipart(fields) => return multipart(fields, members()?, files),
        BodyKind::File => {
            let file = FileInput::read("body", value, files)?;
            if let Some(mime_type) = &file.mime_type {
                declared = header_value("content-type", mime_type)?;
            }
            file.content.into()
        }
    };
    Ok((declared, body))
}

fn not_an_object(name: &str) -> CallError {
    CallError::invalid_request(format!("`{name}` is not a JSON object"))
        .hint(format!("send `{name}` as one object, such as `{{\"name\": \"value\"}}`"))
}

pub(super) fn urlencoded(fields: &[FormField], members: &Map<String, Value>) -> String {
    let pairs = members.iter().flat_map(|(name, value)| {
        let format = field(fields, name).map_or(FORM_FORMAT, |field| field.format);
        match value {
            Value::String(_) if format.style == ParameterStyle::Json => {
                vec![(encode(name), encode(&json_or_text(value)))]
            }
            value => format.pairs(name, value),
        }
    });
    pairs.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// A form as parts, and its content type with the boundary.
pub(super) fn multipart(
    fields: &[FormField],
    members: &Map<String, Value>,
    places: FileInputSources<'_>,
) -> Result<(HeaderValue, HttpRequestBody), CallError> {
    // It cannot be known before, so no value can hold it.
    let boundary = format!("capdeck-{}", Uuid::new_v4().simple());
    let mut body = HttpRequestBody::default();
    for (name, value) in members {
        if value.is_null() {
            continue;
        }
        let field = field(fields, name);
        let values: Vec<&Value> = match (field.map(|field| field.kind), value) {
            (Some(FormFieldKind::File), value) => vec![value],
            (_, Value::Array(items)) => items.iter().collect(),
            (_, value) => vec![value],
        };
        for value in values {
            add_part(&mut body, &boundary, name, field, value, places)?;
        }
    }
    body.push_bytes(format!("--{boundary}--\r\n"));
    let content_type = HeaderValue::try_from(format!("multipart/form-data; boundary={boundary}"))
        .map_err(|error| CallError::internal(error.to_string()))?;
    Ok((content_type, body))
}

fn add_part(
    body: &mut HttpRequestBody,
    boundary: &str,
    name: &str,
    field: Option<&FormField>,
    value: &Value,
    places: FileInputSources<'_>,
) -> Result<(), CallError> {
    let declared = field.and_then(|field| field.media_type.as_deref()).map(first_type);
    let mut head =
        format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(name));
    let is_file =
        field.is_some_and(|field| matches!(field.kind, FormFieldKind::File | FormFieldKind::Files));
    if is_file {
        let argument = format!("body.{name}");
        let file = FileInput::read(&argument, value, places)?;
        let filename = file.filename.clone().unwrap_or_else(|| name.to_owned());
        let mime_type = file.mime_type.as_deref().or(declared);
        let mime_type = mime_type.unwrap_or("application/octet-stream");
        let mime_type = HeaderValue::try_from(mime_type).map_err(|_invalid| {
            CallError::invalid_request(format!("`{argument}.mimeType` is no media type"))
        })?;
        let mime_type = String::from_utf8_lossy(mime_type.as_bytes());
        head.push_str(&format!(
            "; filename=\"{}\"\r\nContent-Type: {mime_type}\r\n\r\n",
            quoted(&filename)
        ));
        body.push_bytes(head);
        body.push(file.content);
        body.push_bytes("\r\n");
        return Ok(());
    }
    let is_json =
        value.is_object() || field.is_some_and(|field| field.format.style == ParameterStyle::Json);
    let media_type = declared.or(is_json.then_some("application/json"));
    if let Some(media_type) = media_type {
        head.push_str(&format!("\r\nContent-Type: {media_type}"));
    }
    let content = if is_json { json_or_text(value) } else { text(value) };
    body.push_bytes(format!("{head}\r\n\r\n{content}\r\n"));
    Ok(())
}

fn field<'a>(fields: &'a [FormField], name: &str) -> Option<&'a FormField> {
    fields.iter().find(|field| field.name == name)
}

/// JSON; a text that is JSON already is not quoted once more.
fn json_or_text(value: &Value) -> String {
    match value {
        Value::String(text) if serde_json::from_str::<Value>(text).is_ok() => text.clone(),
        value => value.to_string(),
    }
}

/// The first of several media types, if it is one that can be sent.
fn first_type(media_types: &str) -> &str {
    let first = media_types.split(',').next().unwrap_or_default().trim();
    let is_sendable = !first.contains('*') && HeaderValue::try_from(first).is_ok();
    if is_sendable && !first.is_empty() { first } else { "application/octet-stream" }
}

/// A name inside quotes, escaped as browsers do, so that it cannot start another header.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

const MAX_LEVELS: usize = 16;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct FormField {
    pub(super) name: String,
    pub(super) kind: FormFieldKind,
    pub(super) format: ParameterFormat,
    pub(super) media_type: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormFieldKind {
    Value,
    File,
    Files,
}

#[derive(Debug, Default)]
pub(super) struct FormFields<'a> {
    pub(super) fields: Vec<(FormField, OpenApiNode<'a>)>,
    pub(super) required: Vec<String>,
    /// True when no other fields are taken.
    pub(super) is_closed: bool,
}

/// The format of a field that nothing is said about: lists repeat the name.
const FORM_FORMAT: ParameterFormat = ParameterFormat::new(ParameterStyle::Form, true);

pub(super) fn fields_of<'a>(
    import: &mut OpenApiImporter<'a>,
    schema: Option<OpenApiNode<'a>>,
    encoding: Option<OpenApiNode<'a>>,
    is_multipart: bool,
) -> FormFields<'a> {
    let document = import.document;
    let mut form = FormFields::default();
    let mut pending: Vec<(OpenApiNode<'a>, usize)> =
        schema.into_iter().map(|node| (node, 0)).collect();
    while let Some((node, level)) = pending.pop() {
        let node = match document.follow(node) {
            Ok(node) => node,
            Err(reason) => {
                import.add_problem(format!("{reason}; some form fields may be missing"));
                continue;
            }
        };
        if let Some(parts) = node.get("allOf").filter(|_| level < MAX_LEVELS) {
            pending.extend(parts.items().map(|part| (part, level + 1)));
        }
        form.is_closed |= node.value.get("additionalProperties") == Some(&Value::Bool(false));
        for name in node.texts("required") {
            if !form.required.iter().any(|known| known == name) {
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
            let field = read_field(document, name, target.ok(), encoding, is_multipart);
            form.fields.push((field, property));
        }
    }
    let is_field = |name: &String| form.fields.iter().any(|(field, _)| field.name == *name);
    form.required.retain(is_field);
    form
}

fn read_field<'a>(
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
        format: field_format(target, encoding, media_type),
        media_type: media_type.map(str::to_owned),
    }
}

fn field_format(
    target: Option<OpenApiNode<'_>>,
    encoding: Option<OpenApiNode<'_>>,
    media_type: Option<&str>,
) -> ParameterFormat {
    let has_style = encoding.is_some_and(|encoding| {
        ["style", "explode", "allowReserved"].iter().any(|key| encoding.value.get(key).is_some())
    });
    if let Some(encoding) = encoding.filter(|_| has_style)
        && let Ok(format) = parameter::format(encoding, ParameterLocation::Query)
    {
        return format;
    }
    // An object has no plain text; the format's own default for it is JSON.
    let is_object = target.is_some_and(|target| {
        target.text("type") == Some("object") || target.get("properties").is_some()
    });
    if is_object || media_type.is_some_and(is_json) { ParameterFormat::JSON } else { FORM_FORMAT }
}
