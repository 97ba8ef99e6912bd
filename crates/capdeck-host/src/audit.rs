//! The audit trail: one JSON line per call, read, prompt, completion, search, subscription and task
//! request, denied ones too: who, what, outcome, duration. No arguments, no results.

mod trail;

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::RawMembers;
use jiff::Timestamp;
use parking_lot::{Condvar, Mutex};
use tokio::sync::broadcast;

pub use self::trail::{
    CallTrail, TrailCounts, TrailFilter, TrailFollower, TrailLine, TrailOutcome,
};
use crate::{Host, Session, raw};

const GATHER_INTERVAL: Duration = Duration::from_millis(20);

/// Bytes that may wait for a slow disk.
const MAX_WAITING_BYTES: usize = 16 * 1024 * 1024;

/// Clients choose their name and the names they call; a longer one is cut, so that the line is not
/// lost.
const MAX_NAME_BYTES: usize = 1_000;

const MAX_FEED_LAG: usize = 1_024;

pub(crate) const TOOL_CALL: &str = "tools/call";

/// Counts calls of unknown capabilities. It cannot be an id.
const UNKNOWN: &str = "(unknown)";

/// Appends to `audit/<day>.jsonl` from its own thread, so that no call waits for the disk.
#[derive(Debug)]
pub(crate) struct CallAuditLog {
    news: broadcast::Sender<Arc<str>>,
    queue: Arc<AuditQueue>,
    writer: Option<thread::JoinHandle<()>>,
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
}

/// The line of work in progress. It is written however the work ends, also when it is dropped
/// because its caller is gone.
pub(crate) struct PendingAudit<'a> {
    session: &'a Session,
    method: &'a str,
    capability: &'a str,
    subject: &'a str,
    started: Instant,
    outcome: Option<&'static str>,
    /// The gate's decision. Only tool calls have one.
    pub(crate) approved: Option<&'static str>,
    pub(crate) data_from: Vec<String>,
}

impl PendingAudit<'_> {
    /// Work that began earlier than its line.
    pub(crate) fn since(mut self, started: Instant) -> Self {
        self.started = started;
        self
    }

    pub(crate) fn end(mut self, outcome: &'static str) {
        self.note_outcome(outcome);
    }

    /// The outcome of work that ends together with its line.
    pub(crate) fn note_outcome(&mut self, outcome: &'static str) {
        self.outcome = Some(outcome);
    }
}

impl Drop for PendingAudit<'_> {
    fn drop(&mut self) {
        let outcome = self.outcome.unwrap_or_else(|| match thread::panicking() {
            true => ErrorCode::InternalError.as_str(),
            false => ErrorCode::Cancelled.as_str(),
        });
        let host = &self.session.host;
        if self.method == TOOL_CALL {
            // Unknown names are counted as one: a client that invents them must not fill the
            // memory.
            let is_known = host.catalog().get(self.capability).is_some();
            let capability = if is_known { self.capability } else { UNKNOWN };
            count(capability, outcome, self.started.elapsed());
        }
        host.0.audit.record(&TrailLine {
            at: Timestamp::now(),
            session: self.session.id.to_string(),
            client: cut(&self.session.client_name),
            method: cut(self.method),
            capability: cut(self.capability),
            tool: cut(self.subject),
            outcome: outcome.to_owned(),
            approved: self.approved.map(str::to_owned),
            data_from: std::mem::take(&mut self.data_from),
            elapsed_ms: elapsed_ms(self.started),
        });
    }
}

fn count(capability: &str, outcome: &'static str, elapsed: Duration) {
    let capability = metrics::SharedString::from(capability.to_owned());
    let labels = [("capability", capability), ("outcome", outcome.into())];
    metrics::counter!("capdeck_calls_total", &labels).increment(1);
    metrics::histogram!("capdeck_call_seconds", &labels).record(elapsed);
}

impl Session {
    /// Writes the line of a client that listens for changes: of one server, or of the deck when the
    /// name is empty.
    pub fn note_listening(&self, capability: &str) {
        self.begin_audit("subscriptions/listen", capability, "").end("ok");
    }

    pub(crate) fn begin_audit<'a>(
        &'a self,
        method: &'a str,
        capability: &'a str,
        subject: &'a str,
    ) -> PendingAudit<'a> {
        PendingAudit {
            session: self,
            method,
            capability,
            subject,
            started: Instant::now(),
            outcome: None,
            approved: None,
            data_from: Vec::new(),
        }
    }

    pub(crate) async fn audited<T>(
        &self,
        method: &str,
        capability: &str,
        subject: &str,
        work: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let line = self.begin_audit(method, capability, subject);
        let outcome = work.await;
        line.end(outcome.as_ref().map_or_else(|error| error.code.as_str(), |_| "ok"));
        outcome
    }
}

pub(crate) fn subject(method: &str, params: Option<&RawMembers>) -> Option<String> {
    let text = |key: &str| raw::string(params?.get(key)?);
    let uri = || text("uri").map(|uri| without_query(&uri).to_owned());
    match method {
        "resources/read" => Some(uri().unwrap_or_default()),
        "prompts/get" => Some(text("name").unwrap_or_default()),
        "completion/complete" => Some(String::new()),
        _ => None,
    }
}

/// A URI's query may hold secrets, so it is not logged.
pub(crate) fn without_query(uri: &str) -> &str {
    uri.split('?').next().unwrap_or_default()
}

impl CallAuditLog {
    /// Starts the writer. It ends, with everything written, when the log is dropped.
    pub(crate) fn open(state_dir: &Path) -> Self {
        let queue = Arc::new(AuditQueue::default());
        let folder = state_dir.join("audit");
        let writer = thread::spawn({
            let queue = queue.clone();
            move || write_lines(&folder, &queue)
        });
        Self { news: broadcast::Sender::new(MAX_FEED_LAG), queue, writer: Some(writer) }
    }

    fn record(&self, line: &TrailLine) {
        let Ok(text) = serde_json::to_string(line) else { return };
        if self.news.receiver_count() > 0 {
            drop(self.news.send(text.as_str().into()));
        }
        let mut waiting = self.queue.waiting.lock();
        if waiting.lines.len() + text.len() > MAX_WAITING_BYTES {
            tracing::error!(
                line = text,
                "the disk is too slow for the audit trail; a line is lost"
            );
            return;
        }
        let was_empty = waiting.lines.is_empty();
        waiting.lines.push_str(&text);
        waiting.lines.push('\n');
        if was_empty {
            self.queue.filled.notify_one();
        }
    }
}

pub(crate) fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn cut(name: &str) -> String {
    name.get(..name.floor_char_boundary(MAX_NAME_BYTES)).unwrap_or(name).to_owned()
}

impl Host {
    /// Subscribes to the lines of the audit trail.
    pub fn audited(&self) -> broadcast::Receiver<Arc<str>> {
        self.0.audit.news.subscribe()
    }
}

impl Drop for CallAuditLog {
    /// Waits for the last lines to be on disk: a one-shot command exits right after its call.
    fn drop(&mut self) {
        self.queue.waiting.lock().is_closed = true;
        self.queue.filled.notify_one();
        if let Some(writer) = self.writer.take() {
            drop(writer.join());
        }
    }
}

fn write_lines(folder: &Path, queue: &AuditQueue) {
    let mut open: Option<(PathBuf, File)> = None;
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
        if !text.is_empty() {
            append(folder, &mut open, &text);
        }
        if is_closed {
            return;
        }
    }
}

fn append(folder: &Path, open: &mut Option<(PathBuf, File)>, text: &str) {
    let path = folder.join(format!("{}.jsonl", Timestamp::now().strftime("%Y-%m-%d")));
    if open.as_ref().is_none_or(|(current, _)| *current != path) {
        *open = open_for_append(&path).map(|file| (path, file));
    }
    let Some((path, file)) = open else { return };
    if let Err(error) = file.write_all(text.as_bytes()) {
        tracing::error!(path = %path.display(), %error, "the audit trail could not be written");
        *open = None;
    }
}

fn open_for_append(path: &Path) -> Option<File> {
    let outcome = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| OpenOptions::new().create(true).append(true).open(path));
    outcome
        .inspect_err(|error| {
            tracing::error!(path = %path.display(), %error, "the audit trail could not be opened");
        })
        .ok()
}
