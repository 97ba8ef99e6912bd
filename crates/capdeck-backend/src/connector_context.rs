//! What every connection of one host shares: processes, logs, artifacts, the HTTP client.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use capdeck_auth::{
    EnvironmentSnapshot, GuardedClients, NameResolver, ReferenceLookup, TokenStore, Vault,
    VaultHolder,
};

use crate::{
    CallError, api_connection::DocumentCache, artifact::ArtifactStore, connect::ConnectorSettings,
    fault_sources::FaultSources, guardian::ProcessGuardian, http::client,
    init_records::InitRecords, process::ProcessSpawner, process_log::ProcessLogs,
};

/// Shared by all connections, behind an `Arc`.
#[derive(Debug)]
pub(crate) struct ConnectorContext {
    pub(crate) environment: EnvironmentSnapshot,
    pub(crate) project: Option<PathBuf>,
    pub(crate) client_name: String,
    pub(crate) client_version: String,
    pub(crate) spawner: ProcessSpawner,
    pub(crate) logs: ProcessLogs,
    pub(crate) artifacts: ArtifactStore,
    pub(crate) vault: Vault,
    pub(crate) token_store: TokenStore,
    /// For requests of APIs, and for the addresses that servers name when they ask for a sign-in.
    pub(crate) guarded_clients: GuardedClients,
    /// Copies of the descriptions of APIs.
    pub(crate) documents: DocumentCache,
    pub(crate) faults: FaultSources,
    /// Which tools of projects were prepared.
    pub(crate) inits: InitRecords,
    http: OnceLock<Result<reqwest::Client, CallError>>,
}

impl ConnectorContext {
    pub(crate) fn new(settings: ConnectorSettings, names: Arc<dyn NameResolver>) -> Self {
        let ConnectorSettings {
            environment,
            project,
            artifacts_dir,
            documents_dir,
            inits_dir,
            vault,
            guardian,
            client_name,
            client_version,
        } = settings;
        let version = client_version.clone();
        let build = move |reach| client::build_guarded(&version, reach, Arc::clone(&names));
        Self {
            environment,
            project,
            client_name,
            client_version,
            spawner: ProcessSpawner::new(ProcessGuardian::new(guardian)),
            logs: ProcessLogs::default(),
            artifacts: ArtifactStore::open(artifacts_dir),
            token_store: TokenStore::new(&vault),
            vault,
            guarded_clients: GuardedClients::new(Arc::new(build)),
            documents: DocumentCache::new(documents_dir),
            faults: FaultSources::default(),
            inits: InitRecords::new(inits_dir),
            http: OnceLock::new(),
        }
    }

    /// Where the references of one definition are looked up.
    pub(crate) fn lookup<'a>(&'a self, holder: &'a VaultHolder) -> ReferenceLookup<'a> {
        ReferenceLookup::new(&self.environment, &self.vault, holder)
    }

    /// The HTTP client for MCP servers, built when first needed: reading the system's certificates takes a while.
    pub(crate) fn http(&self) -> Result<&reqwest::Client, CallError> {
        self.http
            .get_or_init(|| client::build(&self.client_version))
            .as_ref()
            .map_err(CallError::clone)
    }
}
