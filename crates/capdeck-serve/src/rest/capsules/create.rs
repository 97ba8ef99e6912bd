//! Making a capsule: whole, with its owner, or not at all.

use capdeck_auth::inbound::{ADMIN_OPERATOR, LOCAL_OPERATOR};
use capdeck_host::{
    CapsuleAccess, CapsuleInfo, CapsuleSummary, CreateCapsuleRequest, PurgeCapsuleRequest,
};

use super::shapes::CapsuleItem;
use crate::{
    request_actor::RequestActor,
    rest::{call::RestCall, problem::ApiError},
};

/// Does work to its end, even when the client goes away in the middle of it.
pub(super) async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = Result<T, ApiError>> + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::spawn(work).await;
    done.unwrap_or_else(|error| Err(ApiError::internal("the request ended by a bug", &error)))
}

impl RestCall {
    /// Makes a capsule, fills it, and gives it to its maker. What fails leaves no capsule and no owner behind.
    pub(super) async fn make_capsule<T>(
        &self,
        create: CreateCapsuleRequest,
        fill: impl AsyncFnOnce(&Self, &CapsuleItem) -> Result<T, ApiError>,
    ) -> Result<(CapsuleItem, T), ApiError> {
        let made = self.ask_knowing(self.names().await?, None, create).await?;
        let capsule = self.owned_by_caller(made);
        let filled = match fill(self, &capsule).await {
            Ok(filled) => self.claim(&capsule).await.map(|()| filled),
            Err(error) => Err(error),
        };
        match filled {
            Ok(filled) => Ok((self.with_owner(capsule), filled)),
            Err(error) => {
                let undo = self.ask_as_host(Some(&capsule.key()), PurgeCapsuleRequest).await;
                if let Err(left) = undo {
                    tracing::error!(
                        capsule = capsule.id,
                        ?left,
                        "cannot remove a capsule that was not finished"
                    );
                }
                Err(error)
            }
        }
    }

    /// Gives a capsule to the operator who made it. What the host's owner makes is the machine's own.
    async fn claim(&self, capsule: &CapsuleItem) -> Result<(), ApiError> {
        if let Some(RequestActor::Operator(operator)) = &self.actor
            && ![ADMIN_OPERATOR, LOCAL_OPERATOR].contains(&operator.id.as_str())
        {
            let (registry, caller) = (self.registry()?, self.registry_caller());
            registry.capsules().set_owner(&caller, &capsule.key(), Some(&operator.id)).await?;
        }
        Ok(())
    }

    /// A capsule as its owner is shown it.
    pub(super) fn owned_by_caller(&self, info: CapsuleInfo) -> CapsuleItem {
        let access = CapsuleAccess::owner();
        self.shown(CapsuleSummary { info, access, entries: None, problem: None })
    }
}
