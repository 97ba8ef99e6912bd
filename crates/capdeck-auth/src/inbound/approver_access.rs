//! What an operator or a program holds that decides about requests. They cannot grant more than that.

use jiff::Timestamp;

use super::{
    ApprovalMode, DecisionMaker, Grant, GrantTarget, OAuthScope, OperatorRole, RegistryError, Role,
    Scopes, decision::GrantTerms, state::RegistrySnapshot,
};

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
    ) -> Result<Self, RegistryError> {
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

impl DecisionMaker {
    /// Refuses to grant more than they hold, and lets nothing outlast it. Admins hold everything.
    pub(super) fn limit(
        &self,
        state: &RegistrySnapshot,
        now: Timestamp,
        granted: &mut GrantTerms,
    ) -> Result<(), RegistryError> {
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

impl GrantTerms {
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

impl RegistrySnapshot {
    /// Whether a target is about a capsule that belongs to this operator.
    pub(super) fn owns(&self, operator: &str, target: &GrantTarget) -> bool {
        let owner = target.capsule_id().and_then(|capsule| self.owners.get(capsule));
        owner.is_some_and(|owner| owner.operator == operator)
    }
}
