//! Capsules as a whole: which there are, making, changing and deleting them, and whether their folder can be used.

use super::{LocalCapsuleService, ReachSource, ResolvedCaller};
use crate::{
    CapsuleAccess, CapsuleErrorCode, CapsuleInfo, CapsuleUpdate, CapsuleVisibility, Store as _,
    service::*,
};

impl LocalCapsuleService {
    /// Every capsule that the caller reaches, with what it may do there.
    pub(super) async fn list_capsules(
        &self,
        caller: &CapsuleCaller,
        request: ListCapsulesRequest,
    ) -> ListCapsulesResponse {
        let ResolvedCaller { reached, source, .. } = self.resolve(caller);
        let mut capsules = Vec::with_capacity(reached.len());
        for (info, access) in reached {
            let (mut entries, mut problem) = (None, None);
            if request.with_counts {
                // One that cannot be opened costs only its own count.
                match self.count_entries(&info.id, &access).await {
                    Ok(count) => entries = Some(count),
                    Err(error) => {
                        tracing::warn!(capsule = info.id, %error, "a capsule cannot be opened");
                        problem = Some(problem_for(source, error));
                    }
                }
            }
            capsules.push(CapsuleSummary { info, access, entries, problem });
        }
        ListCapsulesResponse { capsules }
    }

    async fn count_entries(&self, id: &str, access: &CapsuleAccess) -> Result<usize, CapsuleError> {
        let counts = self.capsules.store(id).await?.counts(&access.scope).await?;
        Ok(counts.iter().map(|scheme| scheme.entries).sum())
    }

    pub(super) async fn create_capsule(
        &self,
        caller: &CapsuleCaller,
        request: CreateCapsuleRequest,
    ) -> Result<CapsuleInfo, CapsuleError> {
        self.resolve(caller).require_machine("make capsules")?;
        let CreateCapsuleRequest { name, description, visibility } = request;
        let new = CapsuleUpdate { name: Some(name), description, visibility };
        let info = self.acting_for(caller).create(new).await?;
        self.hub.capsules_changed();
        Ok(info)
    }

    pub(super) async fn update_capsule(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
        update: CapsuleUpdate,
    ) -> Result<CapsuleInfo, CapsuleError> {
        let resolved = self.resolve(caller);
        let id = &resolved.choose(capsule)?.0.id;
        resolved.require_machine("change a capsule")?;
        let info = self.acting_for(caller).update(id, update).await?;
        self.hub.capsules_changed();
        Ok(info)
    }

    pub(super) async fn delete_capsule(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
    ) -> Result<CapsuleInfo, CapsuleError> {
        let resolved = self.resolve(caller);
        let id = &resolved.choose(capsule)?.0.id;
        resolved.require_machine("delete a capsule")?;
        let info = self.acting_for(caller).delete(id).await?;
        self.hub.capsules_changed();
        Ok(info)
    }

    /// Removes a capsule, or the files that were moved aside when it was deleted before.
    pub(super) async fn purge_capsule(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
    ) -> Result<PurgeCapsuleResponse, CapsuleError> {
        let resolved = self.resolve(caller);
        let capsules = self.acting_for(caller);
        let is_machine = resolved.require_machine("purge a capsule");
        match (resolved.choose(capsule), capsule) {
            (Ok((info, _)), _) => {
                is_machine?;
                let info = capsules.purge(&info.id).await?;
                self.hub.capsules_changed();
                Ok(PurgeCapsuleResponse::Capsule { info, purged: 1 })
            }
            (Err(error), Some(id))
                if error.code == CapsuleErrorCode::CapsuleNotFound && is_machine.is_ok() =>
            {
                let purged = capsules.purge_deleted(id).await?;
                Ok(PurgeCapsuleResponse::Remains { id: id.to_owned(), purged })
            }
            (Err(error), _) => Err(error),
        }
    }

    /// What anyone may learn of discoverable capsules, and nothing else of them.
    pub(super) fn discover(&self) -> DiscoverResponse {
        let all = self.capsules.list().into_iter();
        let found = all.filter(|info| info.visibility == CapsuleVisibility::Discoverable);
        let shown = found
            .map(|CapsuleInfo { name, description, .. }| DiscoverableCapsule { name, description });
        DiscoverResponse { capsules: shown.collect() }
    }

    /// Only what is wrong is named. One capsule that cannot be opened costs no other.
    pub(super) async fn storage_status(&self, caller: &CapsuleCaller) -> StorageStatusResponse {
        let ResolvedCaller { reached, source, .. } = self.resolve(caller);
        let mut capsules = Vec::new();
        for (info, _) in reached {
            let problem = match self.capsules.store(&info.id).await {
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
                let problem = problem_for(source, error);
                capsules.push(CapsuleProblem { id: info.id, problem, is_open });
            }
        }
        let reason = self.capsules.check_writable().await.err();
        let reason = reason.map(|error| CapsuleError::from(error).message);
        StorageStatusResponse { writable: reason.is_none(), reason, capsules }
    }
}

/// Why a capsule cannot be opened. The reason may name what a guest does not reach, so only the machine's owner gets it.
fn problem_for(source: ReachSource, error: CapsuleError) -> String {
    match source {
        ReachSource::Machine => error.message,
        ReachSource::Share | ReachSource::Grant => "a part of it cannot be read now".to_owned(),
    }
}
