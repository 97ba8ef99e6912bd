//! Whose a capsule is.

use serde::{Deserialize, Serialize};

use super::{
    ADMIN_OPERATOR, EventCaller, GrantRecipient, GrantRequest, GrantTarget, LOCAL_OPERATOR,
    NewRequest, OAuthScope, Registry, RegistryError, RequestSource, RequestStatus, Role, Scopes,
    collection::RegistryRecord,
    decision::GrantTerms,
    event::{AuditEvent, EventSubject},
};

/// The operator that a capsule belongs to. Capsules are named by their keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CapsuleOwner {
    pub(super) capsule: String,
    pub(super) operator: String,
}

impl RegistryRecord for CapsuleOwner {
    const FILE: &'static str = "owners.json";

    fn id(&self) -> &str {
        &self.capsule
    }
}

impl Registry {
    /// The operator that a capsule belongs to, if it belongs to one.
    pub fn capsule_owner(&self, capsule: &str) -> Option<String> {
        self.state().owners.get(capsule).map(|owner| owner.operator.clone())
    }

    /// The capsules of an operator.
    pub fn capsules_of(&self, operator: &str) -> Vec<String> {
        let state = self.state();
        let own = state.owners.values().filter(|owner| owner.operator == operator);
        own.map(|owner| owner.capsule.clone()).collect()
    }

    /// Says whose a capsule is; `None` when it is nobody's any more.
    pub async fn set_capsule_owner(
        &self,
        caller: &EventCaller,
        capsule: &str,
        operator: Option<&str>,
    ) -> Result<(), RegistryError> {
        let subject = EventSubject { capsule: Some(capsule.to_owned()), ..EventSubject::default() };
        let event = AuditEvent::new("capsule.owner", caller, subject);
        let (capsule, operator) = (capsule.to_owned(), operator.map(str::to_owned));
        self.change(event, move |draft| {
            match operator {
                Some(operator) => draft.state.owners.put(CapsuleOwner { capsule, operator }),
                None => drop(draft.state.owners.edit().remove(&capsule)),
            }
            Ok(())
        })
        .await
    }

    /// Gives a capsule that was just made to the program that made it, and to the operator whom it works for. It may
    /// decide about it, too. A capsule that is anybody's already is given to nobody.
    pub async fn claim_capsule(
        &self,
        caller: &EventCaller,
        principal: &str,
        capsule: &str,
    ) -> Result<GrantRequest, RegistryError> {
        let subject = EventSubject { capsule: Some(capsule.to_owned()), ..EventSubject::default() };
        let event = AuditEvent::new("grant.request", caller, subject);
        let (principal, capsule) = (principal.to_owned(), capsule.to_owned());
        let lifetime = self.0.options.lifetimes.request;
        self.change(event, move |draft| {
            let about = |target: &GrantTarget| target.capsule_id() == Some(capsule.as_str());
            let is_owned = draft.state.owners.get(&capsule).is_some()
                || draft.state.grants.values().any(|one| about(&one.target));
            if is_owned {
                return Err(RegistryError::Forbidden {
                    reason: "the capsule already has an owner",
                });
            }
            let manage = Scopes::from_iter([OAuthScope::RegistryManage]);
            let new = NewRequest {
                source: RequestSource::Manage,
                holder: GrantRecipient::Principal { id: principal.clone() },
                requested_by: principal.clone(),
                target: GrantTarget::capsule(&capsule, Role::Owner),
                scopes: Scopes::of_role(Role::Owner).union(&manage),
                reason: None,
                wanted_until: None,
            };
            // Rules make no owners, but they may refuse one.
            let request = draft.file_request(&new, draft.after(lifetime))?;
            if request.status != RequestStatus::Pending {
                return Err(RegistryError::Forbidden { reason: "the policy refuses it" });
            }
            let operator = draft.state.principals.get(&principal);
            let operator = operator.and_then(|found| found.operator.clone());
            let is_person = |id: &String| ![ADMIN_OPERATOR, LOCAL_OPERATOR].contains(&id.as_str());
            if let Some(operator) = operator.filter(is_person) {
                draft.state.owners.put(CapsuleOwner { capsule, operator });
            }
            let note = Some("it made the capsule".to_owned());
            let wanted = GrantTerms::of(&request);
            let approved = draft.grant(request, wanted, principal, note, None)?;
            let event = AuditEvent::new("grant.approve", &draft.event.caller, approved.subject());
            draft.consequences.push(event);
            Ok(approved)
        })
        .await
    }
}
