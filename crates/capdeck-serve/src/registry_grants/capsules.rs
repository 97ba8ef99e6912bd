//! Capsules that programs make and name.

use capdeck_host::{
    CapsuleAccess, CapsuleInfo, CapsuleSummary, CapsuleUpdate, CreateCapsuleRequest,
    PurgeCapsuleRequest,
};
use serde_json::json;

use super::{GrantResult, RegistryGrantService, refused::GrantRefusal};

impl RegistryGrantService {
    /// Makes a capsule that belongs to its maker.
    pub(super) async fn create_capsule(
        &self,
        name: String,
        description: Option<String>,
    ) -> GrantResult {
        let access = self.manage_access()?;
        let create = CreateCapsuleRequest { name, description, visibility: None };
        let made = self.capsules.ask_for_name(None, create, &access).await;
        let made = made.map_err(GrantRefusal::There)?;
        let key = made.key();
        let principal = &self.client.principal;
        let claimed = self.registry.capsules().claim(&self.caller(), principal, &key).await;
        if let Err(error) = claimed {
            let gone = self.capsules.ask(Some(&key), PurgeCapsuleRequest).await;
            if let Err(failure) = gone {
                tracing::error!(capsule = key, %failure, "cannot remove a capsule that was not finished");
            }
            return Err(GrantRefusal::by_registry(error));
        }
        Ok(json!({ "capsule": owned(made) }))
    }

    /// Renames or describes a capsule.
    pub(super) async fn update_capsule(
        &self,
        capsule: &str,
        name: Option<String>,
        description: Option<String>,
    ) -> GrantResult {
        let access = self.manage_access()?;
        let key = self.capsules.owned(capsule, &access).await?.key();
        if name.is_none() && description.is_none() {
            return Err(GrantRefusal::invalid("name", "a new name, a new description or both"));
        }
        let update = CapsuleUpdate { name, description, visibility: None };
        let changed = self.capsules.ask_for_name(Some(&key), update, &access).await;
        let changed = changed.map_err(GrantRefusal::There)?;
        Ok(json!({ "capsule": owned(changed) }))
    }
}

/// A capsule as its owner is shown it: without the uid, which is for records.
fn owned(mut info: CapsuleInfo) -> CapsuleSummary {
    info.uid.clear();
    CapsuleSummary { info, access: CapsuleAccess::owner(), entries: None, problem: None }
}
