//! Replays runs without any server, from the recorded results alone.

use std::time::Duration;

use capdeck_sandbox::{
    Determinism, Directory, Repeat, Run, RunReport, SandboxPool, SandboxSettings, SessionChoice,
    TimerPace, WorkerCommand,
};
use serde_json::Value;

use super::{
    RunStore, RunStoreError,
    comparison::compare,
    record::RunRecord,
    replay::{KnownCall, Replay, Strictness},
    test_file::{TestCell, TestFile},
};

const MOST_CELLS: usize = 200;

/// Why a run cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
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
pub struct Rehearsal {
    pool: SandboxPool,
}

/// The result of a replay.
#[derive(Debug)]
pub struct ReplayReport {
    pub report: RunReport,
    /// Differences from the record; empty when there are none.
    pub differences: Vec<String>,
}

/// The result of a test.
#[derive(Debug)]
pub struct TestReport {
    /// Expectations that are not met; empty when all are.
    pub failures: Vec<String>,
}

pub(super) struct Scene {
    code: String,
    timeout: Option<Duration>,
    determinism: Determinism,
    repeat: Repeat,
    names: Vec<String>,
    calls: Vec<KnownCall>,
}

struct Names(Vec<String>);

impl Directory for Names {
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
    pub fn chain(&self, last: RunRecord) -> Result<Vec<RunRecord>, RehearsalError> {
        let mut chain = vec![last];
        while let Some(run) = chain.last() {
            if let Some(reason) = &run.unrepeatable {
                let (id, reason) = (run.id.clone(), reason.clone());
                return Err(RehearsalError::Unrepeatable { id, reason });
            }
            let Some(before) = run.after.clone() else { break };
            if chain.len() == MOST_CELLS {
                let reason = format!("its session had more than {MOST_CELLS} cells");
                return Err(RehearsalError::Unrepeatable { id: run.id.clone(), reason });
            }
            let id = run.id.clone();
            match self.load(&before) {
                Ok(run) => chain.push(run),
                Err(RunStoreError::Unknown { id: missing }) => {
                    return Err(RehearsalError::Missing { id, missing });
                }
                Err(error) => return Err(error.into()),
            }
        }
        chain.reverse();
        Ok(chain)
    }
}

impl Scene {
    pub(super) fn of(run: &RunRecord) -> Self {
        Self {
            code: run.code.clone(),
            timeout: Some(Duration::from_millis(run.timeout_ms)),
            determinism: Determinism {
                now_ms: run.now_ms,
                seed: run.seed,
                timers: TimerPace::Skip,
            },
            repeat: Repeat { moments: run.moments.clone(), elapsed_ms: 0.0 },
            names: run.capabilities.clone(),
            calls: run.calls.iter().cloned().map(KnownCall::from).collect(),
        }
    }

    fn of_test(cell: &TestCell) -> Self {
        Self {
            code: cell.code.clone(),
            timeout: None,
            determinism: Determinism {
                now_ms: cell.now_ms,
                seed: cell.seed,
                timers: TimerPace::Skip,
            },
            repeat: Repeat { moments: cell.moments(), elapsed_ms: 0.0 },
            names: cell.names(),
            calls: cell.known_calls(),
        }
    }

    pub(super) async fn play(
        self,
        pool: &SandboxPool,
        session: SessionChoice,
        owner: &str,
        strictness: Strictness,
    ) -> (RunReport, Option<String>) {
        let replay = Replay::offline(self.calls, strictness);
        let run = Run {
            timeout: self.timeout,
            session,
            owner: owner.to_owned(),
            determinism: Some(self.determinism),
            repeat: Some(self.repeat),
            ..Run::new(self.code)
        };
        let report = pool.run(run, &Names(self.names), &replay).await;
        (report, replay.divergence())
    }
}

/// Replays the cells before the last one. The last one runs in their session.
pub(super) async fn play_earlier(
    pool: &SandboxPool,
    owner: &str,
    runs: &[RunRecord],
) -> Result<SessionChoice, RehearsalError> {
    let mut session = SessionChoice::New;
    for run in runs {
        let (report, diverged) = Scene::of(run).play(pool, session, owner, Strictness::Exact).await;
        if let Some(why) = diverged {
            return Err(RehearsalError::Diverged { id: run.id.clone(), why });
        }
        session = match report.envelope.meta.session_id {
            Some(id) => SessionChoice::Earlier(id),
            None => SessionChoice::New,
        };
    }
    Ok(session)
}

impl Rehearsal {
    /// Runs cells in workers that this command starts.
    pub fn new(worker: WorkerCommand) -> Self {
        let settings = SandboxSettings { spare_workers: 0, ..SandboxSettings::new(worker) };
        Self { pool: SandboxPool::new(settings) }
    }

    /// Replays the last of these runs, after those before it, and compares.
    pub async fn replay(&self, runs: &[RunRecord]) -> Result<Option<ReplayReport>, RehearsalError> {
        let Some((last, earlier)) = runs.split_last() else { return Ok(None) };
        let session = play_earlier(&self.pool, "", earlier).await?;
        let scene = Scene::of(last);
        let (report, diverged) = scene.play(&self.pool, session, "", Strictness::Exact).await;
        let mut differences: Vec<String> = diverged.into_iter().collect();
        differences.extend(compare(&last.end, &report));
        Ok(Some(ReplayReport { report, differences }))
    }

    /// Runs a test.
    pub async fn test(&self, test: &TestFile) -> TestReport {
        let mut session = SessionChoice::New;
        let mut failures = Vec::new();
        let count = test.cells.len();
        if count == 0 {
            failures.push("it has no cells".to_owned());
        }
        for (index, cell) in test.cells.iter().enumerate() {
            let scene = Scene::of_test(cell);
            let (report, diverged) =
                scene.play(&self.pool, session, "", Strictness::AnyOrder).await;
            let place = if count > 1 { format!("cell {}: ", index + 1) } else { String::new() };
            failures.extend(diverged.map(|why| format!("{place}{why}")));
            if index + 1 == count {
                failures.extend(test.expect.unmet(&report));
            }
            session = match report.envelope.meta.session_id {
                Some(id) => SessionChoice::Earlier(id),
                None => SessionChoice::New,
            };
        }
        TestReport { failures }
    }
}
