//! Every target for a fixed number of executions: the same inputs on every machine.
#![expect(clippy::panic, reason = "tests fail by panicking")]

use capdeck_fuzz::{FuzzSettings, RunLimit, TARGETS, run};

fn short(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name);
    let target = target.unwrap_or_else(|| panic!("there is no target `{name}`"));
    let limit = RunLimit::Executions(target.short_run);
    let report = run(target, &FuzzSettings { seed: 1, limit, folder: None });
    assert!(report.findings.is_empty(), "{report}");
    assert!(report.executions >= target.short_run, "{report}");
    // A target that always ends in the same way looks at nothing.
    assert!(report.outcomes.len() > 3, "{report}");
}

/// One test per target, so that a failure names its target; the last one holds the list to the table.
macro_rules! short_runs {
    ($($test:ident: $name:literal,)*) => {
        $(#[test] fn $test() { short($name); })*

        #[test]
        fn every_target_has_a_short_run() {
            let known = [$($name),*];
            let all: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(all, known);
        }
    };
}

short_runs! {
    caplet: "caplet",
    config: "config",
    capabilities: "capabilities",
    cmp: "cmp",
    openapi: "openapi",
    graphql: "graphql",
    google_discovery: "google-discovery",
    tool_definition: "tool-definition",
    json_rpc: "json-rpc",
    sse: "sse",
    request_state: "request-state",
    mcp_client: "mcp-client",
    http_headers: "http-headers",
    capsule_archive: "capsule-archive",
    http_server: "http-server",
    agent_config: "agent-config",
}
