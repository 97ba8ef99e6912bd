//! Requests for access: made, looked at and decided; and the grants they became, as a program sees them.
//!
//! A connection here is what the REST API calls one as well: one grant. Taking back a grant leaves its holder everything else;
//! one that has nothing left is out.

use capdeck_auth::inbound::{
    ApprovalMode, ApprovalTerms, Grant, GrantQuery, GrantRecipient, GrantRequest, GrantTarget,
    NewRequest, OAuthScope, PageRequest, Registry, RegistryError, RequestDecision, RequestQuery,
    RequestSource, RequestStatus, Scopes,
};
use capdeck_host::{
    AccessOutcome, AccessResponse, ConnectionStatus, GrantConnection, GrantOverrides, GrantedTerms,
    PendingGrantRequest, RequestedGrant, Role,
};

use super::{GrantRefusal, GrantResult, RegistryGrantService};
use crate::rest::GrantNarrowing;

const MAX_REQUESTS: usize = 200;

impl RegistryGrantService {
    /// Asks for access for the connection itself.
    pub(super) async fn request_access(
        &self,
        capsule: &str,
        wanted: Role,
        reason: Option<String>,
    ) -> GrantResult {
        let access = self.access()?;
        let found = self.capsules.requestable(capsule, &access).await?;
        let capsule = found.key();
        if access.has_whole_capsule(&capsule, wanted) {
            return Err(GrantRefusal::Here(RegistryError::WrongState {
                what: "capsule",
                id: found.id,
                state: "open to you already",
                attempt: "asked for",
            }));
        }
        let terms = RequestedGrant {
            capsule,
            role: wanted,
            scopes: Vec::new(),
            uri_prefixes: Vec::new(),
            denied_prefixes: Vec::new(),
        };
        self.file_request(RequestSource::Library, self.own_holder(), terms, reason).await
    }

    /// Asks for access for some client.
    pub(super) async fn request_grant_for(
        &self,
        client_id: Option<String>,
        mut terms: RequestedGrant,
        reason: Option<String>,
    ) -> GrantResult {
        let access = self.manage_access()?;
        terms.capsule = self.capsules.requestable(&terms.capsule, &access).await?.key();
        let holder = match client_id {
            Some(id) => self.resolve_holder(id)?,
            None => self.own_holder(),
        };
        self.file_request(RequestSource::Manage, holder, terms, reason).await
    }

    fn own_holder(&self) -> GrantRecipient {
        GrantRecipient::Principal { id: self.client.principal.clone() }
    }

    /// The principal that a client's id means, preferably the client as the same person uses it. The id of a principal means that one.
    fn resolve_holder(&self, id: String) -> GrantResult<GrantRecipient> {
        if self.client.client_id.as_ref() == Some(&id) {
            return Ok(self.own_holder());
        }
        if self.registry.clients().principal(&id).is_some() {
            return Ok(GrantRecipient::Principal { id });
        }
        let own = self.registry.clients().principal(&self.client.principal);
        let operator = own.and_then(|own| own.operator);
        let mut known = self.registry.clients().principals_of_client(&id);
        if let Some(operator) = &operator
            && let Some(same) = known.iter().find(|one| one.operator.as_ref() == Some(operator))
        {
            return Ok(GrantRecipient::Principal { id: same.id.clone() });
        }
        match (known.len(), self.registry.clients().get(&id), operator) {
            (1, _, _) => Ok(GrantRecipient::Principal { id: known.remove(0).id }),
            (0, Some(client), Some(operator)) => {
                Ok(GrantRecipient::Client { client_id: id, client_name: client.name, operator })
            }
            (0, Some(_), None) => {
                let reason = "the client has not signed in here yet";
                Err(GrantRefusal::invalid("client_id", reason))
            }
            (0, None, _) => Err(GrantRefusal::not_found("client", &id)),
            _ => {
                let reason = "several people use this client; give the id of a principal instead";
                Err(GrantRefusal::invalid("client_id", reason))
            }
        }
    }

    async fn file_request(
        &self,
        source: RequestSource,
        holder: GrantRecipient,
        wanted: RequestedGrant,
        reason: Option<String>,
    ) -> GrantResult {
        let role = wanted.role;
        let scopes = match wanted.scopes.as_slice() {
            [] => Scopes::of_role(role),
            named => scopes(named)?,
        };
        let is_own = holder == self.own_holder();
        let request = NewRequest {
            source,
            holder,
            requested_by: self.client.principal.clone(),
            target: GrantTarget::Capsule {
                capsule: wanted.capsule,
                role,
                uri_prefixes: wanted.uri_prefixes,
                denied_prefixes: wanted.denied_prefixes,
            },
            scopes,
            reason,
            wanted_until: None,
        };
        let filed = self.registry.grants().file_request(&self.caller(), request).await?;
        let mut outcome = outcome(&self.registry, filed.clone());
        if is_own {
            // A grant opens nothing that the connection's own scopes keep shut.
            let is_missing = |scope: &OAuthScope| !self.client.scopes.allows(*scope);
            outcome.missing_scopes = filed.scopes.iter().filter(is_missing).collect();
        }
        Ok(AccessResponse::Outcome(Box::new(outcome)))
    }

    pub(super) async fn list_requests(&self) -> GrantResult {
        self.manage_access()?;
        let pending =
            RequestQuery { status: Some(RequestStatus::Pending), ..RequestQuery::default() };
        let decidable = RequestQuery { decidable_by: Some(self.decider()), ..pending.clone() };
        let own = Some(self.client.principal.clone());
        let own = RequestQuery { requested_by: own, ..pending };
        let page = PageRequest { cursor: None, limit: Some(MAX_REQUESTS) };
        let (mut requests, mut has_more) = (Vec::new(), false);
        // No program decides about its own requests, so none is in both.
        for (query, may_decide) in [(decidable, true), (own, false)] {
            let found = self.registry.grants().requests(&query, &page)?;
            requests.extend(found.items.into_iter().map(|one| pending_request(one, may_decide)));
            has_more |= found.next_cursor.is_some();
        }
        self.record_audit("grant.list", None).await;
        Ok(AccessResponse::Requests { requests, has_more })
    }

    pub(super) async fn approve(
        &self,
        request: &str,
        narrowed: GrantOverrides,
        note: Option<String>,
    ) -> GrantResult {
        self.manage_access()?;
        let terms = self.terms(request, narrowed, note)?;
        self.decide(request, RequestDecision::Approve(terms)).await
    }

    pub(super) async fn decide(&self, request: &str, decision: RequestDecision) -> GrantResult {
        self.manage_access()?;
        let (caller, decider) = (self.caller(), self.decider());
        let decided = self.registry.grants().decide(&caller, &decider, request, decision).await?;
        Ok(AccessResponse::Outcome(Box::new(outcome(&self.registry, decided))))
    }

    /// The overrides in the place of what was asked for. A request that the connection may not know of stays as it is: the
    /// registry refuses it.
    fn terms(
        &self,
        request: &str,
        narrowed: GrantOverrides,
        note: Option<String>,
    ) -> GrantResult<ApprovalTerms> {
        let GrantOverrides { role, scopes: fewer, uri_prefixes, denied_prefixes } = narrowed;
        let scopes = fewer.as_deref().map(scopes).transpose()?;
        let narrowing =
            GrantNarrowing { role, uri_prefixes, denied_prefixes, ..GrantNarrowing::default() };
        let known = self.registry.grants().request(request);
        let known = known.filter(|known| self.registry.grants().may_decide(&self.decider(), known));
        let target =
            known.map(|known| narrowing.apply_to(&known.target)).transpose().map_err(|_| {
                let reason = "the request is about the deck, which has neither roles nor prefixes";
                GrantRefusal::invalid("role", reason)
            })?;
        Ok(ApprovalTerms { target: target.flatten(), scopes, note, ..ApprovalTerms::default() })
    }
}

fn scopes(names: &[String]) -> GrantResult<Scopes> {
    Scopes::parse(&names.join(" ")).map_err(|error| GrantRefusal::Here(error.into()))
}

const MAX_GRANTS: usize = 200;

impl RegistryGrantService {
    /// Grants that the connection may take back.
    pub(super) async fn list_connections(&self) -> GrantResult {
        let access = self.manage_access()?;
        if self.registry.approval().policy().mode != ApprovalMode::Supervisor {
            let reason = "only operators decide about access here";
            return Err(GrantRefusal::Here(RegistryError::Forbidden { reason }));
        }
        let mut capsules: Vec<&str> =
            access.capsules.iter().map(|one| one.capsule.as_str()).collect();
        capsules.sort_unstable();
        capsules.dedup();
        let (decider, mut connections, mut has_more) = (self.decider(), Vec::new(), false);
        for capsule in capsules {
            let about = GrantQuery {
                capsule: Some(capsule.to_owned()),
                live_only: true,
                ..GrantQuery::default()
            };
            let page = PageRequest { cursor: None, limit: Some(MAX_GRANTS) };
            let found = self.registry.grants().list(&about, &page)?;
            has_more |= found.next_cursor.is_some();
            let is_theirs = |grant: &Grant| {
                grant.principal != self.client.principal
                    && self.registry.grants().may_take_back(&decider, grant)
            };
            let theirs = found.items.into_iter().filter(is_theirs);
            connections.extend(theirs.map(|grant| connection(&self.registry, grant)));
        }
        self.record_audit("connection.list", None).await;
        Ok(AccessResponse::Connections { connections, has_more })
    }

    /// Takes one of them back, from the next request on.
    pub(super) async fn revoke_connection(&self, id: &str) -> GrantResult {
        self.manage_access()?;
        let (caller, decider) = (self.caller(), self.decider());
        let grant = self.registry.grants().revoke(&caller, &decider, id).await?;
        Ok(AccessResponse::Ended { connection_id: grant.id, status: ConnectionStatus::Revoked })
    }
}

/// What became of a request, with what was granted.
fn outcome(registry: &Registry, request: GrantRequest) -> AccessOutcome {
    let grant = request.grant.as_deref().and_then(|id| registry.grants().get(id));
    AccessOutcome {
        request_id: request.id,
        status: request.status,
        note: request.decision_note,
        expires_at: grant.is_none().then_some(request.expires_at),
        connection_id: grant.as_ref().map(|grant| grant.id.clone()),
        granted: grant.map(granted),
        missing_scopes: Scopes::default(),
    }
}

fn pending_request(request: GrantRequest, may_decide: bool) -> PendingGrantRequest {
    PendingGrantRequest {
        target: request.target.into(),
        request_id: request.id,
        may_decide,
        client_name: request.client_name,
        client_id: request.client_id,
        principal: request.principal,
        requested_by: request.requested_by,
        scopes: request.scopes,
        reason: request.reason,
        expires_at: request.expires_at,
    }
}

fn connection(registry: &Registry, grant: Grant) -> GrantConnection {
    let holder = registry.clients().principal(&grant.principal);
    GrantConnection {
        connection_id: grant.id.clone(),
        client_id: holder.as_ref().and_then(|holder| holder.client_id.clone()),
        client_name: holder.map(|holder| holder.name),
        principal: grant.principal.clone(),
        terms: granted(grant),
    }
}

fn granted(grant: Grant) -> GrantedTerms {
    GrantedTerms { target: grant.target.into(), scopes: grant.scopes, expires_at: grant.expires_at }
}
