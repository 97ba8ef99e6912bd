//! The capsules of this host that a client with grants may know of, and those that programs make and name.

use std::sync::Arc;

use capdeck_auth::inbound::{Access, AuthenticatedClient, RegistryError, Role};
use capdeck_host::{
    CapsuleAccess, CapsuleAuthor, CapsuleCall, CapsuleCaller, CapsuleError, CapsuleInfo,
    CapsuleService, CapsuleServiceExt as _, CapsuleSummary, CapsuleUpdate, CapsuleVisibility,
    CreateCapsuleRequest, ListCapsulesRequest, NameScope, PurgeCapsuleRequest, find_capsule,
};
use serde_json::json;

use super::{GrantRefusal, GrantResult, RegistryGrantService};

/// The way of one connection to capsules that it may not have been granted yet.
#[derive(Debug)]
pub(super) struct KnownCapsules {
    service: Arc<dyn CapsuleService>,
    /// Asks as the host itself, signed by the connection: what the connection may know is decided here.
    caller: CapsuleCaller,
}

impl KnownCapsules {
    pub(super) fn new(service: Arc<dyn CapsuleService>, client: &AuthenticatedClient) -> Self {
        let name = format!("client {}", client.client_name);
        let author = CapsuleAuthor::client(&client.client_name).principal(&client.principal);
        let author = author.principal_name(&name);
        Self { service, caller: CapsuleCaller::local(author) }
    }

    /// Does something to capsules as the host, once it is decided that the connection may.
    pub(super) async fn ask<C: CapsuleCall>(
        &self,
        capsule: Option<&str>,
        call: C,
    ) -> Result<C::Response, CapsuleError> {
        self.service.ask(self.caller.request(capsule, call)).await
    }

    /// The same for a name that a capsule is to have: of the others the client learns only what it may know of.
    pub(super) async fn ask_for_name<C: CapsuleCall>(
        &self,
        capsule: Option<&str>,
        call: C,
        access: &Access,
    ) -> Result<C::Response, CapsuleError> {
        let mut known = self.listed().await?;
        known.retain(|one| is_requestable(one, access));
        let names = NameScope::Among(known.into_iter().map(|one| one.id).collect());
        self.service.ask(self.caller.clone().knowing(names).request(capsule, call)).await
    }

    /// A capsule that access can be asked for: one that agents may discover, or that is open already. Every
    /// other one does not exist.
    pub(super) async fn requestable(
        &self,
        name: &str,
        access: &Access,
    ) -> GrantResult<CapsuleInfo> {
        self.find(name, |one| is_requestable(one, access)).await
    }

    /// A capsule that the connection owns whole.
    pub(super) async fn owned(&self, name: &str, access: &Access) -> GrantResult<CapsuleInfo> {
        let found = self.find(name, |one| access.role_in(&one.key()).is_some()).await?;
        if access.has_whole_capsule(&found.key(), Role::Owner) {
            return Ok(found);
        }
        let reason = "only the owner of a whole capsule may change it";
        Err(GrantRefusal::Here(RegistryError::Forbidden { reason }))
    }

    /// The capsule with this id, else with this name, among those that are known.
    async fn find(
        &self,
        name: &str,
        is_known: impl Fn(&CapsuleInfo) -> bool,
    ) -> GrantResult<CapsuleInfo> {
        let mut known = self.listed().await?;
        known.retain(is_known);
        let wanted = name.strip_prefix("capsol://").unwrap_or(name);
        match find_capsule(&known, wanted, |one| (&one.id, &one.name)) {
            Ok(Some(found)) => Ok(found.clone()),
            Ok(None) => Err(GrantRefusal::not_found("capsule", name)),
            Err(ambiguous) => {
                let reason =
                    format!("several are called so; use an id: {}", ambiguous.ids.join(", "));
                Err(GrantRefusal::invalid("capsule", reason))
            }
        }
    }

    async fn listed(&self) -> Result<Vec<CapsuleInfo>, CapsuleError> {
        if !self.service.may_have_capsules() {
            return Ok(Vec::new());
        }
        let listed = self.ask(None, ListCapsulesRequest::default()).await?;
        Ok(listed.capsules.into_iter().map(|capsule| capsule.info).collect())
    }
}

/// Whether access to a capsule can be asked for: agents may discover it, or it is open already.
fn is_requestable(one: &CapsuleInfo, access: &Access) -> bool {
    one.visibility == CapsuleVisibility::Discoverable || access.role_in(&one.key()).is_some()
}

impl RegistryGrantService {
    /// Makes a capsule that belongs to its maker.
    pub(super) async fn create_capsule(
        &self,
        name: String,
        description: Option<String>,
    ) -> GrantResult {
        let access = self.manage_access()?;
        let create = CreateCapsuleRequest { name, description, visibility: None };
        let made = self.capsules.ask_for_name(None, create, &access).await?;
        let key = made.key();
        let principal = &self.client.principal;
        let claimed = self.registry.capsules().claim(&self.caller(), principal, &key).await;
        if let Err(error) = claimed {
            let gone = self.capsules.ask(Some(&key), PurgeCapsuleRequest).await;
            if let Err(failure) = gone {
                tracing::error!(capsule = key, %failure, "cannot remove a capsule that was not finished");
            }
            return Err(error.into());
        }
        Ok(json!({ "capsule": owned(made) }))
    }

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
        let changed = self.capsules.ask_for_name(Some(&key), update, &access).await?;
        Ok(json!({ "capsule": owned(changed) }))
    }
}

/// A capsule as its owner is shown it: without the uid, which is for records.
fn owned(mut info: CapsuleInfo) -> CapsuleSummary {
    info.uid.clear();
    CapsuleSummary { info, access: CapsuleAccess::owner(), entries: None, problem: None }
}
