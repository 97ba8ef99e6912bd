//! Every workflow finds the same facts in every view. What it costs is for the benchmark to say.

use capdeck_test::{
    built_binary,
    workflows::{ToolView, WORKFLOWS, WorkflowFigures, WorkflowRun},
};

/// Characters are counted instead of tokens: what matters here is that the work gets done.
fn runs(way: ToolView) -> Vec<WorkflowRun> {
    let capdeck = built_binary("capdeck-cli", "capdeck");
    WORKFLOWS.iter().map(|workflow| workflow.run(&capdeck, way, &str::len)).collect()
}

#[test]
fn direct() {
    assert_eq!(
        runs(ToolView::Direct).iter().map(|run| run.calls).collect::<Vec<_>>(),
        [4, 4, 6, 34]
    );
}

#[test]
fn progressive() {
    runs(ToolView::Progressive);
}

#[test]
fn search() {
    runs(ToolView::Search);
}

#[test]
fn code_mode_takes_two_calls() {
    for run in runs(ToolView::CodeMode) {
        assert_eq!(run.calls, 2);
    }
}

#[test]
fn figures_are_read_as_they_are_written() {
    let run = WorkflowRun {
        way: ToolView::CodeMode,
        calls: 2,
        surface_tokens: 600,
        written_tokens: 200,
        read_tokens: 1_000,
        milliseconds: 12.5,
    };
    let figures = vec![WorkflowFigures {
        name: "a workflow".to_owned(),
        what: "what it does".to_owned(),
        runs: vec![run],
    }];
    let json = serde_json::to_string(&figures).unwrap();
    let read: Vec<WorkflowFigures> = serde_json::from_str(&json).unwrap();
    let table = capdeck_test::workflows::render_workflows(&read);
    assert!(
        table.contains("| a workflow | `code_mode` | 2 | 1,800 | 600 | 200 | 1,000 |"),
        "{table}"
    );
}
