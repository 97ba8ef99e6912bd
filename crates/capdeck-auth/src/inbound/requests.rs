//! Requests for access: filed, cancelled, and denied in bulk, for example after a flood of enrollments; and the grants that they
//! become.

use std::net::IpAddr;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::{
    AccessGrantService, DecisionMaker, EventCaller, EventSubject, GrantRecipient, GrantTarget,
    RegistryError, RegistryResult, RegistryTransaction, RequestOrigin, Scopes, SelfApprovalLink,
    SourceAddress, check_room, new_id, text,
};

/// A request for access to one capsule or to the deck.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantRequest {
    pub id: String,
    pub source: RequestSource,
    pub client_id: Option<String>,
    pub client_name: String,
    /// Who asked: the id of an operator, a principal or a client.
    pub requested_by: String,
    /// The client or person that it is for.
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
    /// When it is over without a decision.
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
#[derive(IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum RequestStatus {
    Pending,
    Approved,
    Denied,
    Expired,
    Cancelled,
}

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
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl GrantRequest {
    /// Its state at this time: a request without a decision expires by itself.
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
    pub(super) fn require_pending(&self, attempt: &'static str) -> RegistryResult<()> {
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

impl AccessGrantService<'_> {
    /// A request by id, in its current state.
    pub fn request(self, id: &str) -> Option<GrantRequest> {
        let found = self.registry.state().requests.get(id).cloned();
        found.map(|request| request.at(self.registry.now()))
    }

    /// Files a request. Where the policy decides, it comes back decided. The same request twice is one.
    pub async fn file_request(
        self,
        caller: &EventCaller,
        new: NewRequest,
    ) -> RegistryResult<GrantRequest> {
        let lifetime = self.registry.inner.options.lifetimes.request;
        self.registry
            .change(caller, "grant.request", EventSubject::default(), move |draft| {
                let expires_at = draft.after(lifetime);
                draft.file_request(&new, expires_at)
            })
            .await
    }

    /// Takes a request back before it is decided. Only the one who made it may, or the one it is for.
    pub async fn cancel_request(
        self,
        caller: &EventCaller,
        id: &str,
    ) -> RegistryResult<GrantRequest> {
        let id = id.to_owned();
        self.registry
            .change(caller, "grant.cancel", EventSubject::id(&id), move |draft| {
                let caller = draft.event.caller.id.clone();
                let mut request = draft.known_request(&id)?;
                if caller.is_empty()
                    || (caller != request.requested_by && caller != request.principal)
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

    /// Turns down every pending request that fits and that the decider may decide. Gives their ids.
    pub async fn deny_matching(
        self,
        caller: &EventCaller,
        decider: &DecisionMaker,
        denial: BulkDenial,
    ) -> RegistryResult<Vec<String>> {
        let (decider, subject) = (decider.clone(), EventSubject::default());
        let deny =
            move |draft: &mut RegistryTransaction<'_>| draft.deny_matching(&decider, &denial);
        self.registry.change(caller, "grant.deny_matching", subject, deny).await
    }
}

impl RegistryTransaction<'_> {
    /// The current state of a request, which the event names.
    pub(super) fn known_request(&mut self, id: &str) -> RegistryResult<GrantRequest> {
        let request = self.state.requests.require(id)?.at(self.now);
        self.event.subject = request.subject();
        Ok(request)
    }

    /// Files a request, and lets the policy decide it if there is one.
    pub(super) fn file_request(
        &mut self,
        new: &NewRequest,
        expires_at: Timestamp,
    ) -> RegistryResult<GrantRequest> {
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
            check_room("requests that wait", count, limit)?;
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
            origin: RequestOrigin::from_caller(&self.event.caller),
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

    fn deny_matching(
        &mut self,
        decider: &DecisionMaker,
        denial: &BulkDenial,
    ) -> RegistryResult<Vec<String>> {
        let BulkDenial { ids, source, address, client_id, note } = denial;
        if ids.is_none() && source.is_none() && address.is_none() && client_id.is_none() {
            let reason = "say which requests: `ids`, `source`, `address` or `client_id`";
            return Err(RegistryError::invalid("the selection", reason));
        }
        let note = text::check_note("note", note.as_deref())?;
        let from = address.map(|address| SourceAddress::from(Some(address)));
        let enrolled_from = |request: &GrantRequest| {
            let mut enrollments = self.state.enrollments.values();
            let address = enrollments.find(|one| one.request == request.id)?.address?;
            Some(SourceAddress::from(Some(address)))
        };
        let fits = |one: &GrantRequest| {
            one.is_pending(self.now)
                && ids.as_ref().is_none_or(|ids| ids.contains(&one.id))
                && source.is_none_or(|source| source == one.source)
                && client_id.as_ref().is_none_or(|id| one.client_id.as_ref() == Some(id))
                && (from.is_none() || from == enrolled_from(one))
                && decider.may_look_at(&self.state, self.now, one).is_ok()
        };
        let decided_by = decider.name(&self.state);
        let mut denied = Vec::new();
        for request in self.state.requests.select(fits) {
            let request = self.deny(request, decided_by.clone(), note.clone());
            self.record_also("grant.deny", EventSubject::id(&request.id));
            denied.push(request.id);
        }
        Ok(denied)
    }
}

/// Which pending requests to turn down. Everything that is given has to fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BulkDenial {
    /// These.
    pub ids: Option<Vec<String>>,
    pub source: Option<RequestSource>,
    /// Enrollments from this address, or of IPv6 from its network.
    pub address: Option<IpAddr>,
    pub client_id: Option<String>,
    pub note: Option<String>,
}

/// What a client may use, as it was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    pub id: String,
    pub request_id: String,
    pub principal: String,
    pub target: GrantTarget,
    pub scopes: Scopes,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// What ties the one who approved it to the request; none for an approval by another person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_approved: Option<SelfApprovalLink>,
}

impl Grant {
    /// Whether it is neither over nor taken back.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|expires| now < expires)
    }

    /// Whether it opens nothing that the other one does not, and no longer.
    fn is_within(&self, other: &Self) -> bool {
        self.principal == other.principal
            && self.target.is_within(&other.target)
            && other.scopes.covers(&self.scopes)
            && match (self.expires_at, other.expires_at) {
                (_, None) => true,
                (None, Some(_)) => false,
                (Some(mine), Some(its)) => mine <= its,
            }
    }

    pub(super) fn subject(&self) -> EventSubject {
        EventSubject {
            id: Some(self.id.clone()),
            capsule: self.target.capsule_id().map(str::to_owned),
            principal: Some(self.principal.clone()),
            client_id: None,
        }
    }
}

impl AccessGrantService<'_> {
    pub fn get(self, id: &str) -> Option<Grant> {
        self.registry.state().grants.get(id).cloned()
    }

    /// The principal that a client is when this operator uses it, if it already holds as much as this.
    pub fn client_with_grant(
        self,
        client_id: &str,
        operator: &str,
        target: &GrantTarget,
        scopes: &Scopes,
    ) -> Option<String> {
        let state = self.registry.state();
        let principal = &state.principal_of_client(client_id, operator)?.id;
        let held = state.live_grants(principal, self.registry.now());
        let covers = |grant: &Grant| target.is_within(&grant.target) && grant.scopes.covers(scopes);
        held.iter().any(covers).then(|| principal.clone())
    }

    /// Takes a grant back; what it opened is closed with the next request. Those who may decide about it may do this.
    pub async fn revoke(
        self,
        caller: &EventCaller,
        decider: &DecisionMaker,
        id: &str,
    ) -> RegistryResult<Grant> {
        let (id, decider) = (id.to_owned(), decider.clone());
        self.registry
            .change(caller, "grant.revoke", EventSubject::id(&id), move |draft| {
                let mut grant = draft.state.grants.require(&id)?;
                draft.event.subject = grant.subject();
                decider.may_take_back(&draft.state, draft.now, &grant)?;
                if grant.revoked_at.is_some() {
                    return Err(RegistryError::WrongState {
                        what: "grant",
                        id,
                        state: "taken back already",
                        attempt: "taken back",
                    });
                }
                grant.revoked_at = Some(draft.now);
                draft.state.grants.put(grant.clone());
                draft.end_connections_without_grants(&grant.principal);
                Ok(grant)
            })
            .await
    }
}

impl RegistryTransaction<'_> {
    /// Takes a grant back as a consequence of something else.
    pub(super) fn end_grant(&mut self, mut grant: Grant) {
        grant.revoked_at = Some(self.now);
        self.record_also("grant.revoke", grant.subject());
        self.state.grants.put(grant);
    }

    /// Puts a grant in force. Older ones that it makes pointless are taken back, so that repeated sign-ins leave no heap.
    pub(super) fn put_grant(&mut self, grant: Grant) -> RegistryResult<()> {
        let now = self.now;
        let limit = self.options.limits.grants;
        let grants = &self.state.grants;
        let pointless = grants.select(|old| old.is_live(now) && old.is_within(&grant));
        check_room("grants", grants.len() - pointless.len(), limit)?;
        for mut old in pointless {
            old.revoked_at = Some(now);
            self.state.grants.put(old);
        }
        self.state.grants.put(grant);
        Ok(())
    }
}
