//! One call from the shell, as a person waits for it.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    BenchPeer, BenchStage, DurationSpread, MachineInfo, report::replace_between, stage::alone,
};
use crate::{FakePlan, TestDirs};

/// Everything between these two lines is written by the benchmark.
pub const SHELL_BLOCK_START: &str = "<!-- figures: written by bench/sh -->";
/// The end of the block.
pub const SHELL_BLOCK_END: &str = "<!-- end of the shell's figures -->";

const ROUNDS: usize = 40;
const WARM_UP: usize = 3;

/// Everything one run measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShellFigures {
    pub machine: MachineInfo,
    /// `release`, or `debug` for a trial that says little about times.
    pub build: String,
    pub rows: Vec<ShellRow>,
}

/// One way to call `echo` from the shell: from starting the command to its end.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShellRow {
    pub what: String,
    pub time: DurationSpread,
}

/// A command line whose output must hold what it was given.
struct ShellCandidate {
    what: String,
    command: Box<dyn Fn() -> Command>,
    samples: Vec<Duration>,
}

/// Measures in turns, so that a busy moment of the machine affects all.
pub fn measure_shell(
    stage: &BenchStage,
    machine: MachineInfo,
    peer: Option<&BenchPeer>,
) -> ShellFigures {
    let plan = FakePlan { everything: false, ..FakePlan::default() };
    let deck = || {
        let dirs = stage.deck("direct", Map::from_iter([("fake".to_owned(), plan.deck_entry())]));
        stage.fill_cache(&dirs);
        dirs
    };
    let (with_host, without_host) = (deck(), deck());
    let _host = stage.up(&with_host);
    let program = stage.capdeck().to_owned();
    let capdeck = |dirs: &TestDirs, words: &[&str]| {
        let mut command = Command::new(&program);
        dirs.isolate(&mut command).args(words);
        command
    };
    let call = ["sh", "fake", "echo", "--text", "hello"];
    let mut ways = vec![
        way(
            "`capdeck --version`: the start of the program alone",
            again(capdeck(&with_host, &["--version"])),
        ),
        way("`capdeck sh` through a running host", again(capdeck(&with_host, &call))),
        way(
            "`capdeck sh` without a host (starts the server)",
            again(capdeck(&without_host, &call)),
        ),
    ];
    let home = TestDirs::new();
    let daemon = home.root().join("keep-alive.json");
    if let Some(peer) = peer {
        let started = home.root().join("ephemeral.json");
        for (config, lifecycle, name) in [
            (&started, "ephemeral", "starts the server"),
            (&daemon, "keep-alive", "through its daemon"),
        ] {
            write_peer_config(config, &plan, lifecycle);
            let command = peer_call(peer, &home, config);
            ways.push(way(&format!("{} ({name})", peer.name), again(command)));
        }
    }
    for round in 0..WARM_UP + ROUNDS {
        ways.iter_mut().for_each(|way| way.take(round >= WARM_UP));
    }
    if let Some(peer) = peer {
        let mut stop = peer_command(peer, &home);
        let _stopped = stop.args(["daemon", "stop", "--config"]).arg(&daemon).output();
    }
    let rows = ways.into_iter();
    ShellFigures {
        machine,
        build: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
        rows: rows
            .map(|way| ShellRow { what: way.what, time: DurationSpread::of(way.samples) })
            .collect(),
    }
}

fn way(what: &str, command: Box<dyn Fn() -> Command>) -> ShellCandidate {
    ShellCandidate { what: what.to_owned(), command, samples: Vec::new() }
}

/// The same command as often as needed.
fn again(command: Command) -> Box<dyn Fn() -> Command> {
    Box::new(move || {
        let mut copy = Command::new(command.get_program());
        copy.args(command.get_args());
        copy.env_clear();
        copy.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = command.get_current_dir() {
            copy.current_dir(folder);
        }
        copy
    })
}

impl ShellCandidate {
    fn take(&mut self, counts: bool) {
        let mut command = (self.command)();
        command.stdin(Stdio::null());
        let started = Instant::now();
        let output = command.output().unwrap();
        let took = started.elapsed();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && (said.contains("hello") || said.starts_with("capdeck ")),
            "{}: {said}{}",
            self.what,
            String::from_utf8_lossy(&output.stderr)
        );
        if counts {
            self.samples.push(took);
        }
    }
}

fn write_peer_config(path: &Path, plan: &FakePlan, lifecycle: &str) {
    let server = alone(plan);
    let words: Vec<Value> = server.get_args().map(|word| json!(word.to_string_lossy())).collect();
    let entry = json!({"command": server.get_program().to_string_lossy(), "args": words, "lifecycle": lifecycle});
    fs::write(path, json!({"mcpServers": {"fake": entry}}).to_string()).unwrap();
}

fn peer_command(peer: &BenchPeer, home: &TestDirs) -> Command {
    let mut command = peer.command();
    home.isolate(&mut command);
    command
}

fn peer_call(peer: &BenchPeer, home: &TestDirs, config: &Path) -> Command {
    let mut command = peer_command(peer, home);
    command.args(["call", "fake.echo", "text=hello", "--config"]).arg(config);
    command
}

/// The figures as Markdown.
pub fn render_shell(figures: &ShellFigures) -> String {
    let machine = &figures.machine;
    let build = match figures.build.as_str() {
        "release" => String::new(),
        other => format!(" ({other} build)"),
    };
    let mut text = format!(
        "Measured on {} ({} cores), {}{build}; {ROUNDS} calls each, in turns.\n\n| one call of `echo` | p50 | p95 |\n|---|--:|--:|\n",
        machine.processor, machine.cores, machine.capdeck
    );
    for row in &figures.rows {
        let DurationSpread { p50_ms, p95_ms } = row.time;
        text.push_str(&format!("| {} | {p50_ms:.1} ms | {p95_ms:.1} ms |\n", row.what));
    }
    text.trim_end().to_owned()
}

/// The document with these figures, if it has a place for them.
pub fn replace_shell_block(document: &str, block: &str) -> Option<String> {
    replace_between(document, SHELL_BLOCK_START, SHELL_BLOCK_END, block)
}
