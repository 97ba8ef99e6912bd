//! Appends to `audit/<day>.jsonl` from its own thread, so that no call waits for the disk.
//!
//! Lines that the disk does not take are kept, within a bound, and written when it does.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use jiff::Timestamp;
use parking_lot::{Condvar, Mutex};

const GATHER_INTERVAL: Duration = Duration::from_millis(20);

const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Bytes that may wait for a slow or full disk.
const MAX_WAITING_BYTES: usize = 16 * 1024 * 1024;

/// Room that a call finds before it is made, where it may not run unaudited.
#[cfg(target_os = "linux")]
const RESERVED_BYTES: u64 = 64 * 1024;

#[derive(Debug)]
pub(super) struct AuditWriter {
    folder: PathBuf,
    queue: Arc<AuditQueue>,
    thread: Option<thread::JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct AuditQueue {
    waiting: Mutex<AuditQueueState>,
    filled: Condvar,
}

#[derive(Debug, Default)]
struct AuditQueueState {
    lines: String,
    is_closed: bool,
    /// Why the last lines could not be written.
    problem: Option<String>,
}

struct TrailFile {
    path: PathBuf,
    file: File,
    /// The last write ended in the middle of a line.
    is_torn: bool,
}

impl TrailFile {
    /// False when the file was removed: what is written to it would be lost.
    fn is_there(&self) -> bool {
        self.file.metadata().is_ok_and(|file| file.nlink() > 0)
    }
}

impl AuditWriter {
    /// Starts the thread. It ends, with everything written, when the writer is dropped.
    pub(super) fn start(folder: PathBuf) -> Self {
        let queue = Arc::new(AuditQueue::default());
        let thread = thread::spawn({
            let (folder, queue) = (folder.clone(), queue.clone());
            move || write_lines(&folder, &queue)
        });
        Self { folder, queue, thread: Some(thread) }
    }

    pub(super) fn write(&self, line: &str) {
        let mut waiting = self.queue.waiting.lock();
        if waiting.lines.len() + line.len() > MAX_WAITING_BYTES {
            tracing::error!(line, "the disk is too slow for the audit trail; a line is lost");
            return;
        }
        let was_empty = waiting.lines.is_empty();
        waiting.lines.push_str(line);
        waiting.lines.push('\n');
        if was_empty {
            self.queue.filled.notify_one();
        }
    }

    pub(super) fn problem(&self) -> Option<String> {
        self.queue.waiting.lock().problem.clone()
    }

    /// Whether the trail would take a line now.
    pub(super) fn check(&self) -> Result<(), String> {
        let file = open_for_append(&today(&self.folder)).map_err(|error| reason(&error))?;
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{FallocateFlags, fallocate};
            let end = file.metadata().map_err(|error| reason(&error))?.len();
            match fallocate(&file, FallocateFlags::KEEP_SIZE, end, RESERVED_BYTES) {
                // Some file systems cannot reserve.
                Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
                Err(error) => return Err(reason(&error.into())),
            }
        }
        drop(file);
        Ok(())
    }
}

impl Drop for AuditWriter {
    /// Waits for the last lines to be on disk: a one-shot command exits right after its call.
    fn drop(&mut self) {
        self.queue.waiting.lock().is_closed = true;
        self.queue.filled.notify_one();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn write_lines(folder: &Path, queue: &AuditQueue) {
    let mut open: Option<TrailFile> = None;
    loop {
        let mut waiting = queue.waiting.lock();
        while waiting.lines.is_empty() && !waiting.is_closed {
            queue.filled.wait(&mut waiting);
        }
        if !waiting.is_closed {
            // Calls come in bursts; one wake-up per burst keeps the cost away from the calls.
            queue.filled.wait_for(&mut waiting, GATHER_INTERVAL);
        }
        let (text, is_closed) = (std::mem::take(&mut waiting.lines), waiting.is_closed);
        drop(waiting);
        let outcome = if text.is_empty() { Ok(()) } else { append(folder, &mut open, &text) };
        let mut waiting = queue.waiting.lock();
        let had_problem = waiting.problem.is_some();
        waiting.problem = outcome.as_ref().err().map(|failed| reason(&failed.error));
        match outcome {
            Ok(()) if had_problem => tracing::info!("the audit trail is written again"),
            Ok(()) => {}
            Err(AppendFailure { error, written }) => {
                if !had_problem || is_closed {
                    let path = folder.display();
                    tracing::error!(%path, %error, "the audit trail could not be written");
                }
                let left = text.get(written..).unwrap_or_default();
                waiting.lines.insert_str(0, left);
                if !is_closed {
                    queue.filled.wait_for(&mut waiting, RETRY_INTERVAL);
                }
            }
        }
        if is_closed {
            return;
        }
    }
}

struct AppendFailure {
    error: io::Error,
    /// Bytes of whole lines that are on disk.
    written: usize,
}

fn append(folder: &Path, open: &mut Option<TrailFile>, text: &str) -> Result<(), AppendFailure> {
    let failed = |error| AppendFailure { error, written: 0 };
    let path = today(folder);
    let mut day = match open.take().filter(|day| day.path == path && day.is_there()) {
        Some(day) => day,
        None => {
            let file = open_for_append(&path).map_err(failed)?;
            TrailFile { path, file, is_torn: false }
        }
    };
    if day.is_torn {
        let ended = day.file.write_all(b"\n");
        day.is_torn = ended.is_err();
        if let Err(error) = ended {
            *open = Some(day);
            return Err(failed(error));
        }
    }
    let mut rest = text.as_bytes();
    let outcome = loop {
        match day.file.write(rest) {
            Ok(0) => break Err(io::Error::from(io::ErrorKind::WriteZero)),
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Err(error),
        }
        if rest.is_empty() {
            break Ok(());
        }
    };
    let done = text.len() - rest.len();
    let written = text.get(..done).and_then(|done| done.rfind('\n')).map_or(0, |end| end + 1);
    day.is_torn = written < done;
    match outcome {
        Ok(()) => {
            *open = Some(day);
            Ok(())
        }
        Err(error) => {
            // A file that takes nothing is opened again: it may have been replaced.
            *open = Some(day).filter(|day| day.is_torn);
            Err(AppendFailure { error, written })
        }
    }
}

fn today(folder: &Path) -> PathBuf {
    folder.join(format!("{}.jsonl", Timestamp::now().strftime("%Y-%m-%d")))
}

fn open_for_append(path: &Path) -> io::Result<File> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    OpenOptions::new().create(true).append(true).open(path)
}

/// Without the path: clients read it.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "its folder is read-only".to_owned(),
        io::ErrorKind::PermissionDenied => "its folder may not be written".to_owned(),
        kind => kind.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(folder: &Path) -> String {
        fs::read_to_string(today(folder)).unwrap()
    }

    #[test]
    fn lines_wait_for_a_folder_that_cannot_be_written() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("audit");
        fs::write(&folder, "in the way").unwrap();
        let writer = AuditWriter::start(folder.clone());
        writer.write("one");
        while writer.problem().is_none() {
            thread::yield_now();
        }
        assert!(writer.check().is_err());
        writer.write("two");
        fs::remove_file(&folder).unwrap();
        assert_eq!(writer.check(), Ok(()));
        drop(writer);
        assert_eq!(lines(&folder), "one\ntwo\n");
    }

    #[test]
    fn a_torn_line_is_ended_and_written_whole() {
        let state = tempfile::tempdir().unwrap();
        let path = today(state.path());
        let mut file = open_for_append(&path).unwrap();
        file.write_all(b"{\"half").unwrap();
        let mut open = Some(TrailFile { path, file, is_torn: true });
        assert!(append(state.path(), &mut open, "whole\n").is_ok());
        assert_eq!(lines(state.path()), "{\"half\nwhole\n");
        assert!(open.is_some_and(|day| !day.is_torn));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_takes_no_line_and_loses_none() {
        let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut open = Some(TrailFile { path: today(folder.path()), file: full, is_torn: false });
        let failed = append(folder.path(), &mut open, "one\n").unwrap_err();
        assert_eq!((failed.written, reason(&failed.error)), (0, "the disk is full".to_owned()));
        assert!(append(folder.path(), &mut open, "one\n").is_ok());
        assert_eq!(lines(folder.path()), "one\n");
    }
}
