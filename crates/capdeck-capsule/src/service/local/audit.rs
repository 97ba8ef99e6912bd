//! What the audits say, and whether the files of a capsule are whole.

use std::path::PathBuf;

use super::{ResolvedCaller, ServiceCall, id_of};
use crate::{
    AccessEvent, AuditLogLine, AuditOutcome, AuditReport, CapsuleErrorCode, CapsuleHandle,
    REGISTRY_LOG, Role, StoreError, StoreResult, blocking::blocking, query_audit, service::*,
    verify_audit,
};

/// Lines of one response when no number is given.
const DEFAULT_LINES: usize = 50;
/// Lines of one response.
const MAX_LINES: usize = 10_000;

/// Records a call whose arguments kept it from the service.
pub(crate) async fn note_refusal(
    call: &ServiceCall<'_>,
    request: NoteRefusalRequest,
) -> CapsuleResult<()> {
    let error = StoreError::invalid("arguments", "invalid arguments");
    Ok(call.session().await?.note_failure(request.action, &error)?)
}

/// Reads every file of the capsule. The report names places, so it is for those who see all of them.
pub(crate) async fn verify(
    call: &ServiceCall<'_>,
    _: VerifyRequest,
) -> CapsuleResult<VerifyResponse> {
    let session = owner(call, "verify").await?;
    if !session.access().scope.is_all() {
        return Err(CapsuleError::new(
            CapsuleErrorCode::ForbiddenScope,
            "only an access to the whole capsule can verify it",
        ));
    }
    let report = call.service.capsules.store(&session.capsule().id).await?.verify().await?;
    let clean = report.is_clean();
    Ok(VerifyResponse { capsule: id_of(&session), report, clean })
}

pub(crate) async fn verify_capsule(
    call: &ServiceCall<'_>,
    _: AuditVerifyRequest,
) -> CapsuleResult<AuditVerifyResponse> {
    let session = owner(call, "audit.verify").await?;
    let report = check_log(logs(call, &session)?, "").await?;
    Ok(AuditVerifyResponse { capsule: Some(id_of(&session)), report })
}

/// The last lines that match, oldest first, without those about what the caller does not reach.
pub(crate) async fn query_capsule(
    call: &ServiceCall<'_>,
    filter: AuditFilter,
) -> CapsuleResult<AuditLinesResponse> {
    let session = owner(call, "audit.query").await?;
    let mut lines = find_lines(logs(call, &session)?, "", filter).await?;
    let scope = &session.access().scope;
    lines.retain(|line| line.uri.as_ref().is_none_or(|uri| scope.reaches(uri)));
    Ok(AuditLinesResponse { capsule: Some(id_of(&session)), lines })
}

pub(crate) async fn prune_capsule(
    call: &ServiceCall<'_>,
    request: AuditPruneRequest,
) -> CapsuleResult<AuditPruneResponse> {
    let session = call.session().await?;
    call.require_machine("prune the audit")?;
    let pruned = session.prune_audit(request.before).await?;
    Ok(AuditPruneResponse { capsule: Some(id_of(&session)), pruned })
}

pub(crate) async fn verify_registry(
    call: &ServiceCall<'_>,
    _: RegistryAuditVerifyRequest,
) -> CapsuleResult<AuditVerifyResponse> {
    call.require_machine("read the registry's audit")?;
    let report = check_log(call.service.capsules.registry_logs(), REGISTRY_LOG).await?;
    Ok(AuditVerifyResponse { capsule: None, report })
}

pub(crate) async fn query_registry(
    call: &ServiceCall<'_>,
    RegistryAuditFilter(filter): RegistryAuditFilter,
) -> CapsuleResult<AuditLinesResponse> {
    call.require_machine("read the registry's audit")?;
    let lines = find_lines(call.service.capsules.registry_logs(), REGISTRY_LOG, filter).await?;
    Ok(AuditLinesResponse { capsule: None, lines })
}

pub(crate) async fn prune_registry(
    call: &ServiceCall<'_>,
    request: RegistryAuditPruneRequest,
) -> CapsuleResult<AuditPruneResponse> {
    call.require_machine("prune the registry's audit")?;
    let pruned = call.capsules().prune_registry_audit(request.before).await?;
    Ok(AuditPruneResponse { capsule: None, pruned })
}

/// Records what was decided about access, for the process that decides.
pub(crate) async fn note_access(call: &ServiceCall<'_>, event: AccessEvent) -> CapsuleResult<()> {
    call.require_machine("record what was decided about access")?;
    Ok(call.capsules().record_access_event(event).await?)
}

/// Records a look around. The person at this machine is not recorded here: the deck's own trail has its calls.
pub(crate) async fn note_look(
    call: &ServiceCall<'_>,
    looked: NoteLookRequest,
) -> CapsuleResult<()> {
    let ResolvedCaller { author, reach, .. } = call.resolve();
    if *reach == Reach::All {
        return Ok(());
    }
    let NoteLookRequest { look, capsule, error_code } = looked;
    let event = AccessEvent {
        action: look.action().to_owned(),
        capsule,
        subject: None,
        outcome: if error_code.is_some() { AuditOutcome::Denied } else { AuditOutcome::Ok },
        error_code: error_code.map(|code| code.as_str().to_owned()),
        self_approved: None,
    };
    Ok(call.service.capsules.acting_for(author).record_access_event(event).await?)
}

/// The capsule for a caller who owns it. Recorded either way.
async fn owner(call: &ServiceCall<'_>, action: &'static str) -> CapsuleResult<CapsuleHandle> {
    let session = call.session().await?;
    let judged = StoreError::require_role(session.access().role, Role::Owner, "read the audit");
    session.recorded(action, judged)?;
    Ok(session)
}

fn logs(call: &ServiceCall<'_>, session: &CapsuleHandle) -> CapsuleResult<PathBuf> {
    Ok(call.service.capsules.root(&session.capsule().id)?.join("logs"))
}

/// The last lines of a log that match, oldest first.
async fn find_lines(
    folder: PathBuf,
    log: &'static str,
    filter: AuditFilter,
) -> StoreResult<Vec<AuditLogLine>> {
    let most = if filter.limit == 0 { DEFAULT_LINES } else { filter.limit.min(MAX_LINES) };
    let found = blocking(move || query_audit(&folder, log, &filter, most)).await;
    found.map_err(StoreError::io("read the audit"))?
}

async fn check_log(folder: PathBuf, log: &'static str) -> StoreResult<AuditReport> {
    let checked = blocking(move || verify_audit(&folder, log)).await;
    checked.flatten().map_err(StoreError::io("read the audit"))
}
