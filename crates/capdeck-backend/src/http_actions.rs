//! Hand-written HTTP actions as a connection.
//!
//! A call's arguments are mapped into the declared request: only a string that *is* a reference (`$input.path`) is
//! replaced, and the value keeps its JSON type. A reference to a missing value is *undefined*, here `None`: undefined
//! object members are omitted, array items become null, and other uses decide for themselves.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use async_trait::async_trait;
use capdeck_auth::{AuthHeader, is_transport_header};
use capdeck_catalog::Discovery;
use capdeck_definition::{HttpAction, HttpApi, HttpMethod};
use reqwest::{
    Method,
    header::{CONTENT_TYPE, HeaderValue},
};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    CallContext, CallError, CallResult, Connection, ToolCall,
    api_connection::answer_schema,
    arguments::{no_such_tool, read_arguments, scalar_text},
    connect::ResolvedBackend,
    declared_tool::{DeclaredTool, declared_discovery},
    encode_segment,
    http::{
        ApiEndpoint, EndpointRequest, HttpRequestBody, ResponseDelivery, below, header_name,
        header_value, parse_base,
    },
};

const QUERY: &str = "query parameter";

#[derive(Debug)]
pub(crate) struct HttpActions {
    block: HttpApi,
    base: Url,
    endpoint: ApiEndpoint,
}

#[async_trait]
impl Connection for HttpActions {
    async fn discover(&self, _context: &CallContext) -> Result<Discovery, CallError> {
        let tools = self.block.actions.iter().map(|(name, action)| declare(name, action));
        declared_discovery(tools, &self.endpoint.result_scrubber)
    }

    async fn call_tool(&self, call: ToolCall<'_>, context: &CallContext) -> CallResult {
        let name = call.name;
        self.endpoint.bounded(name, context, self.call(call)).await
    }

    fn ended(&self) -> Option<String> {
        self.endpoint.ended()
    }

    async fn close(&self) {
        self.endpoint.close();
    }
}

impl HttpActions {
    pub(crate) fn new(
        mut prepared: ResolvedBackend<HttpApi>,
        cancel: &CancellationToken,
    ) -> Result<Self, CallError> {
        let block = prepared.block.clone();
        let base =
            parse_base(&block.base_url).map_err(|error| error.scrubbed(&prepared.log_scrubber))?;
        let server = Some(base.clone());
        let mut endpoint = ApiEndpoint::new(&mut prepared, server, cancel);
        endpoint.are_refusals_errors = false;
        Ok(Self { block, base, endpoint })
    }

    async fn call(&self, call: ToolCall<'_>) -> CallResult {
        let actions = &self.block.actions;
        let action =
            actions.get(call.name).ok_or_else(|| no_such_tool(call.name, actions.keys()))?;
        let arguments = read_arguments(call.arguments)?;
        let auth = self.endpoint.auth_headers()?;
        let request = build_request(&self.base, action, &auth, &arguments)?;
        let delivery = ResponseDelivery::Inline { limit: self.block.max_response_bytes };
        self.endpoint.exchange(request, delivery).await
    }
}

pub(crate) fn declare<'a>(name: &'a str, action: &'a HttpAction) -> DeclaredTool<'a> {
    let method = json!(action.method);
    let method = method.as_str().unwrap_or_default();
    DeclaredTool {
        name,
        description: action
            .text
            .description
            .clone()
            .unwrap_or_else(|| format!("{method} {}", action.path)),
        hints: Some(&action.text),
        input_schema: action.schemas.input_schema.as_ref(),
        output_schema: action.schemas.output_schema.as_ref().map(result_schema),
        annotations: json!({
            "readOnlyHint": action.method == HttpMethod::Get,
            "destructiveHint": action.method == HttpMethod::Delete,
        }),
        ..DeclaredTool::default()
    }
}

/// The schema of the whole result. Files describe the body, which is what the API gives.
fn result_schema(given: &Map<String, Value>) -> Cow<'_, Map<String, Value>> {
    let properties = given.get("properties").and_then(Value::as_object);
    let is_whole = match properties {
        Some(properties) => ["status", "body"].iter().any(|name| properties.contains_key(*name)),
        None => given.get("type").is_some_and(|kind| kind == "object"),
    };
    if is_whole {
        return Cow::Borrowed(given);
    }
    let mut body = given.clone();
    // References begin at the root.
    let definitions = ["$defs", "definitions"].map(|key| (key, body.remove(key)));
    let mut whole = answer_schema(Value::Object(body));
    for (key, defined) in definitions {
        whole.extend(defined.map(|defined| (key.to_owned(), defined)));
    }
    Cow::Owned(whole)
}

pub(super) fn build_request(
    base: &Url,
    action: &HttpAction,
    auth: &[AuthHeader],
    arguments: &Map<String, Value>,
) -> Result<EndpointRequest, CallError> {
    let query = map_pairs(QUERY, &action.query, arguments)?;
    let mut url = below(base, &fill_path(&action.path, arguments)?)?;
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    let mut request = EndpointRequest::new(method(action.method), url);
    for (name, value) in map_pairs("header", &action.headers, arguments)? {
        let is_auth = auth.iter().any(|header| header.name.eq_ignore_ascii_case(&name));
        if is_auth || is_transport_header(&name) {
            return Err(CallError::invalid_config(format!(
                "header `{name}` cannot be set by an action"
            ))
            .hint("sign-in belongs into `auth`; the transport sets the others"));
        }
        request.headers.insert(header_name(&name)?, header_value(&name, &value)?);
    }
    if let Some(body) = map_body(action.json_body.as_ref(), arguments)? {
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.body = Some(HttpRequestBody::bytes(body.to_string()));
    }
    Ok(request)
}

fn method(method: HttpMethod) -> Method {
    match method {
        HttpMethod::Get => Method::GET,
        HttpMethod::Post => Method::POST,
        HttpMethod::Put => Method::PUT,
        HttpMethod::Patch => Method::PATCH,
        HttpMethod::Delete => Method::DELETE,
    }
}

/// Replaces `{name}` by its argument, encoded so that it stays one segment.
fn fill_path(path: &str, arguments: &Map<String, Value>) -> Result<String, CallError> {
    let mut filled = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        filled.push_str(before);
        let value = arguments.get(name).and_then(scalar_text).filter(|text| !text.is_empty());
        let value = value.ok_or_else(|| {
            CallError::invalid_request(format!("argument `{name}` is part of the path and must be a non-empty string, number or boolean"),
            )
            .hint(format!("call the tool with a value for `{name}`"))
        })?;
        filled.extend(encode_segment(&value));
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Maps a declared JSON value. `None` means undefined.
fn map_value(declared: &Value, arguments: &Map<String, Value>) -> Option<Value> {
    match declared {
        Value::String(text) => map_text(text, arguments),
        Value::Array(items) => Some(Value::Array(
            items.iter().map(|item| map_value(item, arguments).unwrap_or(Value::Null)).collect(),
        )),
        Value::Object(members) => Some(Value::Object(
            members
                .iter()
                .filter_map(|(key, member)| Some((key.clone(), map_value(member, arguments)?)))
                .collect(),
        )),
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(declared.clone()),
    }
}

fn map_text(text: &str, arguments: &Map<String, Value>) -> Option<Value> {
    if text == "$input" {
        return Some(Value::Object(arguments.clone()));
    }
    let Some(path) = text.strip_prefix("$input.") else { return Some(text.into()) };
    let mut steps = path.split('.');
    let mut value = arguments.get(steps.next()?)?;
    for step in steps {
        // Only objects are traversed: an array index is undefined.
        value = value.as_object()?.get(step)?;
    }
    Some(value.clone())
}

/// Maps the query parameters or headers. Undefined and null ones are omitted, an array repeats a query parameter's name.
fn map_pairs<'a>(
    place: &str,
    declared: impl IntoIterator<Item = (&'a String, &'a Value)>,
    arguments: &Map<String, Value>,
) -> Result<Vec<(String, String)>, CallError> {
    let mut pairs = Vec::new();
    for (name, declared) in declared {
        let values = match map_value(declared, arguments) {
            None | Some(Value::Null) => continue,
            Some(Value::Array(items)) if place == QUERY => items,
            Some(value) => vec![value],
        };
        for value in values {
            let text = scalar_text(&value).ok_or_else(|| {
                CallError::invalid_request(format!(
                    "the value for {place} `{name}` must be a string, a number or a boolean"
                ))
            })?;
            pairs.push((name.clone(), text));
        }
    }
    Ok(pairs)
}

fn map_body(
    declared: Option<&Value>,
    arguments: &Map<String, Value>,
) -> Result<Option<Value>, CallError> {
    let Some(declared) = declared else { return Ok(None) };
    map_value(declared, arguments).map(Some).ok_or_else(|| {
        let reference = declared.as_str().unwrap_or("$input");
        CallError::invalid_request(format!(
            "the request body is missing: `{reference}` has no value"
        ))
        .hint("call the tool with that argument")
    })
}
