//! What a host tells its sessions without being asked.

use std::sync::Arc;

use capdeck_catalog::RawObject;
use capdeck_definition::CapabilityId;

use crate::Principal;

/// Something changed that a session may have to pass on.
#[derive(Debug, Clone)]
pub enum HostEvent {
    /// A new catalog is in force.
    CatalogChanged,
    /// The host found that a backend offers something else than before, of which the backend said nothing.
    ListsChanged { capability: CapabilityId },
    /// A server said by itself that a list or a resource of its changed.
    ServerNotified {
        capability: CapabilityId,
        /// The session whose own connection it said it on; `None` on a connection that many share.
        session: Option<Arc<str>>,
        method: Arc<str>,
        params: Option<Arc<RawObject>>,
    },
    /// A task that a server works on is no longer as it was.
    TaskChanged {
        capability: CapabilityId,
        owner: Principal,
        /// The session it was handed out to.
        session: Arc<str>,
        /// The task in the words of the extension, under the id that its owner knows.
        task: Arc<RawObject>,
    },
}
