//! Operations on capsules: requests to the capsule service with their caller and reach, and capsules in responses.

mod connections;
mod entries;
mod lifecycle;
mod logs;
mod schemes;
mod signals;
mod transfer;

use std::sync::Arc;

use capdeck_auth::inbound::capsule_key;
use capdeck_host::{
    BodyFormat, CapsuleAccess, CapsuleAuthor, CapsuleCall, CapsuleCaller, CapsuleError,
    CapsuleGrant, CapsuleService, CapsuleServiceExt as _, CapsuleSummary, CapsuleVisibility,
    EntryInfo, EntryScope, ListCapsulesRequest, NameScope, Reach, RiskClass, Role, Scheme,
    SchemeCount, SchemeOrigin, find_capsule,
};
use http::header;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ApiError, ApiResult, RestCall, RestOperation};
use crate::request_actor::RequestActor;

pub(super) fn operations() -> Vec<RestOperation> {
    let parts = [
        lifecycle::operations(),
        entries::operations(),
        schemes::operations(),
        connections::operations(),
        signals::operations(),
        logs::operations(),
        transfer::operations(),
    ];
    parts.into_iter().flatten().collect()
}

/// What a program that does not say what it is called is called.
const UNNAMED: &str = "unnamed client";

impl RestCall {
    fn service(&self) -> ApiResult<&Arc<dyn CapsuleService>> {
        let none = || ApiError::unavailable("this host has no capsules");
        self.rest.host.capsules().ok_or_else(none)
    }

    /// Who is named for what is done: the one who was let in, and beside it what their program calls itself.
    fn author(&self) -> CapsuleAuthor {
        let sent = self.headers.get(header::USER_AGENT).and_then(|sent| sent.to_str().ok());
        let product = sent.unwrap_or_default().split(' ').next().unwrap_or_default();
        let (client, version) = product.split_once('/').unwrap_or((product, ""));
        let client = if client.is_empty() { UNNAMED } else { client };
        let principal = match &self.actor {
            None | Some(RequestActor::Owner | RequestActor::Share(_)) => String::new(),
            Some(RequestActor::Operator(_) | RequestActor::Credential(_)) => self.id(),
        };
        CapsuleAuthor::client(client)
            .version(version)
            .principal_name(&self.name().unwrap_or_default())
            .principal(&principal)
    }

    /// Which capsules the client may learn of by a name that is taken.
    pub(super) async fn names(&self) -> ApiResult<NameScope> {
        if self.is_admin() {
            return Ok(NameScope::All);
        }
        let known = self.capsules(false).await?;
        Ok(NameScope::Among(known.into_iter().map(|capsule| capsule.id).collect()))
    }

    /// Who asks, within what they reach.
    pub(super) async fn caller(&self) -> ApiResult<CapsuleCaller> {
        let reach = match &self.access {
            Some(source) => Reach::Granted(source.access().capsules.clone()),
            None if self.is_admin() => Reach::All,
            None => Reach::Granted(self.reached_by_operator().await?),
        };
        Ok(CapsuleCaller::new(self.author(), reach))
    }

    /// What an operator reaches without being an admin: their own capsules, and to read those of the team.
    async fn reached_by_operator(&self) -> ApiResult<Vec<CapsuleGrant>> {
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
    pub(in crate::rest) async fn every_capsule(&self) -> ApiResult<Vec<CapsuleItem>> {
        let listed = self.ask_as_host(None, ListCapsulesRequest::default()).await?;
        Ok(listed.capsules.into_iter().map(|capsule| self.to_item(capsule)).collect())
    }

    /// Asks for something within what the caller reaches.
    async fn ask<C: CapsuleCall>(&self, capsule: Option<&str>, call: C) -> ApiResult<C::Response> {
        let request = self.caller().await?.request(capsule, call);
        Ok(self.service()?.ask(request).await?)
    }

    /// The same about the capsule that the path names.
    pub(super) async fn ask_for<C: CapsuleCall>(&self, call: C) -> ApiResult<C::Response> {
        self.ask(Some(self.path_parameter("capsule")), call).await
    }

    /// Asks as the host itself, once it is decided that the caller may.
    pub(in crate::rest) async fn ask_as_host<C: CapsuleCall>(
        &self,
        capsule: Option<&str>,
        call: C,
    ) -> ApiResult<C::Response> {
        self.ask_knowing(NameScope::All, capsule, call).await
    }

    /// The same for a client that may learn of these capsules only.
    pub(super) async fn ask_knowing<C: CapsuleCall>(
        &self,
        names: NameScope,
        capsule: Option<&str>,
        call: C,
    ) -> ApiResult<C::Response> {
        let caller = CapsuleCaller::local(self.author()).knowing(names);
        Ok(self.service()?.ask(caller.request(capsule, call)).await?)
    }

    /// Every capsule that the caller reaches.
    pub(in crate::rest) async fn capsules(&self, with_counts: bool) -> ApiResult<Vec<CapsuleItem>> {
        let listed = self.ask(None, ListCapsulesRequest { with_counts }).await?;
        Ok(listed.capsules.into_iter().map(|capsule| self.to_item(capsule)).collect())
    }

    /// A capsule with what the host knows about it beside its record.
    pub(super) fn to_item(&self, summary: CapsuleSummary) -> CapsuleItem {
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
    pub(in crate::rest) async fn capsule(&self) -> ApiResult<CapsuleItem> {
        let name = self.path_parameter("capsule");
        let all = self.capsules(false).await?;
        let found = find_capsule(&all, name, |capsule| (&capsule.id, &capsule.name));
        let found = found.map_err(CapsuleError::from)?;
        found.cloned().ok_or_else(|| ApiError::not_found("capsule", name))
    }

    /// The same for a caller who owns it whole.
    pub(in crate::rest) async fn owned_capsule(&self, action: &str) -> ApiResult<CapsuleItem> {
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

/// A capsule, and what the client may do in it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Capsule")]
pub(in crate::rest) struct CapsuleItem {
    /// Made from the first name and never changed. A later capsule may have it again.
    pub(in crate::rest) id: String,
    /// Made with the capsule and never used for another one.
    pub(in crate::rest) uid: String,
    pub(in crate::rest) name: String,
    pub(in crate::rest) description: String,
    pub(in crate::rest) visibility: CapsuleVisibility,
    /// The operator it belongs to; null: the machine's own.
    pub(in crate::rest) owner: Option<String>,
    pub(in crate::rest) created_at: Timestamp,
    /// What you may do in it.
    pub(in crate::rest) role: Role,
    /// The part of it that you reach; everything when absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::rest) uri_prefixes: Vec<String>,
    /// What you do not reach of that part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::rest) denied_prefixes: Vec<String>,
    /// How many entries you reach, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) entries: Option<usize>,
    /// Why its entries cannot be counted: the capsule cannot be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) problem: Option<String>,
    /// The path of its MCP endpoint on this host.
    pub(in crate::rest) mcp_path: String,
}

impl CapsuleItem {
    /// What records about it name.
    pub(in crate::rest) fn key(&self) -> String {
        capsule_key(&self.id, &self.uid)
    }
}

/// A capsule with what is in it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CapsuleDetails {
    #[serde(flatten)]
    pub(super) capsule: CapsuleItem,
    /// How many entries there are under each scheme.
    pub(super) schemes: Vec<SchemeCount>,
    /// What was written last.
    pub(super) recent: Vec<EntryInfo>,
}

/// A scheme of a capsule.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CapsuleScheme")]
pub(super) struct SchemeDetails {
    name: String,
    title: String,
    description: String,
    format: BodyFormat,
    /// Whether its entries are offered as prompts.
    prompt_source: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_risk_class: Option<RiskClass>,
    /// Who declared it.
    origin: SchemeOrigin,
}

impl From<Scheme> for SchemeDetails {
    fn from(scheme: Scheme) -> Self {
        let Scheme { name, title, description, format, prompt_source, default_risk_class, origin } =
            scheme;
        Self { name, title, description, format, prompt_source, default_risk_class, origin }
    }
}
