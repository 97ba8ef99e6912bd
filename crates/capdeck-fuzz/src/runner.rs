//! Runs one target: seeds first, then changed ones until the limit.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use crate::{
    FuzzFinding, FuzzReport, FuzzTarget, TargetInfo,
    mutator::InputMutator,
    panic_watch::{PanicRecord, watch},
    report::SlowInput,
    seeds,
    shrink::shrink,
    stuck_watch::StuckWatch,
    usage::{peak_memory_kb, processor_time},
};

/// How a target is run.
#[derive(Debug, Clone)]
pub struct FuzzSettings {
    pub seed: u64,
    pub limit: RunLimit,
    /// Where findings, the slowest input and the current input are written. Without it nothing is.
    pub folder: Option<PathBuf>,
}

/// When a run ends.
#[derive(Debug, Clone, Copy)]
pub enum RunLimit {
    Executions(u64),
    Time(Duration),
}

/// A run with so many different findings needs no more.
const MAX_FINDINGS: usize = 12;

/// Runs a target. The report says what was found; nothing else here fails.
pub fn run(info: &TargetInfo, settings: &FuzzSettings) -> FuzzReport {
    if let Some(folder) = &settings.folder {
        fs::create_dir_all(folder).unwrap();
    }
    let before = processor_time();
    let target = (info.open)();
    let known = seeds::regressions(info.name);
    let seeds: Vec<Vec<u8>> = target.seeds().into_iter().chain(known).collect();
    let mutator =
        InputMutator::new(settings.seed, seeds.clone(), target.dictionary(), target.max_bytes());
    let current =
        |folder: &PathBuf| StuckWatch::start(folder.join(format!("{}-current", info.name)));
    let mut run = FuzzRun {
        info,
        settings,
        target,
        mutator,
        stuck: settings.folder.as_ref().map(current),
        report: FuzzReport { target: info.name, ..FuzzReport::default() },
    };
    for seed in seeds {
        run.execute(&seed);
    }
    let started = Instant::now();
    while run.report.findings.len() < MAX_FINDINGS && !is_over(settings.limit, &run.report, started)
    {
        let mut input = run.mutator.next();
        run.target.restore(&mut input, run.mutator.random());
        run.execute(&input);
    }
    run.report.peak_memory_kb = peak_memory_kb();
    run.report.processor_time = processor_time().saturating_sub(before);
    run.write_slowest();
    run.report
}

/// Runs one input of a target. Panics with what it finds.
pub fn replay(info: &TargetInfo, input: &[u8]) -> String {
    (info.open)().execute(input)
}

fn is_over(limit: RunLimit, report: &FuzzReport, started: Instant) -> bool {
    match limit {
        RunLimit::Executions(count) => report.executions >= count,
        RunLimit::Time(time) => started.elapsed() >= time,
    }
}

struct FuzzRun<'a> {
    info: &'a TargetInfo,
    settings: &'a FuzzSettings,
    target: Box<dyn FuzzTarget>,
    mutator: InputMutator,
    stuck: Option<StuckWatch>,
    report: FuzzReport,
}

impl FuzzRun<'_> {
    fn execute(&mut self, input: &[u8]) {
        if let Some(stuck) = &self.stuck {
            stuck.begin(input);
        }
        let before = processor_time();
        let outcome = watch(|| self.target.execute(input));
        let took = processor_time().saturating_sub(before);
        self.report.executions += 1;
        if self.report.slowest.as_ref().is_none_or(|slowest| took > slowest.took) {
            self.report.slowest = Some(SlowInput { took, input: input.to_vec(), file: None });
        }
        match outcome {
            Ok(label) => {
                let count = self.report.outcomes.entry(label).or_default();
                *count += 1;
                if *count == 1 {
                    self.mutator.keep(input);
                }
            }
            Err(panic) => self.find(input, panic),
        }
    }

    fn find(&mut self, input: &[u8], panic: PanicRecord) {
        // What it was doing when it panicked is of no use any more.
        self.target = (self.info.open)();
        if self.report.findings.iter().any(|known| known.place == panic.place) {
            return;
        }
        let input = shrink(input, |smaller| {
            if let Some(stuck) = &self.stuck {
                stuck.begin(smaller);
            }
            match watch(|| self.target.execute(smaller)) {
                Ok(_) => false,
                Err(other) => {
                    self.target = (self.info.open)();
                    other.place == panic.place
                }
            }
        });
        let number = self.report.findings.len() + 1;
        let file = self.write(&format!("finding-{number}"), &input);
        let PanicRecord { place, message } = panic;
        self.report.findings.push(FuzzFinding { place, message, input, file });
    }

    fn write_slowest(&mut self) {
        let input = self.report.slowest.as_ref().map(|slowest| slowest.input.clone());
        let file = input.and_then(|input| self.write("slowest", &input));
        if let Some(slowest) = &mut self.report.slowest {
            slowest.file = file;
        }
    }

    fn write(&self, what: &str, input: &[u8]) -> Option<PathBuf> {
        let file = self.settings.folder.as_ref()?.join(format!("{}-{what}", self.info.name));
        fs::write(&file, input).unwrap();
        Some(file)
    }
}
