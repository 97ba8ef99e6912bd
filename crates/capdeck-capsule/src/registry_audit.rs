//! What happens to capsules as a whole and to their shares: `logs/registry-<day>.jsonl` in the data folder, in the form
//! of every capsule's own audit.

use std::{path::Path, sync::Arc};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::{
    AuditMode, CapsuleAuthor, CapsuleRegistryError, PrunedLines, StoreError, StoreMode,
    StoreOptions,
    audit::{AuditOutcome, AuditRecord, ChainedAuditLog},
    file_store::make_private_folder,
};

/// What the names of the registry's own logs start with, for [`crate::verify_audit`] and the others.
pub const REGISTRY_LOG: &str = "registry-";

/// The registry's own trail; none where the data folder is only read.
#[derive(Debug)]
pub(crate) struct RegistryAudit(Option<ChainedAuditLog>);

/// Something that was decided about who may use what. It holds ids and no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessEvent {
    /// `grant.approve`, `credential.issue`, `login.fail`, …
    pub action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capsule: Option<String>,
    /// The request, grant, credential, client or operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    pub outcome: AuditOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// What ties an approval to its own request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_approved: Option<String>,
}

/// What a line of the registry is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct AuditSubject {
    pub(crate) capsule: Option<String>,
    pub(crate) share: Option<String>,
}

impl AuditSubject {
    pub(crate) fn capsule(id: &str) -> Self {
        Self { capsule: Some(id.to_owned()), share: None }
    }
}

impl RegistryAudit {
    /// Goes on with the trail in a folder.
    pub(crate) fn open(
        folder: &Path,
        options: &StoreOptions,
    ) -> Result<Self, CapsuleRegistryError> {
        if options.mode == StoreMode::ReadOnly {
            return Ok(Self(None));
        }
        let failed = || CapsuleRegistryError::io("open the registry's audit");
        make_private_folder(folder).map_err(failed())?;
        let log = ChainedAuditLog::open(folder.to_owned(), REGISTRY_LOG, options);
        Ok(Self(Some(log.map_err(failed())?)))
    }

    /// Writes nothing more.
    pub(crate) fn close(&self) {
        if let Some(log) = &self.0 {
            log.close();
        }
    }

    /// Removes the files of days before one.
    pub(crate) fn prune(&self, before: Date) -> Result<PrunedLines, CapsuleRegistryError> {
        match &self.0 {
            Some(log) => log.prune(before).map_err(CapsuleRegistryError::io("prune the audit")),
            None => Err(CapsuleRegistryError::ReadOnly),
        }
    }

    /// In strict mode, nothing is done while something earlier is not recorded.
    pub(crate) fn write_pending(&self) -> Result<(), CapsuleRegistryError> {
        match self.0.as_ref().filter(|log| log.mode() == AuditMode::Strict) {
            Some(log) => {
                log.write_pending().map_err(|source| StoreError::AuditOwed { source }.into())
            }
            None => Ok(()),
        }
    }

    /// Writes the line of something that was done or failed.
    pub(crate) fn record(
        &self,
        author: &Arc<CapsuleAuthor>,
        action: &'static str,
        subject: AuditSubject,
        result: Result<(), &CapsuleRegistryError>,
    ) -> Result<(), CapsuleRegistryError> {
        let outcome = if result.is_ok() { AuditOutcome::Ok } else { AuditOutcome::Error };
        let error_code = result.err().map(|error| error.code().as_str().into());
        self.append(AuditRecord {
            author: Arc::clone(author),
            action: action.into(),
            capsule: subject.capsule,
            share: subject.share,
            outcome,
            error_code,
            ..AuditRecord::default()
        })
    }

    /// Writes down that somebody came with a token that opens nothing. The token is no part of it.
    pub(crate) fn refused(&self, author: &Arc<CapsuleAuthor>) {
        self.denied(author, "share.open", "invalid_token");
    }

    /// Writes down that somebody named a capsule that is none to them. What they named is no part of it: it may be
    /// anything.
    pub(crate) fn out_of_reach(&self, author: &Arc<CapsuleAuthor>) {
        self.denied(author, "capsule.open", "not_found");
    }

    fn denied(&self, author: &Arc<CapsuleAuthor>, action: &'static str, error_code: &'static str) {
        let recorded = self.append(AuditRecord {
            author: Arc::clone(author),
            action: action.into(),
            outcome: AuditOutcome::Denied,
            error_code: Some(error_code.into()),
            ..AuditRecord::default()
        });
        if let Err(error) = recorded {
            tracing::error!(%error, action, "a refusal could not be recorded");
        }
    }

    /// Writes the line of something that was decided about access, elsewhere.
    pub(crate) fn record_access_event(
        &self,
        author: &Arc<CapsuleAuthor>,
        noted: AccessEvent,
    ) -> Result<(), CapsuleRegistryError> {
        self.append(AuditRecord {
            author: Arc::clone(author),
            action: noted.action.into(),
            capsule: noted.capsule,
            subject: noted.subject,
            outcome: noted.outcome,
            error_code: noted.error_code.map(Into::into),
            self_approved: noted.self_approved,
            ..AuditRecord::default()
        })
    }

    fn append(&self, record: AuditRecord) -> Result<(), CapsuleRegistryError> {
        let Some(log) = &self.0 else { return Ok(()) };
        match (log.append(record), log.mode()) {
            (Ok(()), _) => Ok(()),
            (Err(source), AuditMode::Strict) => Err(StoreError::AuditFailed { source }.into()),
            (Err(error), AuditMode::Lenient) => {
                tracing::error!(%error, "a change of the registry could not be recorded; its line is written with the next one");
                Ok(())
            }
        }
    }
}
