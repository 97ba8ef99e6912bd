//! Capsules as a whole: which there are, making, changing and deleting them, their shares, and whether their folder can
//! be used.

use super::{ResolvedCaller, ServiceCall};
use crate::{
    CapsuleAccess, CapsuleErrorCode, CapsuleInfo, CapsuleUpdate, CapsuleVisibility, Share,
    service::*,
};

pub(crate) async fn list_capsules(
    call: &ServiceCall<'_>,
    request: ListCapsulesRequest,
) -> CapsuleResult<ListCapsulesResponse> {
    let ResolvedCaller { reached, reach, .. } = call.resolve();
    let mut capsules = Vec::with_capacity(reached.len());
    for (info, access) in reached {
        let (mut entries, mut problem) = (None, None);
        if request.with_counts {
            // One that cannot be opened costs only its own count.
            match count_entries(call, &info.id, &access).await {
                Ok(count) => entries = Some(count),
                Err(error) => {
                    tracing::warn!(capsule = info.id, %error, "a capsule cannot be opened");
                    problem = Some(problem_for(reach, error));
                }
            }
        }
        capsules.push(CapsuleSummary { info, access, entries, problem });
    }
    Ok(ListCapsulesResponse { capsules })
}

async fn count_entries(
    call: &ServiceCall<'_>,
    id: &str,
    access: &CapsuleAccess,
) -> CapsuleResult<usize> {
    let counts = call.service.capsules.store(id).await?.counts(&access.scope).await?;
    Ok(counts.iter().map(|scheme| scheme.entries).sum())
}

pub(crate) async fn create_capsule(
    call: &ServiceCall<'_>,
    request: CreateCapsuleRequest,
) -> CapsuleResult<CapsuleInfo> {
    call.require_machine("make capsules")?;
    let CreateCapsuleRequest { name, description, visibility } = request;
    let new = CapsuleUpdate { name: Some(name), description, visibility };
    Ok(call.changed(call.capsules().create(new).await?))
}

pub(crate) async fn update_capsule(
    call: &ServiceCall<'_>,
    update: CapsuleUpdate,
) -> CapsuleResult<CapsuleInfo> {
    let id = call.own_capsule("change a capsule")?;
    Ok(call.changed(call.capsules().update(&id, update).await?))
}

pub(crate) async fn delete_capsule(
    call: &ServiceCall<'_>,
    _: DeleteCapsuleRequest,
) -> CapsuleResult<CapsuleInfo> {
    let id = call.own_capsule("delete a capsule")?;
    Ok(call.changed(call.capsules().delete(&id).await?))
}

/// Removes a capsule, or the files that were moved aside when it was deleted before.
pub(crate) async fn purge_capsule(
    call: &ServiceCall<'_>,
    _: PurgeCapsuleRequest,
) -> CapsuleResult<PurgeCapsuleResponse> {
    let resolved = call.resolve();
    let is_machine = resolved.require_machine("purge a capsule");
    match (resolved.choose(call.capsule), call.capsule) {
        (Ok((info, _)), _) => {
            is_machine?;
            let info = call.changed(call.capsules().purge(&info.id).await?);
            Ok(PurgeCapsuleResponse::Capsule { info, purged: 1 })
        }
        (Err(error), Some(id))
            if error.code == CapsuleErrorCode::CapsuleNotFound && is_machine.is_ok() =>
        {
            let purged = call.capsules().purge_deleted(id).await?;
            Ok(PurgeCapsuleResponse::Remains { id: id.to_owned(), purged })
        }
        (Err(error), _) => Err(error),
    }
}

/// What anyone may learn of discoverable capsules, and nothing else of them.
pub(crate) async fn discover(
    call: &ServiceCall<'_>,
    _: DiscoverRequest,
) -> CapsuleResult<DiscoverResponse> {
    let all = call.service.capsules.list().into_iter();
    let found = all.filter(|info| info.visibility == CapsuleVisibility::Discoverable);
    let shown = found
        .map(|CapsuleInfo { name, description, .. }| DiscoverableCapsule { name, description });
    Ok(DiscoverResponse { capsules: shown.collect() })
}

/// Only what is wrong is named. One capsule that cannot be opened costs no other.
pub(crate) async fn storage_status(
    call: &ServiceCall<'_>,
    _: StorageStatusRequest,
) -> CapsuleResult<StorageStatusResponse> {
    let ResolvedCaller { reached, reach, .. } = call.resolve();
    let registry = &call.service.capsules;
    let mut capsules = Vec::new();
    for (info, _) in reached {
        let problem = match registry.store(&info.id).await {
            Err(error) => Some((CapsuleError::from(error), false)),
            Ok(store) => {
                let left_out = store.left_out();
                left_out.first().map(|first| {
                    let count = left_out.len();
                    let (place, what) = (&first.place, &first.what);
                    let message =
                        format!("unreadable files: {count}, the first is `{place}`: {what}");
                    (CapsuleError::new(CapsuleErrorCode::Damaged, message), true)
                })
            }
        };
        if let Some((error, is_open)) = problem {
            let problem = problem_for(reach, error);
            capsules.push(CapsuleProblem { id: info.id, problem, is_open });
        }
    }
    let reason = registry.check_writable().await.err();
    let reason = reason.map(|error| CapsuleError::from(error).message);
    Ok(StorageStatusResponse { writable: reason.is_none(), reason, capsules })
}

/// Why a capsule cannot be opened. The reason may name what a guest does not reach, so only the machine's owner gets it.
fn problem_for(reach: &Reach, error: CapsuleError) -> String {
    match reach {
        Reach::All => error.message,
        Reach::Share(_) | Reach::Granted(_) => "a part of it cannot be read now".to_owned(),
    }
}

pub(crate) async fn shares(
    call: &ServiceCall<'_>,
    _: SharesRequest,
) -> CapsuleResult<SharesResponse> {
    let capsule = call.own_capsule("list shares")?;
    let shares = call.service.capsules.shares(&capsule)?;
    Ok(SharesResponse { capsule, shares })
}

pub(crate) async fn add_share(
    call: &ServiceCall<'_>,
    request: AddShareRequest,
) -> CapsuleResult<AddShareResponse> {
    let id = call.own_capsule("make shares")?;
    let (share, token) = call.changed(call.capsules().add_share(&id, request).await?);
    Ok(AddShareResponse { share, token: token.reveal().to_owned() })
}

pub(crate) async fn revoke_share(
    call: &ServiceCall<'_>,
    request: RevokeShareRequest,
) -> CapsuleResult<RevokeShareResponse> {
    call.require_machine("take shares back")?;
    call.changed(call.capsules().revoke_share(&request.id).await?);
    Ok(RevokeShareResponse { id: request.id, revoked: true })
}

/// The share that a token opens, for a transport that was given one.
pub(crate) async fn open_share(
    call: &ServiceCall<'_>,
    request: OpenShareRequest,
) -> CapsuleResult<Share> {
    call.require_machine("try tokens")?;
    let share = call.capsules().share_by_token(&request.token);
    let unknown = || CapsuleError::new(CapsuleErrorCode::NotFound, "the token opens nothing");
    share.ok_or_else(unknown)
}
