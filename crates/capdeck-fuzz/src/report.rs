//! What a run found.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

/// The figures of one run.
#[derive(Debug, Default)]
pub struct FuzzReport {
    pub target: &'static str,
    pub executions: u64,
    /// Of this process, since the run began.
    pub processor_time: Duration,
    /// How often each outcome came.
    pub outcomes: BTreeMap<String, u64>,
    pub slowest: Option<SlowInput>,
    pub peak_memory_kb: u64,
    pub findings: Vec<FuzzFinding>,
}

/// The input that took longest.
#[derive(Debug)]
pub struct SlowInput {
    /// Processor time, not time on the clock.
    pub took: Duration,
    pub input: Vec<u8>,
    pub file: Option<PathBuf>,
}

/// A promise that was broken.
#[derive(Debug)]
pub struct FuzzFinding {
    /// `file:line` of the code that noticed.
    pub place: String,
    pub message: String,
    /// As small as it could be made.
    pub input: Vec<u8>,
    /// Where the input was written, to be replayed.
    pub file: Option<PathBuf>,
}

impl fmt::Display for FuzzReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}: {} executions in {} s of processor time, {} outcomes, peak memory {} MB, {} findings",
            self.target,
            self.executions,
            self.processor_time.as_secs(),
            self.outcomes.len(),
            self.peak_memory_kb / 1024,
            self.findings.len()
        )?;
        if let Some(slow) = &self.slowest {
            write!(
                formatter,
                "; slowest {} ms for {} bytes",
                slow.took.as_millis(),
                slow.input.len()
            )?;
            if let Some(file) = &slow.file {
                write!(formatter, " ({})", file.display())?;
            }
        }
        for finding in &self.findings {
            write!(formatter, "\n{finding}")?;
        }
        Ok(())
    }
}

impl fmt::Display for FuzzFinding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "FOUND at {}: {}", self.place, self.message)?;
        match &self.file {
            Some(file) => write!(formatter, "\n  input: {}", file.display()),
            None => write!(formatter, "\n  input: {:?}", String::from_utf8_lossy(&self.input)),
        }
    }
}
