//! The pieces of work: which servers, which calls, and what an agent would search for.

use serde_json::{Value, json};

/// A piece of work over some servers.
pub(super) struct ExposureScenario {
    pub(super) name: &'static str,
    /// Recorded lists, and how many tools of each are offered.
    pub(super) servers: &'static [(&'static str, usize)],
    /// The calls, in order.
    pub(super) calls: fn() -> Vec<ScenarioCall>,
}

/// One call of the work.
pub(super) struct ScenarioCall {
    pub(super) server: &'static str,
    pub(super) tool: &'static str,
    /// What an agent that searches asks for.
    pub(super) question: &'static str,
    pub(super) arguments: Value,
}

pub(super) const SCENARIOS: [ExposureScenario; 4] = [
    ExposureScenario { name: "13 tools", servers: &[("circleci", 13)], calls: failing_build },
    ExposureScenario { name: "23 tools", servers: &[("notion", 23)], calls: meeting_notes },
    ExposureScenario { name: "108 tools", servers: &[("github", 108)], calls: bug_report },
    ExposureScenario {
        name: "36 tools of two servers",
        servers: &[("circleci", 13), ("notion", 23)],
        calls: incident,
    },
];

fn failing_build() -> Vec<ScenarioCall> {
    vec![
        ScenarioCall {
            server: "circleci",
            tool: "get_latest_pipeline_status",
            question: "status of the latest pipeline",
            arguments: json!({"params": {"projectSlug": "gh/acme/shop", "branch": "main"}}),
        },
        ScenarioCall {
            server: "circleci",
            tool: "get_build_failure_logs",
            question: "logs of a failed build",
            arguments: json!({"params": {"projectSlug": "gh/acme/shop", "branch": "main"}}),
        },
        ScenarioCall {
            server: "circleci",
            tool: "find_flaky_tests",
            question: "find flaky tests",
            arguments: json!({"params": {"projectSlug": "gh/acme/shop"}}),
        },
    ]
}

fn meeting_notes() -> Vec<ScenarioCall> {
    vec![
        ScenarioCall {
            server: "notion",
            tool: "API-post-search",
            question: "search pages by title",
            arguments: json!({"query": "Weekly meeting"}),
        },
        ScenarioCall {
            server: "notion",
            tool: "API-retrieve-a-page",
            question: "retrieve a page",
            arguments: json!({"page_id": "5c6a28216bb14a7eb6e1c50111515c3d"}),
        },
        ScenarioCall {
            server: "notion",
            tool: "API-get-block-children",
            question: "children of a block",
            arguments: json!({"block_id": "5c6a28216bb14a7eb6e1c50111515c3d"}),
        },
    ]
}

fn bug_report() -> Vec<ScenarioCall> {
    vec![
        ScenarioCall {
            server: "github",
            tool: "search_issues",
            question: "search issues",
            arguments: json!({"query": "repo:acme/shop is:open checkout fails"}),
        },
        ScenarioCall {
            server: "github",
            tool: "get_file_contents",
            question: "read a file of a repository",
            arguments: json!({"owner": "acme", "repo": "shop", "path": "src/checkout.rs"}),
        },
        ScenarioCall {
            server: "github",
            tool: "add_issue_comment",
            question: "comment on an issue",
            arguments: json!({"owner": "acme", "repo": "shop", "issue_number": 41, "body": "Seen on main."}),
        },
    ]
}

fn incident() -> Vec<ScenarioCall> {
    let mut steps = failing_build();
    steps.truncate(2);
    steps.extend(meeting_notes());
    steps
}
