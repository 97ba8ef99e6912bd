//! One request, put together from an operation's plan and a call's arguments. Nothing is sent here.

use reqwest::header::{CONTENT_TYPE, COOKIE, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::{
    body::{BodyKind, BodyPlan},
    file_input::{FileInput, FilePlaces},
    form,
    operation::Operation,
    parameter::{Location, Parameter, Spelling},
    style::{encode, text},
};
use crate::{
    CallError, ErrorCode,
    http::{Body, Request, below, header_name, header_value},
};

/// Builds the request of a call.
pub(crate) fn build(
    operation: &Operation,
    arguments: &Map<String, Value>,
    files: FilePlaces<'_>,
) -> Result<Request, CallError> {
    let nothing = Map::new();
    let group = |location: Location| match arguments.get(location.group()) {
        None | Some(Value::Null) => Ok(&nothing),
        Some(Value::Object(members)) => Ok(members),
        Some(_) => Err(not_an_object(location.group())),
    };
    let (path, fixed_query) = operation.path.fill(&operation.parameters, group(Location::Path)?)?;
    let mut url = below(&operation.server, &path)?;
    let pairs = pairs(operation, Location::Query, group(Location::Query)?);
    let pairs = pairs.into_iter().map(|(name, value)| format!("{name}={value}"));
    let query: Vec<String> =
        fixed_query.into_iter().filter(|query| !query.is_empty()).chain(pairs).collect();
    if !query.is_empty() {
        url.set_query(Some(&query.join("&")));
    }
    let mut request = Request::new(operation.method.clone(), url);
    for (name, value) in &operation.default_headers {
        request.headers.insert(name.clone(), value.clone());
    }
    let headers = group(Location::Header)?;
    for parameter in in_place(operation, Location::Header) {
        if let Some(value) = headers.get(&parameter.name).filter(|value| !value.is_null()) {
            let text = match parameter.spelling {
                Spelling::Styled(format) => format.header_text(value),
                Spelling::Json => value.to_string(),
            };
            let name = &parameter.name;
            request.headers.insert(header_name(name)?, header_value(name, &text)?);
        }
    }
    if let Some((name, value)) = cookies(operation, group(Location::Cookie)?)? {
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

fn in_place(operation: &Operation, location: Location) -> impl Iterator<Item = &Parameter> {
    operation.parameters.iter().filter(move |parameter| parameter.location == location)
}

/// The given parameters of a place as encoded pairs, in the order of the description.
fn pairs(
    operation: &Operation,
    location: Location,
    values: &Map<String, Value>,
) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for parameter in in_place(operation, location) {
        let name = &parameter.name;
        match (parameter.spelling, values.get(name)) {
            (_, None | Some(Value::Null)) => {}
            (Spelling::Styled(format), Some(value)) => pairs.extend(format.pairs(name, value)),
            (Spelling::Json, Some(value)) => pairs.push((encode(name), encode(&value.to_string()))),
        }
    }
    pairs
}

fn cookies(
    operation: &Operation,
    values: &Map<String, Value>,
) -> Result<Option<(HeaderName, HeaderValue)>, CallError> {
    let pairs = pairs(operation, Location::Cookie, values);
    if pairs.is_empty() {
        return Ok(None);
    }
    let pairs: Vec<String> =
        pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    Ok(Some((COOKIE, header_value("cookie", &pairs.join("; "))?)))
}

/// The body in the media type that the caller chose, else in the best one.
fn chosen_plan<'a>(
    operation: &'a Operation,
    arguments: &Map<String, Value>,
) -> Result<&'a BodyPlan, CallError> {
    let invalid = |message: String| CallError::new(ErrorCode::RequestInvalid, message);
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
    files: FilePlaces<'_>,
) -> Result<(HeaderValue, Body), CallError> {
    let members = || value.as_object().ok_or_else(|| not_an_object("body"));
    let mut declared = header_value("content-type", &plan.media_type)?;
    let body = match &plan.kind {
        BodyKind::Json => Body::default().with_bytes(value.to_string()),
        BodyKind::Text => Body::default().with_bytes(text(value)),
        BodyKind::Form(fields) => Body::default().with_bytes(form::urlencoded(fields, members()?)),
        BodyKind::Multipart(fields) => return form::multipart(fields, members()?, files),
        BodyKind::File => {
            let file = FileInput::read("body", value, files)?;
            if let Some(mime_type) = &file.mime_type {
                declared = header_value("content-type", mime_type)?;
            }
            file.append_to(Body::default())
        }
    };
    Ok((declared, body))
}

fn not_an_object(name: &str) -> CallError {
    CallError::new(ErrorCode::RequestInvalid, format!("`{name}` is not a JSON object"))
        .hint(format!("send `{name}` as one object, such as `{{\"name\": \"value\"}}`"))
}
