//! Reads the audit trail: matching lines, and the number of calls.

use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
};

use capdeck_backend::ErrorCode;
use capdeck_storage::LogFollower;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Host;

/// One line of the audit trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrailLine {
    pub at: Timestamp,
    /// The session of the call.
    pub session: String,
    /// Name the client reports for itself; not an identity.
    pub client: String,
    /// The MCP method.
    pub method: String,
    pub capability: String,
    /// The tool, resource or prompt; empty where there is none.
    pub tool: String,
    /// `ok`, `tool_error`, or the error code of a call without result.
    pub outcome: String,
    /// How the gate allowed it; `refused` when it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<String>,
    /// The capabilities whose data a script passed into the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_from: Vec<String>,
    pub elapsed_ms: u64,
}

/// Selects lines. Unset fields match anything.
#[derive(Debug, Clone, Default)]
pub struct TrailFilter {
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    pub client: Option<String>,
    pub method: Option<String>,
    pub capability: Option<String>,
    pub outcome: Option<TrailOutcome>,
}

/// An outcome to filter by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrailOutcome {
    Is(String),
    Failed,
}

const OK: &str = "ok";

const HOURS: usize = 24;

/// The number of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrailCounts {
    pub calls: u64,
    /// Calls with an outcome other than `ok`.
    pub errors: u64,
}

impl TrailFilter {
    fn fits(&self, line: &TrailLine) -> bool {
        let is = |expected: &Option<String>, found: &str| {
            expected.as_ref().is_none_or(|expected| expected == found)
        };
        self.since.is_none_or(|since| since <= line.at)
            && self.until.is_none_or(|until| line.at < until)
            && is(&self.client, &line.client)
            && is(&self.method, &line.method)
            && is(&self.capability, &line.capability)
            && match &self.outcome {
                None => true,
                Some(TrailOutcome::Is(expected)) => *expected == line.outcome,
                Some(TrailOutcome::Failed) => line.outcome != OK,
            }
    }
}

/// The audit trail of a state folder, for readers without a host.
#[derive(Debug, Clone)]
pub struct CallTrail {
    folder: PathBuf,
}

/// The lines that are written from now on.
#[derive(Debug)]
pub struct TrailFollower(LogFollower);

impl CallTrail {
    pub fn new(state_dir: &Path) -> Self {
        Self { folder: state_dir.join("audit") }
    }

    /// Returns the latest lines that fit, latest first. Older days than that of `since` are not read. Blocks.
    pub fn latest(
        &self,
        since: Option<Timestamp>,
        most: usize,
        fits: impl Fn(&TrailLine) -> bool,
    ) -> io::Result<Vec<TrailLine>> {
        let mut found = Vec::new();
        for file in days(&self.folder)?.into_iter().rev() {
            let mut lines = Vec::new();
            each_line(&file, |line| lines.extend(Some(line).filter(|line| fits(line))))?;
            found.extend(lines.into_iter().rev().take(most - found.len()));
            let is_older = |since: Timestamp| {
                let day = file.file_stem().and_then(|day| day.to_str());
                day.is_some_and(|day| day < since.strftime("%Y-%m-%d").to_string().as_str())
            };
            if found.len() >= most || since.is_some_and(is_older) {
                break;
            }
        }
        Ok(found)
    }

    /// Follows the trail from its present end.
    pub fn follow(&self) -> io::Result<TrailFollower> {
        LogFollower::from_end(self.folder.clone(), "").map(TrailFollower)
    }
}

impl TrailFollower {
    /// Returns the lines that were written since the last time. Blocks, but does not wait for lines.
    pub fn news(&mut self) -> io::Result<Vec<TrailLine>> {
        let lines = self.0.new_lines()?;
        Ok(lines.iter().filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }
}

impl TrailLine {
    /// True when the gate or the policy refused it.
    pub fn is_denied(&self) -> bool {
        let code = ErrorCode::from_name(&self.outcome);
        self.approved.as_deref() == Some("refused")
            || matches!(code, Some(ErrorCode::Denied | ErrorCode::ApprovalRequired))
    }

    /// True when it has a result that is no error.
    pub fn is_ok(&self) -> bool {
        self.outcome == OK
    }
}

impl Host {
    /// Returns the latest matching lines, latest first. Blocks.
    pub fn trail(&self, filter: &TrailFilter, most: usize) -> io::Result<Vec<TrailLine>> {
        let trail = CallTrail::new(&self.settings().state_dir);
        trail.latest(filter.since, most, |line| filter.fits(line))
    }

    /// Counts the tool calls in each of the last 24 hours, oldest first, of every process of this
    /// state folder. Blocks.
    pub fn calls_by_hour(&self) -> io::Result<[TrailCounts; HOURS]> {
        let folder = self.settings().state_dir.join("audit");
        let now = Timestamp::now();
        let mut hours = [TrailCounts::default(); HOURS];
        for file in days(&folder)?.iter().rev().take(2) {
            each_line(file, |line| {
                let hour = hour_of(line.at, now).and_then(|hour| hours.get_mut(hour));
                if let Some(hour) = hour.filter(|_| line.method == "tools/call") {
                    hour.calls += 1;
                    hour.errors += u64::from(line.outcome != OK);
                }
            })?;
        }
        Ok(hours)
    }
}

fn hour_of(at: Timestamp, now: Timestamp) -> Option<usize> {
    // A line of a process whose clock is ahead belongs to the last hour.
    let age = usize::try_from(now.duration_since(at).as_hours().max(0)).ok()?;
    (HOURS - 1).checked_sub(age)
}

fn days(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files: Vec<PathBuf> = listed
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    files.sort();
    Ok(files)
}

/// Skips a line that cannot be read, such as one that is being written.
fn each_line(file: &Path, mut take: impl FnMut(TrailLine)) -> io::Result<()> {
    for line in BufReader::new(File::open(file)?).lines() {
        if let Ok(line) = serde_json::from_str(&line?) {
            take(line);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: &str, outcome: &str) -> String {
        format!(
            r#"{{"at":"{at}","session":"s","client":"c","method":"tools/call","capability":"a","tool":"t","outcome":"{outcome}","elapsedMs":1}}"#
        )
    }

    #[test]
    fn hours_are_counted_back_from_now() {
        let now: Timestamp = "2026-01-31T12:00:00Z".parse().unwrap();
        let hour = |at: &str| hour_of(at.parse().unwrap(), now);
        assert_eq!(hour("2026-01-31T12:00:00Z"), Some(23));
        assert_eq!(hour("2026-01-31T12:07:00Z"), Some(23), "a clock that is ahead");
        assert_eq!(hour("2026-01-31T11:00:01Z"), Some(23));
        assert_eq!(hour("2026-01-31T11:00:00Z"), Some(22));
        assert_eq!(hour("2026-01-30T12:00:01Z"), Some(0));
        assert_eq!(hour("2026-01-30T12:00:00Z"), None);
        assert_eq!(hour("1970-01-01T00:00:00Z"), None);
    }

    #[test]
    fn lines_are_found_and_broken_ones_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("2026-01-02.jsonl");
        let text = [
            &line("2026-01-02T00:00:00Z", "ok"),
            "{\"at\":",
            &line("2026-01-02T01:00:00Z", "tool_error"),
            &line("2026-01-02T02:00:00Z", "DENIED"),
        ]
        .map(|line| format!("{line}\n"))
        .concat();
        fs::write(&file, text).unwrap();
        let mut found = Vec::new();
        each_line(&file, |line| found.push(line)).unwrap();
        assert_eq!(found.len(), 3);
        let ended = |outcome: TrailOutcome| {
            let filter = TrailFilter { outcome: Some(outcome), ..TrailFilter::default() };
            found.iter().filter(|line| filter.fits(line)).count()
        };
        assert_eq!(ended(TrailOutcome::Is("tool_error".to_owned())), 1);
        assert_eq!(ended(TrailOutcome::Failed), 2);
        assert_eq!(ended(TrailOutcome::Is("failed".to_owned())), 0);
        let late = TrailFilter {
            since: Some("2026-01-02T00:30:00Z".parse().unwrap()),
            ..TrailFilter::default()
        };
        assert_eq!(found.iter().filter(|line| late.fits(line)).count(), 2);
        assert!(days(&folder.path().join("nothing")).unwrap().is_empty());
        assert_eq!(days(folder.path()).unwrap(), [file]);
    }
}
