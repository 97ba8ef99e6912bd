//! The host: a catalog in force, the connections behind it, and the one path every call takes.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use capdeck_auth::GuardedClients;
use capdeck_backend::{
    ArtifactStore, CallError, ClientProfile, Connector, ConnectorSettings, LocalImport, NoListener,
};
use capdeck_catalog::{Capability, Catalog, Clearance, Facts, Held, Part, Trust, screen};
use capdeck_definition::{Backend, CapabilityId, Collision, Deck, Definition, PinMode, RemoteDeck};
use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::{
    Admission, ApprovalStore, CapsuleDesk, Continuity, HostEvent, HostSettings, Principal, Scope,
    Session, SessionSettings, SetupState, TaskForm, TrustStore, View, ViewPolicy,
    admission::Allowed, artifacts::artifact_limits, audience::AudienceKey, audit::AuditLog,
    capsules::capability, code_mode::CodeMode, discoveries::Discoveries,
    discovery_cache::DiscoveryCache, eras::Eras, flow::FlowGuards, health::HealthStore,
    journal::Journal, observed_shapes::ObservedShapes, pins::PinStore, pool::ConnectionPool,
    spans::Spans, subscriptions::Subscriptions, tasks::Tasks, usage::Usage,
};

/// A running deck. Cheap to clone; all clones are the same host.
#[derive(Clone)]
pub struct Host(pub(crate) Arc<HostState>);

pub(crate) struct HostState {
    pub(crate) settings: HostSettings,
    pub(crate) catalog: ArcSwap<Catalog>,
    pub(crate) deck: ArcSwap<Deck>,
    /// What another host offers, if this one is attached to it.
    pub(crate) attached: ArcSwapOption<RemoteDeck>,
    /// Held while a new catalog is made, so that no change is built on an outdated one.
    building: Mutex<()>,
    pub(crate) discoveries: Discoveries,
    pub(crate) connector: Connector,
    pub(crate) shared: ConnectionPool,
    /// The pools of sessions that have connections of their own.
    own_pools: Mutex<Vec<Weak<ConnectionPool>>>,
    pub(crate) eras: Eras,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) tasks: Tasks,
    pub(crate) events: broadcast::Sender<HostEvent>,
    pub(crate) audit: AuditLog,
    pub(crate) journal: Journal,
    pub(crate) flow_guards: FlowGuards,
    pub(crate) shapes: ObservedShapes,
    pub(crate) health: HealthStore,
    pub(crate) usage: Usage,
    pub(crate) code_mode: CodeMode,
    pub(crate) spans: Spans,
    /// What clients of other capabilities are offered, made from the catalog beside it.
    variants: Mutex<HashMap<AudienceKey, Derived>>,
    /// What is left of a catalog for clients who may not know all of it, made from the catalog beside it.
    screens: Mutex<HashMap<(Known, Part), Derived>>,
    /// One view per policy and per what may be known, shared by all sessions that have them.
    views: Mutex<HashMap<(Known, ViewPolicy), Arc<View>>>,
    pub(crate) stop: CancellationToken,
}

/// What decides how much of a catalog a client may know. Clients for whom it is equal share what is made.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Known {
    audience: AudienceKey,
    clearance: Clearance,
    /// What it was granted, where it needs grants.
    allowed: Option<Allowed>,
}

/// How many sets of grants something is kept for. Grants come and go while the catalog stays.
const MOST_ALLOWANCES: usize = 256;

/// Lets go of what was made for grants when there is too much of it; whoever still has them makes theirs again.
fn make_room<K, V>(made: &mut HashMap<(Known, K), V>) {
    let is_granted = |known: &Known| known.allowed.is_some();
    if made.keys().filter(|(known, _)| is_granted(known)).count() >= MOST_ALLOWANCES {
        made.retain(|(known, _), _| !is_granted(known));
    }
}

/// A catalog and what was made from it.
type Derived = (Arc<Catalog>, Arc<Catalog>);

impl Host {
    /// Reads the deck and makes it ready. Nothing is connected and no file problem can fail this.
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
        let discoveries = Discoveries::new(DiscoveryCache::new(&settings.cache_dir));
        let catalog = build_catalog(&settings, &deck, &discoveries, None);
        let eras = Eras::default();
        eras.note_all(&catalog);
        Self(Arc::new(HostState {
            shared: ConnectionPool::new(connector.clone(), ClientProfile::default()),
            audit: AuditLog::open(&settings.state_dir),
            journal: Journal::new(settings.clone()),
            flow_guards: FlowGuards::default(),
            shapes: ObservedShapes::new(
                &settings.cache_dir,
                settings.project.as_ref().map(|project| project.dir.clone()),
            ),
            catalog: ArcSwap::from_pointee(catalog),
            deck: ArcSwap::from(deck),
            attached: ArcSwapOption::empty(),
            building: Mutex::new(()),
            own_pools: Mutex::default(),
            eras,
            subscriptions: Subscriptions::default(),
            tasks: Tasks::default(),
            discoveries,
            connector,
            events: broadcast::channel(256).0,
            health: HealthStore::open(&settings.state_dir),
            usage: Usage::open(&settings.state_dir),
            code_mode: CodeMode::new(settings.sandbox.clone(), &settings.state_dir),
            spans: Spans::default(),
            variants: Mutex::default(),
            screens: Mutex::default(),
            views: Mutex::default(),
            stop: CancellationToken::new(),
            settings,
        }))
    }

    /// The catalog in force now.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.0.catalog.load_full()
    }

    /// What a client of this name with this policy sees now, if it declares no capabilities.
    pub fn view(&self, policy: &ViewPolicy, client: &str) -> Arc<View> {
        self.view_for(policy, &AudienceKey::default(), &[client], None)
    }

    /// What a client or principal of this name may know of the catalog, if it declares no capabilities. What it was not
    /// granted is not part of it, where it needs grants.
    pub fn known_to(&self, client: &str, admission: Option<&Admission>) -> Arc<Catalog> {
        let allowed = admission.map(Admission::allowed);
        self.screened_for(&AudienceKey::default(), &[client], Part::Everything, allowed)
    }

    /// True when there is a view of this name. Where grants are needed, one that has nothing granted does not exist.
    pub fn has_view(&self, name: &str, admission: Option<&Admission>) -> bool {
        let Some(admission) = admission else {
            return self.catalog().parts().views.contains_key(name);
        };
        let names = [admission.principal()];
        let part = Part::View(name.into());
        let seen =
            self.screened_for(&AudienceKey::default(), &names, part, Some(admission.allowed()));
        seen.capabilities().next().is_some()
    }

    /// What clients with this policy see now. Built once per catalog, however many clients there are.
    pub(crate) fn view_for(
        &self,
        policy: &ViewPolicy,
        audience: &AudienceKey,
        names: &[&str],
        allowed: Option<Allowed>,
    ) -> Arc<View> {
        let catalog = self.screened_for(audience, names, policy.part(), allowed.clone());
        let clearance = Clearance::of(&catalog.config().policy, names);
        let mut views = self.0.views.lock();
        let key = (Known { audience: audience.clone(), clearance, allowed }, policy.clone());
        if let Some(view) = views.get(&key)
            && Arc::ptr_eq(view.catalog(), &catalog)
        {
            return view.clone();
        }
        let view = Arc::new(View::build(catalog, policy, self.0.usage.relevance()));
        // Views of an older catalog are of no use to anyone.
        views.retain(|_, other| other.catalog().version() == view.catalog().version());
        make_room(&mut views);
        views.insert(key, view.clone());
        view
    }

    /// This part of the same catalog, without what clients of these names may not know.
    pub(crate) fn screened_for(
        &self,
        audience: &AudienceKey,
        names: &[&str],
        part: Part,
        allowed: Option<Allowed>,
    ) -> Arc<Catalog> {
        let catalog = self.catalog_for(audience);
        if allowed.is_none() && catalog.is_open_to(&part) {
            return catalog;
        }
        let clearance = Clearance::of(&catalog.config().policy, names);
        let key = (Known { audience: audience.clone(), clearance, allowed }, part);
        let mut screens = self.0.screens.lock();
        if let Some((made_from, screened)) = screens.get(&key)
            && Arc::ptr_eq(made_from, &catalog)
        {
            return screened.clone();
        }
        let Known { clearance, allowed, .. } = &key.0;
        let tools = allowed.as_ref().map(|allowed| allowed.tools).unwrap_or_default();
        let whole = capability::with_grant_tools(&catalog, tools);
        let allowance = allowed.as_ref().map(|allowed| &*allowed.allowance);
        let screened = screen(&whole, clearance, &key.1, allowance);
        screens.retain(|_, (made_from, _)| made_from.version() == catalog.version());
        make_room(&mut screens);
        screens.insert(key, (catalog, screened.clone()));
        screened
    }

    /// What people approved.
    pub fn approvals(&self) -> ApprovalStore {
        ApprovalStore::new(&self.0.settings.state_dir)
    }

    /// The definitions that were first seen or last approved.
    pub(crate) fn pins(&self) -> PinStore {
        PinStore::new(&self.0.settings.state_dir)
    }

    /// The catalog in force, with what servers offer to clients of these capabilities.
    pub(crate) fn catalog_for(&self, audience: &AudienceKey) -> Arc<Catalog> {
        let catalog = self.catalog();
        if audience.is_bare() {
            return catalog;
        }
        let mut variants = self.0.variants.lock();
        if let Some((made_from, variant)) = variants.get(audience)
            && Arc::ptr_eq(made_from, &catalog)
        {
            return variant.clone();
        }
        let others: Vec<_> = catalog
            .capabilities()
            .filter(|capability| matches!(capability.definition.backend, Backend::Mcp(_)))
            .filter_map(|capability| {
                let theirs = self.0.discoveries.known_to(&capability.definition, audience)?;
                let held = match capability.pins {
                    PinMode::Block => self.pins().held(&capability.definition, &theirs),
                    PinMode::Off | PinMode::Warn => Held::new(),
                };
                Some((capability.definition.id.clone(), theirs, held))
            })
            .collect();
        let variant = match others.is_empty() {
            true => catalog.clone(),
            false => Arc::new(catalog.with_discoveries(others)),
        };
        // Variants of an older catalog are of no use to anyone.
        variants.retain(|_, (made_from, _)| Arc::ptr_eq(made_from, &catalog));
        variants.insert(audience.clone(), (catalog, variant.clone()));
        variant
    }

    /// The files the catalog was built from.
    pub fn deck(&self) -> Arc<Deck> {
        self.0.deck.load_full()
    }

    pub fn settings(&self) -> &HostSettings {
        &self.0.settings
    }

    /// The way to the capsules of this machine, if the host was given one.
    pub fn capsules(&self) -> Option<&Arc<dyn CapsuleDesk>> {
        self.0.settings.capsules.as_ref()
    }

    /// HTTP clients that reach only where they may.
    pub fn guarded_clients(&self) -> &GuardedClients {
        self.0.connector.guarded_clients()
    }

    /// Large outputs kept aside, readable by their URI.
    pub fn artifacts(&self) -> &ArtifactStore {
        self.0.connector.artifacts()
    }

    /// Everything that changes from now on.
    pub fn events(&self) -> broadcast::Receiver<HostEvent> {
        self.0.events.subscribe()
    }

    /// Reads all files again and swaps the new catalog in; entries that no longer load stay, marked stale.
    pub fn reload(&self) {
        self.reload_attached();
    }

    /// The same, telling which local capabilities another host's met.
    pub(crate) fn reload_attached(&self) -> Vec<Collision> {
        let mut deck = read_deck(&self.0.settings);
        let attached = self.0.attached.load_full();
        let collisions = attached.map(|remote| deck.attach(&remote)).unwrap_or_default();
        let deck = Arc::new(deck);
        let _building = self.0.building.lock();
        self.0.deck.store(deck.clone());
        self.artifacts().keep_within(artifact_limits(&deck.config));
        let previous = self.catalog();
        let next = build_catalog(&self.0.settings, &deck, &self.0.discoveries, Some(&previous));
        self.swap_in(next);
        collisions
    }

    /// Builds the catalog again from the same files, because a fact outside them changed.
    pub fn rebuild(&self) {
        let _building = self.0.building.lock();
        let (deck, previous) = (self.deck(), self.catalog());
        self.swap_in(build_catalog(&self.0.settings, &deck, &self.0.discoveries, Some(&previous)));
    }

    fn swap_in(&self, next: Catalog) {
        let next = Arc::new(next);
        self.0.eras.note_all(&next);
        self.0.catalog.store(next.clone());
        let current = |id: &CapabilityId| {
            let capability = next.get(id.as_str())?;
            capability.is_usable().then(|| capability.definition.fingerprint.clone())
        };
        self.0.shared.retain(current);
        for pool in self.0.own_pools.lock().iter().filter_map(Weak::upgrade) {
            pool.retain(current);
        }
        self.announce(HostEvent::CatalogChanged);
    }

    /// Lets a session's own connections follow the catalog, as the shared ones do.
    pub(crate) fn adopt(&self, pool: &Arc<ConnectionPool>) {
        let mut pools = self.0.own_pools.lock();
        pools.retain(|pool| pool.strong_count() > 0);
        pools.push(Arc::downgrade(pool));
    }

    pub(crate) fn announce(&self, event: HostEvent) {
        // Nobody listening is fine: the next session starts from the current catalog anyway.
        drop(self.0.events.send(event));
    }

    /// What the capability's process printed to standard error lately.
    pub fn process_log(&self, id: &CapabilityId) -> Option<String> {
        self.0.connector.process_log(id.as_str())
    }

    /// What stands in the way of using a capability on this machine: unset variables, missing programs.
    /// Starts nothing and sends nothing.
    pub fn obstacles(&self, definition: &Definition) -> Vec<CallError> {
        self.0.connector.check(definition)
    }

    /// Imports the description of a capability if it is a file of this machine. Nothing is fetched.
    pub async fn import_local(&self, definition: &Definition) -> Option<LocalImport> {
        self.0.connector.import_local(definition).await
    }

    /// A session for the person's own command line: everything usable, nobody to ask.
    pub fn operator(&self) -> Arc<Session> {
        self.unattended(Scope::Operator)
    }

    /// The same for a person who is there and can be asked what this profile says.
    pub fn operator_as(&self, client: ClientProfile) -> Arc<Session> {
        self.local(Scope::Operator, client)
    }

    /// A session with nobody behind it who could be asked something.
    pub fn unattended(&self, scope: Scope) -> Arc<Session> {
        self.local(scope, ClientProfile::default())
    }

    fn local(&self, scope: Scope, client: ClientProfile) -> Arc<Session> {
        self.session(SessionSettings {
            scope,
            client_name: "capdeck".to_owned(),
            principal: Principal::local(),
            client,
            listener: Arc::new(NoListener),
            tasks: TaskForm::Awaited,
            continuity: Continuity::Connection,
            admission: None,
        })
    }

    /// The trust state of the project's files as they are now.
    pub fn trust(&self) -> Trust {
        trust_of(&self.0.settings, &self.deck())
    }

    /// Ends every connection and child process and waits for them.
    pub async fn close(&self) {
        self.0.stop.cancel();
        self.0.code_mode.close();
        self.0.usage.save();
        self.0.shared.close().await;
        // Sessions end their own, except those that a task outlived.
        let pools: Vec<_> = self.0.own_pools.lock().iter().filter_map(Weak::upgrade).collect();
        join_all(pools.iter().map(|pool| pool.close())).await;
        self.0.health.settle().await;
        if let Some(capsules) = self.capsules() {
            capsules.close().await;
        }
    }

    pub(crate) fn downgrade(&self) -> Weak<HostState> {
        Arc::downgrade(&self.0)
    }
}

/// The deck of all files, above what the host itself has.
fn read_deck(settings: &HostSettings) -> Deck {
    let mut deck = read_files(settings);
    let own = capability::definition(settings.capsules.as_ref());
    deck.definitions.splice(0..0, own);
    deck
}

fn read_files(settings: &HostSettings) -> Deck {
    let deck = Deck::open(&settings.user_roots, settings.project.as_ref());
    if deck.definitions.is_empty() && deck.quarantined.is_empty() {
        let mut starter = Deck::from_sources(settings.starter.clone());
        starter.config = deck.config;
        starter.user_config = deck.user_config;
        starter.diagnostics = deck.diagnostics;
        starter.watched = deck.watched;
        // A capability file may declare nothing that is called, and still needs trust for the rest.
        starter.project_hash = deck.capability_file.as_ref().and(deck.project_hash);
        starter.capability_file = deck.capability_file;
        return starter;
    }
    deck
}

fn trust_of(settings: &HostSettings, deck: &Deck) -> Trust {
    match (&settings.project, &deck.project_hash) {
        (Some(project), Some(hash)) => {
            TrustStore::new(&settings.state_dir).state(&project.dir, hash)
        }
        _ => Trust::Trusted,
    }
}

fn build_catalog(
    settings: &HostSettings,
    deck: &Deck,
    discoveries: &Discoveries,
    previous: Option<&Catalog>,
) -> Catalog {
    let setups = SetupState::new(&settings.state_dir).load();
    let pins = PinStore::new(&settings.state_dir);
    let facts = Facts {
        trust: trust_of(settings, deck),
        has_project: settings.project.is_some(),
        setup_done: &|definition| setups.covers(definition),
        discoveries: &|definition| {
            let same = |known: &&Arc<Capability>| std::ptr::eq(&*known.definition, definition);
            let kept = || previous?.get(definition.id.as_str()).filter(same)?.discovery.clone();
            discoveries.known(definition, deck).or_else(kept)
        },
        held: &|definition, discovery| pins.held(definition, discovery),
        default_exposure: settings.default_exposure,
    };
    capdeck_catalog::build(deck, &facts, previous)
}
