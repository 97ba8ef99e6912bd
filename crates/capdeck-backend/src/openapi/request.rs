//! One request, put together from an operation's plan and a call's arguments. Nothing is sent here.

use reqwest::header::{CONTENT_TYPE, COOKIE, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::{
    body::{BodyKind, BodyPlan},
    file_input::{FileInput, FileInputSources},
    form,
    operation::OpenApiOperation,
    parameter::{OpenApiParameter, ParameterEncoding, ParameterLocation},
    style::{encode, text},
};
use crate::{
    CallError,
    http::{EndpointRequest, HttpRequestBody, below, header_name, header_value},
};

/// Builds the request of a call.
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
            HttpRequestBody::default().with_bytes(form::urlencoded(fields, members()?))
        }
        BodyKind::Multipart(fields) => return form::multipart(fields, members()?, files),
        BodyKind::File => {
            let file = FileInput::read("body", value, files)?;
            if let Some(mime_type) = &file.mime_type {
                declared = header_value("content-type", mime_type)?;
            }
            file.append_to(HttpRequestBody::default())
        }
    };
    Ok((declared, body))
}

fn not_an_object(name: &str) -> CallError {
    CallError::invalid_request(format!("`{name}` is not a JSON object"))
        .hint(format!("send `{name}` as one object, such as `{{\"name\": \"value\"}}`"))
}
