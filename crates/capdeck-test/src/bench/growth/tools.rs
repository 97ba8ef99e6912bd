//! A call in a deck of few tools, of many and of very many. The tools are those of MCP servers that have been asked once: their lists are
//! on disk, and only the server that is called runs.

use std::time::Instant;

use serde_json::{Value, json};

use super::{
    super::{
        BenchStage, LoadFigures,
        calls::{assert_echo, middle},
        load::PipeServer,
        process_usage::{memory_of, processor_time},
        stage::servers,
    },
    CallCost, ToolsRow,
};
use crate::TestDirs;

/// Servers and tools of each.
const DECKS: [(usize, usize); 3] = [(1, 10), (10, 100), (100, 1_000)];
const QUICK_DECKS: [(usize, usize); 3] = [(1, 10), (10, 100), (20, 500)];
const CALLS: usize = 3_000;
const WARM_UP: usize = 200;
const ROUNDS: usize = 3;

pub(super) fn measure(stage: &BenchStage) -> Vec<ToolsRow> {
    let decks = if stage.is_quick { QUICK_DECKS } else { DECKS };
    decks.map(|(capabilities, each)| measure_deck(stage, capabilities, each)).into()
}

fn measure_deck(stage: &BenchStage, capabilities: usize, each: usize) -> ToolsRow {
    let tool = format!("server{:03}__tool_{:05}", capabilities / 2, each / 2);
    let by_name = json!({"name": tool, "arguments": {"text": "hello"}});
    let call_tool = json!({"name": "call_tool", "arguments": by_name});
    let by_name = RunningDeck::start(stage, "direct", capabilities, each).measure(stage, &by_name);
    let search = RunningDeck::start(stage, "search", capabilities, each);
    ToolsRow {
        tools: capabilities * each,
        capabilities,
        start_ms: search.start_ms,
        memory: memory_of(search.pipe.id()).own,
        by_name,
        call_tool: search.measure(stage, &call_tool),
    }
}

/// `capdeck serve` after its first `tools/list`.
struct RunningDeck {
    pipe: PipeServer,
    start_ms: f64,
    _dirs: TestDirs,
}

impl RunningDeck {
    fn start(stage: &BenchStage, exposure: &str, capabilities: usize, each: usize) -> Self {
        let dirs = stage.deck(exposure, servers(capabilities, each));
        stage.fill_cache(&dirs);
        let started = Instant::now();
        let mut pipe = PipeServer::start(stage.serve(&dirs));
        pipe.ask("tools/list", json!({}));
        let start_ms = started.elapsed().as_secs_f64() * 1e3;
        Self { pipe, start_ms, _dirs: dirs }
    }

    fn measure(mut self, stage: &BenchStage, call: &Value) -> CallCost {
        assert_echo(&self.pipe.ask("tools/call", call.clone()));
        let (call, calls) = (call.to_string(), stage.samples(CALLS));
        self.pipe.load(&call, WARM_UP, 1);
        let before = processor_time(self.pipe.id());
        let rounds: Vec<LoadFigures> =
            (0..ROUNDS).map(|_| self.pipe.load(&call, calls, 1)).collect();
        let used = processor_time(self.pipe.id()).saturating_sub(before);
        CallCost::of(middle(rounds), used, ROUNDS * calls)
    }
}
