//! Whose a capsule is, and what ends with it: its owner, its grants, the requests for it and the rules about it.

use std::collections::HashSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    ADMIN_OPERATOR, CapsuleKeyText, CapsuleOwnerService, EventCaller, EventSubject, GrantPolicy,
    GrantRecipient, GrantRequest, GrantTarget, GrantTerms, LOCAL_OPERATOR, NewRequest, OAuthScope,
    RegistryError, RegistryResult, RegistrySnapshot, RegistryTransaction, RequestSource,
    RequestStatus, Role, Scopes, capsule_key, missing_capsule_key,
};

/// The operator that a capsule belongs to. Capsules are named by their keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapsuleOwner {
    pub(super) capsule: String,
    pub(super) operator: String,
}

impl CapsuleOwnerService<'_> {
    /// The operator that a capsule belongs to, if it belongs to one.
    pub fn owner(self, capsule: &str) -> Option<String> {
        self.registry.state().owners.get(capsule).map(|owner| owner.operator.clone())
    }

    pub fn of_operator(self, operator: &str) -> Vec<String> {
        let state = self.registry.state();
        let own = state.owners.values().filter(|owner| owner.operator == operator);
        own.map(|owner| owner.capsule.clone()).collect()
    }

    /// Says whose a capsule is; `None` when it belongs to no operator.
    pub async fn set_owner(
        self,
        caller: &EventCaller,
        capsule: &str,
        operator: Option<&str>,
    ) -> RegistryResult<()> {
        let subject = EventSubject::capsule(capsule);
        let (capsule, operator) = (capsule.to_owned(), operator.map(str::to_owned));
        self.registry
            .change(caller, "capsule.owner", subject, move |draft| {
                match operator {
                    Some(operator) => draft.state.owners.put(CapsuleOwner { capsule, operator }),
                    None => drop(draft.state.owners.edit().remove(&capsule)),
                }
                Ok(())
            })
            .await
    }

    /// Gives a capsule that was just made to the program that made it, and to the operator it works for. It may
    /// decide about it, too. A capsule that has an owner already is refused.
    pub async fn claim(
        self,
        caller: &EventCaller,
        principal: &str,
        capsule: &str,
    ) -> RegistryResult<GrantRequest> {
        let subject = EventSubject::capsule(capsule);
        let (principal, capsule) = (principal.to_owned(), capsule.to_owned());
        let lifetime = self.registry.inner.options.lifetimes.request;
        self.registry
            .change(caller, "grant.request", subject, move |draft| {
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
                let is_person =
                    |id: &String| ![ADMIN_OPERATOR, LOCAL_OPERATOR].contains(&id.as_str());
                if let Some(operator) = operator.filter(is_person) {
                    draft.state.owners.put(CapsuleOwner { capsule, operator });
                }
                let note = Some("it created the capsule".to_owned());
                let wanted = GrantTerms::from_request(&request);
                let approved = draft.grant(request, wanted, principal, note, None)?;
                draft.record_also("grant.approve", approved.subject());
                Ok(approved)
            })
            .await
    }

    /// Returns the capsules that records name. Read it before the list of capsules for [`Self::reconcile`].
    pub fn referenced(self) -> HashSet<String> {
        let state = self.registry.state();
        let owners = state.owners.values().map(|one| one.capsule.as_str());
        let grants = state.grants.values().filter_map(|one| one.target.capsule_id());
        let requests = state.requests.values().filter_map(|one| one.target.capsule_id());
        let rules = state.policy.rules.iter().filter_map(|rule| rule.matches.capsule.as_deref());
        owners.chain(grants).chain(requests).chain(rules).map(str::to_owned).collect()
    }

    /// Ends what is about deleted capsules, also of those deleted by another process. Records of version 0.1, which name
    /// a capsule by its id alone, are bound to the capsule that has the id, unless they are older than it. Nothing is written where
    /// nothing changes.
    ///
    /// `named` is [`Self::referenced`] from before `present` was listed: a record is made after its capsule, so what was named
    /// then and is not listed is gone. What is named since may be about a capsule that is not listed yet.
    pub async fn reconcile(
        self,
        caller: &EventCaller,
        named: HashSet<String>,
        present: Vec<ExistingCapsule>,
    ) -> RegistryResult<()> {
        let action = move |text: &str, since: Option<Timestamp>| match named.contains(text) {
            true => record_action(text, since, &present),
            false => RecordAction::Keep,
        };
        if self.registry.state().is_reconciled(&action, self.registry.now()) {
            return Ok(());
        }
        let end = move |draft: &mut RegistryTransaction<'_>| {
            draft.end_capsules(action);
            Ok(())
        };
        self.registry.change(caller, "capsule.forget", EventSubject::default(), end).await
    }

    /// Ends everything about the capsule with this key, which is gone.
    pub async fn forget(self, caller: &EventCaller, key: &str) -> RegistryResult<()> {
        let key = key.to_owned();
        let subject = EventSubject::capsule(&key);
        let end = move |draft: &mut RegistryTransaction<'_>| {
            let is_it = |text: &str, _| {
                if text == key { RecordAction::Remove } else { RecordAction::Keep }
            };
            draft.end_capsules(is_it);
            Ok(())
        };
        self.registry.change(caller, "capsule.forget", subject, end).await
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExistingCapsule {
    pub id: String,
    pub uid: String,
    pub created_at: Timestamp,
}

#[derive(Debug, PartialEq, Eq)]
enum RecordAction {
    Keep,
    /// Its capsule is there under this key.
    SetKey(String),
    /// Its capsule is gone.
    Remove,
    /// It has the id alone of a capsule that is gone, and gets this key, which no capsule has.
    Unbind(String),
}

/// What becomes of a record that names a capsule like this. `since`: when the record was made, where it says so.
fn record_action(
    text: &str,
    since: Option<Timestamp>,
    present: &[ExistingCapsule],
) -> RecordAction {
    let key = |one: &ExistingCapsule| capsule_key(&one.id, &one.uid);
    match CapsuleKeyText::of(text) {
        CapsuleKeyText::Missing => RecordAction::Keep,
        CapsuleKeyText::Key(text) if present.iter().any(|one| key(one) == text) => {
            RecordAction::Keep
        }
        CapsuleKeyText::Key(_) => RecordAction::Remove,
        CapsuleKeyText::Id(id) => {
            let is_older =
                |one: &ExistingCapsule| since.is_none_or(|since| one.created_at <= since);
            match present.iter().find(|one| one.id == id && is_older(one)) {
                Some(found) => RecordAction::SetKey(key(found)),
                None => RecordAction::Unbind(missing_capsule_key(id)),
            }
        }
    }
}

impl RegistrySnapshot {
    /// Whether every record in force is about a capsule that there is.
    fn is_reconciled(
        &self,
        action: &impl Fn(&str, Option<Timestamp>) -> RecordAction,
        now: Timestamp,
    ) -> bool {
        let stays = |text: &str, since| action(text, since) == RecordAction::Keep;
        let stays_in = |target: &GrantTarget, in_force: bool, since: Timestamp| {
            target.capsule_id().is_none_or(|text| {
                let is_history =
                    !in_force && matches!(CapsuleKeyText::of(text), CapsuleKeyText::Key(_));
                is_history || stays(text, Some(since))
            })
        };
        let mut rules = self.policy.rules.iter().filter_map(|rule| rule.matches.capsule.as_ref());
        let (mut grants, mut requests) = (self.grants.values(), self.requests.values());
        self.owners.keys().all(|capsule| stays(capsule, None))
            && grants.all(|one| stays_in(&one.target, one.is_live(now), one.created_at))
            && requests.all(|one| stays_in(&one.target, one.is_pending(now), one.created_at))
            && rules.all(|capsule| stays(capsule, None))
    }
}

impl RegistryTransaction<'_> {
    fn end_capsules(&mut self, action: impl Fn(&str, Option<Timestamp>) -> RecordAction) {
        let of_target = |target: &GrantTarget, since: Timestamp| {
            target.capsule_id().map_or(RecordAction::Keep, |text| action(text, Some(since)))
        };
        for owner in
            self.state.owners.select(|one| action(&one.capsule, None) != RecordAction::Keep)
        {
            self.state.owners.edit().remove(&owner.capsule);
            if let RecordAction::SetKey(capsule) = action(&owner.capsule, None) {
                self.state.owners.put(CapsuleOwner { capsule, ..owner });
            }
        }
        for mut request in self.state.requests.select(|_| true) {
            match of_target(&request.target, request.created_at) {
                // One for a name that no capsule has goes on waiting: a sign-up must not tell which names there are.
                RecordAction::SetKey(key) | RecordAction::Unbind(key) => {
                    request.target.rename_capsule(key);
                    self.state.requests.put(request);
                }
                RecordAction::Remove if request.is_pending(self.now) => {
                    self.deny(request, self.event.caller.id.clone(), None);
                }
                RecordAction::Keep | RecordAction::Remove => {}
            }
        }
        for mut grant in self.state.grants.select(|_| true) {
            let has_ended = match of_target(&grant.target, grant.created_at) {
                RecordAction::Keep => continue,
                RecordAction::Remove if !grant.is_live(self.now) => continue,
                RecordAction::SetKey(key) => {
                    grant.target.rename_capsule(key);
                    false
                }
                RecordAction::Unbind(key) => {
                    grant.target.rename_capsule(key);
                    true
                }
                RecordAction::Remove => true,
            };
            let principal = grant.principal.clone();
            if has_ended && grant.is_live(self.now) {
                self.end_grant(grant);
            } else {
                self.state.grants.put(grant);
            }
            if has_ended {
                self.end_connections_without_grants(&principal);
            }
        }
        let mut policy = GrantPolicy::clone(&self.state.policy);
        policy.rules.retain_mut(|rule| {
            let Some(capsule) = &rule.matches.capsule else { return true };
            match action(capsule, None) {
                RecordAction::Keep => {}
                RecordAction::SetKey(key) => rule.matches.capsule = Some(key),
                RecordAction::Remove | RecordAction::Unbind(_) => return false,
            }
            true
        });
        if policy != *self.state.policy {
            self.state.policy = policy.into();
        }
    }
}
