//! Agents without a browser sign up: they ask, wait, and use what they were given when they asked.
//!
//! The token is handed out at once and opens nothing. An approval makes a connection of it; until then there is no
//! credential with its hash, so nothing has to remember to refuse it.

use std::net::IpAddr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::{
    AccessTokenRecord, Credential, CredentialKind, EnrollmentService, EventCaller, EventSubject,
    GrantRecipient, GrantRequest, GrantTarget, NewRequest, RegistryError, RegistryRecord,
    RegistryResult, RegistrySnapshot, RegistryTransaction, RequestSource, RequestStatus, Scopes,
    SourceAddress, TokenHash, TokenKind, check_room, new_id, random, text,
};
use crate::Secret;

/// A sign-up as it is kept. What became of it is read from its request and its connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enrollment {
    pub id: String,
    /// The id of the request that it filed.
    pub request: String,
    pub client_id: String,
    pub client_name: String,
    pub principal: String,
    /// Says the same on both sides, so that a person approves the agent they mean.
    pub user_code: String,
    /// How to reach the person who runs the agent, in their words.
    pub contact: Option<String>,
    /// What the agent called the capsule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_capsule: Option<String>,
    /// The id of the connection that it became.
    pub credential: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// Where it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    pub(super) token: TokenHash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum EnrollmentStatus {
    Pending,
    /// Approved, and not used yet.
    Approved,
    /// Approved and used.
    Active,
    Denied,
    Revoked,
    Expired,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEnrollment {
    pub client_id: String,
    pub client_name: Option<String>,
    pub target: GrantTarget,
    /// The agent's own name for the capsule, which identifies the sign-up: treating id and name alike would reveal a capsule.
    pub asked_capsule: Option<String>,
    pub scopes: Scopes,
    pub reason: Option<String>,
    pub contact: Option<String>,
}

/// A sign-up, and its token if it is new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnrollmentResult {
    pub state: EnrollmentState,
    pub token: Option<Secret>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnrollmentState {
    pub enrollment: Enrollment,
    pub status: EnrollmentStatus,
    /// What was granted, once something was; else what was asked for.
    pub target: GrantTarget,
    pub scopes: Scopes,
    /// When the sign-up, or what it became, is over.
    pub expires_at: Option<Timestamp>,
    /// Seconds between two questions about it.
    pub interval: u64,
}

impl EnrollmentStatus {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl EnrollmentService<'_> {
    /// Signs an agent up. Until it is decided, the same client asking for the same role in the same place is one sign-up.
    pub async fn enroll(
        self,
        caller: &EventCaller,
        new: NewEnrollment,
    ) -> RegistryResult<EnrollmentResult> {
        let interval = self.interval();
        self.registry
            .change(caller, "enrollment.create", EventSubject::default(), move |draft| {
                let (enrollment, token) = draft.enroll(&new)?;
                let state = draft.state.enrollment_state(enrollment, draft.now, interval)?;
                Ok(EnrollmentResult { state, token })
            })
            .await
    }

    /// The state of a sign-up, for the holder of its token.
    pub async fn poll(
        self,
        caller: &EventCaller,
        id: &str,
        token: &str,
    ) -> RegistryResult<EnrollmentState> {
        let polled = self.read_state(id, token);
        if let Err(error) = &polled {
            let subject = if error.code() == "not_found" {
                EventSubject::default()
            } else {
                EventSubject::id(id)
            };
            self.registry.record(caller, "enrollment.poll", subject, Some(error)).await;
        }
        polled
    }

    /// Takes a sign-up back, for the holder of its token. One that was approved ends with its connection.
    pub async fn withdraw(self, caller: &EventCaller, id: &str, token: &str) -> RegistryResult<()> {
        let (id, hash) = (id.to_owned(), TokenHash::of(token));
        self.registry
            .change(caller, "enrollment.withdraw", EventSubject::default(), move |draft| {
                let enrollment = draft.state.enrollment_with(&id, &hash)?.clone();
                draft.event.subject.id = Some(id);
                if enrollment.credential.is_some() {
                    draft.end_principals(|one| one.id == enrollment.principal);
                } else {
                    // Nothing came of it. It leaves an event and nothing else, so that sign-ups cannot fill the disk.
                    draft.state.enrollments.edit().remove(&enrollment.id);
                    draft.state.requests.edit().remove(&enrollment.request);
                    draft.state.principals.edit().remove(&enrollment.principal);
                }
                Ok(())
            })
            .await
    }

    pub fn get(self, id: &str) -> Option<EnrollmentState> {
        let state = self.registry.state();
        let found = state.enrollments.get(id)?.clone();
        state.enrollment_state(found, self.registry.now(), self.interval()).ok()
    }

    pub fn is_token(self, id: &str, token: &str) -> bool {
        let hash = TokenHash::of(token);
        self.registry.state().enrollments.get(id).is_some_and(|one| one.token.is(&hash))
    }

    /// The sign-up that filed a request, for the person who decides it.
    pub fn of_request(self, request: &str) -> Option<Enrollment> {
        self.registry.state().enrollments.values().find(|one| one.request == request).cloned()
    }

    fn read_state(self, id: &str, token: &str) -> RegistryResult<EnrollmentState> {
        let (state, now, hash) = (self.registry.state(), self.registry.now(), TokenHash::of(token));
        let found = state.enrollment_with(id, &hash)?;
        self.registry.inner.volatile.record_poll(
            id,
            now,
            self.registry.inner.options.lifetimes.poll_interval,
        )?;
        state.enrollment_state(found.clone(), now, self.interval())
    }

    fn interval(self) -> u64 {
        self.registry.inner.options.lifetimes.poll_interval.as_secs()
    }
}

impl RegistrySnapshot {
    /// The sign-up with this token. A wrong token and a wrong id give the same error.
    fn enrollment_with(&self, id: &str, token: &TokenHash) -> RegistryResult<&Enrollment> {
        let found = self.enrollments.get(id).filter(|one| one.token.is(token));
        found.ok_or_else(|| RegistryError::not_found(Enrollment::NAME, id))
    }

    /// The sign-up that waits with this code. Case, spaces and dashes do not matter.
    pub(super) fn enrollment_by_code(&self, code: &str, now: Timestamp) -> Option<&Enrollment> {
        let letters = |text: &str| -> String {
            let plain = text.chars().filter(char::is_ascii_alphanumeric);
            plain.map(|letter| letter.to_ascii_uppercase()).collect()
        };
        let code = letters(code);
        self.pending_enrollments(now).find(|one| letters(&one.user_code) == code)
    }

    fn pending_enrollments(&self, now: Timestamp) -> impl Iterator<Item = &Enrollment> {
        let is_pending = move |one: &&Enrollment| {
            self.requests.get(&one.request).is_some_and(|request| request.is_pending(now))
        };
        self.enrollments.values().filter(is_pending)
    }

    pub(super) fn enrollment_state(
        &self,
        enrollment: Enrollment,
        now: Timestamp,
        interval: u64,
    ) -> RegistryResult<EnrollmentState> {
        let request = self.requests.get(&enrollment.request).cloned();
        let gone = || RegistryError::not_found(Enrollment::NAME, &enrollment.id);
        let request = request.ok_or_else(gone)?.at(now);
        let grant = request.grant.as_ref().and_then(|id| self.grants.get(id));
        let credential = enrollment.credential.as_ref().and_then(|id| self.credentials.get(id));
        let status = match (request.status, credential) {
            (RequestStatus::Pending, _) => EnrollmentStatus::Pending,
            (RequestStatus::Denied | RequestStatus::Cancelled, _) => EnrollmentStatus::Denied,
            (RequestStatus::Expired, _) | (RequestStatus::Approved, None) => {
                EnrollmentStatus::Expired
            }
            (RequestStatus::Approved, Some(one)) if one.revoked_at.is_some() => {
                EnrollmentStatus::Revoked
            }
            (RequestStatus::Approved, Some(one)) if !one.is_live(now) => EnrollmentStatus::Expired,
            (RequestStatus::Approved, Some(one)) if one.last_used_at.get().is_some() => {
                EnrollmentStatus::Active
            }
            (RequestStatus::Approved, Some(_)) => EnrollmentStatus::Approved,
        };
        Ok(EnrollmentState {
            status,
            target: grant.map_or(&request.target, |grant| &grant.target).clone(),
            scopes: grant.map_or(&request.scopes, |grant| &grant.scopes).clone(),
            expires_at: credential.map_or(Some(request.expires_at), |one| one.expires_at),
            interval,
            enrollment,
        })
    }
}

impl RegistryTransaction<'_> {
    fn enroll(&mut self, new: &NewEnrollment) -> RegistryResult<(Enrollment, Option<Secret>)> {
        let client_id = text::name("client_id", &new.client_id)?;
        let client_name =
            text::name("client_name", new.client_name.as_deref().unwrap_or(&client_id))?;
        let contact = text::check_note("contact", new.contact.as_deref())?;
        self.event.subject.client_id = Some(client_id.clone());
        new.target.check()?;
        let now = self.now;
        let asked = new.asked_capsule.as_deref().or(new.target.capsule_id());
        let is_same = |one: &&Enrollment| {
            one.client_id == client_id
                && self.state.requests.get(&one.request).is_some_and(|request| {
                    one.asked_capsule.as_deref().or(request.target.capsule_id()) == asked
                        && request.target.role() == new.target.role()
                })
        };
        let waiting = || self.state.pending_enrollments(now);
        if let Some(same) = waiting().find(is_same).cloned() {
            self.event.subject.id = Some(same.id.clone());
            return Ok((same, None));
        }
        let limit = self.options.limits.pending_enrollments;
        check_room("sign-ups that wait", waiting().count(), limit)?;
        let limit = self.options.limits.pending_enrollments_of_address;
        let address = self.event.caller.address;
        let is_from_there = |one: &&Enrollment| {
            one.address.is_some()
                && SourceAddress::from(one.address) == SourceAddress::from(address)
        };
        check_room(
            "sign-ups of this address that wait",
            waiting().filter(is_from_there).count(),
            limit,
        )?;
        let token = TokenKind::Enrollment.create()?;
        let expires_at = self.after(self.options.lifetimes.enrollment);
        let principal = self.principal(&GrantRecipient::New {
            name: client_name.clone(),
            client_id: Some(client_id.clone()),
        })?;
        let mut enrollment = Enrollment {
            id: new_id("enr_")?,
            request: String::new(),
            client_id: client_id.clone(),
            client_name,
            principal: principal.id.clone(),
            user_code: user_code()?,
            contact,
            asked_capsule: new.asked_capsule.clone(),
            credential: None,
            created_at: now,
            expires_at,
            address,
            token: TokenHash::of(token.expose()),
        };
        let request = NewRequest {
            source: RequestSource::Enrollment,
            holder: GrantRecipient::Principal { id: principal.id },
            requested_by: client_id,
            target: new.target.clone(),
            scopes: new.scopes.clone(),
            reason: new.reason.clone(),
            wanted_until: None,
        };
        let request = self.file_request(&request, expires_at)?;
        enrollment.request.clone_from(&request.id);
        self.event.subject.id = Some(enrollment.id.clone());
        self.state.enrollments.put(enrollment.clone());
        // A rule may have decided before the sign-up was there.
        self.enrollment_decided(&request);
        let enrollment = self.state.enrollments.get(&enrollment.id).cloned().unwrap_or(enrollment);
        Ok((enrollment, Some(token)))
    }

    /// Makes the connection of a sign-up whose request was approved.
    pub(super) fn enrollment_decided(&mut self, request: &GrantRequest) {
        if request.status != RequestStatus::Approved || request.source != RequestSource::Enrollment
        {
            return;
        }
        let found = self.state.enrollments.values().find(|one| one.request == request.id).cloned();
        let Some(mut enrollment) = found.filter(|one| one.credential.is_none()) else { return };
        let Some(principal) = self.state.principals.get(&enrollment.principal) else { return };
        let grant = request.grant.as_ref().and_then(|id| self.state.grants.get(id));
        let scopes = grant.map_or(&request.scopes, |grant| &grant.scopes).clone();
        let end = grant.and_then(|grant| grant.expires_at);
        let end = end.unwrap_or_else(|| self.after(self.options.lifetimes.enrollment_token));
        // The sign-up has one connection, so its id can be made from the sign-up's.
        let id = enrollment.id.replacen("enr_", "crd_", 1);
        enrollment.credential = Some(id.clone());
        let credential = Credential {
            kind: CredentialKind::Enrollment,
            expires_at: Some(end),
            tokens: vec![AccessTokenRecord { hash: enrollment.token, expires_at: Some(end) }],
            ..Credential::new(id, principal, scopes, self.now)
        };
        self.record_also("credential.issue", credential.subject());
        self.state.credentials.put(credential);
        self.state.enrollments.put(enrollment);
    }
}

/// Eight letters in two groups, without those that look like others. 40 bits, for one day, behind a limit of attempts.
fn user_code() -> RegistryResult<String> {
    const LETTERS: [char; 32] = [
        'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'J', 'K', 'L', 'M', 'N', 'P', 'Q', 'R', 'S', 'T',
        'U', 'V', 'W', 'X', 'Y', 'Z', '2', '3', '4', '5', '6', '7', '8', '9',
    ];
    let bytes = random::<8>()?;
    let mut letters = bytes.iter().filter_map(|byte| LETTERS.get(usize::from(byte % 32)));
    let first: String = letters.by_ref().take(4).collect();
    Ok(format!("{first}-{}", letters.collect::<String>()))
}
