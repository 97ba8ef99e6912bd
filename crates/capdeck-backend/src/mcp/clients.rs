//! The clients of one connection to a modern server.

use std::sync::{Arc, Weak};

use capdeck_catalog::RawObject;
use capdeck_mcp::client::ClientHello;
use parking_lot::Mutex;

use crate::ClientProfile;

/// The introduction and the log level of each client. Clients that are gone are removed.
pub(super) struct Clients {
    /// The host's own `clientInfo`, for clients without one.
    own_info: RawObject,
    own_level: Mutex<Option<String>>,
    known: Mutex<Vec<Known>>,
}

struct Known {
    profile: Weak<ClientProfile>,
    hello: Arc<ClientHello>,
    level: Option<String>,
}

impl Clients {
    pub(super) fn new(own_info: RawObject) -> Self {
        Self { own_info, own_level: Mutex::default(), known: Mutex::default() }
    }

    pub(super) fn hello(&self, profile: &Arc<ClientProfile>) -> Arc<ClientHello> {
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

    fn with<T>(&self, profile: &Arc<ClientProfile>, work: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.known.lock();
        let same = |one: &Known| std::ptr::eq(one.profile.as_ptr(), Arc::as_ptr(profile));
        let place = known.iter().position(same).unwrap_or_else(|| {
            known.retain(|one| one.profile.strong_count() > 0);
            let info = profile.info.clone().unwrap_or_else(|| self.own_info.clone());
            let hello = Arc::new(ClientHello { info, capabilities: profile.capabilities.clone() });
            known.push(Known { profile: Arc::downgrade(profile), hello, level: None });
            known.len() - 1
        });
        work(&mut known[place])
    }
}
