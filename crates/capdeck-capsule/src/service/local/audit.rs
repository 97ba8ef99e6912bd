//! What the audits say, and whether the files of a capsule are whole.

use std::path::PathBuf;

use super::{LocalCapsuleService, ReachSource, ResolvedCaller, id_of};
use crate::{
    AccessEvent, AuditLogLine, AuditOutcome, AuditReport, CapsuleErrorCode, CapsuleHandle,
    REGISTRY_LOG, Role, StoreError, blocking::blocking, query_audit, service::*, verify_audit,
};

/// Lines of one response when no number is given.
const DEFAULT_LINES: usize = 50;
/// Lines of one response.
const MAX_LINES: usize = 10_000;

/// Records a call whose arguments kept it from the service.
pub(super) async fn refusal(
    session: &CapsuleHandle,
    request: NoteRefusalRequest,
) -> Result<(), CapsuleError> {
    let error = StoreError::invalid("arguments", "the arguments do not fit");
    Ok(session.note_failure(request.action, &error)?)
}

impl LocalCapsuleService {
    /// Reads every file of the capsule. The report names places, so it is for those who see all of them.
    pub(super) async fn verify(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
    ) -> Result<VerifyResponse, CapsuleError> {
        let session = self.owner(caller, capsule, "verify").await?;
        if !session.access().scope.is_all() {
            return Err(CapsuleError::new(
                CapsuleErrorCode::ForbiddenScope,
                "only an access to the whole capsule can verify it",
            ));
        }
        let report = self.capsules.store(&session.capsule().id).await?.verify().await?;
        let clean = report.is_clean();
        Ok(VerifyResponse { capsule: id_of(&session), report, clean })
    }

    pub(super) async fn verify_audit(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
    ) -> Result<AuditVerifyResponse, CapsuleError> {
        let session = self.owner(caller, capsule, "audit.verify").await?;
        let folder = self.logs(&session)?;
        let report = check_log(folder, "").await?;
        Ok(AuditVerifyResponse { capsule: Some(id_of(&session)), report })
    }

    /// The last lines that match, oldest first, without those about what the caller does not reach.
    pub(super) async fn query_audit(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
        filter: AuditFilter,
    ) -> Result<AuditLinesResponse, CapsuleError> {
        let session = self.owner(caller, capsule, "audit.query").await?;
        let folder = self.logs(&session)?;
        let mut lines = find_lines(folder, "", filter).await?;
        let scope = &session.access().scope;
        lines.retain(|line| line.uri.as_ref().is_none_or(|uri| scope.reaches(uri)));
        Ok(AuditLinesResponse { capsule: Some(id_of(&session)), lines })
    }

    pub(super) async fn prune_audit(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
        request: AuditPruneRequest,
    ) -> Result<AuditPruneResponse, CapsuleError> {
        let session = self.session(caller, capsule).await?;
        self.resolve(caller).require_machine("prune the audit")?;
        let pruned = session.prune_audit(request.before).await?;
        Ok(AuditPruneResponse { capsule: Some(id_of(&session)), pruned })
    }

    pub(super) async fn verify_registry_audit(
        &self,
        caller: &CapsuleCaller,
    ) -> Result<AuditVerifyResponse, CapsuleError> {
        self.resolve(caller).require_machine("read the registry's audit")?;
        let folder = self.capsules.registry_logs();
        let report = check_log(folder, REGISTRY_LOG).await?;
        Ok(AuditVerifyResponse { capsule: None, report })
    }

    pub(super) async fn query_registry_audit(
        &self,
        caller: &CapsuleCaller,
        filter: AuditFilter,
    ) -> Result<AuditLinesResponse, CapsuleError> {
        self.resolve(caller).require_machine("read the registry's audit")?;
        let folder = self.capsules.registry_logs();
        let lines = find_lines(folder, REGISTRY_LOG, filter).await?;
        Ok(AuditLinesResponse { capsule: None, lines })
    }

    pub(super) async fn prune_registry_audit(
        &self,
        caller: &CapsuleCaller,
        request: RegistryAuditPruneRequest,
    ) -> Result<AuditPruneResponse, CapsuleError> {
        self.resolve(caller).require_machine("prune the registry's audit")?;
        let capsules = self.acting_for(caller);
        let pruned = capsules.prune_registry_audit(request.before).await?;
        Ok(AuditPruneResponse { capsule: None, pruned })
    }

    /// Records what was decided about access, for the process that decides.
    pub(super) async fn note_access(
        &self,
        caller: &CapsuleCaller,
        event: AccessEvent,
    ) -> Result<(), CapsuleError> {
        self.resolve(caller).require_machine("record what was decided about access")?;
        Ok(self.acting_for(caller).record_access_event(event).await?)
    }

    /// Records a look around. The person at this machine is not recorded here: the deck's own trail has its calls.
    pub(super) async fn note_look(
        &self,
        caller: &CapsuleCaller,
        looked: LookAround,
    ) -> Result<(), CapsuleError> {
        let ResolvedCaller { author, source, .. } = self.resolve(caller);
        if source == ReachSource::Machine {
            return Ok(());
        }
        let LookAround { look, capsule, error_code } = looked;
        let event = AccessEvent {
            action: look.action().to_owned(),
            capsule,
            subject: None,
            outcome: if error_code.is_some() { AuditOutcome::Denied } else { AuditOutcome::Ok },
            error_code: error_code.map(|code| code.as_str().to_owned()),
            self_approved: None,
        };
        Ok(self.capsules.acting_for(author).record_access_event(event).await?)
    }

    /// The capsule for a caller who owns it. Recorded either way.
    async fn owner(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
        action: &'static str,
    ) -> Result<CapsuleHandle, CapsuleError> {
        let session = self.session(caller, capsule).await?;
        let judged = StoreError::require_role(session.access().role, Role::Owner, "read the audit");
        session.recorded(action, judged)?;
        Ok(session)
    }

    fn logs(&self, session: &CapsuleHandle) -> Result<PathBuf, CapsuleError> {
        Ok(self.capsules.root(&session.capsule().id)?.join("logs"))
    }
}

/// The last lines of a log that match, oldest first.
async fn find_lines(
    folder: PathBuf,
    log: &'static str,
    filter: AuditFilter,
) -> Result<Vec<AuditLogLine>, StoreError> {
    let most = if filter.limit == 0 { DEFAULT_LINES } else { filter.limit.min(MAX_LINES) };
    blocking(move || query_audit(&folder, log, &filter, most))
        .await
        .map_err(StoreError::io("read the audit"))?
}

async fn check_log(folder: PathBuf, log: &'static str) -> Result<AuditReport, StoreError> {
    let checked = blocking(move || verify_audit(&folder, log)).await;
    checked.flatten().map_err(StoreError::io("read the audit"))
}
