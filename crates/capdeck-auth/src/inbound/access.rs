//! What a credential opens now: the one cache of accesses.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use parking_lot::RwLock;

use super::{Access, Credential, Principal, Registry, state::RegistrySnapshot};

/// Accesses by credential, each until something of it changes.
#[derive(Debug, Default)]
pub(super) struct AccessCache(RwLock<HashMap<String, CachedAccess>>);

#[derive(Debug)]
struct CachedAccess {
    access: Arc<Access>,
    /// The state that it was read from.
    generation: u64,
    /// When something in it ends.
    valid_until: Timestamp,
}

impl Registry {
    /// What a credential may use now; `None` once it opens nothing. The same value until something of it changes.
    pub fn access(&self, credential: &str) -> Option<Arc<Access>> {
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
        // A change of something else keeps the value, so that nothing is built from it again.
        let access = match cache.get(credential).filter(|known| *known.access == access) {
            Some(known) => Arc::clone(&known.access),
            None => Arc::new(access),
        };
        let known =
            CachedAccess { access: Arc::clone(&access), generation: state.generation, valid_until };
        cache.insert(credential.to_owned(), known);
        Some(access)
    }
}

/// What a live credential opens, and until when nothing of that ends by itself.
fn read(
    state: &RegistrySnapshot,
    credential: &Credential,
    now: Timestamp,
) -> Option<(Access, Timestamp)> {
    let grants = state.live_grants(&credential.principal, now);
    if grants.is_empty() {
        return None;
    }
    let ends = grants.iter().filter_map(|grant| grant.expires_at).chain(credential.expires_at);
    let valid_until = ends.min().unwrap_or(Timestamp::MAX);
    let terms = grants.iter().map(|grant| (&grant.target, &grant.scopes));
    let access =
        Access::new(Principal::named(&credential.principal), credential.scopes.clone(), terms);
    Some((access, valid_until))
}

impl AccessCache {
    /// Forgets connections that are gone.
    pub(super) fn sweep(&self, state: &RegistrySnapshot) {
        self.0.write().retain(|id, _| state.credentials.contains_key(id));
    }
}
