//! Sending, getting and acknowledging signals.

use std::{fs, io};

use super::{
    commit::CommitJob,
    engine::StoreEngine,
    recorder::{ChangeDetails, ChangeRecorder},
};
use crate::{CapsuleAuthor, PollRequest, Signal, SignalDraft, SignalPage, StoreError, signal_id};

impl StoreEngine {
    pub(crate) fn send_signal(
        &self,
        signal: SignalDraft,
        author: &CapsuleAuthor,
        recorder: Option<&ChangeRecorder>,
    ) -> Result<Signal, StoreError> {
        self.writable()?;
        signal.check()?;
        let SignalDraft { kind, text, uri, to, data } = signal;
        let ts = jiff::Timestamp::UNIX_EPOCH;
        let signal = Signal {
            id: String::new(),
            ts,
            from: author.clone(),
            kind,
            text,
            uri,
            version: None,
            to,
            data,
        };
        let uri = signal.uri.clone();
        let note =
            ChangeDetails { action: "signal.send", uri: uri.as_ref(), ..ChangeDetails::default() };
        let line = self.line_of(recorder, note)?;
        let job = CommitJob { signals: vec![signal], line, ..CommitJob::default() };
        let failed = || StoreError::io("send the signal");
        let mut committed = self.commit(job).map_err(failed())?;
        let sent = committed.signals.pop().ok_or_else(|| io::Error::other("it was not appended"));
        self.require_line(committed.unrecorded)?;
        sent.map_err(failed())
    }

    pub(crate) fn poll_signals(
        &self,
        request: &PollRequest,
        author: &CapsuleAuthor,
    ) -> Result<SignalPage, StoreError> {
        let after = match &request.after {
            Some(after) if signal_id::is_id(after) => Some(after.clone()),
            Some(_) => return Err(StoreError::BadCursor),
            None => self.acknowledged(author)?,
        };
        self.signals.poll(&self.layout, request, after.as_deref(), author)
    }

    pub(crate) fn acknowledge(
        &self,
        signal: &str,
        author: &CapsuleAuthor,
    ) -> Result<(), StoreError> {
        self.writable()?;
        if !signal_id::is_id(signal) {
            return Err(StoreError::BadCursor);
        }
        let path = self.layout.cursor(&author.owner());
        let _cursor = self.stripe(&path.to_string_lossy()).lock();
        // A late acknowledgement does not bring back what was dealt with.
        if self.acknowledged(author)?.is_some_and(|known| known.as_str() >= signal) {
            return Ok(());
        }
        self.disk.replace(&path, signal.as_bytes()).map_err(StoreError::io("save the cursor"))
    }

    fn acknowledged(&self, author: &CapsuleAuthor) -> Result<Option<String>, StoreError> {
        let path = self.layout.cursor(&author.owner());
        self.check_file(&path)?;
        match fs::read_to_string(path) {
            Ok(text) => Ok(Some(text.trim().to_owned()).filter(|id| signal_id::is_id(id))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io("read the cursor")(error)),
        }
    }
}
