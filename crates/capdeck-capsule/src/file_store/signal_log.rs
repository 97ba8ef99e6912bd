//! The signals of a capsule: `signals/<day>.jsonl`, numbered without gaps.

use std::{collections::VecDeque, fs, io, path::PathBuf};

use capdeck_storage::WallClock;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::{
    capsule_files::{CapsuleFiles, CommitJob},
    disk::StoreDisk,
    journal_record::{FileOperation, JournalChange},
    layout::CapsuleLayout,
};
use crate::{
    AuditLogLine, CapsuleAuthor, ChangeAuthor, EntryScope, Signal, SignalPage, StoreError,
    StoreResult,
    day_file::{self, DayFile},
    service::PollSignalsRequest,
    signal_id,
};

/// Signals kept in memory; older ones are read from their files.
const MAX_CACHED_SIGNALS: usize = 2_000;

#[derive(Debug)]
pub(crate) struct SignalLog {
    inner: Mutex<SignalLogState>,
    clock: WallClock,
}

#[derive(Debug)]
struct SignalLogState {
    file: DayFile,
    recent: VecDeque<Signal>,
    /// Whether nothing is older than what is in memory.
    is_complete: bool,
    last_id: Option<String>,
    last_seq: u64,
}

/// Signals with their ids and times, about to be sent.
#[derive(Debug)]
pub(crate) struct SignalBatch {
    /// Of each writer.
    signals: Vec<Vec<Signal>>,
    /// None when there are no signals.
    lines: Option<SignalAppend>,
}

/// Lines for the end of a file.
#[derive(Debug)]
struct SignalAppend {
    now: Timestamp,
    path: PathBuf,
    start: u64,
    bytes: Vec<u8>,
    last_id: Option<String>,
    last_seq: u64,
}

impl SignalBatch {
    /// What the journal keeps of them.
    pub(super) fn redo(&self, layout: &CapsuleLayout) -> Option<JournalChange<'_>> {
        self.lines.as_ref().map(|SignalAppend { path, start, bytes, .. }| {
            let change = FileOperation::Append { start: *start, bytes };
            JournalChange { path: layout.display_path(path), change }
        })
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SignalLine {
    pub(crate) seq: u64,
    #[serde(flatten)]
    pub(crate) signal: Signal,
}

impl SignalLog {
    pub(crate) fn open(layout: &CapsuleLayout, clock: WallClock) -> io::Result<Self> {
        let folder = layout.folder("signals");
        let days = day_file::days(&folder, "")?;
        let mut inner = SignalLogState {
            file: DayFile::new(folder, "")?,
            recent: VecDeque::new(),
            is_complete: days.len() <= 1,
            last_id: None,
            last_seq: 0,
        };
        // The newest file that holds a line has the last id and number. Only its end is parsed.
        for (_, path) in days.iter().rev() {
            let text = fs::read(path)?;
            let lines: Vec<&[u8]> =
                text.split(|byte| *byte == b'\n').rev().take(MAX_CACHED_SIGNALS + 1).collect();
            inner.is_complete &= lines.len() <= MAX_CACHED_SIGNALS;
            for line in lines.iter().rev() {
                let Ok(line) = serde_json::from_slice::<SignalLine>(line) else { continue };
                inner.last_seq = inner.last_seq.max(line.seq);
                inner.last_id = Some(line.signal.id.clone());
                inner.remember(line.signal);
            }
            if inner.last_seq > 0 {
                break;
            }
        }
        Ok(Self { inner: Mutex::new(inner), clock })
    }

    /// Gives the signals of several writers their ids and times. They cannot be seen before they are sent, and they are
    /// sent or dropped before the next ones are prepared.
    pub(crate) fn prepare(&self, mut signals: Vec<Vec<Signal>>) -> io::Result<SignalBatch> {
        if signals.iter().all(Vec::is_empty) {
            return Ok(SignalBatch { signals, lines: None });
        }
        let mut inner = self.inner.lock();
        let now = self.clock.now();
        let (mut last_id, mut last_seq) = (inner.last_id.clone(), inner.last_seq);
        let mut bytes = Vec::new();
        for signal in signals.iter_mut().flatten() {
            last_seq += 1;
            signal.id = signal_id::next_id(last_id.as_deref(), now);
            signal.ts = now;
            last_id = Some(signal.id.clone());
            let line = SignalLine { seq: last_seq, signal: signal.clone() };
            serde_json::to_writer(&mut bytes, &line).map_err(io::Error::other)?;
            bytes.push(b'\n');
        }
        let (path, start) = inner.file.place(now)?;
        let lines = Some(SignalAppend { now, path, start, bytes, last_id, last_seq });
        Ok(SignalBatch { signals, lines })
    }

    /// Sends what was prepared last: all of it, or nothing.
    pub(crate) fn send(
        &self,
        outgoing: SignalBatch,
        disk: &StoreDisk,
    ) -> io::Result<Vec<Vec<Signal>>> {
        let SignalBatch { signals, lines } = outgoing;
        let Some(SignalAppend { now, bytes, last_id, last_seq, .. }) = lines else {
            return Ok(signals);
        };
        let mut inner = self.inner.lock();
        inner.file.append(now, &bytes, |file, bytes| disk.append(file, bytes))?;
        (inner.last_id, inner.last_seq) = (last_id, last_seq);
        for signal in signals.iter().flatten() {
            inner.remember(signal.clone());
        }
        Ok(signals)
    }

    /// The signals after an id that the caller may see.
    pub(crate) fn poll(
        &self,
        layout: &CapsuleLayout,
        request: &PollSignalsRequest,
        after: Option<&str>,
        author: &CapsuleAuthor,
        scope: &EntryScope,
    ) -> StoreResult<SignalPage> {
        let mut page = SignalCollector { request, author, scope, after, found: Vec::new() };
        let in_memory = {
            let inner = self.inner.lock();
            let oldest = inner.recent.front().map(|signal| signal.id.as_str());
            let reaches = inner.is_complete
                || after.is_some_and(|after| oldest.is_some_and(|oldest| oldest <= after));
            if reaches {
                let _ = inner.recent.iter().all(|signal| page.take(signal));
            }
            reaches
        };
        if !in_memory {
            read_files(layout, after, |signal| page.take(&signal))
                .map_err(StoreError::io("read the signals"))?;
        }
        Ok(page.finish())
    }
}

impl SignalLogState {
    fn remember(&mut self, signal: Signal) {
        if self.recent.len() == MAX_CACHED_SIGNALS {
            self.recent.pop_front();
            self.is_complete = false;
        }
        self.recent.push_back(signal);
    }
}

struct SignalCollector<'a> {
    request: &'a PollSignalsRequest,
    author: &'a CapsuleAuthor,
    scope: &'a EntryScope,
    after: Option<&'a str>,
    found: Vec<Signal>,
}

impl SignalCollector<'_> {
    /// False when the page is full.
    fn take(&mut self, signal: &Signal) -> bool {
        if self.after.is_some_and(|after| signal.id.as_str() <= after)
            || !self.request.matches(signal, self.author, self.scope)
        {
            return true;
        }
        self.found.push(signal.clone());
        self.found.len() <= self.request.page_size()
    }

    fn finish(mut self) -> SignalPage {
        let has_more = self.found.len() > self.request.page_size();
        self.found.truncate(self.request.page_size());
        let last_seen = self.found.last().map(|signal| signal.id.clone());
        let next_cursor = last_seen.or_else(|| self.after.map(str::to_owned));
        SignalPage { signals: self.found, next_cursor, has_more }
    }
}

pub(super) fn send(files: &CapsuleFiles, signal: Signal, by: &ChangeAuthor) -> StoreResult<Signal> {
    files.writable()?;
    let line = AuditLogLine { uri: signal.uri.clone(), ..files.line_of(by, "signal.send")? };
    let failed = || StoreError::io("send the signal");
    let job = CommitJob { signals: vec![signal], line: Some(line), ..CommitJob::default() };
    let mut committed = files.commit(job).map_err(failed())?;
    let sent = committed.signals.pop().ok_or_else(|| io::Error::other("it was not appended"));
    files.require_line(committed.unrecorded)?;
    sent.map_err(failed())
}

/// The signals for an author, from the last one it acknowledged on.
pub(super) fn poll(
    files: &CapsuleFiles,
    request: &PollSignalsRequest,
    scope: &EntryScope,
    author: &CapsuleAuthor,
) -> StoreResult<SignalPage> {
    let after = match &request.after {
        Some(after) if signal_id::is_id(after) => Some(after.clone()),
        Some(_) => return Err(StoreError::BadCursor),
        None => acknowledged(files, author)?,
    };
    files.signals.poll(&files.layout, request, after.as_deref(), author, scope)
}

pub(super) fn acknowledge(
    files: &CapsuleFiles,
    signal: &str,
    author: &CapsuleAuthor,
) -> StoreResult<()> {
    files.writable()?;
    if !signal_id::is_id(signal) {
        return Err(StoreError::BadCursor);
    }
    let path = files.layout.cursor(&author.owner());
    let _cursor = files.stripe(&path.to_string_lossy()).lock();
    // A late acknowledgement does not bring back what was dealt with.
    if acknowledged(files, author)?.is_some_and(|known| known.as_str() >= signal) {
        return Ok(());
    }
    files.disk.replace(&path, signal.as_bytes()).map_err(StoreError::io("save the cursor"))
}

fn acknowledged(files: &CapsuleFiles, author: &CapsuleAuthor) -> StoreResult<Option<String>> {
    let path = files.layout.cursor(&author.owner());
    files.layout.check_file(&path)?;
    let read = capdeck_storage::read_if_exists(&path)
        .and_then(|bytes| bytes.map(String::from_utf8).transpose().map_err(io::Error::other));
    let text = read.map_err(StoreError::io("read the cursor"))?;
    Ok(text.map(|text| text.trim().to_owned()).filter(|id| signal_id::is_id(id)))
}

/// Reads signals from their files, oldest first, until `take` has enough.
fn read_files(
    layout: &CapsuleLayout,
    after: Option<&str>,
    mut take: impl FnMut(Signal) -> bool,
) -> io::Result<()> {
    let first = after.and_then(signal_id::time_of).map(day_file::day);
    let days = day_file::days(&layout.folder("signals"), "")?;
    // Ids run ahead of a clock that went back, never behind the day of their file by more than one.
    let start =
        first.map_or(0, |first| days.partition_point(|(day, _)| *day < first).saturating_sub(1));
    for (_, path) in days.iter().skip(start) {
        for line in day_file::lines::<SignalLine>(path)? {
            if !take(line?.signal) {
                return Ok(());
            }
        }
    }
    Ok(())
}
