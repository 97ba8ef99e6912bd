//! What happened in the registry, for the audit and for followers.

use std::{fmt, net::IpAddr};

use jiff::Timestamp;

use super::{RegistryError, SelfApprovalLink};

/// Who sends a request, as the audit names them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventCaller {
    /// The id of an operator, a principal or a client; empty when it is unknown.
    pub id: String,
    /// Where the request came from.
    pub address: Option<IpAddr>,
    /// The hash of the browser's cookie, for a request from a browser.
    pub browser: Option<String>,
}

impl EventCaller {
    pub fn new(id: impl Into<String>, address: Option<IpAddr>) -> Self {
        Self { id: id.into(), address, browser: None }
    }

    pub fn unknown(address: Option<IpAddr>) -> Self {
        Self { id: String::new(), address, browser: None }
    }

    /// The same in a browser, by the hash of its cookie.
    pub fn in_browser(self, browser: Option<String>) -> Self {
        Self { browser, ..self }
    }
}

/// One change of the registry, or one refusal. It never holds a token, a key or a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryEvent {
    pub at: Timestamp,
    /// `grant.request`, `grant.approve`, `credential.issue`, `login.fail`, …
    pub action: &'static str,
    /// The word for what went wrong; none when it was done.
    pub error_code: Option<&'static str>,
    /// Whether it was refused, rather than failed.
    pub is_refused: bool,
    /// The id of who did it; empty when it is unknown.
    pub actor: String,
    pub address: Option<IpAddr>,
    pub subject: EventSubject,
    /// What ties an approval to the request that it approves.
    pub self_approved: Option<SelfApprovalLink>,
}

/// What an event is about, by ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventSubject {
    /// The request, grant, credential, client, operator … itself.
    pub id: Option<String>,
    pub capsule: Option<String>,
    pub principal: Option<String>,
    pub client_id: Option<String>,
}

impl EventSubject {
    pub(super) fn id(id: &str) -> Self {
        Self { id: Some(id.to_owned()), ..Self::default() }
    }

    pub(super) fn capsule(key: &str) -> Self {
        Self { capsule: Some(key.to_owned()), ..Self::default() }
    }

    pub(super) fn client(id: &str) -> Self {
        Self { client_id: Some(id.to_owned()), ..Self::default() }
    }
}

/// Keeps one line for every event. A trait, because the lines go to the audit of the capsules, which this crate does not
/// know.
pub trait AuditSink: fmt::Debug + Send + Sync {
    /// Writes the line. Called once for every change, after it is on disk, and once for every refusal; it may block.
    fn record(&self, event: &RegistryEvent);
}

/// Something that is about to be done: what its line in the audit says, whether it succeeds or not.
#[derive(Debug, Clone)]
pub(super) struct AuditEvent {
    pub(super) action: &'static str,
    pub(super) caller: EventCaller,
    pub(super) subject: EventSubject,
    pub(super) self_approved: Option<SelfApprovalLink>,
}

impl AuditEvent {
    pub(super) fn new(action: &'static str, caller: &EventCaller, subject: EventSubject) -> Self {
        Self { action, caller: caller.clone(), subject, self_approved: None }
    }

    pub(super) fn event(self, at: Timestamp, error: Option<&RegistryError>) -> RegistryEvent {
        let Self { action, caller: EventCaller { id: actor, address, .. }, subject, self_approved } =
            self;
        RegistryEvent {
            at,
            action,
            error_code: error.map(RegistryError::code),
            is_refused: error.is_some_and(RegistryError::is_refusal),
            actor,
            address,
            subject,
            self_approved,
        }
    }
}
