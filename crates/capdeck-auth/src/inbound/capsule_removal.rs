//! What ends with a capsule: its owner, its grants, the requests for it and the rules about it.

use std::collections::HashSet;

use jiff::Timestamp;

use super::{
    EventCaller, Grant, GrantPolicy, GrantRequest, Registry, RegistryError,
    capsule_key::{CapsuleKeyText, capsule_key, missing_capsule_key},
    event::{AuditEvent, EventSubject},
    owner::CapsuleOwner,
    registry::RegistryTransaction,
    state::RegistrySnapshot,
};

/// A capsule that there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExistingCapsule {
    pub id: String,
    pub uid: String,
    pub created_at: Timestamp,
}

impl ExistingCapsule {
    fn key(&self) -> String {
        capsule_key(&self.id, &self.uid)
    }
}

/// What becomes of a record.
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

impl Registry {
    /// What records call the capsules that they are about. To be read before the list of capsules that
    /// [`Self::reconcile_capsules`] is given.
    pub fn named_capsules(&self) -> HashSet<String> {
        let state = self.state();
        let owners = state.owners.values().map(|one| one.capsule.as_str());
        let grants = state.grants.values().filter_map(|one| one.target.capsule_id());
        let requests = state.requests.values().filter_map(|one| one.target.capsule_id());
        let rules = state.policy.rules.iter().filter_map(|rule| rule.matches.capsule.as_deref());
        owners.chain(grants).chain(requests).chain(rules).map(str::to_owned).collect()
    }

    /// Ends what is about capsules that are gone, wherever they were deleted. Records of version 0.1, which name a capsule by
    /// its id alone, are bound to the capsule that has the id, unless they are older than it. Nothing is written where
    /// nothing changes.
    ///
    /// `named` is [`Self::named_capsules`] from before `present` was listed: a record is made after its capsule, so what
    /// was named then and is not listed is gone. What is named since may be about a capsule that is not listed yet.
    pub async fn reconcile_capsules(
        &self,
        caller: &EventCaller,
        named: HashSet<String>,
        present: Vec<ExistingCapsule>,
    ) -> Result<(), RegistryError> {
        let fate = move |text: &str, since| match named.contains(text) {
            true => record_action(text, since, &present),
            false => RecordAction::Keep,
        };
        if self.state().is_reconciled(&fate, self.now()) {
            return Ok(());
        }
        let event = AuditEvent::new("capsule.forget", caller, EventSubject::default());
        self.change(event, move |draft| {
            draft.end_capsules(fate);
            Ok(())
        })
        .await
    }

    /// Ends everything about the capsule with this key, which is gone.
    pub async fn forget_capsule(
        &self,
        caller: &EventCaller,
        key: &str,
    ) -> Result<(), RegistryError> {
        let subject = EventSubject { capsule: Some(key.to_owned()), ..EventSubject::default() };
        let event = AuditEvent::new("capsule.forget", caller, subject);
        let key = key.to_owned();
        self.change(event, move |draft| {
            draft.end_capsules(
                |text, _| if text == key { RecordAction::Remove } else { RecordAction::Keep },
            );
            Ok(())
        })
        .await
    }
}

/// What becomes of a record that names a capsule like this. `since`: when the record was made, where it says so.
fn record_action(
    text: &str,
    since: Option<Timestamp>,
    present: &[ExistingCapsule],
) -> RecordAction {
    match CapsuleKeyText::of(text) {
        CapsuleKeyText::Missing => RecordAction::Keep,
        CapsuleKeyText::Key(key) if present.iter().any(|one| one.key() == key) => {
            RecordAction::Keep
        }
        CapsuleKeyText::Key(_) => RecordAction::Remove,
        CapsuleKeyText::Id(id) => {
            let is_for = |one: &&ExistingCapsule| {
                one.id == id && since.is_none_or(|since| one.created_at <= since)
            };
            let found = present.iter().find(is_for);
            found.map_or_else(
                || RecordAction::Unbind(missing_capsule_key(id)),
                |one| RecordAction::SetKey(one.key()),
            )
        }
    }
}

impl RegistrySnapshot {
    /// Whether every record in force is about a capsule that there is.
    fn is_reconciled(
        &self,
        fate: &impl Fn(&str, Option<Timestamp>) -> RecordAction,
        now: Timestamp,
    ) -> bool {
        let stays = |text: Option<&str>, since| {
            text.is_none_or(|text| fate(text, since) == RecordAction::Keep)
        };
        let is_history = |text: Option<&str>| {
            text.is_some_and(|text| matches!(CapsuleKeyText::of(text), CapsuleKeyText::Key(_)))
        };
        self.owners.values().all(|one| stays(Some(&one.capsule), None))
            && self.grants.values().all(|one| {
                let capsule = one.target.capsule_id();
                (!one.is_live(now) && is_history(capsule)) || stays(capsule, Some(one.created_at))
            })
            && self.requests.values().all(|one| {
                let capsule = one.target.capsule_id();
                (!one.is_pending(now) && is_history(capsule))
                    || stays(capsule, Some(one.created_at))
            })
            && self.policy.rules.iter().all(|rule| stays(rule.matches.capsule.as_deref(), None))
    }
}

impl RegistryTransaction<'_> {
    fn end_capsules(&mut self, fate: impl Fn(&str, Option<Timestamp>) -> RecordAction) {
        self.end_owners(&fate);
        self.end_requests(&fate);
        self.end_grants(&fate);
        self.end_rules(&fate);
    }

    fn end_owners(&mut self, fate: &impl Fn(&str, Option<Timestamp>) -> RecordAction) {
        let owners: Vec<CapsuleOwner> = self.state.owners.values().cloned().collect();
        for owner in owners {
            let fate = fate(&owner.capsule, None);
            if fate == RecordAction::Keep {
                continue;
            }
            self.state.owners.edit().remove(&owner.capsule);
            if let RecordAction::SetKey(capsule) = fate {
                self.state.owners.put(CapsuleOwner { capsule, ..owner });
            }
        }
    }

    fn end_requests(&mut self, fate: &impl Fn(&str, Option<Timestamp>) -> RecordAction) {
        let requests: Vec<GrantRequest> = self.state.requests.values().cloned().collect();
        for mut request in requests {
            let Some(capsule) = request.target.capsule_id().map(str::to_owned) else { continue };
            match fate(&capsule, Some(request.created_at)) {
                RecordAction::Keep => {}
                // One for a name that no capsule has goes on waiting: a sign-up must not tell which names there are.
                RecordAction::SetKey(key) | RecordAction::Unbind(key) => {
                    request.target.rename_capsule(key);
                    self.state.requests.put(request);
                }
                RecordAction::Remove if request.is_pending(self.now) => {
                    self.deny(request, self.event.caller.id.clone(), None);
                }
                RecordAction::Remove => {}
            }
        }
    }

    fn end_grants(&mut self, fate: &impl Fn(&str, Option<Timestamp>) -> RecordAction) {
        let grants: Vec<Grant> = self.state.grants.values().cloned().collect();
        for mut grant in grants {
            let Some(capsule) = grant.target.capsule_id().map(str::to_owned) else { continue };
            match fate(&capsule, Some(grant.created_at)) {
                RecordAction::Keep => {}
                RecordAction::SetKey(key) => {
                    grant.target.rename_capsule(key);
                    self.state.grants.put(grant);
                }
                RecordAction::Unbind(key) => {
                    grant.target.rename_capsule(key);
                    self.end_grant(grant);
                }
                RecordAction::Remove if grant.is_live(self.now) => self.end_grant(grant),
                RecordAction::Remove => {}
            }
        }
    }

    fn end_grant(&mut self, mut grant: Grant) {
        if grant.is_live(self.now) {
            grant.revoked_at = Some(self.now);
            let event = AuditEvent::new("grant.revoke", &self.event.caller, grant.subject());
            self.consequences.push(event);
        }
        let principal = grant.principal.clone();
        self.state.grants.put(grant);
        self.end_connections_without_grants(&principal);
    }

    fn end_rules(&mut self, fate: &impl Fn(&str, Option<Timestamp>) -> RecordAction) {
        let mut policy = GrantPolicy::clone(&self.state.policy);
        policy.rules.retain_mut(|rule| {
            let Some(capsule) = &rule.matches.capsule else { return true };
            match fate(capsule, None) {
                RecordAction::Keep => true,
                RecordAction::SetKey(key) => {
                    rule.matches.capsule = Some(key);
                    true
                }
                RecordAction::Remove | RecordAction::Unbind(_) => false,
            }
        });
        if policy != *self.state.policy {
            self.state.policy = policy.into();
        }
    }
}
