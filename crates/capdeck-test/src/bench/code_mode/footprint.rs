//! What a session of code mode costs in memory.

use serde_json::json;

use super::{super::load::PipeServer, BenchStage, MemoryFootprint, assert_answer, deck, params};
use crate::bench::process_usage::{children_of, command_line, memory_map_sum};

const SESSIONS: usize = 10;

/// The mean over sessions that have run a cell each and hold its value.
pub(super) fn measure(stage: &BenchStage) -> MemoryFootprint {
    let dirs = deck(stage);
    let mut pipe = PipeServer::start(stage.serve(&dirs));
    for _ in 0..SESSIONS {
        let code = r#"var held = await caplets.fake.echo({ text: "hello" }); return held"#;
        assert_answer(&pipe.ask("tools/call", params("code_mode", &json!({"code": code}))));
    }
    let workers = workers(pipe.id());
    assert!(workers.len() >= SESSIONS, "{} workers for {SESSIONS} sessions", workers.len());
    let mean = |name: &str| {
        let sum: u64 = workers.iter().map(|id| memory_map_sum(*id, name)).sum();
        sum / u64::try_from(workers.len()).unwrap()
    };
    MemoryFootprint {
        sessions: workers.len(),
        private: mean("Private_"),
        proportional: mean("Pss:"),
    }
}

/// The processes of sessions: forked from a worker of the host, or started by it.
fn workers(host: u32) -> Vec<u32> {
    let mut started = children_of(host);
    started.retain(|id| command_line(*id).contains("sandbox-worker"));
    let forked: Vec<u32> = started.iter().flat_map(|id| children_of(*id)).collect();
    if forked.is_empty() { started } else { forked }
}
