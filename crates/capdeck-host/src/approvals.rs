//! Approvals: calls that wait for a person or may be repeated once, and tools that may always run.
//!
//! One file, changed under a lock, because the person approves from another process. Each entry is
//! sealed with a key of this machine: an edited or copied entry has no effect.

mod record;

#[cfg(test)]
mod tests;

use std::{
    io,
    path::{Path, PathBuf},
};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

pub use record::{Approval, ApprovalState};

use self::record::{ApprovalRecord, SealKey};
use crate::durable;

const REQUEST_LIFETIME: SignedDuration = SignedDuration::from_hours(1);
const APPROVAL_LIFETIME: SignedDuration = SignedDuration::from_mins(10);
/// The oldest waiting calls are dropped beyond this.
const MAX_PENDING_REQUESTS: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalRequest {
    pub(crate) capability: String,
    /// Fingerprint of the capability's definition: another definition needs another approval.
    pub(crate) fingerprint: String,
    pub(crate) tool: String,
    /// Digest of the tool's definition; `None` when it is unknown.
    pub(crate) definition: Option<String>,
    pub(crate) arguments_digest: String,
    pub(crate) arguments: String,
    pub(crate) client: String,
    pub(crate) principal: String,
    /// Sources of data in the arguments, if that is why approval is needed. An approval covers the
    /// call regardless of the reason.
    #[serde(skip)]
    pub(crate) carries: Option<String>,
}

/// How long an approval holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalDuration {
    Once,
    Always,
}

/// Why an approval cannot be given or revoked.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    #[error("there is no approval `{id}`; a waiting call expires after one hour")]
    Unknown { id: String },
    #[error("`{id}` cannot be approved permanently: its definition is not known")]
    NoDefinition { id: String },
    #[error("the approvals in `{}` cannot be used", path.display())]
    Storage { path: PathBuf, source: io::Error },
}

/// The approvals of one state folder.
#[derive(Debug, Clone)]
pub struct ApprovalStore {
    folder: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct ApprovalFile {
    #[serde(default)]
    items: Vec<ApprovalRecord>,
}

impl ApprovalStore {
    pub fn new(state_dir: &Path) -> Self {
        Self { folder: state_dir.join("approvals") }
    }

    /// Returns all pending, one-time and standing approvals, oldest first.
    pub fn list(&self, now: Timestamp) -> Result<Vec<Approval>, ApprovalError> {
        Ok(self.live(now)?.iter().map(ApprovalRecord::to_approval).collect())
    }

    /// Approves a waiting call, or permanently the tool it calls.
    pub fn approve(
        &self,
        id: &str,
        hold: ApprovalDuration,
        now: Timestamp,
    ) -> Result<Approval, ApprovalError> {
        self.change(now, |items, key| {
            let record = items
                .iter_mut()
                .find(|record| record.id == id && !record.is_standing)
                .ok_or_else(|| ApprovalError::Unknown { id: id.to_owned() })?;
            if hold == ApprovalDuration::Always && record.call.definition.is_none() {
                return Err(ApprovalError::NoDefinition { id: id.to_owned() });
            }
            record.approved_at = Some(now);
            record.is_standing = hold == ApprovalDuration::Always;
            record.seal(key);
            Ok(record.to_approval())
        })?
    }

    /// Revokes an approval, or drops a waiting call.
    pub fn revoke(&self, id: &str, now: Timestamp) -> Result<Approval, ApprovalError> {
        self.change(now, |items, _| {
            let place = items.iter().position(|record| record.id == id);
            let place = place.ok_or_else(|| ApprovalError::Unknown { id: id.to_owned() })?;
            Ok(items.remove(place).to_approval())
        })?
    }

    pub(crate) fn is_tool_approved(
        &self,
        call: &ApprovalRequest,
        now: Timestamp,
    ) -> Result<bool, ApprovalError> {
        Ok(self.live(now)?.iter().any(|record| record.covers_tool(call)))
    }

    /// Returns whether an earlier approval covers the call; uses up a one-time approval.
    pub(crate) fn use_approval(
        &self,
        call: &ApprovalRequest,
        now: Timestamp,
    ) -> Result<Option<ApprovalDuration>, ApprovalError> {
        let live = self.live(now)?;
        if live.iter().any(|record| record.covers_tool(call)) {
            return Ok(Some(ApprovalDuration::Always));
        }
        if !live.iter().any(|record| record.covers_call(call)) {
            return Ok(None);
        }
        // Checked again under the lock, so that two callers never use one approval.
        self.change(now, |items, _| {
            let place = items.iter().position(|record| record.covers_call(call));
            place.map(|place| items.remove(place)).map(|_| ApprovalDuration::Once)
        })
    }

    /// Adds a waiting call. Repeating the same call returns the same entry.
    pub(crate) fn request(
        &self,
        call: &ApprovalRequest,
        now: Timestamp,
    ) -> Result<Approval, ApprovalError> {
        self.change(now, |items, key| {
            if let Some(known) = items
                .iter()
                .find(|record| record.approved_at.is_none() && record.is_same_call(call))
            {
                return known.to_approval();
            }
            while items.iter().filter(|record| record.approved_at.is_none()).count()
                >= MAX_PENDING_REQUESTS
            {
                let oldest = items.iter().position(|record| record.approved_at.is_none());
                oldest.map(|place| items.remove(place));
            }
            let mut record = ApprovalRecord::new(call, now, items);
            record.seal(key);
            let shown = record.to_approval();
            items.push(record);
            shown
        })
    }

    pub(crate) fn remember(
        &self,
        call: &ApprovalRequest,
        now: Timestamp,
    ) -> Result<(), ApprovalError> {
        self.change(now, |items, key| {
            if items.iter().any(|record| record.covers_tool(call)) {
                return;
            }
            let mut record = ApprovalRecord::new(call, now, items);
            record.approved_at = Some(now);
            record.is_standing = true;
            record.seal(key);
            items.push(record);
        })
    }

    /// Changes the entries under the lock; drops expired and tampered entries.
    fn change<R>(
        &self,
        now: Timestamp,
        change: impl FnOnce(&mut Vec<ApprovalRecord>, &SealKey) -> R,
    ) -> Result<R, ApprovalError> {
        let key = self.key()?;
        durable::update_json(&self.file(), |file: &mut ApprovalFile| {
            file.items.retain(|record| record.is_live(&key, now));
            change(&mut file.items, &key)
        })
        .map_err(|error| self.failed(error))
    }

    fn live(&self, now: Timestamp) -> Result<Vec<ApprovalRecord>, ApprovalError> {
        let key = self.key()?;
        let loaded = durable::load_json(&self.file());
        let ApprovalFile { mut items } = loaded.map_err(|error| self.failed(error))?;
        items.retain(|record| record.is_live(&key, now));
        Ok(items)
    }

    fn key(&self) -> Result<SealKey, ApprovalError> {
        let key = durable::load_or_create_key(&self.folder.join("key"));
        key.map(SealKey).map_err(|error| self.failed(error))
    }

    fn file(&self) -> PathBuf {
        self.folder.join("calls.json")
    }

    fn failed(&self, source: io::Error) -> ApprovalError {
        ApprovalError::Storage { path: self.file(), source }
    }
}
