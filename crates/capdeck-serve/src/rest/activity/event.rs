//! One event and its audience.

use bytes::Bytes;
use capdeck_auth::inbound::{OperatorRole, RegistryEvent, capsule_id_of};
use capdeck_host::{CapsuleChange, ChangeKind, TrailLine};
use jiff::Timestamp;
use serde::Serialize;

use crate::{request_actor::RequestActor, rest::RestApi};

/// Serialized once for all watchers.
#[derive(Debug)]
pub(super) struct ActivityEvent {
    pub(super) sequence: u64,
    pub(super) frame: Bytes,
    /// `None`: for all watchers.
    about: Option<ActivitySubject>,
}

#[derive(Debug, Default)]
struct ActivitySubject {
    source: ActivitySource,
    capsule: Option<String>,
    /// The principals that caused it or are affected.
    principals: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum ActivitySource {
    #[default]
    Deck,
    Capsules,
    Registry,
}

#[derive(Debug, Default, Serialize)]
struct ActivityMessage<'a> {
    seq: u64,
    source: ActivitySource,
    at: Timestamp,
    action: &'a str,
    outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capability: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capsule: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
}

impl<'a> ActivityMessage<'a> {
    fn into_event(self, seq: u64, about: ActivitySubject) -> ActivityEvent {
        let data = serde_json::to_string(&Self { seq, source: about.source, ..self });
        let frame = format!("id: {seq}\nevent: audit\ndata: {}\n\n", data.unwrap_or_default());
        ActivityEvent { sequence: seq, frame: frame.into(), about: Some(about) }
    }
}

impl ActivityEvent {
    /// Reports lost events to all watchers.
    pub(super) fn missed(sequence: u64) -> Self {
        let frame = format!("id: {sequence}\nevent: missed\ndata: {{}}\n\n");
        Self { sequence, frame: frame.into(), about: None }
    }

    /// From a line of the deck's audit trail.
    pub(super) fn of_deck(sequence: u64, line: &str) -> Option<Self> {
        let line: TrailLine = serde_json::from_str(line).ok()?;
        let told = ActivityMessage {
            capability: Some(&line.capability),
            tool: Some(&line.tool),
            client: Some(&line.client),
            elapsed_ms: Some(line.elapsed_ms),
            at: line.at,
            action: &line.method,
            outcome: &line.outcome,
            ..ActivityMessage::default()
        };
        Some(told.into_event(sequence, ActivitySubject::default()))
    }

    /// From a change in a capsule or of the list of capsules.
    pub(super) fn of_capsules(sequence: u64, change: &CapsuleChange) -> Self {
        let (capsule, key, change) = match change {
            CapsuleChange::Entry { capsule, key, change } => (capsule, key, change),
            CapsuleChange::Capsules => {
                let told = ActivityMessage {
                    at: Timestamp::now(),
                    action: "capsules.changed",
                    outcome: "ok",
                    ..ActivityMessage::default()
                };
                let source = ActivitySource::Capsules;
                let about = ActivitySubject { source, ..ActivitySubject::default() };
                return told.into_event(sequence, about);
            }
            CapsuleChange::Missed => return Self::missed(sequence),
        };
        let action = match change.kind {
            ChangeKind::Created => "entry.created",
            ChangeKind::Updated => "entry.updated",
            ChangeKind::Deleted => "entry.deleted",
            ChangeKind::Purged => "entry.purged",
        };
        let told = ActivityMessage {
            capsule: Some(capsule),
            uri: Some(change.uri.to_string()),
            version: Some(change.version),
            at: change.at,
            action,
            outcome: "ok",
            ..ActivityMessage::default()
        };
        let about = ActivitySubject {
            source: ActivitySource::Capsules,
            capsule: Some(key.clone()),
            principals: Vec::new(),
        };
        told.into_event(sequence, about)
    }

    /// From an event of the registry.
    pub(super) fn of_registry(sequence: u64, event: &RegistryEvent) -> Self {
        let outcome = match (event.error_code, event.is_refused) {
            (None, _) => "ok",
            (Some(_), true) => "denied",
            (Some(_), false) => "error",
        };
        let subject = &event.subject;
        let told = ActivityMessage {
            error_code: event.error_code,
            actor: Some(&event.actor).filter(|actor| !actor.is_empty()).map(String::as_str),
            capsule: subject.capsule.as_deref().map(capsule_id_of),
            principal: subject.principal.as_deref(),
            id: subject.id.as_deref(),
            at: event.at,
            action: event.action,
            outcome,
            ..ActivityMessage::default()
        };
        let principals = [Some(event.actor.clone()), subject.principal.clone()];
        let about = ActivitySubject {
            source: ActivitySource::Registry,
            capsule: subject.capsule.clone(),
            principals: principals.into_iter().flatten().filter(|id| !id.is_empty()).collect(),
        };
        told.into_event(sequence, about)
    }

    /// Admins see everything, approvers what they can decide, others what they own and what concerns them.
    pub(super) fn is_for(&self, rest: &RestApi, actor: &RequestActor) -> bool {
        let Some(ActivitySubject { source, capsule, principals }) = &self.about else {
            return true;
        };
        let registry = rest.http_state.registry();
        let owns = |id: &str| {
            let capsule = capsule.as_deref();
            let owner = capsule.and_then(|capsule| registry?.capsules().owner(capsule));
            owner.as_deref() == Some(id)
        };
        match actor {
            RequestActor::Owner => true,
            RequestActor::Operator(operator) => match operator.role {
                OperatorRole::Admin => true,
                OperatorRole::Approver if *source == ActivitySource::Registry => true,
                OperatorRole::Approver | OperatorRole::Member => {
                    owns(&operator.id) || principals.contains(&operator.id)
                }
            },
            RequestActor::Credential(client) => principals.contains(&client.principal),
            RequestActor::Share(_) => false,
        }
    }
}
