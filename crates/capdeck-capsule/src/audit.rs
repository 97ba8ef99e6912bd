//! One line per call: who did what with which entry, and how it ended. Never bodies, tokens or memory values.
//!
//! Every line holds the hash of the one before it, so that a changed, removed or inserted line shows. Where the chain
//! begins and ends is kept outside the log, so that a log that was cut or removed shows, too: see `head`.

mod chain;
mod follow;
mod head;
mod line;
mod query;
mod verify;

use std::{collections::HashSet, io, path::PathBuf};

use capdeck_storage::WallClock;
use jiff::civil::Date;
use parking_lot::Mutex;

pub use {
    chain::PrunedLines,
    follow::AuditFollower,
    line::{AccessEvent, AuditLogLine, AuditOrigin, AuditOutcome, REGISTRY_LOG},
    query::query_audit,
    verify::{AuditProblem, AuditReport, verify_audit},
};

use self::chain::AuditChain;
use crate::{
    AuditMode, CapsuleAuthor, StoreError, StoreOptions, StoreResult, WriteDurability,
    file_store::StoreDisk,
};

/// The hash before the first line.
const NO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// Lines that are kept in memory while they cannot be written.
const MAX_UNWRITTEN_LINES: usize = 10_000;

/// A chain of lines in `<prefix><day>.jsonl` files.
#[derive(Debug)]
pub(crate) struct ChainedAuditLog {
    inner: Mutex<AuditLogState>,
    mode: AuditMode,
    durability: WriteDurability,
    clock: WallClock,
}

#[derive(Debug)]
struct AuditLogState {
    chain: AuditChain,
    /// Lines that could not be written yet. In strict mode nothing else is done before they are.
    pending: Vec<AuditLogLine>,
}

impl ChainedAuditLog {
    /// Goes on after the last line in the folder.
    pub(crate) fn open(
        folder: PathBuf,
        prefix: &'static str,
        options: &StoreOptions,
    ) -> io::Result<Self> {
        let chain = AuditChain::open(folder, prefix)?;
        let lost = chain.lost;
        let inner = Mutex::new(AuditLogState { chain, pending: Vec::new() });
        let (mode, durability, clock) = (options.audit, options.durability, options.clock.clone());
        let log = Self { inner, mode, durability, clock };
        if lost > 0 {
            tracing::warn!(
                lines = lost,
                "the machine went down and lost the last lines of the audit"
            );
            log.append(AuditLogLine {
                subject: Some(format!("{lost} lines")),
                outcome: AuditOutcome::Error,
                error_code: Some("machine_down".to_owned()),
                ..AuditLogLine::new(&CapsuleAuthor::client(""), "audit.lost")
            })?;
        }
        Ok(log)
    }

    /// Writes nothing more. Blocks while the disk takes the last lines.
    pub(crate) fn close(&self) {
        let mut inner = self.inner.lock();
        if self.durability == WriteDurability::Synced
            && let Err(error) = inner.chain.sync()
        {
            tracing::warn!(%error, "the disk did not confirm the last lines of the audit");
        }
        inner.chain.is_closed = true;
    }

    /// The number of the last line, as far as that is known now.
    pub(crate) fn seq(&self) -> u64 {
        self.inner.lock().chain.seq()
    }

    /// Whether lines could not be written yet.
    pub(crate) fn has_owed(&self) -> bool {
        !self.inner.lock().pending.is_empty()
    }

    /// Writes lines that are owed.
    pub(crate) fn write_pending(&self) -> io::Result<()> {
        self.inner.lock().settle(&self.clock)
    }

    /// In strict mode, nothing is done while an earlier call is not recorded.
    pub(crate) fn settle(&self) -> StoreResult<()> {
        match self.mode {
            AuditMode::Lenient => Ok(()),
            AuditMode::Strict => {
                self.write_pending().map_err(|source| StoreError::AuditOwed { source })
            }
        }
    }

    /// Writes the line of a call. That is one call to the system, which does not wait for the disk: handing it to another
    /// thread would take longer than the line. In strict mode its caller has to know when it cannot be written.
    pub(crate) fn record(&self, line: AuditLogLine) -> StoreResult<()> {
        self.mode.check_recorded(self.append(line))
    }

    /// Writes a line. A line that fails is kept and written before the next one.
    pub(crate) fn append(&self, line: AuditLogLine) -> io::Result<()> {
        let now = self.clock.now();
        let line = AuditLogLine { ts: now, ..line };
        let mut inner = self.inner.lock();
        let appended = inner
            .settle(&self.clock)
            .and_then(|()| inner.chain.append(std::slice::from_ref(&line), now, false, write_all));
        inner.owe_unless(&appended, [line]);
        appended
    }

    /// Writes the lines of changes, all of them or none. In strict mode the disk has them afterwards.
    pub(crate) fn append_changes(
        &self,
        lines: Vec<AuditLogLine>,
        disk: &StoreDisk,
    ) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let is_synced = self.mode == AuditMode::Strict;
        let mut inner = self.inner.lock();
        let appended = inner.settle(&self.clock).and_then(|()| {
            inner.chain.append(&lines, self.clock.now(), is_synced, |file, bytes| {
                disk.append(file, bytes)?;
                if is_synced { disk.sync_file(file) } else { Ok(()) }
            })
        });
        inner.owe_unless(&appended, lines);
        appended
    }

    /// Writes those lines of changes that the log does not have: their process ended before it wrote them. Each has in
    /// `seq` a number that its line in the log has to be above. Returns how many there were.
    pub(crate) fn recover(&self, lines: Vec<AuditLogLine>) -> io::Result<usize> {
        let mut inner = self.inner.lock();
        let Some(after) = lines.iter().map(|line| line.seq).min() else { return Ok(0) };
        let mut known: HashSet<String> = inner.chain.change_ids(after)?.into_iter().collect();
        let now = self.clock.now();
        for line in lines {
            if line.change_id.clone().is_none_or(|id| known.insert(id)) {
                inner.pending.push(AuditLogLine { recovered_at: Some(now), ..line });
            }
        }
        let missing = inner.pending.len();
        inner.settle(&self.clock)?;
        Ok(missing)
    }

    /// Removes the files of days before one.
    pub(crate) fn prune(&self, before: Date) -> io::Result<PrunedLines> {
        self.inner.lock().chain.prune(before)
    }
}

impl AuditMode {
    /// Reports a committed change whose line may not have been written: an error only in strict mode.
    pub(crate) fn check_recorded(self, recorded: io::Result<()>) -> StoreResult<()> {
        match (recorded, self) {
            (Ok(()), _) => Ok(()),
            (Err(source), Self::Strict) => Err(StoreError::AuditFailed { source }),
            (Err(error), Self::Lenient) => {
                tracing::error!(%error, "a call could not be recorded; its line is written with the next one");
                Ok(())
            }
        }
    }
}

impl AuditLogState {
    fn settle(&mut self, clock: &WallClock) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.chain.append(&self.pending, clock.now(), false, write_all)?;
        self.pending.clear();
        Ok(())
    }

    fn owe_unless(
        &mut self,
        appended: &io::Result<()>,
        lines: impl IntoIterator<Item = AuditLogLine>,
    ) {
        if appended.is_err() {
            let room = MAX_UNWRITTEN_LINES.saturating_sub(self.pending.len());
            self.pending.extend(lines.into_iter().take(room));
        }
    }
}

fn write_all(file: &mut std::fs::File, bytes: &[u8]) -> io::Result<()> {
    io::Write::write_all(file, bytes)
}

#[cfg(test)]
mod tests;
