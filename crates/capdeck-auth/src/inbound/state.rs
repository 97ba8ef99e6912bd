//! One state of the registry: its records, the ways to find things in them, and what ends by itself.

use std::{
    collections::{HashMap, HashSet},
    ops::{Deref, DerefMut},
    sync::Arc,
};

use jiff::Timestamp;

use super::{
    AccessTokenRecord, AuthenticatedClient, Credential, Grant, GrantRequest, LastUseTime, Operator,
    RegistryOptions, RegistryRecords, RequestStatus, SessionRecord, TokenHash,
};

/// One state of the registry. Copies share what is not changed.
#[derive(Debug, Clone, Default)]
pub(super) struct RegistrySnapshot {
    pub(super) records: RegistryRecords,
    /// Grows with every change.
    pub(super) generation: u64,
    /// Tokens that open something, unless they are over.
    pub(super) tokens: Arc<HashMap<TokenHash, TokenIndexEntry>>,
    /// Connections by the half of the refresh token that stays the same.
    pub(super) families: Arc<HashMap<TokenHash, String>>,
    /// Ids of grants that were not taken back, by principal.
    grants_of: Arc<HashMap<String, Vec<String>>>,
    pub(super) operator_keys: Arc<HashMap<TokenHash, String>>,
    pub(super) session_tokens: Arc<HashMap<TokenHash, String>>,
}

#[derive(Debug)]
pub(super) struct TokenIndexEntry {
    pub(super) hash: TokenHash,
    pub(super) client: Arc<AuthenticatedClient>,
    pub(super) last_used: LastUseTime,
}

impl Deref for RegistrySnapshot {
    type Target = RegistryRecords;

    fn deref(&self) -> &RegistryRecords {
        &self.records
    }
}

impl DerefMut for RegistrySnapshot {
    fn deref_mut(&mut self) -> &mut RegistryRecords {
        &mut self.records
    }
}

impl RegistrySnapshot {
    pub(super) fn new(records: RegistryRecords) -> Self {
        let mut state = Self { records, ..Self::default() };
        state.index(&Self::default());
        state
    }

    /// Live grants of a principal, the oldest first.
    pub(super) fn live_grants(&self, principal: &str, now: Timestamp) -> Vec<Grant> {
        let mut grants: Vec<Grant> = self
            .grants_of
            .get(principal)
            .into_iter()
            .flatten()
            .filter_map(|id| self.grants.get(id))
            .filter(|grant| grant.is_live(now))
            .cloned()
            .collect();
        grants.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        grants
    }

    /// Makes the ways to find things fit what was changed.
    pub(super) fn index(&mut self, before: &Self) {
        self.generation = before.generation + 1;
        if !self.credentials.is_same(&before.credentials) {
            let all = || self.records.credentials.values();
            let live = all().filter(|one| one.revoked_at.is_none());
            let tokens = live.flat_map(|one| one.tokens.iter().map(move |token| (one, token)));
            let entry = |(credential, token): (&Credential, &AccessTokenRecord)| {
                let client = Arc::new(credential.authenticated(token));
                let last_used = credential.last_used_at.clone();
                (token.hash, TokenIndexEntry { hash: token.hash, client, last_used })
            };
            self.tokens = Arc::new(tokens.map(entry).collect());
            let family = |one: &Credential| Some((one.refresh.as_ref()?.family, one.id.clone()));
            self.families = Arc::new(all().filter_map(family).collect());
        }
        if !self.grants.is_same(&before.grants) {
            let mut grants_of: HashMap<String, Vec<String>> = HashMap::new();
            for grant in self.grants.values().filter(|grant| grant.revoked_at.is_none()) {
                grants_of.entry(grant.principal.clone()).or_default().push(grant.id.clone());
            }
            self.grants_of = Arc::new(grants_of);
        }
        if !self.operators.is_same(&before.operators) {
            let key = |one: &Operator| Some((one.key?, one.id.clone()));
            self.operator_keys = Arc::new(self.operators.values().filter_map(key).collect());
        }
        if !self.sessions.is_same(&before.sessions) {
            let token = |one: &SessionRecord| (one.token, one.id.clone());
            self.session_tokens = Arc::new(self.sessions.values().map(token).collect());
        }
    }

    /// Removes what is over, and after a while also what is only history.
    pub(super) fn sweep(&mut self, now: Timestamp, options: &RegistryOptions) {
        let lifetimes = &options.lifetimes;
        let old = now.checked_sub(lifetimes.history).unwrap_or(Timestamp::MIN);
        for request in self.requests.select(|one| one.status_at(now) != one.status) {
            self.requests.put(request.at(now));
        }
        self.sessions.keep(|session| session.is_live(now, lifetimes.session_idle));
        self.credentials
            .keep(|one| one.revoked_at.or(one.expires_at).is_none_or(|ended| old < ended));
        self.grants.keep(|one| one.revoked_at.or(one.expires_at).is_none_or(|ended| old < ended));
        let grants = self.grants.clone();
        self.requests.keep(|one| {
            one.status == RequestStatus::Pending
                || old < one.decided_at.unwrap_or(one.expires_at)
                || one.grant.as_ref().is_some_and(|id| grants.contains_key(id))
        });
        self.forget_past_requests(now, options.limits.past_requests);
        let requests = self.requests.clone();
        self.enrollments.keep(|one| requests.contains_key(&one.request));
        let records = &mut self.records;
        let held: HashSet<&str> = records
            .requests
            .values()
            .map(|one| one.principal.as_str())
            .chain(records.grants.values().map(|one| one.principal.as_str()))
            .chain(records.credentials.values().map(|one| one.principal.as_str()))
            .collect();
        records.principals.keep(|one| held.contains(one.id.as_str()));
    }

    /// Keeps the newest of the requests that nothing depends on any more.
    fn forget_past_requests(&mut self, now: Timestamp, most: usize) {
        let is_past = |one: &&GrantRequest| {
            let grant = one.grant.as_ref().and_then(|id| self.grants.get(id));
            one.status != RequestStatus::Pending && !grant.is_some_and(|grant| grant.is_live(now))
        };
        let mut past: Vec<&GrantRequest> = self.requests.values().filter(is_past).collect();
        if past.len() <= most {
            return;
        }
        past.sort_by_key(|one| one.decided_at.unwrap_or(one.expires_at));
        let gone: HashSet<String> =
            past.iter().take(past.len() - most).map(|one| one.id.clone()).collect();
        self.requests.keep(|one| !gone.contains(&one.id));
    }
}
