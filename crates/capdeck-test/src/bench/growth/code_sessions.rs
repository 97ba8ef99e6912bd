//! What each session of code mode costs that holds a value.

use serde_json::json;

use super::{
    super::{
        BenchStage,
        code_mode::{assert_answer, deck, params},
        load::PipeServer,
        process_usage::tree_memory,
    },
    CodeSessionMemory,
};

/// Fewer than one client may hold.
const SESSIONS: usize = 20;

/// The growth of all processes of the host from the first session to the last, divided by the sessions between.
pub(super) fn measure(stage: &BenchStage) -> CodeSessionMemory {
    let dirs = deck(stage);
    let mut pipe = PipeServer::start(stage.serve(&dirs));
    let mut open = || {
        let code = r#"var held = await caplets.fake.echo({ text: "hello" }); return held"#;
        assert_answer(&pipe.ask("tools/call", params("code_mode", &json!({"code": code}))));
        tree_memory(pipe.id())
    };
    let first = open();
    let last = (0..SESSIONS).map(|_| open()).last().unwrap_or(first);
    let grown = last.pss.saturating_sub(first.pss);
    let started = last.processes.saturating_sub(first.processes);
    assert!(started >= SESSIONS, "{started} processes for {SESSIONS} sessions");
    CodeSessionMemory { sessions: SESSIONS, bytes: grown / SESSIONS as u64 }
}
