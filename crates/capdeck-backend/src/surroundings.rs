//! What every connection of one host shares: processes, logs, artifacts, the HTTP client.

use std::{path::PathBuf, sync::OnceLock};

use capdeck_auth::Environment;

use crate::{
    CallError, artifact::ArtifactStore, connect::ConnectorSettings, guardian::Guardian,
    http_client, process::Spawner, process_log::ProcessLogs,
};

/// Shared by all connections, behind an `Arc`.
#[derive(Debug)]
pub(crate) struct Surroundings {
    pub(crate) environment: Environment,
    pub(crate) project: Option<PathBuf>,
    pub(crate) client_name: String,
    pub(crate) client_version: String,
    pub(crate) spawner: Spawner,
    pub(crate) logs: ProcessLogs,
    pub(crate) artifacts: ArtifactStore,
    http: OnceLock<Result<reqwest::Client, CallError>>,
}

impl Surroundings {
    pub(crate) fn new(settings: ConnectorSettings) -> Self {
        let ConnectorSettings {
            environment,
            project,
            artifacts_dir,
            guardian,
            client_name,
            client_version,
        } = settings;
        Self {
            environment,
            project,
            client_name,
            client_version,
            spawner: Spawner::new(Guardian::new(guardian)),
            logs: ProcessLogs::default(),
            artifacts: ArtifactStore::open(artifacts_dir),
            http: OnceLock::new(),
        }
    }

    /// The HTTP client, built when first needed: reading the system's certificates takes a while.
    pub(crate) fn http(&self) -> Result<&reqwest::Client, CallError> {
        self.http
            .get_or_init(|| http_client::build(&self.client_version))
            .as_ref()
            .map_err(CallError::clone)
    }
}
