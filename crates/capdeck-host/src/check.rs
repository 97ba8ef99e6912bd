//! Live readiness of one capability: connect, list, count.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use capdeck_backend::{CallContext, CallError, WithheldVariable};
use capdeck_catalog::Discovery;
use capdeck_definition::{Backend, Definition};
use serde_json::{Value, json};

use crate::{RequestContext, listing, pins::declares_its_tools, raw};

/// A name that takes longer to look up is left to the first call.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// The result of a live check.
#[derive(Debug)]
pub struct CheckReport {
    pub id: String,
    pub elapsed: Duration,
    pub outcome: Result<Arc<Discovery>, CallError>,
    /// `None` for what this deck does not have.
    pub definition: Option<Arc<Definition>>,
    /// What its programs seem to use and do not get.
    pub withheld: Vec<WithheldVariable>,
}

/// Connects to the capability and lists its tools again.
pub async fn check(request: &RequestContext<'_>, id: &str) -> CheckReport {
    let started = Instant::now();
    let outcome = check_now(request, id).await;
    let elapsed = started.elapsed();
    let definition = request.capability(id).ok().map(|capability| capability.definition.clone());
    let withheld = definition.as_deref().map(|one| request.host().withheld_variables(one));
    let withheld = withheld.unwrap_or_default();
    CheckReport { id: id.to_owned(), elapsed, outcome, definition, withheld }
}

async fn check_now(request: &RequestContext<'_>, id: &str) -> Result<Arc<Discovery>, CallError> {
    let capability = request.capability(id)?;
    let (host, definition) = (request.host(), &capability.definition);
    if let Some(problem) = host.0.connector.check(definition).into_iter().next() {
        host.0.health.note_outcome(definition, Some(&problem));
        return Err(problem);
    }
    let lookup = host.0.connector.check_names(definition);
    if let Ok(Err(problem)) = tokio::time::timeout(LOOKUP_TIMEOUT, lookup).await {
        host.0.health.note_outcome(definition, Some(&problem));
        return Err(problem);
    }
    if declares_its_tools(definition)
        && let Some(declared) = &capability.discovery
    {
        return Ok(declared.clone());
    }
    host.0.shared.reset_backoff(&definition.id);
    if let Some(own) = request.connections().own.as_ref() {
        own.pool.reset_backoff(&definition.id);
    }
    let longest_start = match &definition.backend {
        Backend::Mcp(server) => {
            server.start_limit(request.deck.catalog().config().startup_timeout_ms).least
        }
        _ => Duration::from_secs(10),
    };
    let timeout = Some(request.call.timeout.unwrap_or(longest_start));
    let context = CallContext { timeout, ..request.call.clone() };
    listing::discover(&request.with_call(&context), definition).await
}

impl CheckReport {
    /// `{id, status, toolCount?, variablesNotGiven?, elapsedMs, error?, …}`.
    pub fn to_json(&self) -> Value {
        let mut report = json!({ "id": self.id });
        match &self.outcome {
            Ok(discovery) => {
                let problems = discovery.problems.len();
                report["status"] = json!("available");
                report["toolCount"] = json!(discovery.tools.len());
                raw::put_some(&mut report, "importProblems", Some(problems).filter(|n| *n > 0));
                if let Some(server) = &discovery.server {
                    let offers = |key: &str| server.capabilities.contains_key(key);
                    report["capabilities"] = json!({
                        "tools": offers("tools"),
                        "resources": offers("resources"),
                        "resourceTemplates": offers("resources"),
                        "prompts": offers("prompts"),
                        "completions": offers("completions"),
                    });
                    report["resourceCount"] = json!(discovery.resources.len());
                    report["resourceTemplateCount"] = json!(discovery.resource_templates.len());
                    report["promptCount"] = json!(discovery.prompts.len());
                }
            }
            Err(error) => {
                let (code, message) = (error.code.as_str(), &error.message);
                report["status"] = json!("unavailable");
                report["error"] = json!({ "code": code, "message": message, "hint": error.hint });
            }
        }
        let withheld: Vec<Value> = self
            .withheld
            .iter()
            .map(|one| json!({ "name": one.name, "usedBy": one.evidence }))
            .collect();
        raw::put_some(
            &mut report,
            "variablesNotGiven",
            Some(withheld).filter(|all| !all.is_empty()),
        );
        report["elapsedMs"] = json!(u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX));
        report
    }
}
