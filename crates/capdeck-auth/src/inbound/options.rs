//! How a registry is opened: its clock, lifetimes and limits.

use std::{sync::Arc, time::Duration};

use capdeck_storage::WallClock;

use super::{AuditSink, RedirectPolicy};

#[derive(Debug, Clone, Default)]
pub struct RegistryOptions {
    pub clock: WallClock,
    pub lifetimes: RegistryLifetimes,
    pub limits: RegistryLimits,
    /// Where clients may send people back to.
    pub redirects: RedirectPolicy,
    pub client_documents: ClientDocuments,
    /// Gets every change and every refusal.
    pub audit: Option<Arc<dyn AuditSink>>,
}

/// Whether clients may be known by a document at an address of theirs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClientDocuments {
    #[default]
    Fetched,
    /// This host reaches no other. Clients register themselves.
    Refused,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryLifetimes {
    pub access_token: Duration,
    /// Counted again from every renewal.
    pub refresh_token: Duration,
    /// How long the last renewal is answered again, for a client that lost the answer.
    pub refresh_grace: Duration,
    /// At most ten minutes.
    pub code: Duration,
    /// How long a request waits for a decision.
    pub request: Duration,
    /// How long a sign-up waits for a decision.
    pub enrollment: Duration,
    /// How long an approved sign-up's token lasts, unless the decision says otherwise.
    pub enrollment_token: Duration,
    /// How often the state of a sign-up may be asked for.
    pub poll_interval: Duration,
    pub session: Duration,
    /// How long a session lasts without being used.
    pub session_idle: Duration,
    /// How long things that are over stay readable.
    pub history: Duration,
}

impl Default for RegistryLifetimes {
    fn default() -> Self {
        const HOUR: Duration = Duration::from_secs(3600);
        const DAY: Duration = Duration::from_secs(24 * 3600);
        Self {
            access_token: HOUR,
            refresh_token: 90 * DAY,
            refresh_grace: Duration::from_secs(60),
            code: Duration::from_secs(300),
            request: 7 * DAY,
            enrollment: DAY,
            enrollment_token: 90 * DAY,
            poll_interval: Duration::from_secs(5),
            session: 12 * HOUR,
            session_idle: HOUR,
            history: 90 * DAY,
        }
    }
}

/// How many of each thing there may be, so that requests cannot fill the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryLimits {
    /// Requests without a decision, in all.
    pub pending_requests: usize,
    /// Requests without a decision, of one client.
    pub pending_requests_of_client: usize,
    /// Requests that were decided or are over and have no grant in force.
    pub past_requests: usize,
    pub clients: usize,
    /// Codes that can still be redeemed.
    pub codes: usize,
    pub credentials: usize,
    pub grants: usize,
    /// Sign-ups without a decision.
    pub pending_enrollments: usize,
    /// Sign-ups without a decision, of one address, or of IPv6 of one network.
    pub pending_enrollments_of_address: usize,
    pub operators: usize,
    pub sessions: usize,
    pub profiles: usize,
    pub policy_rules: usize,
    /// Wrong keys of one sender before the wait grows. Tokens that cannot be guessed may fail four times as often.
    pub failed_credentials: u32,
}

impl Default for RegistryLimits {
    fn default() -> Self {
        Self {
            pending_requests: 1_000,
            pending_requests_of_client: 50,
            past_requests: 5_000,
            clients: 2_000,
            codes: 1_000,
            credentials: 10_000,
            grants: 20_000,
            pending_enrollments: 500,
            pending_enrollments_of_address: 20,
            operators: 1_000,
            sessions: 2_000,
            profiles: 200,
            policy_rules: 200,
            failed_credentials: 5,
        }
    }
}
