//! The audit lines of changes, which are put into the journal together with the changes themselves.

use std::{io, sync::Arc};

use crate::{
    AuditLogLine, AuditMode, CapsuleAuthor, EntryUri, Role, StoreClock, StoreError,
    audit::AuditRecord, digest::hex,
};

use super::engine::StoreEngine;

/// Bytes of a change's name.
const ID_BYTES: usize = 12;

/// Who changes something through a store, for the lines of what they change.
#[derive(Debug, Clone)]
pub(crate) struct ChangeRecorder {
    pub(crate) author: Arc<CapsuleAuthor>,
    pub(crate) role: Role,
}

/// A change as its line describes it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChangeDetails<'a> {
    pub(crate) action: &'static str,
    pub(crate) uri: Option<&'a EntryUri>,
    pub(crate) version: Option<u64>,
    pub(crate) bytes: Option<u64>,
}

impl ChangeRecorder {
    fn line(&self, note: ChangeDetails<'_>, clock: &StoreClock) -> io::Result<AuditLogLine> {
        let mut id = [0_u8; ID_BYTES];
        getrandom::fill(&mut id).map_err(io::Error::other)?;
        let record = AuditRecord {
            author: Arc::clone(&self.author),
            action: note.action.into(),
            role: Some(self.role),
            uri: note.uri.cloned(),
            version: note.version,
            bytes: note.bytes,
            change_id: Some(hex(&id)),
            ..AuditRecord::default()
        };
        Ok(record.into_line(clock.now()))
    }
}

impl StoreEngine {
    /// The line of a change, where somebody records it.
    pub(super) fn line_of(
        &self,
        recorder: Option<&ChangeRecorder>,
        note: ChangeDetails<'_>,
    ) -> Result<Option<AuditLogLine>, StoreError> {
        let line = recorder.map(|recorder| recorder.line(note, &self.options.clock));
        line.transpose().map_err(StoreError::io("name the change"))
    }

    /// A change that was made and whose line could not be written: in strict mode its caller has to know.
    pub(super) fn require_line(&self, unrecorded: Option<io::Error>) -> Result<(), StoreError> {
        match (unrecorded, self.options.audit) {
            (None, _) => Ok(()),
            (Some(source), AuditMode::Strict) => Err(StoreError::AuditFailed { source }),
            (Some(error), AuditMode::Lenient) => {
                tracing::error!(%error, "a change could not be recorded; its line is written with the next one");
                Ok(())
            }
        }
    }
}
