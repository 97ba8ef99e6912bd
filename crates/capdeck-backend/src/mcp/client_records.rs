//! The clients of one connection to a modern server.

use std::sync::{Arc, Weak};

use capdeck_catalog::RawMembers;
use capdeck_mcp::client::ClientDescription;
use parking_lot::Mutex;

use crate::ClientProfile;

/// The introduction and the log level of each client. Clients that are gone are removed.
pub(super) struct McpClientRecords {
    /// The host's own `clientInfo`, for clients without one.
    own_info: RawMembers,
    own_level: Mutex<Option<String>>,
    known: Mutex<Vec<McpClientRecord>>,
}

struct McpClientRecord {
    profile: Weak<ClientProfile>,
    hello: Arc<ClientDescription>,
    level: Option<String>,
}

impl McpClientRecords {
    pub(super) fn new(own_info: RawMembers) -> Self {
        Self { own_info, own_level: Mutex::default(), known: Mutex::default() }
    }

    pub(super) fn hello(&self, profile: &Arc<ClientProfile>) -> Arc<ClientDescription> {
        self.with(profile, |known| Arc::clone(&known.hello))
    }

    pub(super) fn level(&self, profile: Option<&Arc<ClientProfile>>) -> Option<String> {
        match profile {
            None => self.own_level.lock().clone(),
            Some(profile) => self.with(profile, |known| known.level.clone()),
        }
    }

    pub(super) fn set_level(&self, profile: Option<&Arc<ClientProfile>>, level: String) {
        match profile {
            None => *self.own_level.lock() = Some(level),
            Some(profile) => self.with(profile, |known| known.level = Some(level)),
        }
    }

    fn with<T>(
        &self,
        profile: &Arc<ClientProfile>,
        work: impl FnOnce(&mut McpClientRecord) -> T,
    ) -> T {
        let mut known = self.known.lock();
        let same = |one: &McpClientRecord| std::ptr::eq(one.profile.as_ptr(), Arc::as_ptr(profile));
        let place = known.iter().position(same).unwrap_or_else(|| {
            known.retain(|one| one.profile.strong_count() > 0);
            let info = profile.info.clone().unwrap_or_else(|| self.own_info.clone());
            let hello =
                Arc::new(ClientDescription { info, capabilities: profile.capabilities.clone() });
            known.push(McpClientRecord { profile: Arc::downgrade(profile), hello, level: None });
            known.len() - 1
        });
        work(&mut known[place])
    }
}
