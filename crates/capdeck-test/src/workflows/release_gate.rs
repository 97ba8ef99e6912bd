//! Release gate: may this version go out as planned? Three services have a say.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    AgentWorkflow,
    agent::WorkflowAgent,
    office::{FREEZE, OfficeService, RELEASE, builds, failed_tests, has_label, issues},
};

/// Builds that must have passed.
const LOOKED_AT: usize = 5;

pub(super) static RELEASE_GATE: AgentWorkflow = AgentWorkflow {
    name: "release gate",
    what: "whether a release may go out as planned: its last five builds and every test that failed in them, open blockers, freezes",
    services: &[OfficeService::Releases, OfficeService::Builds, OfficeService::Tracker],
    questions: &[
        "read the plan of a release",
        "list builds of a branch",
        "list failed tests of a build",
        "list issues with a label",
        "when may nothing be released",
    ],
    by_calls,
    script: r#"
const release = await caplets.releases.get_release({ version: "2.4.0" });
const [recent, blocking, frozen] = await Promise.all([
  caplets.builds.list_builds({ branch: release.branch, limit: 5 }),
  caplets.tracker.list_issues({ state: "open", label: "release-blocker" }),
  caplets.releases.list_freezes(),
]);
const failed = recent.builds.filter((build) => build.status === "failed");
const tests = await Promise.all(failed.map((build) => caplets.builds.list_failed_tests({ id: build.id })));
const names = new Set(tests.flatMap((list) => list.tests.map((test) => test.name)));
const freezes = frozen.freezes.filter((freeze) => freeze.from <= release.planned && release.planned <= freeze.to);
return {
  go: failed.length === 0 && blocking.issues.length === 0 && freezes.length === 0,
  failedBuilds: failed.map((build) => build.id),
  failedTests: [...names].sort(),
  blockers: blocking.issues.map((issue) => issue.id),
  freezes: freezes.map((freeze) => freeze.reason),
};
"#,
    facts: || {
        let branch = &RELEASE["branch"];
        let recent = builds().into_iter().filter(|build| build["branch"] == *branch);
        let failed: Vec<Value> =
            recent.take(LOOKED_AT).filter(|build| build["status"] == "failed").collect();
        let tests: Vec<Value> = failed.iter().flat_map(failed_tests).collect();
        let blocks =
            |issue: &Value| issue["state"] == "open" && has_label(issue, "release-blocker");
        let blockers: Vec<Value> = issues().into_iter().filter(blocks).collect();
        decision(&RELEASE, &failed, &tests, &blockers, std::slice::from_ref(&*FREEZE))
    },
};

fn by_calls(agent: &mut WorkflowAgent<'_>) -> Value {
    let release = agent.call(OfficeService::Releases, "get_release", json!({"version": "2.4.0"}));
    let asked = json!({"branch": release["branch"], "limit": LOOKED_AT});
    let recent = agent.call(OfficeService::Builds, "list_builds", asked);
    let failed: Vec<Value> =
        list(&recent, "builds").into_iter().filter(|build| build["status"] == "failed").collect();
    let mut tests = Vec::new();
    for build in &failed {
        let answer =
            agent.call(OfficeService::Builds, "list_failed_tests", json!({"id": build["id"]}));
        tests.extend(list(&answer, "tests"));
    }
    let asked = json!({"state": "open", "label": "release-blocker"});
    let blockers = agent.call(OfficeService::Tracker, "list_issues", asked);
    let freezes = agent.call(OfficeService::Releases, "list_freezes", json!({}));
    decision(&release, &failed, &tests, &list(&blockers, "issues"), &list(&freezes, "freezes"))
}

fn list(answer: &Value, name: &str) -> Vec<Value> {
    answer[name].as_array().unwrap_or_else(|| panic!("no `{name}` in {answer}")).clone()
}

fn decision(
    release: &Value,
    failed: &[Value],
    tests: &[Value],
    blockers: &[Value],
    freezes: &[Value],
) -> Value {
    let day = |value: &Value| value.as_str().unwrap().to_owned();
    let planned = day(&release["planned"]);
    let holds = |freeze: &&Value| day(&freeze["from"]) <= planned && planned <= day(&freeze["to"]);
    let holding: Vec<&Value> =
        freezes.iter().filter(holds).map(|freeze| &freeze["reason"]).collect();
    let names: BTreeSet<&str> = tests.iter().filter_map(|test| test["name"].as_str()).collect();
    let ids = |items: &[Value]| items.iter().map(|item| item["id"].clone()).collect::<Vec<Value>>();
    json!({
        "go": failed.is_empty() && blockers.is_empty() && holding.is_empty(),
        "failedBuilds": ids(failed),
        "failedTests": names,
        "blockers": ids(blockers),
        "freezes": holding,
    })
}
