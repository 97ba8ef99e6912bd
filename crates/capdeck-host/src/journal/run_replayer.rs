//! Replays runs without any server, from the recorded results alone.

use std::time::Duration;

use capdeck_sandbox::{
    CapabilityDirectory, CellRun, DeterminismSettings, EarlierRun, RunReport, SandboxPool,
    SandboxSettings, SessionChoice, TimerPace, WorkerCommand,
};
use serde_json::Value;

use super::{
    RunStore, RunStoreError,
    comparison::compare,
    record::RunRecord,
    replay::{CallReplay, ExpectedCall, ReplayStrictness},
    test_file::{TestCell, TestFile},
};

const MAX_CELLS: usize = 200;

/// Why a run cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("run `{id}` cannot be replayed: {reason}")]
    Unrepeatable { id: String, reason: String },
    #[error("run `{id}` depends on run `{missing}`, which was deleted")]
    Missing { id: String, missing: String },
    #[error("run `{id}` differs from its record: {why}")]
    Diverged { id: String, why: String },
    #[error(transparent)]
    Store(#[from] RunStoreError),
}

/// Replays recorded runs and tests.
#[derive(Debug)]
pub struct RunReplayer {
    pool: SandboxPool,
}

/// The result of a replay.
#[derive(Debug)]
pub struct ReplayReport {
    pub report: RunReport,
    /// Differences from the record; empty when there are none.
    pub differences: Vec<String>,
}

struct ReplayCell {
    run: CellRun,
    names: Vec<String>,
    calls: Vec<ExpectedCall>,
}

struct RecordedDirectory(Vec<String>);

impl CapabilityDirectory for RecordedDirectory {
    fn capabilities(&self) -> Vec<String> {
        self.0.clone()
    }

    fn tools(&self, _: &str) -> Option<Vec<String>> {
        None
    }

    fn check_arguments(&self, _: &str, _: &str, _: &Value) -> Vec<String> {
        Vec::new()
    }
}

impl RunStore {
    /// Returns a run after those it depends on, first cell first. Fails unless all of them can be
    /// replayed.
    pub fn chain(&self, last: RunRecord) -> Result<Vec<RunRecord>, ReplayError> {
        let mut chain = vec![last];
        while let Some(run) = chain.last() {
            if let Some(reason) = &run.unrepeatable {
                let (id, reason) = (run.id.clone(), reason.clone());
                return Err(ReplayError::Unrepeatable { id, reason });
            }
            let Some(before) = run.after.clone() else { break };
            if chain.len() == MAX_CELLS {
                let reason = format!("its session had more than {MAX_CELLS} cells");
                return Err(ReplayError::Unrepeatable { id: run.id.clone(), reason });
            }
            let id = run.id.clone();
            match self.load(&before) {
                Ok(run) => chain.push(run),
                Err(RunStoreError::Unknown { id: missing }) => {
                    return Err(ReplayError::Missing { id, missing });
                }
                Err(error) => return Err(error.into()),
            }
        }
        chain.reverse();
        Ok(chain)
    }
}

impl ReplayCell {
    fn from_run(run: &RunRecord) -> Self {
        let cell = CellRun {
            timeout: Some(Duration::from_millis(run.timeout_ms)),
            determinism: Some(run.determinism(TimerPace::Skip)),
            repeat: Some(EarlierRun { moments: run.moments.clone(), elapsed_ms: 0.0 }),
            ..CellRun::new(&run.code)
        };
        let calls = run.calls.iter().cloned().map(ExpectedCall::from).collect();
        Self { run: cell, names: run.capabilities.clone(), calls }
    }

    fn of_test(cell: &TestCell) -> Self {
        let TestCell { now_ms, seed, .. } = *cell;
        let run = CellRun {
            determinism: Some(DeterminismSettings { now_ms, seed, timers: TimerPace::Skip }),
            repeat: Some(EarlierRun { moments: cell.moments(), elapsed_ms: 0.0 }),
            ..CellRun::new(&cell.code)
        };
        Self { run, names: cell.names(), calls: cell.known_calls() }
    }

    async fn run(
        self,
        pool: &SandboxPool,
        session: SessionChoice,
        owner: &str,
        strictness: ReplayStrictness,
    ) -> (RunReport, Option<String>) {
        let replay = CallReplay::offline(self.calls, strictness);
        let run = CellRun { session, owner: owner.to_owned(), ..self.run };
        let report = pool.run(run, &RecordedDirectory(self.names), &replay).await;
        (report, replay.divergence())
    }
}

/// Where the cell after this one runs.
fn session_after(report: &RunReport) -> SessionChoice {
    report.envelope.meta.session_id.clone().map_or(SessionChoice::New, SessionChoice::Earlier)
}

/// Replays the cells before the last one. The last one runs in their session.
pub(super) async fn replay_earlier(
    pool: &SandboxPool,
    owner: &str,
    runs: &[RunRecord],
) -> Result<SessionChoice, ReplayError> {
    let mut session = SessionChoice::New;
    for run in runs {
        let (report, diverged) =
            ReplayCell::from_run(run).run(pool, session, owner, ReplayStrictness::Exact).await;
        if let Some(why) = diverged {
            return Err(ReplayError::Diverged { id: run.id.clone(), why });
        }
        session = session_after(&report);
    }
    Ok(session)
}

impl RunReplayer {
    /// Runs cells in workers that this command starts.
    pub fn new(worker: WorkerCommand) -> Self {
        let settings = SandboxSettings { spare_workers: 0, ..SandboxSettings::new(worker) };
        Self { pool: SandboxPool::new(settings) }
    }

    /// Replays the last of these runs, after those before it, and compares.
    pub async fn replay(&self, runs: &[RunRecord]) -> Result<Option<ReplayReport>, ReplayError> {
        let Some((last, earlier)) = runs.split_last() else { return Ok(None) };
        let session = replay_earlier(&self.pool, "", earlier).await?;
        let cell = ReplayCell::from_run(last);
        let (report, diverged) = cell.run(&self.pool, session, "", ReplayStrictness::Exact).await;
        let mut differences: Vec<String> = diverged.into_iter().collect();
        differences.extend(compare(&last.end, &report));
        Ok(Some(ReplayReport { report, differences }))
    }

    /// Runs a test. Returns the expectations that are not met.
    pub async fn test(&self, test: &TestFile) -> Vec<String> {
        let mut session = SessionChoice::New;
        let mut failures = Vec::new();
        let count = test.cells.len();
        if count == 0 {
            failures.push("it has no cells".to_owned());
        }
        for (index, cell) in test.cells.iter().enumerate() {
            let cell = ReplayCell::of_test(cell);
            let (report, diverged) =
                cell.run(&self.pool, session, "", ReplayStrictness::AnyOrder).await;
            let place = if count > 1 { format!("cell {}: ", index + 1) } else { String::new() };
            failures.extend(diverged.map(|why| format!("{place}{why}")));
            if index + 1 == count {
                failures.extend(test.expect.failures(&report));
            }
            session = session_after(&report);
        }
        failures
    }
}
