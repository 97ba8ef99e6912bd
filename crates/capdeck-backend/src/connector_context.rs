//! What every connection of one host shares: processes, logs, artifacts, the HTTP client.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use capdeck_auth::{GuardedClients, NameResolver, ReferenceLookup, TokenStore, VaultHolder};
use capdeck_definition::{CapabilityId, ChaosConfig as Declared, ChaosDelay, Definition};
use capdeck_mcp::client::{FaultSettings, FaultSource};
use parking_lot::Mutex;

use crate::{
    CallError, artifact::ArtifactStore, connect::ConnectorSettings, guardian::ProcessGuardian,
    http::client, init_records::InitRecords, process::ProcessSpawner, process_log::ProcessLogs,
    start_allowance::InstallTurns, starting_servers::StartingServers,
};

/// Shared by all connections, behind an `Arc`.
#[derive(Debug)]
pub(crate) struct ConnectorContext {
    pub(crate) settings: ConnectorSettings,
    pub(crate) spawner: ProcessSpawner,
    pub(crate) logs: ProcessLogs,
    pub(crate) artifacts: ArtifactStore,
    pub(crate) token_store: TokenStore,
    /// For requests of APIs, and for the addresses that servers name when they ask for a sign-in.
    pub(crate) guarded_clients: GuardedClients,
    pub(crate) faults: FaultSources,
    pub(crate) install_turns: InstallTurns,
    pub(crate) starting: StartingServers,
    /// Finds the addresses of names, for requests and for checks.
    pub(crate) names: Arc<dyn NameResolver>,
    /// Which tools of projects were prepared.
    pub(crate) inits: InitRecords,
    http: OnceLock<Result<reqwest::Client, CallError>>,
}

impl ConnectorContext {
    pub(crate) fn new(settings: ConnectorSettings, names: Arc<dyn NameResolver>) -> Self {
        let version = settings.client_version.clone();
        let resolver = Arc::clone(&names);
        let build = move |reach| client::build_guarded(&version, reach, Arc::clone(&resolver));
        Self {
            spawner: ProcessSpawner::new(ProcessGuardian::new(settings.guardian.clone())),
            logs: ProcessLogs::default(),
            artifacts: ArtifactStore::open(settings.artifacts_dir.clone()),
            token_store: TokenStore::new(&settings.vault),
            guarded_clients: GuardedClients::new(Arc::new(build)),
            faults: FaultSources::default(),
            install_turns: InstallTurns::default(),
            starting: StartingServers::default(),
            names,
            inits: InitRecords::new(settings.inits_dir.clone()),
            http: OnceLock::new(),
            settings,
        }
    }

    /// Where the references of one definition are looked up.
    pub(crate) fn lookup<'a>(&'a self, holder: &'a VaultHolder) -> ReferenceLookup<'a> {
        ReferenceLookup::new(&self.settings.environment, &self.settings.vault, holder)
    }

    /// The HTTP client for MCP servers, built when first needed: reading the system's certificates takes a while.
    pub(crate) fn http(&self) -> Result<&reqwest::Client, CallError> {
        self.http
            .get_or_init(|| client::build(&self.settings.client_version))
            .as_ref()
            .map_err(CallError::clone)
    }
}

#[derive(Debug, Default)]
pub(crate) struct FaultSources(Mutex<HashMap<CapabilityId, Arc<FaultSource>>>);

impl FaultSources {
    /// The source of a capability. It starts again from its seed when the file says something else.
    pub(crate) fn get_or_insert(&self, id: &CapabilityId, declared: &Declared) -> Arc<FaultSource> {
        let chaos = chaos(declared);
        let mut sources = self.0.lock();
        if let Some(source) = sources.get(id.as_str())
            && *source.chaos() == chaos
        {
            return Arc::clone(source);
        }
        tracing::warn!(capability = %id, faults = declared.summary(), "`chaos` injects faults");
        let source = Arc::new(FaultSource::new(chaos));
        sources.insert(id.clone(), Arc::clone(&source));
        source
    }
}

fn chaos(declared: &Declared) -> FaultSettings {
    let millis = |(min, max)| Duration::from_millis(min)..=Duration::from_millis(max);
    FaultSettings {
        seed: declared.seed,
        delay: declared.delay_ms.map(|delay| match delay {
            ChaosDelay::Always(delay) => millis((delay, delay)),
            ChaosDelay::Between(range) => millis((range.min, range.max)),
        }),
        drop: declared.drop,
        truncate: declared.truncate,
        malformed: declared.malformed,
        list_change: declared.list_change,
        expire: declared.expire,
        only: declared.only.clone(),
    }
}

/// A definition reads what its id, in its file, was granted. The same id in another file needs its own grant.
pub fn vault_holder(definition: &Definition) -> VaultHolder {
    let source = &definition.source;
    // A layer is always written as one word.
    let kind = serde_json::to_value(source.layer).ok();
    let kind = kind.as_ref().and_then(|kind| kind.as_str()).unwrap_or_default();
    VaultHolder::new(definition.id.as_str(), kind, &source.path)
}

#[cfg(test)]
mod fault_sources_tests {
    use super::*;

    #[test]
    fn a_source_goes_on_until_the_file_changes() {
        let (sources, id) = (FaultSources::default(), CapabilityId::new("one").unwrap());
        let shaky = Declared { drop: 0.5, ..Declared::default() };
        let first = sources.get_or_insert(&id, &shaky);
        assert!(Arc::ptr_eq(&first, &sources.get_or_insert(&id, &shaky)));
        let other = Declared { drop: 0.6, ..Declared::default() };
        assert!(!Arc::ptr_eq(&first, &sources.get_or_insert(&id, &other)));
    }
}
