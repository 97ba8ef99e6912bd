//! The capsules of this host, as far as somebody may know of them who was granted a part of them.

use std::sync::Arc;

use capdeck_auth::inbound::{GrantedAccess, RegistryError, Role, Standing};
use capdeck_host::{
    Author, CapsuleCaller, CapsuleDesk, CapsuleFailure, CapsuleOperation, Visibility,
};
use serde::Deserialize;
use serde_json::Value;

use super::refused::Refused;

/// The way of one connection to capsules that it may not have been granted yet.
#[derive(Debug)]
pub(super) struct KnownCapsules {
    desk: Arc<dyn CapsuleDesk>,
    /// Asks as the host itself, signed by the connection: what the connection may know is decided here.
    caller: CapsuleCaller,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
    name: String,
    visibility: Visibility,
}

impl KnownCapsules {
    pub(super) fn new(desk: Arc<dyn CapsuleDesk>, standing: &Standing) -> Self {
        let author = Author::client(&standing.client_name).principal(&standing.principal);
        Self { desk, caller: CapsuleCaller::local(author) }
    }

    /// Does something to capsules as the host, once it is decided that the connection may.
    pub(super) async fn ask(
        &self,
        capsule: Option<&str>,
        operation: CapsuleOperation,
    ) -> Result<Value, CapsuleFailure> {
        self.desk.ask(self.caller.request(capsule, operation)).await
    }

    /// The id of a capsule that access can be asked for: one that agents may discover, or that is open already. Every
    /// other one does not exist.
    pub(super) async fn requestable(
        &self,
        name: &str,
        access: &GrantedAccess,
    ) -> Result<String, Refused> {
        let is_known = |one: &Listed| {
            one.visibility == Visibility::Discoverable || role_in(access, &one.id).is_some()
        };
        self.find(name, is_known).await
    }

    /// The id of a capsule that the connection owns whole.
    pub(super) async fn owned(
        &self,
        name: &str,
        access: &GrantedAccess,
    ) -> Result<String, Refused> {
        let id = self.find(name, |one| role_in(access, &one.id).is_some()).await?;
        if is_open(access, &id, Role::Owner) {
            return Ok(id);
        }
        let reason = "only the owner of a whole capsule may change it";
        Err(Refused::Here(RegistryError::Forbidden { reason }))
    }

    /// The capsule with this id, else with this name, among those that are known.
    async fn find(
        &self,
        name: &str,
        is_known: impl Fn(&Listed) -> bool,
    ) -> Result<String, Refused> {
        let mut known = self.listed().await.map_err(Refused::There)?;
        known.retain(is_known);
        let wanted = name.strip_prefix("capsol://").unwrap_or(name);
        let by_id = known.iter().position(|one| one.id == wanted);
        let by_name = || known.iter().position(|one| one.name.eq_ignore_ascii_case(wanted));
        match by_id.or_else(by_name) {
            Some(place) => Ok(known.swap_remove(place).id),
            None => Err(Refused::not_found("capsule", name)),
        }
    }

    async fn listed(&self) -> Result<Vec<Listed>, CapsuleFailure> {
        if !self.desk.may_have_capsules() {
            return Ok(Vec::new());
        }
        let list = CapsuleOperation::ListCapsules { with_counts: false };
        let mut answer = self.ask(None, list).await?;
        serde_json::from_value(answer["capsules"].take()).map_err(|error| {
            CapsuleFailure::new("internal", format!("the list has another form: {error}"))
        })
    }
}

/// The highest role in a capsule.
fn role_in(access: &GrantedAccess, capsule: &str) -> Option<Role> {
    access.capsules().filter(|one| one.capsule == capsule).map(|one| one.role).max()
}

/// Whether a capsule is open whole with this role.
pub(super) fn is_open(access: &GrantedAccess, capsule: &str, role: Role) -> bool {
    access.capsules().any(|one| {
        one.capsule == capsule
            && one.role >= role
            && one.uri_prefixes.is_empty()
            && one.denied_prefixes.is_empty()
    })
}
