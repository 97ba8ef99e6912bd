//! Everything that a registry keeps, and the ways to find things in it.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use jiff::Timestamp;

use super::{
    AccessProfile, AuthenticatedClient, Credential, Enrollment, Grant, GrantPolicy, GrantRequest,
    LastUseTime, OAuthClient, OpenRegistryError, Operator, PrincipalRecord, RegistryError,
    RegistryOptions, RequestStatus,
    collection::{RecordCollection, RegistryRecord},
    owner::CapsuleOwner,
    session::SessionRecord,
    storage::{FileTexts, RegistryStorage},
    token::TokenHash,
};

const POLICY_FILE: &str = "policy.json";

/// One state of the registry. Copies share what is not changed.
#[derive(Debug, Clone, Default)]
pub(super) struct RegistrySnapshot {
    pub(super) credentials: RecordCollection<Credential>,
    pub(super) principals: RecordCollection<PrincipalRecord>,
    pub(super) clients: RecordCollection<OAuthClient>,
    pub(super) grants: RecordCollection<Grant>,
    pub(super) requests: RecordCollection<GrantRequest>,
    pub(super) enrollments: RecordCollection<Enrollment>,
    pub(super) profiles: RecordCollection<AccessProfile>,
    pub(super) operators: RecordCollection<Operator>,
    pub(super) sessions: RecordCollection<SessionRecord>,
    pub(super) owners: RecordCollection<CapsuleOwner>,
    pub(super) policy: Arc<GrantPolicy>,
    /// Grows with every change.
    pub(super) generation: u64,
    /// Tokens that open something, unless they are over.
    pub(super) tokens: Arc<HashMap<TokenHash, TokenIndexEntry>>,
    /// Connections by the half of the renewing token that stays the same.
    pub(super) families: Arc<HashMap<TokenHash, String>>,
    /// Ids of grants that were not taken back, by principal, the oldest first.
    grants_of: Arc<HashMap<String, Vec<String>>>,
    pub(super) operator_keys: Arc<HashMap<TokenHash, String>>,
    pub(super) session_tokens: Arc<HashMap<TokenHash, String>>,
}

/// A token that opens something.
#[derive(Debug)]
pub(super) struct TokenIndexEntry {
    pub(super) hash: TokenHash,
    pub(super) client: Arc<AuthenticatedClient>,
    pub(super) last_used: LastUseTime,
}

/// Names every collection once.
macro_rules! each_collection {
    ($do:ident) => {
        $do!(
            credentials: Credential, principals: PrincipalRecord, clients: OAuthClient, grants: Grant,
            requests: GrantRequest, enrollments: Enrollment, profiles: AccessProfile,
            operators: Operator, sessions: SessionRecord, owners: CapsuleOwner
        )
    };
}

macro_rules! files {
    ($($field:ident: $record:ty),*) => { [$(<$record>::FILE,)* POLICY_FILE] };
}

impl RegistrySnapshot {
    /// The names of all files.
    pub(super) const FILES: [&str; 11] = each_collection!(files);

    /// What is kept in a folder.
    pub(super) fn load(storage: &RegistryStorage) -> Result<Self, OpenRegistryError> {
        macro_rules! load {
            ($($field:ident: $record:ty),*) => {
                Self { $($field: collection(storage)?,)* ..Self::default() }
            };
        }
        let mut state = each_collection!(load);
        state.policy = Arc::new(storage.load(POLICY_FILE)?);
        state.index_all();
        Ok(state)
    }

    /// The new texts of the files that a change is about.
    pub(super) fn changed_texts(&self, before: &Self) -> Result<FileTexts, RegistryError> {
        let mut texts = FileTexts::new();
        macro_rules! texts {
            ($($field:ident: $record:ty),*) => {
                $(if !self.$field.is_same(&before.$field) {
                    texts.insert(<$record>::FILE, RegistryStorage::text(&self.$field.records())?);
                })*
            };
        }
        each_collection!(texts);
        if self.policy != before.policy {
            texts.insert(POLICY_FILE, RegistryStorage::text(&*self.policy)?);
        }
        Ok(texts)
    }

    /// The texts of the files that say when something was last used.
    pub(super) fn use_texts(&self) -> Result<FileTexts, RegistryError> {
        let mut texts = FileTexts::new();
        if !self.credentials.is_empty() {
            texts.insert(Credential::FILE, RegistryStorage::text(&self.credentials.records())?);
        }
        if !self.operators.is_empty() {
            texts.insert(Operator::FILE, RegistryStorage::text(&self.operators.records())?);
        }
        if !self.sessions.is_empty() {
            texts.insert(SessionRecord::FILE, RegistryStorage::text(&self.sessions.records())?);
        }
        Ok(texts)
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
            self.index_credentials();
        }
        if !self.grants.is_same(&before.grants) {
            self.index_grants();
        }
        if !self.operators.is_same(&before.operators) {
            self.index_operators();
        }
        if !self.sessions.is_same(&before.sessions) {
            self.index_sessions();
        }
    }

    fn index_all(&mut self) {
        self.index_credentials();
        self.index_grants();
        self.index_operators();
        self.index_sessions();
    }

    fn index_credentials(&mut self) {
        let live = || self.credentials.values().filter(|one| one.revoked_at.is_none());
        let known = |credential: &Credential| -> Vec<(TokenHash, TokenIndexEntry)> {
            let tokens = credential.tokens.iter();
            tokens
                .map(|token| {
                    let known = TokenIndexEntry {
                        hash: token.hash,
                        client: Arc::new(credential.authenticated(token)),
                        last_used: credential.last_used_at.clone(),
                    };
                    (token.hash, known)
                })
                .collect()
        };
        self.tokens = Arc::new(live().flat_map(known).collect());
        let family = |one: &Credential| Some((one.refresh.as_ref()?.family, one.id.clone()));
        self.families = Arc::new(self.credentials.values().filter_map(family).collect());
    }

    fn index_grants(&mut self) {
        let mut grants_of: HashMap<String, Vec<String>> = HashMap::new();
        for grant in self.grants.values().filter(|grant| grant.revoked_at.is_none()) {
            grants_of.entry(grant.principal.clone()).or_default().push(grant.id.clone());
        }
        self.grants_of = Arc::new(grants_of);
    }

    fn index_operators(&mut self) {
        let key = |one: &Operator| Some((one.key?, one.id.clone()));
        self.operator_keys = Arc::new(self.operators.values().filter_map(key).collect());
    }

    fn index_sessions(&mut self) {
        let token = |one: &SessionRecord| (one.token, one.id.clone());
        self.session_tokens = Arc::new(self.sessions.values().map(token).collect());
    }

    /// Removes what is over, and after a while also what is only history.
    pub(super) fn sweep(&mut self, now: Timestamp, options: &RegistryOptions) {
        let lifetimes = &options.lifetimes;
        let old = now.checked_sub(lifetimes.history).unwrap_or(Timestamp::MIN);
        let has_expired =
            |one: &GrantRequest| one.status == RequestStatus::Pending && one.expires_at <= now;
        let expired: Vec<_> =
            self.requests.values().filter(|one| has_expired(one)).cloned().collect();
        expired.into_iter().for_each(|request| self.requests.put(request.at(now)));
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
        let held: HashSet<&str> = self
            .requests
            .values()
            .map(|one| one.principal.as_str())
            .chain(self.grants.values().map(|one| one.principal.as_str()))
            .chain(self.credentials.values().map(|one| one.principal.as_str()))
            .collect();
        self.principals.keep(|one| held.contains(one.id.as_str()));
    }
}

impl RegistrySnapshot {
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

fn collection<T: RegistryRecord>(
    storage: &RegistryStorage,
) -> Result<RecordCollection<T>, OpenRegistryError> {
    let records: Vec<T> = storage.load(T::FILE)?;
    RecordCollection::of(records)
        .map_err(|id| storage.broken(T::FILE, format!("`{id}` is in it twice")))
}
