//! Requests for access: every grant begins as one.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    EventCaller, GrantRecipient, GrantTarget, Registry, RegistryError, RequestOrigin, Scopes,
    collection::RegistryRecord,
    event::{AuditEvent, EventSubject},
    registry::RegistryTransaction,
    text,
    token::new_id,
};

/// Somebody asks for access to one capsule or to the deck.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantRequest {
    pub id: String,
    pub source: RequestSource,
    pub client_id: Option<String>,
    pub client_name: String,
    /// Who asked: the id of an operator, a principal or a client.
    pub requested_by: String,
    /// For whom.
    pub principal: String,
    pub target: GrantTarget,
    pub scopes: Scopes,
    pub reason: Option<String>,
    #[serde(default)]
    pub origin: RequestOrigin,
    /// Until when it is wanted; none means for good.
    pub wanted_until: Option<Timestamp>,
    pub status: RequestStatus,
    /// The id of the operator or the principal, or `policy`.
    pub decided_by: Option<String>,
    pub decided_at: Option<Timestamp>,
    pub decision_note: Option<String>,
    /// The profile that the approval took its terms from.
    pub profile_id: Option<String>,
    /// The id of the grant that it became.
    pub grant: Option<String>,
    pub created_at: Timestamp,
    /// When it is over if nobody decides.
    pub expires_at: Timestamp,
}

/// The source of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RequestSource {
    Oauth,
    Dashboard,
    Enrollment,
    Library,
    Manage,
}

/// The status of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RequestStatus {
    Pending,
    Approved,
    Denied,
    Expired,
    Cancelled,
}

/// A request to be filed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRequest {
    pub source: RequestSource,
    pub holder: GrantRecipient,
    /// Who asks: the id of an operator, a principal or a client.
    pub requested_by: String,
    pub target: GrantTarget,
    pub scopes: Scopes,
    pub reason: Option<String>,
    /// Until when it is wanted; none means for good.
    pub wanted_until: Option<Timestamp>,
}

impl RequestStatus {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }
}

impl RegistryRecord for GrantRequest {
    const FILE: &'static str = "requests.json";

    fn id(&self) -> &str {
        &self.id
    }
}

impl GrantRequest {
    /// As it stands at this time: one that nobody decided is over by itself.
    pub(super) fn at(mut self, now: Timestamp) -> Self {
        self.status = self.status_at(now);
        self
    }

    pub(super) fn status_at(&self, now: Timestamp) -> RequestStatus {
        match self.status {
            RequestStatus::Pending if self.expires_at <= now => RequestStatus::Expired,
            status => status,
        }
    }

    pub(super) fn is_pending(&self, now: Timestamp) -> bool {
        self.status_at(now) == RequestStatus::Pending
    }

    /// Refuses to do something to a request that waits for nothing any more.
    pub(super) fn require_pending(&self, attempt: &'static str) -> Result<(), RegistryError> {
        match self.status {
            RequestStatus::Pending => Ok(()),
            status => Err(RegistryError::WrongState {
                what: "request",
                id: self.id.clone(),
                state: status.as_str(),
                attempt,
            }),
        }
    }

    pub(super) fn subject(&self) -> EventSubject {
        EventSubject {
            id: Some(self.id.clone()),
            capsule: self.target.capsule_id().map(str::to_owned),
            principal: Some(self.principal.clone()),
            client_id: self.client_id.clone(),
        }
    }
}

impl Registry {
    /// A request by id, as it stands now.
    pub fn request(&self, id: &str) -> Option<GrantRequest> {
        let found = self.state().requests.get(id).cloned();
        found.map(|request| request.at(self.now()))
    }

    /// Files a request. Where the policy decides, it comes back decided. The same request twice is one.
    pub async fn file_request(
        &self,
        caller: &EventCaller,
        new: NewRequest,
    ) -> Result<GrantRequest, RegistryError> {
        let event = AuditEvent::new("grant.request", caller, EventSubject::default());
        let lifetime = self.0.options.lifetimes.request;
        self.change(event, move |draft| {
            let expires_at = draft.after(lifetime);
            draft.file_request(&new, expires_at)
        })
        .await
    }

    /// Takes a request back before it is decided. Only whoever made it may, or whoever it is for.
    pub async fn cancel_request(
        &self,
        caller: &EventCaller,
        id: &str,
    ) -> Result<GrantRequest, RegistryError> {
        let event = AuditEvent::new("grant.cancel", caller, EventSubject::id(id));
        let id = id.to_owned();
        self.change(event, move |draft| {
            let caller = draft.event.caller.id.clone();
            let mut request = draft.known_request(&id)?;
            if caller.is_empty() || (caller != request.requested_by && caller != request.principal)
            {
                return Err(RegistryError::not_found("request", &id));
            }
            request.require_pending("cancelled")?;
            request.status = RequestStatus::Cancelled;
            request.decided_by = Some(caller);
            request.decided_at = Some(draft.now);
            draft.state.requests.put(request.clone());
            Ok(request)
        })
        .await
    }
}

impl RegistryTransaction<'_> {
    /// The time in a while.
    pub(super) fn after(&self, while_: std::time::Duration) -> Timestamp {
        self.now.checked_add(while_).unwrap_or(Timestamp::MAX)
    }

    /// A request as it stands now, which the audit is told of.
    pub(super) fn known_request(&mut self, id: &str) -> Result<GrantRequest, RegistryError> {
        let found = self.state.requests.get(id).cloned();
        let request = found.ok_or_else(|| RegistryError::not_found("request", id))?.at(self.now);
        self.event.subject = request.subject();
        Ok(request)
    }

    /// Files a request, and lets the policy decide it if there is one.
    pub(super) fn file_request(
        &mut self,
        new: &NewRequest,
        expires_at: Timestamp,
    ) -> Result<GrantRequest, RegistryError> {
        new.target.check()?;
        if new.scopes.is_empty() {
            return Err(RegistryError::invalid("scopes", "at least one"));
        }
        if new.wanted_until.is_some_and(|until| until <= self.now) {
            return Err(RegistryError::invalid("wanted_until", "a time to come"));
        }
        let reason = text::check_note("reason", new.reason.as_deref())?;
        let principal = self.principal(&new.holder)?;
        self.event.subject = EventSubject {
            id: None,
            capsule: new.target.capsule_id().map(str::to_owned),
            principal: Some(principal.id.clone()),
            client_id: principal.client_id.clone(),
        };
        let now = self.now;
        let pending = || self.state.requests.values().filter(|one| one.is_pending(now));
        let is_same = |one: &&GrantRequest| {
            one.principal == principal.id
                && one.source == new.source
                && one.target == new.target
                && one.scopes == new.scopes
        };
        if let Some(same) = pending().find(is_same).cloned() {
            self.event.subject.id = Some(same.id.clone());
            return Ok(same);
        }
        let limits = &self.options.limits;
        let of_client = |one: &&GrantRequest| match &principal.client_id {
            Some(client_id) => one.client_id.as_ref() == Some(client_id),
            None => one.principal == principal.id,
        };
        for (limit, count) in [
            (limits.pending_requests, pending().count()),
            (limits.pending_requests_of_client, pending().filter(of_client).count()),
        ] {
            if count >= limit {
                return Err(RegistryError::Full { what: "requests that wait", limit });
            }
        }
        let request = GrantRequest {
            id: new_id("grq_")?,
            source: new.source,
            client_id: principal.client_id.clone(),
            client_name: principal.name.clone(),
            requested_by: new.requested_by.clone(),
            principal: principal.id,
            target: new.target.clone(),
            scopes: new.scopes.clone(),
            reason,
            origin: RequestOrigin::of(&self.event.caller),
            wanted_until: new.wanted_until,
            status: RequestStatus::Pending,
            decided_by: None,
            decided_at: None,
            decision_note: None,
            profile_id: None,
            grant: None,
            created_at: now,
            expires_at,
        };
        self.event.subject.id = Some(request.id.clone());
        self.state.requests.put(request.clone());
        self.apply_policy(request)
    }
}
