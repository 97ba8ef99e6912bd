//! Requests to the capsule service: as whom, with what reach.

use std::sync::Arc;

use capdeck_host::{
    CapsuleAccess, CapsuleAuthor, CapsuleCall, CapsuleCaller, CapsuleError, CapsuleGrant,
    CapsuleService, CapsuleServiceExt as _, CapsuleSummary, CapsuleVisibility, EntryScope,
    ListCapsulesRequest, NameScope, Reach, Role, find_capsule,
};
use http::header;

use super::shapes::CapsuleItem;
use crate::{
    request_actor::RequestActor,
    rest::{call::RestCall, problem::ApiError},
};

/// What a program that does not say what it is called is called.
const UNNAMED: &str = "unnamed client";

impl RestCall {
    fn service(&self) -> Result<&Arc<dyn CapsuleService>, ApiError> {
        let none = || ApiError::unavailable("this host has no capsules");
        self.rest.host.capsules().ok_or_else(none)
    }

    /// Who is named for what is done: the one who was let in, and beside it what their program calls itself.
    fn author(&self) -> CapsuleAuthor {
        let sent = self.headers.get(header::USER_AGENT).and_then(|sent| sent.to_str().ok());
        let product = sent.unwrap_or_default().split(' ').next().unwrap_or_default();
        let (client, version) = product.split_once('/').unwrap_or((product, ""));
        let client = if client.is_empty() { UNNAMED } else { client };
        let author = CapsuleAuthor::client(client).version(version);
        let author = match self.name() {
            Some(name) => author.principal_name(&name),
            None => author,
        };
        match &self.actor {
            None | Some(RequestActor::Owner | RequestActor::Share(_)) => author,
            Some(RequestActor::Operator(_) | RequestActor::Credential(_)) => {
                author.principal(&self.id())
            }
        }
    }

    /// Which capsules the client may learn of by a name that is taken.
    pub(super) async fn names(&self) -> Result<NameScope, ApiError> {
        if self.is_admin() {
            return Ok(NameScope::All);
        }
        let known = self.capsules(false).await?;
        Ok(NameScope::Among(known.into_iter().map(|capsule| capsule.id).collect()))
    }

    /// Who asks, within what they reach.
    pub(super) async fn caller(&self) -> Result<CapsuleCaller, ApiError> {
        let reach = match &self.access {
            Some(source) => Reach::Granted(source.access().capsules.clone()),
            None if self.is_admin() => Reach::All,
            None => Reach::Granted(self.reached_by_operator().await?),
        };
        Ok(CapsuleCaller::new(self.author(), reach))
    }

    /// What an operator reaches without being an admin: their own capsules, and to read those of the team.
    async fn reached_by_operator(&self) -> Result<Vec<CapsuleGrant>, ApiError> {
        let own = self.registry()?.capsules().of_operator(&self.id());
        let reached = |capsule: CapsuleItem| {
            let key = capsule.key();
            let access = match own.contains(&key) {
                true => CapsuleAccess::owner(),
                false if capsule.visibility != CapsuleVisibility::Private => {
                    CapsuleAccess { role: Role::Reader, scope: EntryScope::all() }
                }
                false => return None,
            };
            Some(CapsuleGrant { capsule: key, access })
        };
        Ok(self.every_capsule().await?.into_iter().filter_map(reached).collect())
    }

    /// Every capsule that there is, for deciding who reaches it.
    pub(in crate::rest) async fn every_capsule(&self) -> Result<Vec<CapsuleItem>, ApiError> {
        let listed = self.ask_as_host(None, ListCapsulesRequest::default()).await?;
        Ok(listed.capsules.into_iter().map(|capsule| self.shown(capsule)).collect())
    }

    /// Asks for something within what the caller reaches.
    async fn ask<C: CapsuleCall>(
        &self,
        capsule: Option<&str>,
        call: C,
    ) -> Result<C::Response, ApiError> {
        let request = self.caller().await?.request(capsule, call);
        Ok(self.service()?.ask(request).await?)
    }

    /// The same about the capsule that the path names.
    pub(super) async fn ask_for<C: CapsuleCall>(&self, call: C) -> Result<C::Response, ApiError> {
        self.ask(Some(self.path_parameter("capsule")), call).await
    }

    /// Asks as the host itself, once it is decided that the caller may.
    pub(in crate::rest) async fn ask_as_host<C: CapsuleCall>(
        &self,
        capsule: Option<&str>,
        call: C,
    ) -> Result<C::Response, ApiError> {
        self.ask_knowing(NameScope::All, capsule, call).await
    }

    /// The same for a client that may learn of these capsules only.
    pub(super) async fn ask_knowing<C: CapsuleCall>(
        &self,
        names: NameScope,
        capsule: Option<&str>,
        call: C,
    ) -> Result<C::Response, ApiError> {
        let caller = CapsuleCaller::local(self.author()).knowing(names);
        Ok(self.service()?.ask(caller.request(capsule, call)).await?)
    }

    /// Every capsule that the caller reaches.
    pub(in crate::rest) async fn capsules(
        &self,
        with_counts: bool,
    ) -> Result<Vec<CapsuleItem>, ApiError> {
        let listed = self.ask(None, ListCapsulesRequest { with_counts }).await?;
        Ok(listed.capsules.into_iter().map(|capsule| self.shown(capsule)).collect())
    }

    /// A capsule with what the host knows about it beside its record.
    pub(super) fn shown(&self, summary: CapsuleSummary) -> CapsuleItem {
        let CapsuleSummary { info, access, entries, problem } = summary;
        self.with_owner(CapsuleItem {
            mcp_path: format!("/mcp/{}", info.id),
            id: info.id,
            uid: info.uid,
            name: info.name,
            description: info.description,
            visibility: info.visibility,
            owner: None,
            created_at: info.created_at,
            role: access.role,
            uri_prefixes: access.scope.allow.into_iter().map(String::from).collect(),
            denied_prefixes: access.scope.deny.into_iter().map(String::from).collect(),
            entries,
            problem,
        })
    }

    /// A capsule with the operator that it belongs to now.
    pub(super) fn with_owner(&self, mut capsule: CapsuleItem) -> CapsuleItem {
        let registry = self.rest.http_state.registry();
        capsule.owner = registry.and_then(|registry| registry.capsules().owner(&capsule.key()));
        capsule
    }

    /// The capsule that the path names, if the caller reaches it.
    pub(in crate::rest) async fn capsule(&self) -> Result<CapsuleItem, ApiError> {
        let name = self.path_parameter("capsule");
        let all = self.capsules(false).await?;
        let found = find_capsule(&all, name, |capsule| (&capsule.id, &capsule.name));
        let found = found.map_err(CapsuleError::from)?;
        found.cloned().ok_or_else(|| ApiError::not_found("capsule", name))
    }

    /// The same for a caller who owns it whole.
    pub(in crate::rest) async fn owned_capsule(
        &self,
        action: &str,
    ) -> Result<CapsuleItem, ApiError> {
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
        format!("{}://{}", self.path_parameter("scheme"), self.path_parameter("path"))
    }
}
