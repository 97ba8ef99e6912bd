//! APIs that a document describes: the document says which tools there are and how each is called.
//!
//! [`ApiConnection`] is the connection of every such kind. A kind brings a [`ApiReader`], which fetches and reads the document
//! into an [`CallableApi`]. Reading is done on first use and again when the tools are asked for later than `operationCacheTtlMs`;
//! a call never waits for a second reading.

mod document;

use std::{
    fmt::{Debug, Display},
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use async_trait::async_trait;
use capdeck_catalog::{Discovery, ImportProblem};
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

pub(crate) use self::document::{DocumentLocation, read_body, read_document};
use crate::{
    CallContext, CallError, CallResult, Connection, ToolCall, arguments::read_arguments,
    http::ApiEndpoint,
};
use serde::Serialize;

/// Beyond this many problems of one description, further ones are only counted. A hostile one could have millions.
const MAX_PROBLEMS: usize = 500;

/// What could not be imported, each problem once, in the order they were found.
#[derive(Debug, Default)]
pub(crate) struct ImportProblems {
    listed: Vec<ImportProblem>,
    unlisted: usize,
}

#[async_trait]
pub(crate) trait CallableApi: Debug + Send + Sync {
    /// The tools, sorted by name, and what could not be imported.
    fn discovery(&self) -> Discovery;

    /// Calls one tool. The caller sets timeout and limits.
    async fn call(
        &self,
        endpoint: &ApiEndpoint,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> CallResult;
}

#[async_trait]
pub(crate) trait ApiReader: Debug + Send + Sync {
    async fn read(&self, endpoint: &ApiEndpoint) -> Result<Arc<dyn CallableApi>, CallError>;
}

impl ImportProblems {
    pub(crate) fn add(&mut self, place: impl Display, reason: impl Display) {
        self.add_with(|| (place.to_string(), reason.to_string()));
    }

    /// Adds one; the description is computed only while the list is not full.
    pub(crate) fn add_with(&mut self, describe: impl FnOnce() -> (String, String)) {
        if self.listed.len() >= MAX_PROBLEMS {
            self.unlisted += 1;
            return;
        }
        let (place, reason) = describe();
        let problem = ImportProblem { place, reason };
        if !self.listed.contains(&problem) {
            self.listed.push(problem);
        }
    }

    pub(crate) fn first(&self) -> Option<&ImportProblem> {
        self.listed.first()
    }

    /// All of them; `whole` is the place of those that are only counted.
    pub(crate) fn finish(mut self, whole: &str) -> Vec<ImportProblem> {
        if self.unlisted > 0 {
            let reason = format!("{} more problems are not listed", self.unlisted);
            self.listed.push(ImportProblem { place: whole.to_owned(), reason });
        }
        self.listed
    }
}

#[derive(Debug)]
pub(crate) struct ApiConnection<Kind> {
    reader: Kind,
    endpoint: ApiEndpoint,
    time_to_live: Duration,
    last: ArcSwapOption<LoadedApi>,
    /// One reading at a time.
    turn: Mutex<()>,
}

#[derive(Debug)]
struct LoadedApi {
    api: Arc<dyn CallableApi>,
    at: Instant,
}

impl<Kind: ApiReader> ApiConnection<Kind> {
    pub(crate) fn new(reader: Kind, endpoint: ApiEndpoint, time_to_live_ms: u64) -> Self {
        Self {
            reader,
            endpoint,
            time_to_live: Duration::from_millis(time_to_live_ms),
            last: ArcSwapOption::empty(),
            turn: Mutex::new(()),
        }
    }

    /// The last reading if `is_good` says so, otherwise a new one.
    async fn api(
        &self,
        is_good: impl Fn(&LoadedApi) -> bool,
    ) -> Result<Arc<dyn CallableApi>, CallError> {
        let known = || {
            self.last.load().as_ref().filter(|last| is_good(last)).map(|last| Arc::clone(&last.api))
        };
        if let Some(api) = known() {
            return Ok(api);
        }
        let _turn = self.turn.lock().await;
        if let Some(api) = known() {
            return Ok(api);
        }
        let api = self.reader.read(&self.endpoint).await?;
        self.last.store(Some(Arc::new(LoadedApi { api: Arc::clone(&api), at: Instant::now() })));
        Ok(api)
    }
}

#[async_trait]
impl<Kind: ApiReader> Connection for ApiConnection<Kind> {
    async fn discover(&self, context: &CallContext) -> Result<Discovery, CallError> {
        let fresh = |last: &LoadedApi| last.at.elapsed() < self.time_to_live;
        // A description is a request like any other, so the API's own timeout bounds it, too.
        let timeout = context
            .timeout
            .map_or(self.endpoint.timeout(), |given| given.min(self.endpoint.timeout()));
        let context = &CallContext { timeout: Some(timeout), ..context.clone() };
        let api = self.endpoint.bounded("list of tools", context, self.api(fresh)).await?;
        Ok(api.discovery())
    }

    async fn call_tool(&self, call: ToolCall<'_>, context: &CallContext) -> CallResult {
        let run = async {
            let arguments = read_arguments(call.arguments)?;
            let api = self.api(|_any| true).await?;
            api.call(&self.endpoint, call.name, arguments).await
        };
        self.endpoint.bounded(call.name, context, run).await
    }

    fn ended(&self) -> Option<String> {
        self.endpoint.ended()
    }

    async fn close(&self) {
        self.endpoint.close();
    }
}

pub(crate) fn object_schema(
    properties: Map<String, Value>,
    required: &[impl Serialize],
    is_closed: bool,
) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    if is_closed {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
    schema
}

/// The schema of a call's structured result whose good answers have this body.
///
/// Clients hold every result against it, failures too: an answer with an error status may have any body, a large one is
/// an artifact, and a call that never reached the API has nothing but its `error`.
pub(crate) fn answer_schema(body: Value) -> Map<String, Value> {
    members(json!({
        "type": "object",
        "properties": {
            "status": {"type": "integer"},
            "statusText": {"type": "string"},
            "headers": {"type": "object", "additionalProperties": {"type": "string"}},
            "kind": {"enum": ["inline", "local-artifact", "remote-reference"]},
            "elapsedMs": {"type": "integer"},
            "uri": {"type": "string"},
            "filename": {"type": "string"},
            "mimeType": {"type": "string"},
            "byteLength": {"type": "integer"},
            "sha256": {"type": "string"},
            "path": {"type": "string"},
            "error": {"type": "object"},
        },
        "anyOf": [
            {"properties": {"status": {"maximum": 399}, "body": body}, "required": ["status"]},
            {"required": ["uri"]},
            {"properties": {"status": {"minimum": 400}}, "required": ["status"]},
            {"required": ["error"]},
        ],
    }))
}

/// The members of an object; none of another value.
pub(crate) fn members(value: Value) -> Map<String, Value> {
    if let Value::Object(members) = value { members } else { Map::new() }
}

#[cfg(test)]
mod answer_schema_tests {
    use super::*;

    #[test]
    fn failures_fit_whatever_their_body_and_good_answers_only_with_theirs() {
        let schema = Value::Object(answer_schema(json!({"type": "array"})));
        let check = jsonschema::validator_for(&schema).unwrap();
        for (result, fits) in [
            (json!({"status": 200, "kind": "inline", "body": []}), true),
            (json!({"status": 204, "kind": "inline"}), true),
            (json!({"status": 200, "kind": "inline", "body": "no array"}), false),
            (json!({"status": 404, "kind": "inline", "body": {"message": "gone"}}), true),
            (
                json!({"status": 200, "kind": "remote-reference", "uri": "capdeck://x", "body": "[1, 2"}),
                true,
            ),
            (json!({"error": {"code": "SERVER_UNAVAILABLE"}}), true),
            (json!({}), false),
        ] {
            assert_eq!(check.is_valid(&result), fits, "{result}");
        }
    }
}
