//! Where one connection asks the registry for access, and decides about that of others; and the access of a client with a
//! token, as its session asks for it.
//!
//! The registry judges and records. What is refused before it is asked, and what changes nothing, is recorded here, so
//! that each request leaves its line either way.

mod requests;

use std::{fmt, net::IpAddr, sync::Arc};

use async_trait::async_trait;
use capdeck_auth::inbound::{
    Access, AuthenticatedClient, DecisionMaker, EventCaller, EventSubject, Principal, Registry,
    RegistryError, RequestDecision, Role,
};
use capdeck_host::{
    AccessRequest, AccessResponse, AccessSource, CapsuleAccess, CapsuleAuthor, CapsuleCall,
    CapsuleCaller, CapsuleError, CapsuleErrorCode, CapsuleInfo, CapsuleService,
    CapsuleServiceExt as _, CapsuleSummary, CapsuleUpdate, CapsuleVisibility, CreateCapsuleRequest,
    GrantService, ListCapsulesRequest, NameScope, PurgeCapsuleRequest, bare_name, find_capsule,
};
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use tokio::sync::broadcast::error::RecvError;

type GrantResult<T = AccessResponse> = Result<T, GrantRefusal>;

/// The grants of one connection. What it may do is read from them with every request.
pub(crate) struct RegistryGrantService {
    registry: Registry,
    client: Arc<AuthenticatedClient>,
    /// Where the connection comes from.
    address: Option<IpAddr>,
    capsules: KnownCapsules,
}

impl RegistryGrantService {
    fn caller(&self) -> EventCaller {
        EventCaller::new(&self.client.principal, self.address)
    }

    fn decider(&self) -> DecisionMaker {
        DecisionMaker::Supervisor { credential: self.client.credential.clone() }
    }

    /// What the connection opens now.
    fn access(&self) -> GrantResult<Arc<Access>> {
        let ended = RegistryError::Forbidden { reason: "this access has ended" };
        self.registry.access(&self.client.credential).ok_or(GrantRefusal::Here(ended))
    }

    /// The same for those who may manage.
    fn manage_access(&self) -> GrantResult<Arc<Access>> {
        let access = self.access()?;
        if access.may_manage() {
            return Ok(access);
        }
        let reason = "this needs the scope `registry:manage`";
        Err(GrantRefusal::Here(RegistryError::Forbidden { reason }))
    }

    async fn record_audit(&self, action: &'static str, error: Option<&RegistryError>) {
        let subject = EventSubject {
            principal: Some(self.client.principal.clone()),
            client_id: self.client.client_id.clone(),
            ..EventSubject::default()
        };
        self.registry.record(&self.caller(), action, subject, error).await;
    }
}

#[async_trait]
impl GrantService for RegistryGrantService {
    async fn run(&self, request: AccessRequest) -> Result<AccessResponse, CapsuleError> {
        let action = action(&request);
        let result = match request {
            AccessRequest::RequestAccess { capsule, role, reason } => {
                self.request_access(&capsule, role, reason).await
            }
            AccessRequest::RequestGrantFor { client_id, terms, reason } => {
                self.request_grant_for(client_id, terms, reason).await
            }
            AccessRequest::CreateCapsule { name, description } => {
                self.create_capsule(name, description).await
            }
            AccessRequest::UpdateCapsule { capsule, name, description } => {
                self.update_capsule(&capsule, name, description).await
            }
            AccessRequest::ListGrantRequests => self.list_requests().await,
            AccessRequest::ApproveGrant { request, terms, note } => {
                self.approve(&request, terms, note).await
            }
            AccessRequest::DenyGrant { request, note } => {
                self.decide(&request, RequestDecision::Deny { note }).await
            }
            AccessRequest::ListConnections => self.list_connections().await,
            AccessRequest::RevokeConnection { connection } => {
                self.revoke_connection(&connection).await
            }
        };
        match result {
            Ok(response) => Ok(response),
            Err(GrantRefusal::Here(error)) => {
                self.record_audit(action, Some(&error)).await;
                Err(into_failure(&error))
            }
            Err(GrantRefusal::There(failure)) => Err(failure),
        }
    }

    async fn record_invalid_request(&self) {
        let reason = "they do not match the schema of the tool".to_owned();
        let error = RegistryError::Invalid { what: "arguments", reason };
        self.record_audit("manage", Some(&error)).await;
    }
}

impl fmt::Debug for RegistryGrantService {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let credential = &self.client.credential;
        formatter.debug_struct("RegistryGrantService").field("credential", credential).finish()
    }
}

fn action(request: &AccessRequest) -> &'static str {
    match request {
        AccessRequest::RequestAccess { .. } | AccessRequest::RequestGrantFor { .. } => {
            "grant.request"
        }
        AccessRequest::CreateCapsule { .. } => "capsule.create",
        AccessRequest::UpdateCapsule { .. } => "capsule.update",
        AccessRequest::ListGrantRequests => "grant.list",
        AccessRequest::ApproveGrant { .. } => "grant.approve",
        AccessRequest::DenyGrant { .. } => "grant.deny",
        AccessRequest::ListConnections => "connection.list",
        AccessRequest::RevokeConnection { .. } => "grant.revoke",
    }
}

/// A request that was not granted.
#[derive(Debug)]
pub(super) enum GrantRefusal {
    /// It was decided here, where it has to be recorded.
    Here(RegistryError),
    /// The registry or the capsule service refused it and recorded that.
    There(CapsuleError),
}

impl From<RegistryError> for GrantRefusal {
    fn from(error: RegistryError) -> Self {
        Self::There(into_failure(&error))
    }
}

impl From<CapsuleError> for GrantRefusal {
    fn from(error: CapsuleError) -> Self {
        Self::There(error)
    }
}

impl GrantRefusal {
    /// It does not exist, or the client may not know of it.
    pub(super) fn not_found(what: &'static str, name: &str) -> Self {
        let id = name.chars().filter(|letter| !letter.is_control()).take(80).collect();
        Self::Here(RegistryError::NotFound { what, id })
    }

    pub(super) fn invalid(what: &'static str, reason: impl Into<String>) -> Self {
        Self::Here(RegistryError::Invalid { what, reason: reason.into() })
    }
}

/// A refusal with what to do next.
pub(super) fn into_failure(error: &RegistryError) -> CapsuleError {
    let failure = CapsuleError::new(code(error), error.to_string());
    let hint = match error {
        RegistryError::NotFound { what: "capsule", .. } => {
            "capsol_capsules lists those that are open to you, and discovers others"
        }
        RegistryError::NotFound { what: "request", .. } => {
            "list_grant_requests shows those that you may decide"
        }
        RegistryError::NotFound { what: "grant" | "connection", .. } => {
            "list_connections shows those that you may end"
        }
        RegistryError::Widens { .. } => {
            "name only what is less than was asked for; what you leave out is as it was asked for"
        }
        RegistryError::Forbidden { .. } | RegistryError::SelfApproval { .. } => {
            "an operator of this host can decide it"
        }
        _ => return failure,
    };
    failure.hint(hint)
}

fn code(error: &RegistryError) -> CapsuleErrorCode {
    match error {
        RegistryError::NotFound { .. } => CapsuleErrorCode::NotFound,
        RegistryError::Invalid { .. } => CapsuleErrorCode::InvalidInput,
        RegistryError::WrongState { .. } => CapsuleErrorCode::WrongState,
        RegistryError::Forbidden { .. } | RegistryError::Token { .. } => {
            CapsuleErrorCode::Forbidden
        }
        RegistryError::SelfApproval { .. } => CapsuleErrorCode::SelfApproval,
        RegistryError::Widens { .. } => CapsuleErrorCode::Widens,
        RegistryError::Taken { .. } => CapsuleErrorCode::Taken,
        RegistryError::Full { .. } => CapsuleErrorCode::LimitReached,
        RegistryError::TooSoon { .. } => CapsuleErrorCode::TooSoon,
        RegistryError::InUse => CapsuleErrorCode::InUse,
        RegistryError::Disk { .. } => CapsuleErrorCode::StorageFailed,
        RegistryError::DiskFull { .. } => CapsuleErrorCode::StorageFull,
        RegistryError::NoRandomness => CapsuleErrorCode::NoRandomness,
    }
}

/// Asks the registry, which has the only cache of accesses.
pub(crate) struct CredentialAccess {
    pub(crate) registry: Registry,
    pub(crate) client: Arc<AuthenticatedClient>,
    /// Where the client connects from.
    pub(crate) address: Option<IpAddr>,
    /// What access is requested for.
    pub(crate) capsules: Option<Arc<dyn CapsuleService>>,
}

impl AccessSource for CredentialAccess {
    fn access(&self) -> Arc<Access> {
        let revoked = || Arc::new(Access::none(Principal::named(&self.client.principal)));
        self.registry.access(&self.client.credential).unwrap_or_else(revoked)
    }

    fn grant_service(&self) -> Option<Arc<dyn GrantService>> {
        let capsules = KnownCapsules::new(self.capsules.clone()?, &self.client);
        let (registry, client) = (self.registry.clone(), Arc::clone(&self.client));
        Some(Arc::new(RegistryGrantService { registry, client, address: self.address, capsules }))
    }

    fn changes(&self) -> Option<BoxStream<'static, ()>> {
        Some(changes(&self.registry))
    }
}

/// Yields whenever something in the registry changes.
pub(crate) fn changes(registry: &Registry) -> BoxStream<'static, ()> {
    let following =
        stream::unfold(registry.changes(), async |mut changes| match changes.recv().await {
            Ok(_) | Err(RecvError::Lagged(_)) => Some(((), changes)),
            Err(RecvError::Closed) => None,
        });
    following.boxed()
}

impl fmt::Debug for CredentialAccess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let credential = &self.client.credential;
        formatter.debug_struct("CredentialAccess").field("credential", credential).finish()
    }
}

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
        match find_capsule(&known, bare_name(name), |one| (&one.id, &one.name)) {
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
        Ok(AccessResponse::Capsule { capsule: Box::new(owned(made)) })
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
        Ok(AccessResponse::Capsule { capsule: Box::new(owned(changed)) })
    }
}

/// A capsule as its owner is shown it: without the uid, which is for records.
fn owned(mut info: CapsuleInfo) -> CapsuleSummary {
    info.uid.clear();
    CapsuleSummary { info, access: CapsuleAccess::owner(), entries: None, problem: None }
}
