//! What is only in memory, and may be lost: failed sign-ins, when sign-ups were asked about, codes, fresh renewals.

use std::{collections::HashMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use parking_lot::Mutex;

use super::{
    AdminKey, FailedCredentials, RegistryError, RegistryOptions, authorization::AuthorizationCode,
    renewal::RenewalResponse, token::TokenHash,
};

/// See above.
#[derive(Debug)]
pub(super) struct TransientState {
    pub(super) failures: Arc<FailedCredentials>,
    /// When each sign-up may be asked about again.
    polls: Mutex<HashMap<String, Timestamp>>,
    /// The admin key in force, once somebody said so.
    pub(super) admin_key: Mutex<Option<AdminKey>>,
    /// Codes that can still be redeemed.
    pub(super) codes: Mutex<HashMap<TokenHash, AuthorizationCode>>,
    /// The last renewal of each connection, for a while.
    pub(super) renewals: Mutex<HashMap<String, RenewalResponse>>,
}

impl TransientState {
    pub(super) fn new(options: &RegistryOptions) -> Self {
        let free = options.limits.failed_credentials;
        Self {
            failures: Arc::new(FailedCredentials::new(options.clock.clone(), free)),
            polls: Mutex::default(),
            admin_key: Mutex::default(),
            codes: Mutex::default(),
            renewals: Mutex::default(),
        }
    }

    /// Forgets what is over.
    pub(super) fn sweep(&self, now: Timestamp) {
        self.polls.lock().retain(|_, next| now < *next);
        self.codes.lock().retain(|_, code| now < code.expires_at);
        self.renewals.lock().retain(|_, renewal| now < renewal.until);
    }

    /// Notes that a sign-up was asked about, unless it was too soon.
    pub(super) fn record_poll(
        &self,
        id: &str,
        now: Timestamp,
        interval: Duration,
    ) -> Result<(), RegistryError> {
        let mut polls = self.polls.lock();
        if let Some(next) = polls.get(id).filter(|next| now < **next) {
            return Err(RegistryError::too_soon(*next, now));
        }
        polls.insert(id.to_owned(), now.checked_add(interval).unwrap_or(Timestamp::MAX));
        Ok(())
    }
}
