//! Where the workers of sessions come from: forked from a process that is ready, or started where that cannot be.

#[cfg(target_os = "linux")]
use std::sync::Arc;

#[cfg(target_os = "linux")]
use tokio::sync::Mutex;

#[cfg(target_os = "linux")]
use super::fork_server::ForkServer;
use super::worker_process::{WorkerProcess, WorkerStartError};
use crate::{protocol::WorkerRole, settings::WorkerCommand};

#[derive(Debug)]
pub(super) struct WorkerSource {
    command: WorkerCommand,
    #[cfg(target_os = "linux")]
    server: Mutex<ServerState>,
}

#[cfg(target_os = "linux")]
#[derive(Debug, Default)]
enum ServerState {
    #[default]
    NotStarted,
    Running(Arc<ForkServer>),
    /// This system cannot fork workers; they are started instead.
    Unusable,
}

impl WorkerSource {
    pub(super) fn new(command: WorkerCommand) -> Self {
        Self {
            command,
            #[cfg(target_os = "linux")]
            server: Mutex::default(),
        }
    }

    /// Returns a worker, which may still be confining itself if it was forked.
    pub(super) async fn worker(&self) -> Result<WorkerProcess, WorkerStartError> {
        #[cfg(target_os = "linux")]
        if let Some(worker) = self.forked().await? {
            return Ok(worker);
        }
        WorkerProcess::start(&self.command, WorkerRole::Session).await
    }

    /// Ends the fork server. The next worker starts another one.
    pub(super) fn close(&self) {
        #[cfg(target_os = "linux")]
        if let Ok(mut server) = self.server.try_lock() {
            *server = ServerState::NotStarted;
        }
    }

    #[cfg(target_os = "linux")]
    async fn forked(&self) -> Result<Option<WorkerProcess>, WorkerStartError> {
        for is_last in [false, true] {
            let Some(server) = self.server().await? else { return Ok(None) };
            let error = match WorkerProcess::fork(&server).await {
                Ok(worker) => return Ok(Some(worker)),
                Err(error) => error,
            };
            let mut state = self.server.lock().await;
            // Another run may have replaced it in between.
            if matches!(&*state, ServerState::Running(running) if Arc::ptr_eq(running, &server)) {
                tracing::warn!(%error, "the fork server of the sandbox failed");
                *state = if is_last { ServerState::Unusable } else { ServerState::NotStarted };
            }
        }
        Ok(None)
    }

    #[cfg(target_os = "linux")]
    async fn server(&self) -> Result<Option<Arc<ForkServer>>, WorkerStartError> {
        let mut state = self.server.lock().await;
        match &*state {
            ServerState::Running(server) => Ok(Some(Arc::clone(server))),
            ServerState::Unusable => Ok(None),
            ServerState::NotStarted => {
                let server = Arc::new(ForkServer::start(&self.command)?);
                *state = ServerState::Running(Arc::clone(&server));
                Ok(Some(server))
            }
        }
    }
}
