//! How many tokens a client pays before its first question.

use serde_json::{Value, json};

use super::{
    BenchStage, SurfaceFigures,
    load::PipeServer,
    stage::{alone, servers},
};
use crate::FakePlan;

/// Capabilities and tools in each: a small server, a few, many, and many large ones.
const DECKS: [(usize, usize); 4] = [(1, 10), (5, 20), (20, 50), (100, 100)];

/// Tokens of `tools/list` in each view, for decks from 10 to 10,000 tools. `count` counts tokens.
pub fn measure_surface(stage: &BenchStage, count: &dyn Fn(&str) -> usize) -> Vec<SurfaceFigures> {
    let row = |(capabilities, each): (usize, usize)| {
        let view = |exposure: &str| {
            let dirs = stage.deck(exposure, servers(capabilities, each));
            stage.fill_cache(&dirs);
            tokens(&mut PipeServer::start(stage.serve(&dirs)), count)
        };
        let plan =
            FakePlan { behaviours: false, everything: false, tools: each, ..FakePlan::default() };
        SurfaceFigures {
            tools: capabilities * each,
            capabilities,
            without_capdeck: capabilities * tokens(&mut PipeServer::start(alone(&plan)), count),
            direct: view("direct"),
            progressive: view("progressive"),
            search: view("search"),
        }
    };
    DECKS.into_iter().map(row).collect()
}

/// Tokens of every tool that all pages of `tools/list` hold.
fn tokens(pipe: &mut PipeServer, count: &dyn Fn(&str) -> usize) -> usize {
    let mut total = 0;
    let mut params = json!({});
    loop {
        let answer: Value = serde_json::from_str(&pipe.ask("tools/list", params)).unwrap();
        let tools = answer["result"]["tools"].as_array().expect("`tools/list` has tools");
        total += tools.iter().map(|tool| count(&tool.to_string())).sum::<usize>();
        match answer["result"].get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return total,
        }
    }
}
