//! Forms: the `body` argument as `application/x-www-form-urlencoded` or `multipart/form-data`.

use reqwest::header::HeaderValue;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{
    file_input::{FileInput, FileInputSources},
    form_fields::{FORM_ENCODING, FormField, FormFieldKind},
    parameter::ParameterEncoding,
    style::{encode, text},
};
use crate::{CallError, ErrorCode, http::HttpRequestBody};

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
    let content_type =
        HeaderValue::try_from(format!("multipart/form-data; boundary={boundary}"))
            .map_err(|error| CallError::new(ErrorCode::InternalError, error.to_string()))?;
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
            CallError::new(
                ErrorCode::RequestInvalid,
                format!("`{argument}.mimeType` is no media type"),
            )
        })?;
        let mime_type = String::from_utf8_lossy(mime_type.as_bytes());
        head.push_str(&format!(
            "; filename=\"{}\"\r\nContent-Type: {mime_type}\r\n\r\n",
            quoted(&filename)
        ));
        return Ok(file.append_to(body.with_bytes(head)).with_bytes("\r\n"));
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
