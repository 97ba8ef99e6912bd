//! The programs under measurement and the decks they get.

use std::{fs, path::PathBuf, process::Command};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::MachineInfo;
use crate::{CapdeckRun, FakePlan, RunningHost, TestDirs, binary::workspace_root};

/// Where the programs are.
#[derive(Debug)]
pub struct BenchStage {
    pub(super) capdeck: PathBuf,
    /// Makes a twentieth of the calls, to see that everything works.
    pub is_quick: bool,
}

impl Default for BenchStage {
    fn default() -> Self {
        Self::new()
    }
}

impl BenchStage {
    /// The programs built beside the running one, as they are: a measurement builds nothing.
    pub fn new() -> Self {
        let capdeck = std::env::current_exe().unwrap().with_file_name("capdeck");
        assert!(capdeck.exists(), "{} is missing: use bench/run", capdeck.display());
        Self::at(capdeck)
    }

    /// This binary, wherever it is.
    pub fn at(capdeck: PathBuf) -> Self {
        Self { capdeck, is_quick: false }
    }

    /// How often something is done that a whole run does this often.
    pub fn samples(&self, full: usize) -> usize {
        if self.is_quick { full.div_ceil(20) } else { full }
    }

    pub fn capdeck(&self) -> &std::path::Path {
        &self.capdeck
    }

    /// True when the figures say little: fewer calls, or a build that is not optimised.
    fn is_trial(&self) -> bool {
        self.is_quick || cfg!(debug_assertions)
    }

    /// Where this runs, and what.
    pub fn machine(&self) -> MachineInfo {
        let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = processors.lines().find(|line| line.starts_with("model name"));
        let name = model
            .and_then(|line| line.split_once(':'))
            .map_or("an unknown processor", |(_, name)| name);
        let version = Command::new(&self.capdeck).arg("--version").output().unwrap();
        MachineInfo {
            processor: name.trim().to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            capdeck: String::from_utf8_lossy(&version.stdout).trim().to_owned(),
            binary_bytes: fs::metadata(&self.capdeck).unwrap().len(),
        }
    }

    /// Folders with a deck of these `mcpServers`, all offered in one way.
    pub(super) fn deck(&self, exposure: &str, servers: Map<String, Value>) -> TestDirs {
        let dirs = TestDirs::new();
        // A budget that moves nothing out of the view that is measured.
        let options = json!({"exposure": exposure, "surfaceTokens": 1_000_000_000});
        dirs.write_config(&json!({"options": options, "mcpServers": servers}));
        dirs
    }

    /// Folders with a deck of these `httpApis`, all their actions offered.
    pub(super) fn api_deck(&self, apis: &Value) -> TestDirs {
        let dirs = TestDirs::new();
        dirs.write_config(&json!({"options": {"exposure": "direct"}, "httpApis": apis}));
        dirs
    }

    /// Asks every capability once, so that later starts find their tools on disk.
    pub(super) fn fill_cache(&self, dirs: &TestDirs) {
        CapdeckRun::at(&self.capdeck, dirs).args(["check", "--json"]).run().success();
    }

    /// `capdeck serve` over the deck in these folders.
    pub(super) fn serve(&self, dirs: &TestDirs) -> Command {
        let mut command = Command::new(&self.capdeck);
        dirs.isolate(&mut command).arg("serve");
        command
    }

    /// `capdeck up` over the deck in these folders.
    pub(super) fn up(&self, dirs: &TestDirs) -> RunningHost {
        CapdeckRun::at(&self.capdeck, dirs).up(&[])
    }
}

/// Writes `bench/results/NAME.json`, or beside it when it is a trial: a trial replaces no published figures.
/// Returns the path in the checkout.
pub fn write_figures(stage: &BenchStage, name: &str, figures: &impl Serialize) -> String {
    let trial = if stage.is_trial() { "-trial" } else { "" };
    let file = format!("bench/results/{name}{trial}.json");
    let text = serde_json::to_string_pretty(figures).unwrap() + "\n";
    fs::write(workspace_root().join(&file), text).unwrap();
    file
}

/// This many servers with this many tools each, as a deck's `mcpServers`.
pub(super) fn servers(count: usize, tools: usize) -> Map<String, Value> {
    let plan = FakePlan { behaviours: false, everything: false, tools, ..FakePlan::default() };
    (0..count).map(|number| (format!("server{number:03}"), plan.deck_entry())).collect()
}

/// The command of a server without Capdeck.
pub(super) fn alone(plan: &FakePlan) -> Command {
    let (program, arguments) = plan.command();
    let mut command = Command::new(program);
    command.args(arguments);
    command
}
