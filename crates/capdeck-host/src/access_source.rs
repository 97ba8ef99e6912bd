//! Where a session gets the access of its client, and where the client asks for more of it.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use capdeck_access::Access;
use futures_util::stream::BoxStream;

use crate::{AccessResponse, CapsuleError, Role};

/// Knows what one client may use now. A session asks with every request, so that a revoked grant is gone with the next
/// one; the host itself stores no access.
pub trait AccessSource: fmt::Debug + Send + Sync {
    /// What the client may use now. Answers from memory, and with the same `Arc` until something changes.
    fn access(&self) -> Arc<Access>;

    /// Where the client requests more access, and decides about requests of others if it may.
    fn grant_service(&self) -> Option<Arc<dyn GrantService>> {
        None
    }

    /// Yields whenever the access may have changed, where that is known.
    fn changes(&self) -> Option<BoxStream<'static, ()>> {
        None
    }
}

/// The access of one client, as it is put into a session.
pub type SharedAccess = Arc<dyn AccessSource>;

/// Requests of one client for access. The service knows its client; a request does not name it.
#[async_trait]
pub trait GrantService: fmt::Debug + Send + Sync {
    /// Runs a request as far as the client may, and records it either way.
    async fn run(&self, request: AccessRequest) -> Result<AccessResponse, CapsuleError>;

    /// Records a request that could not be parsed.
    async fn record_invalid_request(&self);
}

/// A request of a client for access, or about the access of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessRequest {
    /// Access to a capsule, for itself.
    RequestAccess { capsule: String, role: Role, reason: Option<String> },
    /// Access to a capsule, for itself or for another client.
    RequestGrantFor { client_id: Option<String>, terms: RequestedGrant, reason: Option<String> },
    /// A capsule of its own.
    CreateCapsule { name: String, description: Option<String> },
    /// Another name or description for a capsule that it owns.
    UpdateCapsule { capsule: String, name: Option<String>, description: Option<String> },
    /// What waits for a decision that it may make.
    ListGrantRequests,
    /// A request granted, on terms that are no wider than what was asked for.
    ApproveGrant { request: String, terms: GrantOverrides, note: Option<String> },
    /// A request turned down.
    DenyGrant { request: String, note: Option<String> },
    /// The connections of those who use its capsules.
    ListConnections,
    /// One of them ended.
    RevokeConnection { connection: String },
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedGrant {
    /// The id or name of a capsule.
    pub capsule: String,
    pub role: Role,
    /// Empty means those of the role.
    pub scopes: Vec<String>,
    pub uri_prefixes: Vec<String>,
    pub denied_prefixes: Vec<String>,
}

/// What is granted of it; what is absent is as it was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantOverrides {
    pub role: Option<Role>,
    pub scopes: Option<Vec<String>>,
    pub uri_prefixes: Option<Vec<String>>,
    pub denied_prefixes: Option<Vec<String>>,
}
