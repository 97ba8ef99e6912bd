//! One request, put together from an operation's plan and a call's arguments, and the plan of a form's fields. Nothing is
//! sent here.

use reqwest::header::{CONTENT_TYPE, COOKIE, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{
    body::{BodyKind, BodyPlan},
    document::{OpenApiDocument, OpenApiNode},
    file_input::{FileInput, FileInputSources, is_file, is_json},
    operation::{OpenApiImporter, OpenApiOperation},
    parameter::{self, OpenApiParameter, ParameterEncoding, ParameterLocation},
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
    let pairs = pairs(operation, ParameterLocation::Query, group(ParameterLocation::Query)?);
    let pairs = pairs.into_iter().map(|(name, value)| format!("{name}={value}"));
    let query: Vec<String> =
        fixed_query.into_iter().filter(|query| !query.is_empty()).chain(pairs).collect();
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
            let text = match parameter.spelling {
                ParameterEncoding::Styled(format) => format.header_text(value),
                ParameterEncoding::Json => value.to_string(),
            };
            let name = &parameter.name;
            request.headers.insert(header_name(name)?, header_value(name, &text)?);
        }
    }
    if let Some((name, value)) = cookies(operation, group(ParameterLocation::Cookie)?)? {
        request.headers.insert(name, value);
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

/// The given parameters of a place as encoded pairs, in the order of the description.
fn pairs(
    operation: &OpenApiOperation,
    location: ParameterLocation,
    values: &Map<String, Value>,
) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for parameter in in_place(operation, location) {
        let name = &parameter.name;
        match (parameter.spelling, values.get(name)) {
            (_, None | Some(Value::Null)) => {}
            (ParameterEncoding::Styled(format), Some(value)) => {
                pairs.extend(format.pairs(name, value));
            }
            (ParameterEncoding::Json, Some(value)) => {
                pairs.push((encode(name), encode(&value.to_string())));
            }
        }
    }
    pairs
}

fn cookies(
    operation: &OpenApiOperation,
    values: &Map<String, Value>,
) -> Result<Option<(HeaderName, HeaderValue)>, CallError> {
    let pairs = pairs(operation, ParameterLocation::Cookie, values);
    if pairs.is_empty() {
        return Ok(None);
    }
    let pairs: Vec<String> =
        pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    Ok(Some((COOKIE, header_value("cookie", &pairs.join("; "))?)))
}

/// The body in the media type that the caller chose, else in the best one.
fn chosen_plan<'a>(
    operation: &'a OpenApiOperation,
    arguments: &Map<String, Value>,
) -> Result<&'a BodyPlan, CallError> {
    let invalid = |message: String| CallError::invalid_request(message);
    match arguments.get("contentType").and_then(Value::as_str) {
        None => operation
            .bodies
            .first()
            .ok_or_else(|| invalid("this operation takes no `body`".to_owned())),
        Some(wanted) => {
            operation.bodies.iter().find(|plan| plan.media_type == wanted).ok_or_else(|| {
                let known: Vec<String> =
                    operation.bodies.iter().map(|plan| format!("`{}`", plan.media_type)).collect();
                invalid(format!("this operation takes no body of the type `{wanted}`"))
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
        BodyKind::Json => HttpRequestBody::default().with_bytes(value.to_string()),
        BodyKind::Text => HttpRequestBody::default().with_bytes(text(value)),
        BodyKind::Form(fields) => {
            HttpRequestBody::default().with_bytes(urlencoded(fields, members()?))
        }
        BodyKind::Multipart(fields) => return multipart(fields, members()?, files),
        BodyKind::File => {
            let file = FileInput::read("body", value, files)?;
            if let Some(mime_type) = &file.mime_type {
                declared = header_value("content-type", mime_type)?;
            }
            file.content.append_to(HttpRequestBody::default())
        }
    };
    Ok((declared, body))
}

fn not_an_object(name: &str) -> CallError {
    CallError::invalid_request(format!("`{name}` is not a JSON object"))
        .hint(format!("send `{name}` as one object, such as `{{\"name\": \"value\"}}`"))
}

/// A form as the text of a query.
pub(super) fn urlencoded(fields: &[FormField], members: &Map<String, Value>) -> String {
    let mut pairs = Vec::new();
    for (name, value) in members {
        let spelling = field(fields, name).map_or(FORM_ENCODING, |field| field.spelling);
        match (spelling, value) {
            (_, Value::Null) => {}
            (ParameterEncoding::Json, value) => {
                pairs.push((encode(name), encode(&json_or_text(value))));
            }
            (ParameterEncoding::Styled(format), value) => pairs.extend(format.pairs(name, value)),
        }
    }
    let pairs: Vec<String> =
        pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

/// A form as parts, and its content type with the boundary.
pub(super) fn multipart(
    fields: &[FormField],
    members: &Map<String, Value>,
    places: FileInputSources<'_>,
) -> Result<(HeaderValue, HttpRequestBody), CallError> {
    // Nobody can know it before, so no value can hold it.
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
            body = part(body, &boundary, name, field, value, places)?;
        }
    }
    let body = body.with_bytes(format!("--{boundary}--\r\n"));
    let content_type = HeaderValue::try_from(format!("multipart/form-data; boundary={boundary}"))
        .map_err(|error| CallError::internal(error.to_string()))?;
    Ok((content_type, body))
}

fn part(
    body: HttpRequestBody,
    boundary: &str,
    name: &str,
    field: Option<&FormField>,
    value: &Value,
    places: FileInputSources<'_>,
) -> Result<HttpRequestBody, CallError> {
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
        return Ok(file.content.append_to(body.with_bytes(head)).with_bytes("\r\n"));
    }
    let is_json =
        value.is_object() || field.is_some_and(|field| field.spelling == ParameterEncoding::Json);
    let media_type = declared.or(is_json.then_some("application/json"));
    if let Some(media_type) = media_type {
        head.push_str(&format!("\r\nContent-Type: {media_type}"));
    }
    let content = if is_json { json_or_text(value) } else { text(value) };
    Ok(body.with_bytes(format!("{head}\r\n\r\n{content}\r\n")))
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

/// How deep `allOf` is followed to find the fields of a form.
const MAX_LEVELS: usize = 16;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct FormField {
    pub(super) name: String,
    pub(super) kind: FormFieldKind,
    pub(super) spelling: ParameterEncoding,
    /// The media type that the description asks for.
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

/// The spelling of a field that nothing is said about: lists repeat the name.
const FORM_ENCODING: ParameterEncoding = ParameterEncoding::Styled(ParameterFormat {
    style: ParameterStyle::Form,
    explode: true,
    allow_reserved: false,
});

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
