//! The request of a call.

use capdeck_auth::{AuthHeader, is_transport_header};
use reqwest::{
    Method as Verb,
    header::{CONTENT_TYPE, HeaderValue},
};
use serde_json::{Map, Value};
use url::Url;

use super::{arguments::Arguments, method::Method, path::fill};
use crate::{
    CallError, ErrorCode,
    arguments::scalar_text,
    http::{Body, Request, below, header_name, header_value},
};

/// Builds the request of a call, without a body. `extra` goes into the query.
pub(super) fn build(
    method: &Method,
    base: &Url,
    template: &str,
    arguments: &Arguments,
    auth: &[AuthHeader],
    extra: Option<(&str, &str)>,
) -> Result<Request, CallError> {
    let mut url = below(base, &fill(template, &arguments.path)?)?;
    let mut pairs = query(method, &arguments.query)?;
    if let Some((name, value)) = extra {
        pairs.retain(|(given, _)| given != name);
        pairs.push((name.to_owned(), value.to_owned()));
    }
    if method.indents && !arguments.query.contains_key("prettyPrint") {
        // Indentation would be a third of what the model reads.
        pairs.push(("prettyPrint".to_owned(), "false".to_owned()));
    }
    if !pairs.is_empty() {
        url.query_pairs_mut().extend_pairs(pairs);
    }
    let mut request = Request::new(method.verb.clone(), url);
    for (name, value) in &arguments.header {
        if value.is_null() {
            continue;
        }
        known(&method.header, "header", name)?;
        let is_auth = auth.iter().any(|header| header.name.eq_ignore_ascii_case(name));
        if is_auth || is_transport_header(name) {
            return Err(CallError::new(
                ErrorCode::RequestInvalid,
                format!("`header.{name}` is set by the host and cannot be an argument"),
            ));
        }
        let text = scalar_text(value).ok_or_else(|| not_scalar("header", name))?;
        request.headers.insert(header_name(name)?, header_value(name, &text)?);
    }
    Ok(request)
}

/// Adds a JSON body. A request that could have one and does not says that it is empty.
pub(super) fn with_json(mut request: Request, body: Option<&Value>) -> Request {
    match body {
        Some(body) => {
            request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request.body = Some(Body::default().with_bytes(body.to_string()));
        }
        None if matches!(request.method, Verb::POST | Verb::PUT | Verb::PATCH) => {
            request.body = Some(Body::default().with_bytes(""));
        }
        None => {}
    }
    request
}

fn query(method: &Method, given: &Map<String, Value>) -> Result<Vec<(String, String)>, CallError> {
    let mut pairs = Vec::new();
    for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
        known(&method.query, "query", name)?;
        match value {
            Value::Array(items) => {
                for item in items {
                    let text = scalar_text(item).ok_or_else(|| not_scalar("query", name))?;
                    pairs.push((name.clone(), text));
                }
            }
            // A map travels as one parameter per member.
            Value::Object(members) => {
                for (member, value) in members {
                    let text = scalar_text(value).ok_or_else(|| not_scalar("query", name))?;
                    pairs.push((format!("{name}.{member}"), text));
                }
            }
            scalar => {
                let text = scalar_text(scalar).ok_or_else(|| not_scalar("query", name))?;
                pairs.push((name.clone(), text));
            }
        }
    }
    Ok(pairs)
}

fn known(declared: &[String], group: &str, name: &str) -> Result<(), CallError> {
    if declared.iter().any(|known| known == name) {
        return Ok(());
    }
    Err(CallError::new(ErrorCode::RequestInvalid, format!("there is no `{group}.{name}`"))
        .hint(format!("known here: {}", declared.join(", "))))
}

fn not_scalar(group: &str, name: &str) -> CallError {
    CallError::new(
        ErrorCode::RequestInvalid,
        format!("`{group}.{name}` must be a string, a number or a boolean, or a list of those"),
    )
}
