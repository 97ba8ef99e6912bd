//! Detects GraphQL errors in responses with HTTP status 200.

use std::{fmt, fs::File, io::BufReader};

use capdeck_catalog::RawMembers;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Value, json, value::RawValue};

use crate::{ArtifactStore, CallError, CallResult};

/// The maximum number of server errors in a message. The body has all of them.
const MAX_REPORTED_ERRORS: usize = 5;

#[derive(Debug, Deserialize)]
struct GraphQlCallResult {
    #[serde(default)]
    body: Option<Value>,
    #[serde(default)]
    uri: Option<String>,
}

#[derive(Debug, Default)]
struct GraphQlOutcome {
    has_data: bool,
    errors: Vec<Value>,
}

/// Marks a result as an error when the server reports one. The response stays complete.
pub(super) async fn mark_errors(result: Box<RawValue>, artifacts: &ArtifactStore) -> CallResult {
    let bug = |error: serde_json::Error| {
        CallError::internal("the response cannot be encoded").detail(error)
    };
    let mut members: RawMembers = serde_json::from_str(result.get()).map_err(bug)?;
    if members.get("isError").is_some_and(|flag| flag.get() == "true") {
        return Ok(result);
    }
    let Some(structured) = members.get("structuredContent") else { return Ok(result) };
    let told: GraphQlCallResult = serde_json::from_str(structured.get()).map_err(bug)?;
    let outcome = match told.uri {
        Some(uri) => outcome_of_file(artifacts, &uri).await,
        None => told.body.and_then(|body| serde_json::from_value(body).ok()),
    };
    let heading = match outcome {
        Some(outcome) if !outcome.errors.is_empty() => outcome.error_text(),
        Some(outcome) if outcome.has_data => return Ok(result),
        Some(_) | None => {
            "the answer is not that of a GraphQL server: it has no `data`; check `endpointUrl`"
                .to_owned()
        }
    };
    let mut content: Vec<Value> = match members.get("content") {
        Some(content) => serde_json::from_str(content.get()).map_err(bug)?,
        None => Vec::new(),
    };
    content.insert(0, json!({"type": "text", "text": heading}));
    let raw = |value: &Value| serde_json::value::to_raw_value(value).map_err(bug);
    members.insert("content".to_owned(), raw(&content.into())?);
    members.insert("isError".to_owned(), raw(&true.into())?);
    serde_json::value::to_raw_value(&members).map_err(bug)
}

async fn outcome_of_file(artifacts: &ArtifactStore, uri: &str) -> Option<GraphQlOutcome> {
    let path = artifacts.path(uri).ok()?;
    let read = move || serde_json::from_reader(BufReader::new(File::open(path).ok()?)).ok();
    tokio::task::spawn_blocking(read).await.ok().flatten()
}

impl GraphQlOutcome {
    fn error_text(&self) -> String {
        let mut lines: Vec<String> =
            self.errors.iter().take(MAX_REPORTED_ERRORS).map(error_line).collect();
        if self.errors.len() > MAX_REPORTED_ERRORS {
            lines.push(format!("- and {} more", self.errors.len() - MAX_REPORTED_ERRORS));
        }
        let note = if self.has_data { " (there is data as well)" } else { "" };
        format!("the GraphQL server reports errors{note}:\n{}", lines.join("\n"))
    }
}

impl<'de> Deserialize<'de> for GraphQlOutcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(GraphQlOutcomeVisitor)
    }
}

/// Accepts only objects, and skips `data`, which may be large.
struct GraphQlOutcomeVisitor;

impl<'de> Visitor<'de> for GraphQlOutcomeVisitor {
    type Value = GraphQlOutcome;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the answer of a GraphQL server")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<GraphQlOutcome, A::Error> {
        let mut outcome = GraphQlOutcome::default();
        while let Some(name) = members.next_key::<String>()? {
            match name.as_str() {
                "data" => outcome.has_data = members.next_value::<Option<IgnoredAny>>()?.is_some(),
                // Some servers send one error without a list.
                "errors" => match members.next_value()? {
                    Value::Array(errors) => outcome.errors = errors,
                    Value::Null | Value::Bool(false) => {}
                    other => outcome.errors = vec![other],
                },
                _ => _ = members.next_value::<IgnoredAny>()?,
            }
        }
        Ok(outcome)
    }
}

fn error_line(error: &Value) -> String {
    let message = error.get("message").unwrap_or(error);
    let message = message.as_str().map_or_else(|| message.to_string(), str::to_owned);
    let steps = error.get("path").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let path: Vec<String> = steps
        .iter()
        .map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned))
        .collect();
    if path.is_empty() {
        format!("- {message}")
    } else {
        format!("- {message} (at `{}`)", path.join("."))
    }
}
