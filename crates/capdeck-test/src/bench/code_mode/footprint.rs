//! What a session of code mode costs in memory.

use std::fs;

use serde_json::json;

use super::{super::load::PipeServer, BenchStage, MemoryFootprint, assert_answer, deck, params};

const SESSIONS: usize = 10;

/// The mean over sessions that have run a cell each.
pub(super) fn measure(stage: &BenchStage) -> MemoryFootprint {
    let dirs = deck(stage);
    let mut pipe = PipeServer::start(stage.serve(&dirs));
    for _ in 0..SESSIONS {
        let cell = json!({"code": r#"return await caplets.fake.echo({ text: "hello" })"#});
        assert_answer(&pipe.ask("tools/call", params("code_mode", &cell)));
    }
    let workers = workers(pipe.id());
    assert!(workers.len() >= SESSIONS, "{} workers for {SESSIONS} sessions", workers.len());
    let mean = |name: &str| {
        let sum: u64 = workers.iter().map(|id| rollup(*id, name)).sum();
        sum / u64::try_from(workers.len()).unwrap()
    };
    MemoryFootprint {
        sessions: workers.len(),
        private: mean("Private_"),
        proportional: mean("Pss:"),
    }
}

/// The worker processes of a host.
fn workers(host: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| parent(*id) == Some(host) && is_worker(*id)).collect()
}

fn parent(id: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The second field is the program's name in parentheses and may hold spaces.
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

fn is_worker(id: u32) -> bool {
    let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains("sandbox-worker")
}

/// A sum of what the kernel says about the memory of a process, in bytes.
fn rollup(id: u32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).unwrap_or_default();
    let lines = text.lines().filter(|line| line.starts_with(name));
    let sizes = lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    sizes.sum::<u64>() * 1024
}
