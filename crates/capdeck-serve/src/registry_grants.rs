//! Where one connection asks the registry for access, and decides about that of others; and the access of a client with a
//! token, as its session asks for it.
//!
//! The registry judges and records. What is refused before it is asked, and what changes nothing, is recorded here, so
//! that each request leaves its line either way.

mod known_capsules;
mod requests;

use std::{fmt, net::IpAddr, sync::Arc};

use async_trait::async_trait;
use capdeck_auth::inbound::{
    Access, AuthenticatedClient, DecisionMaker, EventCaller, EventSubject, Principal, Registry,
    RegistryError, RequestDecision,
};
use capdeck_host::{
    AccessRequest, AccessSource, CapsuleError, CapsuleErrorCode, CapsuleService, GrantService,
};
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;

use self::known_capsules::KnownCapsules;

type GrantResult<T = Value> = Result<T, GrantRefusal>;

/// The grants of one connection. What it may do is read from them with every request.
pub(crate) struct RegistryGrantService {
    registry: Registry,
    client: Arc<AuthenticatedClient>,
    /// Where the connection comes from.
    address: Option<IpAddr>,
    capsules: KnownCapsules,
}

impl RegistryGrantService {
    pub(crate) fn new(
        registry: Registry,
        client: Arc<AuthenticatedClient>,
        address: Option<IpAddr>,
        capsules: Arc<dyn CapsuleService>,
    ) -> Self {
        let capsules = KnownCapsules::new(capsules, &client);
        Self { registry, client, address, capsules }
    }

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
    async fn run(&self, request: AccessRequest) -> Result<Value, CapsuleError> {
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
            Ok(answer) => Ok(answer),
            Err(GrantRefusal::Here(error)) => {
                self.record_audit(action, Some(&error)).await;
                Err(into_failure(&error))
            }
            Err(GrantRefusal::There(failure)) => Err(failure),
        }
    }

    async fn record_invalid_request(&self) {
        let reason = "they do not fit".to_owned();
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

    fn grant_desk(&self) -> Option<Arc<dyn GrantService>> {
        let (registry, client) = (self.registry.clone(), Arc::clone(&self.client));
        let capsules = self.capsules.clone()?;
        Some(Arc::new(RegistryGrantService::new(registry, client, self.address, capsules)))
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
