//! Pagination audit: every open issue that has no assignee and should not wait, over all pages.

use serde_json::{Value, json};

use super::{
    AgentWorkflow,
    agent::WorkflowAgent,
    office::{OfficeService, issues},
};

pub(super) static PAGINATION_AUDIT: AgentWorkflow = AgentWorkflow {
    name: "pagination audit",
    what: "which open issues of high or urgent priority have no assignee, and the oldest of them, out of 160 open issues in four pages",
    services: &[OfficeService::Tracker],
    questions: &["list open issues of the tracker"],
    by_calls,
    script: r#"
const open = [];
let cursor: string | undefined;
do {
  const page = await caplets.tracker.list_issues({ state: "open", cursor });
  open.push(...page.issues);
  cursor = page.nextCursor;
} while (cursor);
const waiting = open.filter((issue) => issue.assignee === null && ["high", "urgent"].includes(issue.priority));
const oldest = waiting.toSorted((a, b) => a.created.localeCompare(b.created) || a.id - b.id)[0];
return { open: open.length, waiting: waiting.map((issue) => issue.id), oldest: oldest.id };
"#,
    facts: || {
        let all = issues();
        summary(&all.into_iter().filter(|issue| issue["state"] == "open").collect::<Vec<_>>())
    },
};

fn by_calls(agent: &mut WorkflowAgent<'_>) -> Value {
    summary(&agent.all(OfficeService::Tracker, "list_issues", &json!({"state": "open"}), "issues"))
}

fn summary(open: &[Value]) -> Value {
    let waits = |issue: &&Value| {
        issue["assignee"].is_null()
            && (issue["priority"] == "high" || issue["priority"] == "urgent")
    };
    let waiting: Vec<&Value> = open.iter().filter(waits).collect();
    let age = |issue: &&&Value| (issue["created"].to_string(), issue["id"].as_u64());
    let oldest = waiting.iter().min_by_key(age).map(|issue| &issue["id"]);
    let ids: Vec<&Value> = waiting.iter().map(|issue| &issue["id"]).collect();
    json!({"open": open.len(), "waiting": ids, "oldest": oldest})
}
