//! Events that a host sends to its sessions.

use std::sync::Arc;

use capdeck_catalog::RawMembers;
use capdeck_definition::CapabilityId;

use crate::Principal;

/// A change that a session may have to forward.
#[derive(Debug, Clone)]
pub enum HostEvent {
    CatalogChanged,
    /// A backend's lists changed without an announcement of the backend.
    ListsChanged {
        capability: CapabilityId,
    },
    ServerNotified {
        capability: CapabilityId,
        /// The session of the connection; `None` on a shared one.
        session: Option<Arc<str>>,
        method: Arc<str>,
        params: Option<Arc<RawMembers>>,
    },
    TaskChanged {
        capability: CapabilityId,
        owner: Principal,
        session: Arc<str>,
        /// The task in the form of the extension, under the id that its owner knows.
        task: Arc<RawMembers>,
    },
}
