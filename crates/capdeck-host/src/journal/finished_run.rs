//! An ended run, and the record of it: without secrets, and bounded in size.

use std::{borrow::Cow, sync::Arc};

use capdeck_auth::{Secret, SecretScrubber};
use capdeck_definition::Definition;
use capdeck_sandbox::{CallRecord, LogEntry, RunEnvelope, RunError, RunErrorCode, RunReport};
use capdeck_storage::sha256_hex;
use serde_json::{Value, value::RawValue};

use super::{
    record::{RecordedCall, RecordedOutcome, RunEnd, RunRecord, RunState},
    reference_index::ReferenceIndex,
};
use crate::{
    HostSettings,
    consent::{shorten, substitutions},
    redact::without_keys,
};

pub(crate) const MAX_ANSWER_BYTES: usize = 8 << 20;
const MAX_VALUE_BYTES: usize = 1 << 20;
/// Larger arguments are stored with their texts cut to `MAX_TEXT_LENGTH` letters.
const MAX_ARGS_BYTES: usize = 16 << 10;
const MAX_TEXT_LENGTH: usize = 200;
const MAX_LOG_BYTES: usize = 16 << 10;

pub(crate) struct FinishedRun {
    /// Complete except for what may have secrets: code, calls, end and logs.
    record: RunRecord,
    outcome: Option<Result<Box<RawValue>, RunError>>,
    calls: Vec<CallRecord>,
    /// All definitions of the deck, which know the secrets: code may contain values of capabilities
    /// that it did not call.
    definitions: Vec<Arc<Definition>>,
}

/// Removes secrets and remembers that it did: known values, and texts that look like a key.
struct RecordScrubber {
    scrubber: SecretScrubber,
    found: bool,
}

impl FinishedRun {
    pub(crate) fn new(
        started: RunRecord,
        report: &mut RunReport,
        definitions: Vec<Arc<Definition>>,
    ) -> Self {
        let calls = std::mem::take(&mut report.calls);
        let moments = std::mem::take(&mut report.moments);
        let RunEnvelope { outcome, diagnostics, meta, .. } = &report.envelope;
        let record = RunRecord {
            id: meta.run_id.clone(),
            session: meta.session_id.as_ref().map(ToString::to_string),
            timeout_ms: meta.timeout_ms,
            duration_ms: meta.duration_ms,
            diagnostics: diagnostics.clone(),
            logs: first_logs(&report.logs),
            moments,
            ..started
        };
        Self { record, outcome: Some(outcome.clone()), calls, definitions }
    }

    pub(crate) fn cancelled(started: RunRecord, definitions: Vec<Arc<Definition>>) -> Self {
        let record = RunRecord { id: uuid::Uuid::now_v7().to_string(), ..started };
        Self { record, outcome: None, calls: Vec::new(), definitions }
    }

    /// Reads the values of the environment and the vault, to remove them.
    pub(super) fn record(
        self,
        settings: &HostSettings,
        references: &mut ReferenceIndex,
    ) -> RunRecord {
        let Self { record, outcome, calls, mut definitions } = self;
        definitions.retain(|definition| references.has_references(definition));
        let is_called = |definition: &Definition| {
            let id = definition.id.as_str();
            calls.iter().any(|call| call.capability.as_deref() == Some(id))
        };
        let known: Vec<_> = definitions
            .iter()
            .map(|definition| (is_called(definition), substitutions(definition, settings)))
            .collect();
        let of_called = known.iter().filter(|(is_called, _)| *is_called);
        let everything =
            SecretScrubber::new(of_called.flat_map(|(_, all)| all).map(|one| &one.value));
        let all = known.iter().flat_map(|(_, all)| all);
        let sensitive: Vec<&Secret> =
            all.filter(|one| one.sensitive).map(|one| &one.value).collect();
        let mut cleaner = RecordScrubber { scrubber: SecretScrubber::new(sensitive), found: false };
        let (state, stopped) = match &outcome {
            None => (RunState::Cancelled, Some("it was cancelled")),
            Some(Ok(_)) => (RunState::Done, None),
            Some(Err(error)) if error.code == RunErrorCode::Paused => (RunState::Paused, None),
            Some(Err(error)) => (RunState::Failed, unrepeatable(error.code)),
        };
        let code = cleaner.text(record.code);
        let mut room = MAX_ANSWER_BYTES;
        let calls: Vec<RecordedCall> =
            calls.into_iter().map(|call| cleaner.call(call, &everything, &mut room)).collect();
        let too_large =
            calls.iter().any(|call| matches!(call.outcome, RecordedOutcome::LeftOut { .. }));
        // Redactions from here on do not affect a replay.
        let found = cleaner.found;
        let end = match outcome {
            None => RunEnd::Nothing,
            Some(Ok(value)) => cleaner.value(value),
            Some(Err(mut error)) => {
                error.message = cleaner.text(error.message);
                error.details = error.details.map(|details| cleaner.tree(details));
                RunEnd::Error(error)
            }
        };
        let because = |text: &str| Some(text.to_owned());
        let unrepeatable = record
            .unrepeatable
            .or_else(|| found.then(|| because("it contained a secret, which is not stored"))?)
            .or_else(|| too_large.then(|| because("its results are too large to store"))?)
            .or(stopped.and_then(because));
        let clean = |entry: LogEntry| LogEntry { message: cleaner.text(entry.message), ..entry };
        let logs = record.logs.into_iter().map(clean).collect();
        RunRecord { state, code, calls, end, logs, unrepeatable, ..record }
    }
}

/// Where chance, and not the script, decided how a run ended.
fn unrepeatable(code: RunErrorCode) -> Option<&'static str> {
    match code {
        RunErrorCode::Timeout => Some("it timed out"),
        RunErrorCode::Diverged => Some("it differed from its record"),
        RunErrorCode::Unavailable
        | RunErrorCode::RequestInvalid
        | RunErrorCode::DiagnosticBlocked
        | RunErrorCode::SessionNotFound
        | RunErrorCode::SessionBusy
        | RunErrorCode::SessionClosed => Some("it did not start"),
        _ => None,
    }
}

impl RecordScrubber {
    fn text(&mut self, text: String) -> String {
        self.cleaned(&text).unwrap_or(text)
    }

    fn cleaned(&mut self, text: &str) -> Option<String> {
        let scrubbed = self.scrubber.text(text);
        let cleaned = match (without_keys(&scrubbed), &scrubbed) {
            (Cow::Owned(cleaned), _) => cleaned,
            (Cow::Borrowed(_), Cow::Owned(scrubbed)) => scrubbed.clone(),
            (Cow::Borrowed(_), Cow::Borrowed(_)) => return None,
        };
        self.found = true;
        Some(cleaned)
    }

    fn tree(&mut self, value: Value) -> Value {
        let text = self.text(value.to_string());
        serde_json::from_str(&text).unwrap_or_default()
    }

    fn json(&mut self, data: Box<RawValue>) -> Option<Box<RawValue>> {
        match self.cleaned(data.get()) {
            None => Some(data),
            Some(cleaned) => RawValue::from_string(cleaned).ok(),
        }
    }

    fn value(&mut self, value: Box<RawValue>) -> RunEnd {
        let bytes = value.get().len();
        if bytes > MAX_VALUE_BYTES {
            return RunEnd::LargeValue { bytes, sha256: sha256_hex(value.get()) };
        }
        self.json(value).map_or(RunEnd::Nothing, RunEnd::Value)
    }

    fn call(&mut self, call: CallRecord, all: &SecretScrubber, room: &mut usize) -> RecordedCall {
        let mut shown: Value = serde_json::from_str(call.args.get()).unwrap_or_default();
        let longest =
            if call.args.get().len() > MAX_ARGS_BYTES { MAX_TEXT_LENGTH } else { usize::MAX };
        shorten(&mut shown, all, longest);
        let shown = self.tree(shown);
        let mut call = RecordedCall::from_record(call, shown);
        call.meta = call.meta.and_then(|meta| self.json(meta));
        call.outcome = match call.outcome {
            RecordedOutcome::Data(data) => {
                let bytes = data.get().len();
                *room = room.saturating_sub(bytes);
                match self.json(data) {
                    Some(data) if *room > 0 => RecordedOutcome::Data(data),
                    _ => RecordedOutcome::LeftOut { bytes },
                }
            }
            RecordedOutcome::Failure(mut failure) => {
                failure.message = self.text(failure.message);
                failure.details = failure.details.map(|details| self.tree(details));
                RecordedOutcome::Failure(failure)
            }
            other => other,
        };
        call
    }
}

fn first_logs(logs: &[LogEntry]) -> Vec<LogEntry> {
    let mut room = MAX_LOG_BYTES;
    let fits = |entry: &&LogEntry| {
        let fits = entry.message.len() <= room;
        room = room.saturating_sub(entry.message.len());
        fits
    };
    logs.iter().take_while(fits).cloned().collect()
}
