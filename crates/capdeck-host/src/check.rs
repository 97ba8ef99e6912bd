//! Live readiness of one capability: connect, list, count.

use std::time::{Duration, Instant};

use capdeck_backend::{CallContext, CallError};
use capdeck_catalog::Discovery;
use capdeck_definition::{Backend, Definition};
use serde_json::{Map, Value, json};

use crate::{RequestContext, listing};

/// The result of a live check.
#[derive(Debug)]
pub struct CheckReport {
    pub id: String,
    pub elapsed: Duration,
    pub outcome: Result<std::sync::Arc<Discovery>, CallError>,
}

/// Connects to the capability and lists its tools again.
pub async fn check(request: &RequestContext<'_>, id: &str) -> CheckReport {
    let started = Instant::now();
    let outcome = check_now(request, id).await;
    CheckReport { id: id.to_owned(), elapsed: started.elapsed(), outcome }
}

async fn check_now(
    request: &RequestContext<'_>,
    id: &str,
) -> Result<std::sync::Arc<Discovery>, CallError> {
    let capability = request.capability(id)?;
    let (host, definition) = (request.host(), &capability.definition);
    if let Some(problem) = host.check_prerequisites(definition).into_iter().next() {
        host.note_outcome(definition, Some(&problem));
        return Err(problem);
    }
    let is_declared = matches!(
        definition.backend,
        Backend::Http(_)
            | Backend::Cli(_)
            | Backend::Cmp(_)
            | Backend::Caplets(_)
            | Backend::Capsules
    );
    if is_declared && let Some(declared) = &capability.discovery {
        return Ok(declared.clone());
    }
    host.0.shared.reset_backoff(&definition.id);
    if let Some(own) = request.connections().own() {
        own.pool.reset_backoff(&definition.id);
    }
    let context = CallContext {
        timeout: Some(request.call.timeout.unwrap_or_else(|| longest_start(definition))),
        ..request.call.clone()
    };
    listing::discover(&request.with_call(&context), definition).await
}

impl CheckReport {
    pub fn is_available(&self) -> bool {
        self.outcome.is_ok()
    }

    /// `{id, status, toolCount?, elapsedMs, error?, …}`.
    pub fn to_json(&self) -> Value {
        let mut report = Map::new();
        report.insert("id".to_owned(), json!(self.id));
        match &self.outcome {
            Ok(discovery) => {
                report.insert("status".to_owned(), json!("available"));
                report.insert("toolCount".to_owned(), json!(discovery.tools.len()));
                if !discovery.problems.is_empty() {
                    report.insert("importProblems".to_owned(), json!(discovery.problems.len()));
                }
                if let Some(server) = &discovery.server {
                    let offers = |key: &str| server.capabilities.contains_key(key);
                    report.insert(
                        "capabilities".to_owned(),
                        json!({
                            "tools": offers("tools"),
                            "resources": offers("resources"),
                            "resourceTemplates": offers("resources"),
                            "prompts": offers("prompts"),
                            "completions": offers("completions"),
                        }),
                    );
                    report.insert("resourceCount".to_owned(), json!(discovery.resources.len()));
                    report.insert(
                        "resourceTemplateCount".to_owned(),
                        json!(discovery.resource_templates.len()),
                    );
                    report.insert("promptCount".to_owned(), json!(discovery.prompts.len()));
                }
            }
            Err(error) => {
                report.insert("status".to_owned(), json!("unavailable"));
                report.insert(
                    "error".to_owned(),
                    json!({
                        "code": error.code.as_str(),
                        "message": error.message,
                        "hint": error.hint,
                    }),
                );
            }
        }
        report.insert(
            "elapsedMs".to_owned(),
            json!(u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX)),
        );
        Value::Object(report)
    }
}

fn longest_start(definition: &Definition) -> Duration {
    match &definition.backend {
        Backend::Mcp(server) => Duration::from_millis(server.startup_timeout_ms),
        _ => Duration::from_secs(10),
    }
}
