//! Four pieces of work that agents are given, done in every view by scripted agents, over real servers.
//!
//! Each [`AgentWorkflow`] asks for facts that are spread over many answers of the servers in [`office`]. Call by call, every answer passes
//! through the model; in code mode only the facts do. An agent here is a program: it makes the calls that a careful model would make, and
//! counts what would have passed through one.

mod agent;
mod bulk_triage;
mod figures;
mod office;
mod pagination_audit;
mod release_gate;
mod server;
mod service_join;

use std::{path::Path, time::Instant};

use serde_json::{Map, Value, json};

use self::agent::WorkflowAgent;
use crate::{CapdeckRun, TestDirs, built_binary};

pub use agent::ToolView;
pub use figures::{
    WORKFLOW_BLOCK_END, WORKFLOW_BLOCK_START, WorkflowFigures, WorkflowRun, render_workflows,
    replace_workflow_block,
};
pub use office::OfficeService;
pub use server::serve;

/// A piece of work.
pub struct AgentWorkflow {
    pub name: &'static str,
    pub what: &'static str,
    /// The servers it needs; an agent reads about their tools first.
    services: &'static [OfficeService],
    /// What an agent that searches would ask for, one question per tool.
    questions: &'static [&'static str],
    /// The work, call by call.
    by_calls: fn(&mut WorkflowAgent<'_>) -> Value,
    /// The work as one script of code mode.
    script: &'static str,
    /// What must come out.
    facts: fn() -> Value,
}

/// All of them.
pub const WORKFLOWS: [&AgentWorkflow; 4] = [
    &pagination_audit::PAGINATION_AUDIT,
    &service_join::SERVICE_JOIN,
    &release_gate::RELEASE_GATE,
    &bulk_triage::BULK_TRIAGE,
];

impl AgentWorkflow {
    /// Does the work in one way with fresh servers. Fails when the facts are not found.
    pub fn run(&self, capdeck: &Path, way: ToolView, count: &dyn Fn(&str) -> usize) -> WorkflowRun {
        let dirs = TestDirs::new();
        dirs.write_config(&deck(way));
        // What a host learns about its servers at their first start is no part of the work.
        CapdeckRun::at(capdeck, &dirs).args(["check", "--json"]).run().success();
        let client = CapdeckRun::at(capdeck, &dirs).serve(&[]);
        let mut agent = WorkflowAgent::start(client, way, count);
        let started = Instant::now();
        agent.learn(self.services, self.questions);
        let found = match way {
            ToolView::CodeMode => agent.run(self.script),
            ToolView::Direct | ToolView::Progressive | ToolView::Search => {
                (self.by_calls)(&mut agent)
            }
        };
        let milliseconds = started.elapsed().as_secs_f64() * 1e3;
        assert_eq!(found, (self.facts)(), "`{}` in {way:?} found something else", self.name);
        agent.finish(milliseconds)
    }
}

/// The whole office, offered in one way.
fn deck(way: ToolView) -> Value {
    let program = built_binary("capdeck-test", "office-server");
    let entry = |service: &OfficeService| {
        let entry = json!({
            "name": service.name(),
            "description": service.description(),
            "command": program,
            "args": [service.name()],
        });
        (service.name().to_owned(), entry)
    };
    let servers: Map<String, Value> = OfficeService::ALL.iter().map(entry).collect();
    json!({"options": {"exposure": way.exposure()}, "mcpServers": servers})
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Facts that are not there prove nothing.
    #[test]
    fn every_workflow_has_something_to_find() {
        for workflow in WORKFLOWS {
            let facts = (workflow.facts)();
            let members = facts.as_object().into_iter().flatten().map(|(_, fact)| fact);
            let empty = |fact: &Value| fact.is_null() || *fact == json!([]) || *fact == json!({});
            assert!(!empty(&facts) && !members.clone().any(empty), "{}: {facts}", workflow.name);
        }
    }
}
