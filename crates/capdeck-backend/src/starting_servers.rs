//! The servers that launchers are starting now.

use std::{sync::Arc, time::Instant};

use capdeck_definition::CapabilityId;
use parking_lot::Mutex;

/// A server that a launcher starts, and may have to install.
#[derive(Debug, Clone)]
pub struct StartingServer {
    pub id: CapabilityId,
    pub since: Instant,
    /// What is installed, or the launcher where its arguments do not name it.
    pub package: String,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct StartingServers(Arc<Mutex<Vec<Arc<StartingServer>>>>);

/// A start that goes on. Dropping it ends it.
pub(crate) struct ServerStart {
    servers: StartingServers,
    server: Arc<StartingServer>,
}

impl StartingServers {
    pub(crate) fn begin(&self, id: CapabilityId, package: String) -> ServerStart {
        let server = Arc::new(StartingServer { id, since: Instant::now(), package });
        self.0.lock().push(Arc::clone(&server));
        ServerStart { servers: self.clone(), server }
    }

    /// The one that started first comes first.
    pub(crate) fn all(&self) -> Vec<StartingServer> {
        self.0.lock().iter().map(|server| StartingServer::clone(server)).collect()
    }
}

impl Drop for ServerStart {
    fn drop(&mut self) {
        self.servers.0.lock().retain(|other| !Arc::ptr_eq(other, &self.server));
    }
}
