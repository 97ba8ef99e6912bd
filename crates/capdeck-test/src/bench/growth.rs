//! What more of everything costs: more tools, more clients, more sessions of code mode.

mod clients;
mod code_sessions;
mod figures;
mod tools;

pub use self::figures::{
    CallCost, ClientMemory, ClientsRow, CodeSessionMemory, GROWTH_BLOCK_END, GROWTH_BLOCK_START,
    GrowthFigures, ToolsRow, render_growth, replace_growth_block,
};
use super::BenchStage;

/// Measures all of it. `report` hears what is measured now.
pub fn measure_growth(stage: &BenchStage, report: &dyn Fn(&str)) -> GrowthFigures {
    report("more tools");
    let tools = tools::measure(stage);
    report("more clients");
    let clients = clients::measure(stage);
    report("memory of idle clients");
    let client_memory = clients::measure_memory(stage);
    report("memory of code-mode sessions");
    let code_session = code_sessions::measure(stage);
    GrowthFigures {
        machine: stage.machine(),
        build: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
        tools,
        clients,
        client_memory,
        code_session,
    }
}
