//! What the audit of a capsule says, and whether its files are whole.

use std::{io, path::PathBuf};

use capdeck_capsule::{
    AccessEvent, AuditOutcome, AuditQuery, CapsuleSession, Prefix, REGISTRY_LOG, Role, StoreError,
    io_code, query_audit, verify_audit,
};
use jiff::civil::Date;
use serde_json::json;

use super::{Admitted, Answer, LocalDesk, Way, answer};
use crate::capsules::{AuditFilter, CapsuleCaller, CapsuleFailure, CapsuleTool, LookAround};

/// Lines that are answered with when no number is said.
const USUAL: usize = 50;
/// Lines of one answer.
const MOST: usize = 10_000;

/// Records a call of a tool whose arguments did not fit.
pub(super) async fn refused(session: &CapsuleSession, tool: &str) -> Answer {
    let action = match CapsuleTool::named(tool) {
        Some(CapsuleTool::Read) => "read",
        Some(CapsuleTool::Write) => "write",
        Some(CapsuleTool::Signal) => "signal",
        Some(CapsuleTool::Capsules) => "capsules",
        Some(CapsuleTool::Memory) => "memory",
        Some(CapsuleTool::Manage) => "manage",
        None => return Err(CapsuleFailure::invalid(format!("there is no tool `{tool}`"))),
    };
    let reason = "the arguments do not fit".to_owned();
    session.note_failure(action, &StoreError::InvalidInput { what: "arguments", reason }).await?;
    answer(session, &json!({}))
}

impl LocalDesk {
    /// Reads every file of the capsule. The report names places, so it is for those who see all of them.
    pub(super) async fn verify(&self, caller: &CapsuleCaller, capsule: Option<&str>) -> Answer {
        let session = self.owner(caller, capsule, "verify").await?;
        if !session.access().scope.is_all() {
            return Err(CapsuleFailure::new(
                "forbidden_scope",
                "only an access to the whole capsule can verify it",
            ));
        }
        let report = self.capsules.store(&session.capsule().id).await?.verify().await?;
        let mut fields = json!(report);
        if let Some(fields) = fields.as_object_mut() {
            fields.insert("clean".to_owned(), report.is_clean().into());
        }
        answer(&session, &fields)
    }

    pub(super) async fn verify_audit(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
    ) -> Answer {
        let session = self.owner(caller, capsule, "audit.verify").await?;
        let folder = self.logs(&session)?;
        let report = blocking(move || verify_audit(&folder, "")).await?;
        answer(&session, &report)
    }

    /// The last lines that fit, oldest first, without those about what the caller does not reach.
    pub(super) async fn query_audit(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
        filter: AuditFilter,
    ) -> Answer {
        let session = self.owner(caller, capsule, "audit.query").await?;
        let folder = self.logs(&session)?;
        let (query, most) = query(filter)?;
        let mut lines = blocking(move || query_audit(&folder, "", &query, most)).await?;
        let scope = &session.access().scope;
        lines.retain(|line| line.uri.as_ref().is_none_or(|uri| scope.reaches(uri)));
        answer(&session, &json!({ "lines": lines }))
    }

    pub(super) async fn verify_registry_audit(&self, caller: &CapsuleCaller) -> Answer {
        self.admit(caller).require_machine("read the registry's audit")?;
        let folder = self.capsules.registry_logs();
        Ok(json!(blocking(move || verify_audit(&folder, REGISTRY_LOG)).await?))
    }

    pub(super) async fn prune_audit(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
        before: Date,
    ) -> Answer {
        let session = self.session(caller, capsule).await?;
        self.admit(caller).require_machine("prune the audit")?;
        answer(&session, &json!(session.prune_audit(before).await?))
    }

    pub(super) async fn prune_registry_audit(
        &self,
        caller: &CapsuleCaller,
        before: Date,
    ) -> Answer {
        self.admit(caller).require_machine("prune the registry's audit")?;
        let capsules = self.capsules.acting_for(caller.author.clone());
        Ok(json!(capsules.prune_registry_audit(before).await?))
    }

    pub(super) async fn query_registry_audit(
        &self,
        caller: &CapsuleCaller,
        filter: AuditFilter,
    ) -> Answer {
        self.admit(caller).require_machine("read the registry's audit")?;
        let folder = self.capsules.registry_logs();
        let (query, most) = query(filter)?;
        let lines = blocking(move || query_audit(&folder, REGISTRY_LOG, &query, most)).await?;
        Ok(json!({ "lines": lines }))
    }

    pub(super) async fn note_access(&self, caller: &CapsuleCaller, event: AccessEvent) -> Answer {
        self.admit(caller).require_machine("record what was decided about access")?;
        self.capsules.acting_for(caller.author.clone()).note_access(event).await?;
        Ok(json!({}))
    }

    /// Records a look around. The person at this machine is not recorded here: the deck's own trail has its calls.
    pub(super) async fn note_look(&self, caller: &CapsuleCaller, looked: LookAround) -> Answer {
        let Admitted { author, way, .. } = self.admit(caller);
        if way != Way::Machine {
            let LookAround { look, capsule, error_code } = looked;
            let event = AccessEvent {
                action: look.action().to_owned(),
                capsule,
                subject: None,
                outcome: if error_code.is_some() { AuditOutcome::Denied } else { AuditOutcome::Ok },
                error_code,
                self_approved: None,
            };
            self.capsules.acting_for(author).note_access(event).await?;
        }
        Ok(json!({}))
    }

    /// The capsule for a caller who owns it. Recorded either way.
    async fn owner(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
        action: &'static str,
    ) -> Result<CapsuleSession, CapsuleFailure> {
        let session = self.session(caller, capsule).await?;
        let role = session.access().role;
        let refused =
            StoreError::ForbiddenRole { role, needed: Role::Owner, action: "read the audit" };
        let judged = if role == Role::Owner { Ok(()) } else { Err(refused) };
        session.recorded(action, judged).await?;
        Ok(session)
    }

    fn logs(&self, session: &CapsuleSession) -> Result<PathBuf, CapsuleFailure> {
        Ok(self.capsules.root(&session.capsule().id)?.join("logs"))
    }
}

/// What to look for, and how many lines at most.
fn query(filter: AuditFilter) -> Result<(AuditQuery, usize), CapsuleFailure> {
    let AuditFilter { since, until, agent, principal, action, prefix, outcome, after_seq, limit } =
        filter;
    let prefix = prefix.as_deref().map(Prefix::parse).transpose().map_err(StoreError::from)?;
    let most = if limit == 0 { USUAL } else { limit.min(MOST) };
    Ok((AuditQuery { since, until, agent, principal, action, prefix, outcome, after_seq }, most))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, CapsuleFailure> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(|error| {
        CapsuleFailure::new(io_code(&error), format!("cannot read the audit: {error}"))
    })
}
