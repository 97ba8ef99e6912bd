//! Where one connection asks the registry for access, and decides about that of others.
//!
//! The registry judges and records. What is refused before it is asked, and what changes nothing, is recorded here, so
//! that each wish leaves its line either way.

mod capsules;
mod connections;
mod known_capsules;
mod refused;
mod requests;
mod shown;

use std::{fmt, net::IpAddr, sync::Arc};

use async_trait::async_trait;
use capdeck_auth::inbound::{
    Access, AuthenticatedClient, DecisionMaker, EventCaller, EventSubject, Registry, RegistryError,
};
use capdeck_host::{AccessRequest, CapsuleError, CapsuleService, GrantService};
use serde_json::Value;

use self::{known_capsules::KnownCapsules, refused::GrantRefusal};

/// What a wish ends with.
type GrantResult = Result<Value, GrantRefusal>;

/// The desk of one connection. What it may do is read from its grants with every wish.
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
    fn access(&self) -> Result<Arc<Access>, GrantRefusal> {
        let ended = RegistryError::Forbidden { reason: "this access has ended" };
        self.registry.access(&self.client.credential).ok_or(GrantRefusal::Here(ended))
    }

    /// The same for those who may manage.
    fn manage_access(&self) -> Result<Arc<Access>, GrantRefusal> {
        let access = self.access()?;
        if access.may_manage() {
            return Ok(access);
        }
        let reason = "this needs the scope `registry:manage`";
        Err(GrantRefusal::Here(RegistryError::Forbidden { reason }))
    }

    async fn execute(&self, wish: AccessRequest) -> GrantResult {
        match wish {
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
            AccessRequest::DenyGrant { request, note } => self.deny(&request, note).await,
            AccessRequest::ListConnections => self.list_connections().await,
            AccessRequest::RevokeConnection { connection } => {
                self.revoke_connection(&connection).await
            }
        }
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
    async fn run(&self, wish: AccessRequest) -> Result<Value, CapsuleError> {
        let action = action(&wish);
        match self.execute(wish).await {
            Ok(answer) => Ok(answer),
            Err(GrantRefusal::Here(error)) => {
                self.record_audit(action, Some(&error)).await;
                Err(refused::into_failure(&error))
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
        formatter.debug_struct("RegistryDesk").field("credential", credential).finish()
    }
}

/// What the audit calls a wish.
fn action(wish: &AccessRequest) -> &'static str {
    match wish {
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
