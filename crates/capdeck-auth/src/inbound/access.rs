//! What a credential opens now.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use parking_lot::RwLock;

use super::{Credential, Grant, GrantTarget, Registry, Role, Scope, Scopes, state::State};

/// What a connection may use: its grants as far as its scopes go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedAccess {
    pub principal: String,
    /// The scopes of the connection.
    pub scopes: Scopes,
    /// Live grants of the principal, the oldest first.
    pub grants: Vec<Grant>,
}

/// What one grant leaves of a capsule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapsuleAccess<'a> {
    pub capsule: &'a str,
    /// The role, as far as grant and scopes go.
    pub role: Role,
    /// Empty means everything.
    pub uri_prefixes: &'a [String],
    pub denied_prefixes: &'a [String],
}

/// What one grant leaves of the deck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeckAccess<'a> {
    pub capabilities: &'a [String],
    /// Empty means every tool of the capabilities.
    pub tools: &'a [String],
    pub denied_tools: &'a [String],
    /// Empty means every way.
    pub modes: &'a [String],
    /// Whether tools may be called, and not only looked at.
    pub may_call: bool,
}

impl GrantedAccess {
    /// The capsules, one item for each grant.
    pub fn capsules(&self) -> impl Iterator<Item = CapsuleAccess<'_>> {
        self.grants.iter().filter_map(|grant| match &grant.target {
            GrantTarget::Capsule { capsule, role, uri_prefixes, denied_prefixes } => {
                let highest = self.scopes.meet(&grant.scopes).highest_role()?;
                let role = highest.min(*role);
                Some(CapsuleAccess { capsule, role, uri_prefixes, denied_prefixes })
            }
            GrantTarget::Deck { .. } => None,
        })
    }

    /// The deck, one item for each grant.
    pub fn deck(&self) -> impl Iterator<Item = DeckAccess<'_>> {
        self.grants.iter().filter_map(|grant| match &grant.target {
            GrantTarget::Deck { capabilities, tools, denied_tools, modes } => {
                let scopes = self.scopes.meet(&grant.scopes);
                let may_call = scopes.allows(Scope::DeckCall);
                let item = DeckAccess { capabilities, tools, denied_tools, modes, may_call };
                scopes.allows(Scope::DeckRead).then_some(item)
            }
            GrantTarget::Capsule { .. } => None,
        })
    }

    /// Whether the holder may ask for others, and decide where principals may.
    pub fn may_manage(&self) -> bool {
        self.scopes.allows(Scope::RegistryManage)
            && self.grants.iter().any(|grant| grant.scopes.allows(Scope::RegistryManage))
    }
}

/// Answers that were given before.
#[derive(Debug, Default)]
pub(super) struct AccessCache(RwLock<HashMap<String, Known>>);

#[derive(Debug)]
struct Known {
    access: Arc<GrantedAccess>,
    /// The state that it was read from.
    generation: u64,
    /// When something in it ends.
    valid_until: Timestamp,
}

impl Registry {
    /// What a credential may use now; `None` once it opens nothing. The same value until something of it changes.
    pub fn access(&self, credential: &str) -> Option<Arc<GrantedAccess>> {
        let (state, now) = (self.state(), self.now());
        let cache = &self.0.accesses.0;
        if let Some(known) = cache.read().get(credential)
            && known.generation == state.generation
            && now < known.valid_until
        {
            return Some(Arc::clone(&known.access));
        }
        let found = state.credentials.get(credential).filter(|found| found.is_live(now));
        let read = found.and_then(|found| read(&state, found, now));
        let mut cache = cache.write();
        let Some((access, valid_until)) = read else {
            cache.remove(credential);
            return None;
        };
        // A change of something else keeps the value, so that nothing is made anew from it.
        let access = match cache.get(credential).filter(|known| *known.access == access) {
            Some(known) => Arc::clone(&known.access),
            None => Arc::new(access),
        };
        let known =
            Known { access: Arc::clone(&access), generation: state.generation, valid_until };
        cache.insert(credential.to_owned(), known);
        Some(access)
    }
}

/// What a live credential opens, and until when nothing of that ends by itself.
fn read(
    state: &State,
    credential: &Credential,
    now: Timestamp,
) -> Option<(GrantedAccess, Timestamp)> {
    let grants = state.live_grants(&credential.principal, now);
    if grants.is_empty() {
        return None;
    }
    let ends = grants.iter().filter_map(|grant| grant.expires_at).chain(credential.expires_at);
    let valid_until = ends.min().unwrap_or(Timestamp::MAX);
    let access = GrantedAccess {
        principal: credential.principal.clone(),
        scopes: credential.scopes.clone(),
        grants,
    };
    Some((access, valid_until))
}

impl AccessCache {
    /// Forgets connections that are gone.
    pub(super) fn sweep(&self, state: &State) {
        self.0.write().retain(|id, _| state.credentials.contains_key(id));
    }
}
