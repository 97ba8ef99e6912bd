//! Bulk triage: every open issue without a label gets one, by what its title says; then nothing may be left.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    AgentWorkflow,
    agent::WorkflowAgent,
    office::{OfficeService, issues},
};

pub(super) static BULK_TRIAGE: AgentWorkflow = AgentWorkflow {
    name: "bulk triage",
    what: "a label for each of 32 open issues that have none, one change each, then a look at what is left",
    services: &[OfficeService::Tracker],
    questions: &["list issues without labels", "add a label to an issue"],
    by_calls,
    script: r#"
const label = (title: string) => {
  if (title.startsWith("Crash")) return "bug";
  if (title.startsWith("Slow")) return "performance";
  if (title.startsWith("Docs")) return "documentation";
  return "feature";
};
const unlabelled = () => caplets.tracker.list_issues({ state: "open", unlabelled: true });
const { issues } = await unlabelled();
const counts: Record<string, number> = {};
await Promise.all(issues.map(async (issue) => {
  const name = label(issue.title);
  await caplets.tracker.add_label({ id: issue.id, label: name });
  counts[name] = (counts[name] ?? 0) + 1;
}));
return { labelled: counts, left: (await unlabelled()).total };
"#,
    facts: || {
        let waits = |issue: &Value| issue["state"] == "open" && issue["labels"] == json!([]);
        let waiting = issues().into_iter().filter(waits);
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        waiting.for_each(|issue| *counts.entry(label(&issue)).or_default() += 1);
        json!({"labelled": counts, "left": 0})
    },
};

fn by_calls(agent: &mut WorkflowAgent<'_>) -> Value {
    let asked = json!({"state": "open", "unlabelled": true});
    let waiting = agent.all(OfficeService::Tracker, "list_issues", &asked, "issues");
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for issue in &waiting {
        let label = label(issue);
        agent.call(OfficeService::Tracker, "add_label", json!({"id": issue["id"], "label": label}));
        *counts.entry(label).or_default() += 1;
    }
    let left = agent.call(OfficeService::Tracker, "list_issues", asked);
    json!({"labelled": counts, "left": left["total"]})
}

fn label(issue: &Value) -> &'static str {
    let title = issue["title"].as_str().unwrap();
    let known = [("Crash", "bug"), ("Slow", "performance"), ("Docs", "documentation")];
    known.iter().find(|(start, _)| title.starts_with(start)).map_or("feature", |(_, label)| label)
}
