//! Whose a capsule is.

use serde::{Deserialize, Serialize};

use super::{
    Caller, Registry, RegistryError,
    collection::Record,
    event::{Deed, Subject},
};

/// The operator that a capsule belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CapsuleOwner {
    pub(super) capsule: String,
    pub(super) operator: String,
}

impl Record for CapsuleOwner {
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
        caller: &Caller,
        capsule: &str,
        operator: Option<&str>,
    ) -> Result<(), RegistryError> {
        let subject = Subject { capsule: Some(capsule.to_owned()), ..Subject::default() };
        let deed = Deed::new("capsule.owner", caller, subject);
        let (capsule, operator) = (capsule.to_owned(), operator.map(str::to_owned));
        self.change(deed, move |draft| {
            match operator {
                Some(operator) => draft.state.owners.put(CapsuleOwner { capsule, operator }),
                None => drop(draft.state.owners.edit().remove(&capsule)),
            }
            Ok(())
        })
        .await
    }

    /// Ends everything about a capsule that is gone: its owner, its grants and the requests for it.
    pub async fn forget_capsule(
        &self,
        caller: &Caller,
        capsule: &str,
    ) -> Result<(), RegistryError> {
        let subject = Subject { capsule: Some(capsule.to_owned()), ..Subject::default() };
        let deed = Deed::new("capsule.forget", caller, subject);
        let capsule = capsule.to_owned();
        self.change(deed, move |draft| {
            let now = draft.now;
            draft.state.owners.keep(|owner| owner.capsule != capsule);
            let about = |target: &super::GrantTarget| target.capsule_id() == Some(capsule.as_str());
            let waiting: Vec<_> = draft
                .state
                .requests
                .values()
                .filter(|one| one.is_pending(now) && about(&one.target))
                .cloned()
                .collect();
            for request in waiting {
                draft.deny(request, draft.deed.caller.id.clone(), None);
            }
            let live: Vec<_> = draft
                .state
                .grants
                .values()
                .filter(|one| one.is_live(now) && about(&one.target))
                .cloned()
                .collect();
            for mut grant in live {
                grant.revoked_at = Some(now);
                let deed = Deed::new("grant.revoke", &draft.deed.caller, grant.subject());
                draft.consequences.push(deed);
                let principal = grant.principal.clone();
                draft.state.grants.put(grant);
                draft.end_connections_without_grants(&principal);
            }
            Ok(())
        })
        .await
    }
}
