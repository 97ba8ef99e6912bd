//! The host: the catalog in force and the connections behind it.

mod derived;

use capdeck_sandbox::WorkerCommand;
use std::{
    path::PathBuf,
    sync::{Arc, Weak},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use capdeck_auth::{EnvironmentSnapshot, GuardedClients, Vault};
use capdeck_backend::{
    ApiDescription, ArtifactStore, CallError, ClientProfile, Connector, ConnectorSettings,
    GuardianCommand, LocalImport, StartingServer, WithheldVariable,
};
use capdeck_catalog::{BuildInputs, Capability, Catalog, CatalogPart, ProjectTrust, RawMembers};
use capdeck_definition::{
    CapabilityId, Deck, DeckProject, DeckRoot, Definition, Exposure, IdCollision, RemoteDeck,
    SourceFile,
};
use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::sync::broadcast;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use self::derived::DeckClient;
use self::derived::DerivedCatalogs;
use crate::{
    Access, CapsuleService, Principal, Session, SessionScope, SessionSettings, SetupState,
    TrustStore, View, ViewPolicy, artifacts::artifact_limits, audience::BARE, audit::CallAuditLog,
    capsules::capability, code_mode::CodeMode, discover::finish_list_checks,
    discovery_table::DiscoveryTable, durable::blocking, flow::FlowGuards, health::HealthStore,
    journal::RunJournal, observed_shapes::ObservedShapes, pins::PinStore, pool::ConnectionPool,
    process_turns::ProcessTurns, server_eras::ServerEras, spans::SpanRecorder,
    subscriptions::ResourceSubscriptions, tasks::TaskStore, usage::CapabilityUsage,
};

/// The resolved settings of one host.
#[derive(Debug, Clone)]
pub struct HostSettings {
    /// The person's own decks, lowest precedence first.
    pub user_roots: Vec<DeckRoot>,
    pub project: Option<DeckProject>,
    /// The deck used when the roots declare nothing.
    pub starter: Vec<SourceFile>,
    pub state_dir: PathBuf,
    pub cache_dir: PathBuf,
    /// The variables that `${NAME}` is resolved from, at connect time.
    pub environment: EnvironmentSnapshot,
    /// The secrets that `$vault:NAME` is resolved from, and the sign-ins.
    pub vault: Vault,
    /// Starts the process that ends orphaned children when the host is killed.
    pub guardian: Option<GuardianCommand>,
    /// Starts the workers of code mode. Without it, runs fail.
    pub sandbox: Option<WorkerCommand>,
    /// The exposure when neither the capability nor the deck sets one.
    pub default_exposure: Exposure,
    /// The capsules of this machine, opened on first use.
    pub capsules: Option<Arc<dyn CapsuleService>>,
    /// The version reported to servers and clients.
    pub version: String,
}

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

/// A running deck. Cheap to clone; all clones are the same host.
#[derive(Clone)]
pub struct Host(pub(crate) Arc<HostState>);

pub(crate) struct HostState {
    pub(crate) settings: HostSettings,
    pub(crate) catalog: ArcSwap<Catalog>,
    pub(crate) deck: ArcSwap<Deck>,
    pub(crate) attached: ArcSwapOption<RemoteDeck>,
    /// Held while a catalog is built, so that no change is based on an outdated one.
    building: Mutex<()>,
    pub(crate) discoveries: DiscoveryTable,
    pub(crate) list_checks: TaskTracker,
    pub(crate) connector: Connector,
    pub(crate) shared: ConnectionPool,
    own_pools: Mutex<Vec<Weak<ConnectionPool>>>,
    pub(crate) process_turns: Arc<ProcessTurns>,
    pub(crate) eras: ServerEras,
    pub(crate) subscriptions: ResourceSubscriptions,
    pub(crate) tasks: TaskStore,
    pub(crate) events: broadcast::Sender<HostEvent>,
    pub(crate) audit: CallAuditLog,
    pub(crate) journal: RunJournal,
    pub(crate) flow_guards: FlowGuards,
    pub(crate) shapes: ObservedShapes,
    pub(crate) health: HealthStore,
    pub(crate) usage: CapabilityUsage,
    pub(crate) code_mode: CodeMode,
    pub(crate) spans: SpanRecorder,
    derived: DerivedCatalogs,
    pub(crate) stop: CancellationToken,
}

impl Host {
    /// Reads the deck. Connects to nothing, and no file problem can make it fail.
    pub fn open(settings: HostSettings) -> Self {
        let connector = Connector::new(ConnectorSettings {
            environment: settings.environment.clone(),
            project: settings.project.as_ref().map(|project| project.dir.clone()),
            artifacts_dir: settings.state_dir.join("artifacts"),
            documents_dir: settings.cache_dir.join("documents"),
            inits_dir: settings.state_dir.join("inits"),
            vault: settings.vault.clone(),
            guardian: settings.guardian.clone(),
            client_name: "capdeck".to_owned(),
            client_version: settings.version.clone(),
        });
        let deck = Arc::new(read_deck(&settings));
        connector.artifacts().keep_within(artifact_limits(&deck.config));
        let discoveries = DiscoveryTable::new(&settings.cache_dir);
        let catalog = Arc::new(build_catalog(&settings, &deck, &discoveries, None));
        let eras = ServerEras::default();
        eras.note_all(&catalog);
        Self(Arc::new(HostState {
            shared: ConnectionPool::new(
                connector.clone(),
                ClientProfile::default(),
                None,
                catalog.clone(),
            ),
            audit: CallAuditLog::open(&settings.state_dir),
            journal: RunJournal::new(settings.clone()),
            flow_guards: FlowGuards::default(),
            shapes: ObservedShapes::new(
                &settings.cache_dir,
                settings.project.as_ref().map(|project| project.dir.clone()),
            ),
            catalog: ArcSwap::from(catalog),
            deck: ArcSwap::from(deck),
            attached: ArcSwapOption::empty(),
            building: Mutex::new(()),
            own_pools: Mutex::default(),
            process_turns: Arc::default(),
            eras,
            subscriptions: ResourceSubscriptions::default(),
            tasks: TaskStore::default(),
            discoveries,
            list_checks: TaskTracker::new(),
            connector,
            events: broadcast::channel(256).0,
            health: HealthStore::open(&settings.state_dir),
            usage: CapabilityUsage::open(&settings.state_dir),
            code_mode: CodeMode::new(settings.sandbox.clone(), &settings.state_dir),
            spans: SpanRecorder::default(),
            derived: DerivedCatalogs::default(),
            stop: CancellationToken::new(),
            settings,
        }))
    }

    /// The servers that launchers are starting now, the oldest start first.
    pub fn starting_servers(&self) -> Vec<StartingServer> {
        self.0.connector.starting_servers()
    }

    /// The catalog in force.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.0.catalog.load_full()
    }

    /// The view of a client with this name and policy that declares no capabilities.
    pub fn view(&self, policy: &ViewPolicy, client: &str) -> Arc<View> {
        self.client(&[client], None).current_view(policy)
    }

    /// The catalog that a client or principal of this name can see, if it declares no capabilities.
    pub fn known_to(&self, client: &str, access: Option<&Access>) -> Arc<Catalog> {
        self.client(&[client], access).current_catalog(CatalogPart::Everything)
    }

    /// True when there is a view of this name. Where grants are needed, a view without grants does
    /// not exist.
    pub fn has_view(&self, name: &str, access: Option<&Access>) -> bool {
        let Some(principal) = access.map(|access| access.principal.as_str()) else {
            return self.catalog().parts().views.contains_key(name);
        };
        // A name that lists capabilities is for the person's own command line.
        if !self.catalog().parts().views.contains_key(name) {
            return false;
        }
        let part = CatalogPart::View(name.into());
        self.client(&[principal], access).current_catalog(part).capabilities().next().is_some()
    }

    /// A client of this name that declares no capabilities.
    pub(crate) fn client<'a>(
        &'a self,
        names: &'a [&'a str],
        access: Option<&Access>,
    ) -> DeckClient<'a> {
        let access = access.map(|access| Arc::clone(&access.deck));
        DeckClient { host: self, audience: &BARE, names, access }
    }

    pub(crate) fn pins(&self) -> PinStore {
        PinStore::new(&self.0.settings.state_dir)
    }

    /// The files of the catalog.
    pub fn deck(&self) -> Arc<Deck> {
        self.0.deck.load_full()
    }

    pub fn settings(&self) -> &HostSettings {
        &self.0.settings
    }

    /// The capsules of this machine, if the host has any.
    pub fn capsules(&self) -> Option<&Arc<dyn CapsuleService>> {
        self.0.settings.capsules.as_ref()
    }

    /// HTTP clients with network restrictions.
    pub fn guarded_clients(&self) -> &GuardedClients {
        self.0.connector.guarded_clients()
    }

    /// The stored large results.
    pub fn artifacts(&self) -> &ArtifactStore {
        self.0.connector.artifacts()
    }

    /// Subscribes to the changes of this host.
    pub fn events(&self) -> broadcast::Receiver<HostEvent> {
        self.0.events.subscribe()
    }

    /// Reads all files again and replaces the catalog; entries that no longer load remain, marked
    /// stale. Returns the ids that an attached deck shares with the files.
    pub fn reload(&self) -> Vec<IdCollision> {
        let mut deck = read_deck(&self.0.settings);
        let attached = self.0.attached.load_full();
        let collisions = attached.map(|remote| deck.attach(&remote)).unwrap_or_default();
        let deck = Arc::new(deck);
        let _building = self.0.building.lock();
        self.0.deck.store(deck.clone());
        self.artifacts().keep_within(artifact_limits(&deck.config));
        self.replace_catalog(&deck, &self.catalog());
        collisions
    }

    /// Builds the catalog again from the same files, because a fact outside them changed.
    pub fn rebuild(&self) {
        self.rebuild_after(|_| true);
    }

    /// Rebuilds after a step, with no other catalog change in between. Builds nothing when the step
    /// returns false.
    pub(crate) fn rebuild_after(&self, step: impl FnOnce(&Catalog) -> bool) -> bool {
        let _building = self.0.building.lock();
        let (deck, previous) = (self.deck(), self.catalog());
        let is_changed = step(&previous);
        if is_changed {
            self.replace_catalog(&deck, &previous);
        }
        is_changed
    }

    fn replace_catalog(&self, deck: &Deck, previous: &Catalog) {
        let state = &self.0;
        let next = build_catalog(&state.settings, deck, &state.discoveries, Some(previous));
        let next = Arc::new(next);
        self.0.eras.note_all(&next);
        self.0.catalog.store(next.clone());
        self.0.shared.follow(&next);
        for pool in self.own_pools() {
            pool.follow(&next);
        }
        self.announce(HostEvent::CatalogChanged);
    }

    pub(crate) fn register_pool(&self, pool: &Arc<ConnectionPool>) {
        let mut pools = self.0.own_pools.lock();
        pools.retain(|pool| pool.strong_count() > 0);
        pools.push(Arc::downgrade(pool));
        // The catalog may have been replaced since the pool was made.
        pool.follow(&self.catalog());
    }

    pub(crate) fn own_pools(&self) -> Vec<Arc<ConnectionPool>> {
        self.0.own_pools.lock().iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn announce(&self, event: HostEvent) {
        // Without receivers nothing is lost: the next session starts from the current catalog.
        drop(self.0.events.send(event));
    }

    /// The latest standard error output of the capability's process.
    pub fn process_log(&self, id: &CapabilityId) -> Option<String> {
        self.0.connector.process_log(id.as_str())
    }

    /// Imports the description of a capability if it is a local file. Nothing is fetched.
    pub async fn import_local(&self, definition: &Definition) -> Option<LocalImport> {
        self.0.connector.import_local(definition).await
    }

    /// The variables that are set here, that the programs of a capability seem to use and that they do not get.
    pub fn withheld_variables(&self, definition: &Definition) -> Vec<WithheldVariable> {
        self.0.connector.withheld_variables(definition)
    }

    /// What the description of an `OpenAPI` capability says about the API as a whole. No credential is used.
    pub async fn describe_api(&self, definition: &Definition) -> Result<ApiDescription, CallError> {
        self.0.connector.describe_api(definition).await
    }

    /// A session for the person's command line: everything usable, no questions.
    pub fn operator(&self) -> Arc<Session> {
        self.session(SessionSettings::local(SessionScope::Operator, ClientProfile::default()))
    }

    /// The trust state of the project's current files.
    pub fn trust(&self) -> ProjectTrust {
        trust_of(&self.0.settings, &self.deck())
    }

    /// Closes every connection and child process and waits for them.
    pub async fn close(&self) {
        finish_list_checks(self).await;
        self.0.stop.cancel();
        self.0.code_mode.close();
        self.0.usage.save();
        self.0.shared.close().await;
        // Sessions close their own pools, except those of a task that outlived its session.
        let pools = self.own_pools();
        join_all(pools.iter().map(|pool| pool.close())).await;
        let host = self.clone();
        drop(blocking(move || host.0.health.finish()).await);
        if let Some(capsules) = self.capsules() {
            capsules.close().await;
        }
    }
}

fn read_deck(settings: &HostSettings) -> Deck {
    let mut deck = read_files(settings);
    let own = capability::definition(settings.capsules.as_ref());
    deck.definitions.splice(0..0, own);
    deck
}

fn read_files(settings: &HostSettings) -> Deck {
    let mut deck = Deck::open(&settings.user_roots, settings.project.as_ref());
    if let Some(project) = &settings.project
        && TrustStore::new(&settings.state_dir).has_private_networks(&project.dir)
    {
        deck.open_private_networks();
    }
    if deck.definitions.is_empty() && deck.quarantined.is_empty() {
        let mut starter = Deck::from_sources(settings.starter.clone());
        starter.config = deck.config;
        starter.user_config = deck.user_config;
        starter.diagnostics = deck.diagnostics;
        starter.watched = deck.watched;
        // A capability file may declare nothing callable, and still needs trust for the rest.
        starter.project_hash = deck.capability_file.as_ref().and(deck.project_hash);
        starter.capability_file = deck.capability_file;
        return starter;
    }
    deck
}

fn trust_of(settings: &HostSettings, deck: &Deck) -> ProjectTrust {
    match (&settings.project, &deck.project_hash) {
        (Some(project), Some(hash)) => {
            TrustStore::new(&settings.state_dir).state(&project.dir, hash)
        }
        _ => ProjectTrust::Trusted,
    }
}

fn build_catalog(
    settings: &HostSettings,
    deck: &Deck,
    discoveries: &DiscoveryTable,
    previous: Option<&Catalog>,
) -> Catalog {
    let is_set_up = SetupState::new(&settings.state_dir).load();
    let pins = PinStore::new(&settings.state_dir);
    let facts = BuildInputs {
        trust: trust_of(settings, deck),
        has_project: settings.project.is_some(),
        setup_done: &is_set_up,
        discoveries: &|definition| {
            let same = |known: &&Arc<Capability>| std::ptr::eq(&*known.definition, definition);
            let earlier = || previous?.get(definition.id.as_str()).filter(same)?.discovery.clone();
            discoveries.known(definition, deck).or_else(earlier)
        },
        held: &|definition, discovery| pins.held(definition, discovery),
        default_exposure: settings.default_exposure,
    };
    capdeck_catalog::build(deck, &facts, previous)
}
