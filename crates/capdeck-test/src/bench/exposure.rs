//! What each way to offer tools costs an agent: before its first question, and for a whole piece of work.
//!
//! The servers list the tools of real ones, recorded; what they answer is what they were sent. So the figures are about what an agent
//! reads and writes around the work, which is where the ways differ.

mod agent;
mod figures;
mod scenario;

use std::{fs, path::Path};

use serde_json::{Map, Value, json};

use self::{agent::ExposureAgent, scenario::SCENARIOS};
use super::BenchStage;
use crate::{FakePlan, TestDirs};

pub use figures::{
    EXPOSURE_BLOCK_END, EXPOSURE_BLOCK_START, ExposureFigures, ExposureRun, SetupTokens,
    SignatureTokens, render_exposure, replace_exposure_block,
};

/// The ways, as a deck names them.
const WAYS: [&str; 6] = ["direct", "progressive", "on_demand", "search", "code_mode", "none"];

/// Does every scenario in every way. `None` when the recorded lists are not there. `count` counts tokens.
pub fn measure_exposure(
    stage: &BenchStage,
    lists: &Path,
    count: &dyn Fn(&str) -> usize,
) -> Option<Vec<ExposureFigures>> {
    if !lists.is_dir() {
        return None;
    }
    let figures = SCENARIOS.iter().map(|scenario| {
        let servers: Vec<(&str, Vec<Value>)> = scenario
            .servers
            .iter()
            .map(|(id, most)| (*id, recorded(&lists.join(format!("{id}.json")), *most)))
            .collect();
        let runs = WAYS.map(|way| {
            let dirs = TestDirs::new();
            let entries = servers.iter().map(|(id, tools)| (*id, entry(&dirs, id, tools)));
            write_deck(&dirs, way, entries);
            stage.fill_cache(&dirs);
            ExposureAgent::start(stage, &dirs, way, count).work(scenario)
        });
        let all =
            || servers.iter().flat_map(|(id, tools)| tools.iter().map(move |tool| (*id, tool)));
        ExposureFigures {
            name: scenario.name.to_owned(),
            tools: all().count(),
            schema_bytes: all().map(|(_, tool)| tool.to_string().len()).sum(),
            signatures: SignatureTokens {
                names: all().map(|(id, tool)| count(&names_only(id, tool))).sum(),
                brief: runs.iter().map(|run| run.signatures).sum(),
                schemas: all().map(|(_, tool)| count(&tool["inputSchema"].to_string())).sum(),
            },
            setup: SetupTokens {
                ours: runs.iter().map(|run| run.setup).sum(),
                names_alone: count(&names_alone_answer(&servers)),
            },
            runs: runs.to_vec(),
        }
    });
    Some(figures.collect())
}

/// The first tools of a recorded list.
fn recorded(path: &Path, most: usize) -> Vec<Value> {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let list: Value = serde_json::from_str(&text).unwrap();
    let tools = list["tools"].as_array().unwrap_or_else(|| panic!("{}: no tools", path.display()));
    assert!(tools.len() >= most, "{}: {} tools", path.display(), tools.len());
    tools.iter().take(most).cloned().collect()
}

/// A server that lists these tools. The plan is too long for an argument, so it is in a file.
fn entry(dirs: &TestDirs, id: &str, tools: &[Value]) -> Value {
    let plan = FakePlan {
        name: id.to_owned(),
        behaviours: false,
        everything: false,
        extra_tools: tools.to_vec(),
        ..FakePlan::default()
    };
    let file = dirs.write(format!("plans/{id}.json"), plan.to_json());
    let mut entry = FakePlan { extra_tools: Vec::new(), ..plan }.deck_entry();
    entry["args"] = json!(["--plan", format!("@{}", file.display())]);
    entry["description"] = json!(format!("The tools of {id}"));
    entry
}

fn write_deck<'a>(dirs: &TestDirs, way: &str, entries: impl Iterator<Item = (&'a str, Value)>) {
    let servers: Map<String, Value> = entries.map(|(id, entry)| (id.to_owned(), entry)).collect();
    let options = json!({"exposure": way, "surfaceTokens": 1_000_000_000});
    // Asking a person is no part of what is measured.
    let policy = json!([{"allow": {}}]);
    dirs.write_config(&json!({"options": options, "policy": policy, "mcpServers": servers}));
}

/// An answer of `setup_tools` with the members that CAPA documents and the names alone.
fn names_alone_answer(servers: &[(&str, Vec<Value>)]) -> String {
    let ids: Vec<&str> = servers.iter().map(|(id, _)| *id).collect();
    let tools: Vec<String> = servers
        .iter()
        .flat_map(|(id, tools)| tools.iter().map(move |tool| names_only(id, tool)))
        .collect();
    let answer = json!({
        "success": true,
        "message": format!("{} set up, {} in all, {} tools", ids.len(), ids.len(), tools.len()),
        "skills": ids,
        "activeSkills": ids,
        "tools": tools,
        "hint": "`call_tool` takes a name and `data`",
    });
    answer.to_string()
}

/// `server.tool(required, optional?)`, without any type.
fn names_only(id: &str, tool: &Value) -> String {
    let name = format!("{id}.{}", tool["name"].as_str().unwrap_or_default());
    let required: Vec<&str> = tool["inputSchema"]["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = tool["inputSchema"]["properties"].as_object();
    let all = properties.into_iter().flat_map(|all| all.keys());
    let optional = all.filter(|name| !required.contains(&name.as_str()));
    let words = required.iter().map(|name| (*name).to_owned());
    let words = words.chain(optional.map(|name| format!("{name}?")));
    format!("{name}({})", words.collect::<Vec<_>>().join(", "))
}
