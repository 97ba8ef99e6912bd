//! The way of a request to the capsules: as whom, with what reach.

use std::sync::Arc;

use capdeck_host::{
    Access, Author, CapsuleCaller, CapsuleDesk, CapsuleOperation, EntryScope, GrantedCapsule,
    Reach, Role, Visibility,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::shapes::Capsule;
use crate::{
    actor::Actor,
    rest::{call::Call, problem::ApiError},
};

/// What changes through this interface is signed with this name.
const CLIENT: &str = "capdeck-rest";

impl Call {
    fn desk(&self) -> Result<&Arc<dyn CapsuleDesk>, ApiError> {
        let none = || ApiError::unavailable("this host has no capsules");
        self.rest.host.capsules().ok_or_else(none)
    }

    /// Who is named for what is done.
    fn author(&self) -> Author {
        let author = Author::client(CLIENT).version(&self.rest.host.settings().version);
        match &self.actor {
            None | Some(Actor::Owner | Actor::Share(_)) => author,
            Some(Actor::Operator(_) | Actor::Credential(_)) => author.principal(&self.id()),
        }
    }

    /// Who asks, within what they reach.
    pub(super) async fn caller(&self) -> Result<CapsuleCaller, ApiError> {
        let reach = match &self.admission {
            Some(admission) => Reach::Granted(admission.granted().capsules.clone()),
            None if self.is_admin() => Reach::All,
            None => Reach::Granted(self.reached_by_operator().await?),
        };
        Ok(CapsuleCaller { author: self.author(), reach, project: None })
    }

    /// What an operator reaches without being an admin: their own capsules, and to read those of the team.
    async fn reached_by_operator(&self) -> Result<Vec<GrantedCapsule>, ApiError> {
        let own = self.registry()?.capsules_of(&self.id());
        let reached = |capsule: Capsule| {
            let access = match own.contains(&capsule.id) {
                true => Access::owner(),
                false if capsule.visibility != Visibility::Private => {
                    Access { role: Role::Reader, scope: EntryScope::all() }
                }
                false => return None,
            };
            Some(GrantedCapsule { capsule: capsule.id, access })
        };
        Ok(self.every_capsule().await?.into_iter().filter_map(reached).collect())
    }

    /// Every capsule that there is, for deciding who reaches it.
    pub(in crate::rest) async fn every_capsule(&self) -> Result<Vec<Capsule>, ApiError> {
        let list = CapsuleOperation::ListCapsules { with_counts: false };
        self.listed(self.ask_as_host(None, list).await?)
    }

    /// Asks for something within what the caller reaches.
    pub(super) async fn ask(
        &self,
        capsule: Option<&str>,
        operation: CapsuleOperation,
    ) -> Result<Value, ApiError> {
        let request = self.caller().await?.request(capsule, operation);
        Ok(self.desk()?.ask(request).await?)
    }

    /// The same about the capsule that the path names, read as what it is.
    pub(super) async fn ask_for<T: DeserializeOwned>(
        &self,
        operation: CapsuleOperation,
    ) -> Result<T, ApiError> {
        shaped(self.ask(Some(self.place("capsule")), operation).await?)
    }

    /// Asks as the host itself, once it is decided that the caller may.
    pub(in crate::rest) async fn ask_as_host(
        &self,
        capsule: Option<&str>,
        operation: CapsuleOperation,
    ) -> Result<Value, ApiError> {
        let caller = CapsuleCaller::local(self.author());
        Ok(self.desk()?.ask(caller.request(capsule, operation)).await?)
    }

    /// Every capsule that the caller reaches.
    pub(in crate::rest) async fn capsules(
        &self,
        with_counts: bool,
    ) -> Result<Vec<Capsule>, ApiError> {
        let answer = self.ask(None, CapsuleOperation::ListCapsules { with_counts }).await?;
        self.listed(answer)
    }

    fn listed(&self, answer: Value) -> Result<Vec<Capsule>, ApiError> {
        let Value::Object(mut answer) = answer else { return Ok(Vec::new()) };
        let listed = answer.remove("capsules").unwrap_or_else(|| Value::Array(Vec::new()));
        let capsules: Vec<Capsule> = shaped(listed)?;
        Ok(capsules.into_iter().map(|capsule| self.known(capsule)).collect())
    }

    /// A capsule with what the host knows about it beside its record.
    pub(super) fn known(&self, mut capsule: Capsule) -> Capsule {
        capsule.mcp_path = format!("/mcp/{}", capsule.id);
        let registry = self.rest.reception.registry();
        capsule.owner = registry.and_then(|registry| registry.capsule_owner(&capsule.id));
        capsule
    }

    /// The capsule that the path names, if the caller reaches it.
    pub(in crate::rest) async fn capsule(&self) -> Result<Capsule, ApiError> {
        let name = self.place("capsule");
        let mut all = self.capsules(false).await?;
        let by_id = all.iter().position(|capsule| capsule.id == name);
        let by_name = || all.iter().position(|capsule| capsule.name.eq_ignore_ascii_case(name));
        match by_id.or_else(by_name) {
            Some(place) => Ok(all.swap_remove(place)),
            None => Err(ApiError::not_found("capsule", name)),
        }
    }

    /// The same for somebody who owns it whole.
    pub(in crate::rest) async fn owned_capsule(&self, action: &str) -> Result<Capsule, ApiError> {
        let capsule = self.capsule().await?;
        let is_whole = capsule.uri_prefixes.is_empty() && capsule.denied_prefixes.is_empty();
        if capsule.role == Role::Owner && is_whole {
            return Ok(capsule);
        }
        let detail = format!("only its owner may {action} the capsule `{}`", capsule.id);
        Err(ApiError::refused("forbidden_role", detail))
    }

    /// The address of the entry that the path names.
    pub(super) fn entry_uri(&self) -> String {
        format!("{}://{}", self.place("scheme"), self.place("path"))
    }
}

/// An answer of the desk as what it is.
pub(in crate::rest) fn shaped<T: DeserializeOwned>(answer: Value) -> Result<T, ApiError> {
    serde_json::from_value(answer)
        .map_err(|error| ApiError::internal("the answer has another form than expected", &error))
}
