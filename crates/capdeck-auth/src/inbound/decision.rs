//! Decisions about requests: who may make them. They only narrow, grant no more than the decider holds, and are about others.

use jiff::Timestamp;

use super::{
    AccessGrantService, ApprovalMode, EventCaller, EventSubject, Grant, GrantRequest, GrantTarget,
    OAuthScope, OperatorRole, RegistryError, RegistryRecord, RegistryResult, RegistrySnapshot,
    RegistryTransaction, RequestStatus, Role, Scopes, SelfApprovalLink, new_id, text,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionMaker {
    /// A person with the dashboard.
    Operator {
        id: String,
        role: OperatorRole,
        /// Ids of capsules that every operator can read, as far as they were looked up for this decision.
        readable: Vec<String>,
    },
    /// A program that was granted `registry:manage`, by the id of its credential.
    Supervisor { credential: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestDecision {
    /// Yes, on these terms.
    Approve(ApprovalTerms),
    /// No.
    Deny { note: Option<String> },
}

/// On what terms a request is approved. What is left out is as it was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalTerms {
    pub target: Option<GrantTarget>,
    pub scopes: Option<Scopes>,
    pub expires_at: Option<Timestamp>,
    /// The id of a profile; the request is narrowed to it first.
    pub profile: Option<String>,
    pub note: Option<String>,
}

impl AccessGrantService<'_> {
    pub async fn decide(
        self,
        caller: &EventCaller,
        decider: &DecisionMaker,
        request: &str,
        decision: RequestDecision,
    ) -> RegistryResult<GrantRequest> {
        let action = match decision {
            RequestDecision::Approve(_) => "grant.approve",
            RequestDecision::Deny { .. } => "grant.deny",
        };
        let (decider, request) = (decider.clone(), request.to_owned());
        self.registry
            .change(caller, action, EventSubject::id(&request), move |draft| {
                let request = draft.known_request(&request)?;
                // One who may not know of a request does not learn what became of it either.
                decider.may_look_at(&draft.state, draft.now, &request)?;
                request.require_pending("decided")?;
                match decision {
                    RequestDecision::Approve(terms) => {
                        let link =
                            decider.judge_own(&draft.state, &draft.event.caller, &request)?;
                        draft.approve(&decider, request, terms, link)
                    }
                    RequestDecision::Deny { note } => {
                        // A denial shows nothing of what is granted, so it needs no limit but the capsule.
                        let note = text::check_note("note", note.as_deref())?;
                        Ok(draft.deny(request, decider.name(&draft.state), note))
                    }
                }
            })
            .await
    }

    pub fn may_decide(self, decider: &DecisionMaker, request: &GrantRequest) -> bool {
        let (state, now) = (self.registry.state(), self.registry.now());
        decider.may_look_at(&state, now, request).is_ok()
    }

    /// Why a decider cannot approve a request as it was made; narrower it may be possible.
    pub fn check_approval(
        self,
        caller: &EventCaller,
        decider: &DecisionMaker,
        request: &GrantRequest,
    ) -> RegistryResult<()> {
        let (state, now) = (self.registry.state(), self.registry.now());
        decider.may_look_at(&state, now, request)?;
        decider.judge_own(&state, caller, request)?;
        decider.limit(&state, now, &mut GrantTerms::from_request(request))
    }

    /// Whether a decider may approve requests of their own about this.
    pub fn decides_freely(self, decider: &DecisionMaker, target: &GrantTarget) -> bool {
        decider.may_approve_own(&self.registry.state(), target)
    }

    /// Why a decider cannot approve a request on any terms: it is their own.
    pub fn check_self_approval(
        self,
        caller: &EventCaller,
        decider: &DecisionMaker,
        request: &GrantRequest,
    ) -> RegistryResult<()> {
        decider.judge_own(&self.registry.state(), caller, request).map(drop)
    }

    pub fn may_take_back(self, decider: &DecisionMaker, grant: &Grant) -> bool {
        decider.may_take_back(&self.registry.state(), self.registry.now(), grant).is_ok()
    }
}

impl RegistryTransaction<'_> {
    fn approve(
        &mut self,
        decider: &DecisionMaker,
        mut request: GrantRequest,
        terms: ApprovalTerms,
        link: Option<SelfApprovalLink>,
    ) -> RegistryResult<GrantRequest> {
        let note = text::check_note("note", terms.note.as_deref())?;
        let mut wanted = GrantTerms::from_request(&request);
        if let Some(id) = &terms.profile {
            self.state.profiles.require(id)?.narrow(&mut wanted, self.now)?;
            request.profile_id = Some(id.clone());
        }
        let mut granted = wanted.narrowed(terms, self.now)?;
        decider.limit(&self.state, self.now, &mut granted)?;
        self.grant(request, granted, decider.name(&self.state), note, link)
    }

    /// Makes the grant of a request. Whether it may be made was checked before.
    pub(super) fn grant(
        &mut self,
        mut request: GrantRequest,
        granted: GrantTerms,
        decided_by: String,
        note: Option<String>,
        self_approved: Option<SelfApprovalLink>,
    ) -> RegistryResult<GrantRequest> {
        self.event.self_approved = self_approved;
        let grant = Grant {
            id: new_id("grt_")?,
            request_id: request.id.clone(),
            principal: request.principal.clone(),
            target: granted.target,
            scopes: granted.scopes,
            created_at: self.now,
            expires_at: granted.until,
            revoked_at: None,
            self_approved,
        };
        request.grant = Some(grant.id.clone());
        self.put_grant(grant)?;
        Ok(self.close_request(request, RequestStatus::Approved, decided_by, note))
    }

    pub(super) fn deny(
        &mut self,
        request: GrantRequest,
        decided_by: String,
        note: Option<String>,
    ) -> GrantRequest {
        self.close_request(request, RequestStatus::Denied, decided_by, note)
    }

    fn close_request(
        &mut self,
        mut request: GrantRequest,
        status: RequestStatus,
        decided_by: String,
        note: Option<String>,
    ) -> GrantRequest {
        request.status = status;
        request.decided_by = Some(decided_by);
        request.decided_at = Some(self.now);
        request.decision_note = note;
        self.state.requests.put(request.clone());
        self.enrollment_decided(&request);
        request
    }
}

/// What is asked for or granted, without the rest of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GrantTerms {
    pub(super) target: GrantTarget,
    pub(super) scopes: Scopes,
    pub(super) until: Option<Timestamp>,
}

impl GrantTerms {
    pub(super) fn from_request(request: &GrantRequest) -> Self {
        Self {
            target: request.target.clone(),
            scopes: request.scopes.clone(),
            until: request.wanted_until,
        }
    }

    /// On these terms, if they ask for no more.
    fn narrowed(self, terms: ApprovalTerms, now: Timestamp) -> RegistryResult<Self> {
        let widens = |reason| RegistryError::Widens { reason };
        let target = terms.target.unwrap_or_else(|| self.target.clone());
        target.check()?;
        if !target.is_within(&self.target) {
            return Err(widens(
                "the target, role, prefixes or patterns go beyond what was asked for",
            ));
        }
        let scopes = terms.scopes.unwrap_or_else(|| self.scopes.clone());
        if scopes.is_empty() {
            return Err(RegistryError::invalid("scopes", "at least one"));
        }
        if !self.scopes.covers(&scopes) {
            return Err(widens("a scope was not asked for"));
        }
        let until = terms.expires_at.or(self.until);
        if until.is_some_and(|until| until <= now) {
            return Err(RegistryError::invalid("expires_at", "a time to come"));
        }
        if let (Some(until), Some(asked)) = (until, self.until)
            && until > asked
        {
            return Err(widens("it would last longer than was asked for"));
        }
        Ok(Self { target, scopes, until })
    }

    /// Whether it is reading one of these capsules and nothing else.
    fn is_reading(&self, readable: &[String]) -> bool {
        let capsule = self.target.capsule_id();
        capsule.is_some_and(|id| readable.iter().any(|one| one == id))
            && self.target.role() == Some(Role::Reader)
            && Scopes::of_role(Role::Reader).covers(&self.scopes)
    }

    /// Ends it with the grant that covers it longest; `None` when no grant does.
    fn end_with(&mut self, held: impl Iterator<Item = (Scopes, Grant)>) -> Option<()> {
        let covering = held.filter(|(scopes, grant)| {
            self.target.is_within(&grant.target) && scopes.covers(&self.scopes)
        });
        let ends = covering.map(|(_, grant)| grant.expires_at);
        let end = ends.max_by_key(|end| end.unwrap_or(Timestamp::MAX))?;
        self.until = [self.until, end].into_iter().flatten().min();
        Some(())
    }
}

impl DecisionMaker {
    /// The id that a decision is signed with.
    pub(super) fn name(&self, state: &RegistrySnapshot) -> String {
        match self {
            Self::Operator { id, .. } => id.clone(),
            Self::Supervisor { credential } => state
                .credentials
                .get(credential)
                .map_or_else(|| credential.clone(), |found| found.principal.clone()),
        }
    }

    /// Whether requests about this target are theirs to decide at all.
    pub(super) fn may_look_at(
        &self,
        state: &RegistrySnapshot,
        now: Timestamp,
        request: &GrantRequest,
    ) -> RegistryResult<()> {
        match self {
            Self::Operator { id, role, .. } => may_operate(state, id, *role, &request.target),
            Self::Supervisor { credential } => {
                let held = SupervisorAccess::find(state, credential, now)?;
                if held.principal == request.requested_by {
                    return Err(RegistryError::SelfApproval { link: SelfApprovalLink::Requester });
                }
                if held.principal == request.principal {
                    return Err(RegistryError::SelfApproval { link: SelfApprovalLink::Program });
                }
                let about = request.target.capsule_id();
                let holds = held.grants.iter().any(|grant| grant.target.capsule_id() == about);
                let hidden = || RegistryError::not_found(GrantRequest::NAME, &request.id);
                holds.then_some(()).ok_or_else(hidden)
            }
        }
    }

    /// Admins may approve their own requests, and operators those for capsules of their own, which they hold whole.
    fn may_approve_own(&self, state: &RegistrySnapshot, target: &GrantTarget) -> bool {
        match self {
            Self::Operator { id, role, .. } => {
                *role == OperatorRole::Admin || state.owns(id, target)
            }
            Self::Supervisor { .. } => false,
        }
    }

    /// What ties them to a request, where they may approve it all the same.
    fn judge_own(
        &self,
        state: &RegistrySnapshot,
        caller: &EventCaller,
        request: &GrantRequest,
    ) -> RegistryResult<Option<SelfApprovalLink>> {
        let link = match self {
            Self::Operator { id, .. } => SelfApprovalLink::to_operator(state, id, caller, request),
            Self::Supervisor { credential } => {
                let program = state.credentials.get(credential);
                program.and_then(|one| SelfApprovalLink::to_program(state, one, caller, request))
            }
        };
        match link {
            Some(link) if !self.may_approve_own(state, &request.target) => {
                Err(RegistryError::SelfApproval { link })
            }
            link => Ok(link),
        }
    }

    pub(super) fn may_take_back(
        &self,
        state: &RegistrySnapshot,
        now: Timestamp,
        grant: &Grant,
    ) -> RegistryResult<()> {
        match self {
            Self::Operator { id, role, .. } => {
                let principal = state.principals.get(&grant.principal);
                let is_theirs = principal.is_some_and(|one| one.operator.as_ref() == Some(id));
                if is_theirs { Ok(()) } else { may_operate(state, id, *role, &grant.target) }
            }
            Self::Supervisor { credential } => {
                let held = SupervisorAccess::find(state, credential, now)?;
                let holds = held.grants.iter().any(|own| grant.target.is_within(&own.target));
                let hidden = || RegistryError::not_found(Grant::NAME, &grant.id);
                holds.then_some(()).ok_or_else(hidden)
            }
        }
    }

    /// Refuses to grant more than they hold, and lets nothing outlast it. Admins hold everything.
    pub(super) fn limit(
        &self,
        state: &RegistrySnapshot,
        now: Timestamp,
        granted: &mut GrantTerms,
    ) -> RegistryResult<()> {
        match self {
            Self::Operator { role: OperatorRole::Admin, .. } => Ok(()),
            Self::Operator { id, role, .. } if state.owns(id, &granted.target) => {
                if granted.scopes.allows(OAuthScope::RegistryManage)
                    && *role < OperatorRole::Approver
                {
                    return Err(RegistryError::needs_role(OperatorRole::Approver));
                }
                Ok(())
            }
            Self::Operator { readable, .. } if granted.is_reading(readable) => Ok(()),
            Self::Operator { id, .. } => {
                let programs = state.principals.values();
                let own = programs.filter(|one| one.operator.as_ref() == Some(id));
                let grants = own.flat_map(|one| state.live_grants(&one.id, now));
                let held = grants.map(|grant| (grant.scopes.clone(), grant));
                granted.end_with(held).ok_or(RegistryError::Forbidden {
                    reason: "you can grant no more than you hold: your own capsules, reading where every operator can read, and what your own programs were granted; narrow the request, or leave it to the capsule's owner or an admin",
                })
            }
            Self::Supervisor { credential } => {
                let held = SupervisorAccess::find(state, credential, now)?;
                let effective = |grant: Grant| (held.scopes.meet(&grant.scopes), grant);
                granted.end_with(held.grants.iter().cloned().map(effective)).ok_or(
                    RegistryError::Forbidden {
                        reason: "a program can grant no more than it holds itself",
                    },
                )
            }
        }
    }
}

/// Members decide about their own capsules, the others about everything.
fn may_operate(
    state: &RegistrySnapshot,
    operator: &str,
    role: OperatorRole,
    target: &GrantTarget,
) -> RegistryResult<()> {
    if role >= OperatorRole::Approver || state.owns(operator, target) {
        return Ok(());
    }
    Err(RegistryError::needs_role(OperatorRole::Approver))
}

/// What a program that decides holds itself.
pub(super) struct SupervisorAccess {
    pub(super) principal: String,
    pub(super) scopes: Scopes,
    pub(super) grants: Vec<Grant>,
}

impl SupervisorAccess {
    /// What the program with this credential holds, if programs decide here and it may.
    pub(super) fn find(
        state: &RegistrySnapshot,
        credential: &str,
        now: Timestamp,
    ) -> RegistryResult<Self> {
        let refused =
            RegistryError::Forbidden { reason: "only operators decide about access here" };
        if state.policy.mode != ApprovalMode::Supervisor {
            return Err(refused);
        }
        let found =
            state.credentials.get(credential).filter(|found| found.is_live(now)).ok_or(refused)?;
        let manages =
            |grant: &Grant| found.scopes.meet(&grant.scopes).allows(OAuthScope::RegistryManage);
        let grants = state.live_grants(&found.principal, now);
        if !grants.iter().any(manages) {
            return Err(RegistryError::Forbidden {
                reason: "this needs the scope `registry:manage`",
            });
        }
        Ok(Self {
            principal: found.principal.clone(),
            scopes: found.scopes.clone(),
            grants: grants.into_iter().filter(manages).collect(),
        })
    }
}

impl RegistrySnapshot {
    /// Whether a target is about a capsule that belongs to this operator.
    pub(super) fn owns(&self, operator: &str, target: &GrantTarget) -> bool {
        let owner = target.capsule_id().and_then(|capsule| self.owners.get(capsule));
        owner.is_some_and(|owner| owner.operator == operator)
    }
}
