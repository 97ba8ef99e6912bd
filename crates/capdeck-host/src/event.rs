//! What a host tells its sessions without being asked.

use std::sync::Arc;

use capdeck_catalog::RawObject;
use capdeck_definition::CapabilityId;

/// Something changed that a session may have to pass on.
#[derive(Debug, Clone)]
pub enum HostEvent {
    /// A new catalog is in force.
    CatalogChanged,
    /// A server said by itself that a list or a resource of its changed.
    ServerNotified {
        capability: CapabilityId,
        /// The session whose own connection it said it on; `None` on a connection that many share.
        session: Option<Arc<str>>,
        method: Arc<str>,
        params: Option<Arc<RawObject>>,
    },
}
