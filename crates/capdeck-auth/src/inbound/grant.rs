//! Approved access.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    AccessGrantService, DecisionMaker, EventCaller, EventSubject, GrantTarget, RegistryError,
    RegistryResult, RegistryTransaction, Scopes, SelfApprovalLink, check_room,
};

/// What somebody may use, as it was approved.
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
    /// What ties the one who approved it to the request; none for an approval by somebody else.
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

    /// Takes a grant back; what it opened is closed with the next request. Whoever may decide about it may do this.
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
