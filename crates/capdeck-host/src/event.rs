//! What a host tells its sessions without being asked.

/// Something changed that a session may have to pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostEvent {
    /// A new catalog is in force.
    CatalogChanged,
}
