//! A load generator that is not ours, beside ours: figures that depend on who measures would be worth little.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;

use super::{
    BenchStage, LoadClientFigures, LoadClientRow, LoadFigures,
    calls::{deck_of, deck_url, echo, middle, warm_up},
    load::http_load,
};
use crate::{FakePlan, HttpClient, TestDirs};

const CALLERS: [usize; 2] = [1, 64];
const CALLS: usize = 6_000;
/// `wrk` counts seconds, ours counts calls.
const SECONDS: usize = 2;
/// The two take turns this often; the middle round of each counts.
const ROUNDS: usize = 3;
const SCRIPT: &str = "bench/peers/wrk_calls.lua";

/// What `bench/peers/wrk_calls.lua` prints at the end.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrkSummary {
    /// Calls that failed, or were answered with a status of 400 or more.
    errors: usize,
    #[serde(flatten)]
    load: LoadFigures,
}

/// The echo call over HTTP, to the server itself and through Capdeck, by ours and by `wrk`.
pub fn measure_load_client(stage: &BenchStage, wrk: &Path) -> LoadClientFigures {
    let fake = FakePlan::default().start_http();
    let dirs = deck_of(stage, deck_url(&fake));
    let host = stage.up(&dirs);
    let through = format!("{}/mcp", host.url);
    let mut rows = Vec::new();
    for (what, url, tool) in
        [("direct", &fake.url, "echo"), ("through Capdeck", &through, "fake__echo")]
    {
        warm_up(url, &echo(tool));
        for callers in CALLERS {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                ours.push(http_load(url, &echo(tool), stage.samples(CALLS), callers));
                theirs.push(wrk_load(wrk, url, tool, stage.samples(SECONDS), callers));
            }
            let (ours, theirs) = (middle(ours), middle(theirs));
            rows.push(LoadClientRow { what: what.to_owned(), callers, ours, theirs });
        }
    }
    LoadClientFigures { name: version(wrk), rows }
}

/// Opens a session for each caller and hands them to `wrk`, which calls in all of them.
fn wrk_load(wrk: &Path, url: &str, tool: &str, seconds: usize, callers: usize) -> LoadFigures {
    let mut clients: Vec<HttpClient> = (0..callers).map(|_| HttpClient::new(url)).collect();
    for client in &mut clients {
        client.initialize();
    }
    let dirs = TestDirs::new();
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}}"#, echo(tool));
    let sessions = clients.iter().filter_map(|client| client.session.clone());
    let sessions: Vec<String> = sessions.collect();
    let mut command = Command::new(wrk);
    command.args(["--threads", "1", "--connections", &callers.to_string()]);
    command.args(["--duration", &format!("{seconds}s"), "--script"]).arg(script()).arg(url);
    command.arg("--").arg(dirs.write("body.json", body));
    command.arg(dirs.write("sessions", sessions.join("\n")));
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = String::from_utf8_lossy(&output.stdout);
    let summary = printed.lines().last().and_then(|line| serde_json::from_str(line).ok());
    let summary: WrkSummary = summary.unwrap_or_else(|| {
        panic!("{command:?} printed {printed}{}", String::from_utf8_lossy(&output.stderr))
    });
    assert_eq!(summary.errors, 0, "calls of wrk were refused: {printed}");
    clients.into_iter().for_each(|mut client| client.end_session());
    summary.load
}

/// The first two words of `wrk --version`, such as `wrk debian/4.1.0-3+b2`.
fn version(wrk: &Path) -> String {
    let output = Command::new(wrk).arg("--version").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

fn script() -> PathBuf {
    crate::binary::workspace_root().join(SCRIPT)
}
