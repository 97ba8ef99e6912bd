//! HTTP clients, one per reach.

use std::{collections::HashMap, fmt, sync::Arc};

use parking_lot::Mutex;

use super::NetworkReach;

/// Builds an HTTP client that follows no redirects and resolves names with a [`super::GuardedResolver`].
pub type ClientFactory = dyn Fn(NetworkReach) -> Result<reqwest::Client, String> + Send + Sync;

/// HTTP clients by reach, built when first needed. Clones share them.
#[derive(Clone)]
pub struct GuardedClients {
    build: Arc<ClientFactory>,
    built: Arc<Mutex<HashMap<NetworkReach, reqwest::Client>>>,
}

impl GuardedClients {
    /// Creates clients with this function, at most once per reach.
    pub fn new(build: Arc<ClientFactory>) -> Self {
        Self { build, built: Arc::default() }
    }

    /// Returns the client for this reach. Callers check IP address literals, because the resolver does not see them.
    pub fn get(&self, reach: NetworkReach) -> Result<reqwest::Client, String> {
        let mut built = self.built.lock();
        if let Some(client) = built.get(&reach) {
            return Ok(client.clone());
        }
        let client = (self.build)(reach)?;
        built.insert(reach, client.clone());
        Ok(client)
    }
}

impl fmt::Debug for GuardedClients {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("GuardedClients").finish_non_exhaustive()
    }
}
