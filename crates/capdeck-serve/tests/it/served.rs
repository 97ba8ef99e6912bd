//! A host on a port of its own, stopped when the test ends.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use capdeck_auth::{
    EnvironmentSnapshot, KeySettings, Secret, Vault,
    inbound::{AdminKey, ClientDocuments, IpNetwork, Registry, RegistryLimits, RegistryOptions},
};
use capdeck_definition::{DeckRoot, Exposure, RootOwner};
use capdeck_host::{AuditMode, Host, HostSettings, ViewPolicy, WorkerCommand};
use capdeck_serve::{
    HttpLimits, HttpServer, HttpSettings, OidcSettings, ProcessLifetime, RateLimits, RegistryTrail,
    ServeAuthMode, SharedCapsuleService, SharedCapsulesSettings,
};
use capdeck_storage::WallClock;
use capdeck_test::{FakePlan, HttpClient, TestDirs, sandbox_worker};
use serde_json::{Map, Value, json};
use tokio::{runtime::Runtime, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// Longer than any answer may take, however busy the machine is.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// What is to be served.
pub(crate) struct Setting {
    pub(crate) dirs: TestDirs,
    config: Map<String, Value>,
    http: HttpSettings,
    has_registry: bool,
    clock: WallClock,
    limits: RegistryLimits,
    client_documents: ClientDocuments,
}

/// A running host. Dropping it stops it.
pub(crate) struct Served {
    pub(crate) dirs: TestDirs,
    pub(crate) host: Host,
    url: String,
    stop: CancellationToken,
    running: Option<JoinHandle<()>>,
    runtime: Runtime,
    policy: ViewPolicy,
    registry: Option<Registry>,
}

impl Setting {
    pub(crate) fn new() -> Self {
        let http = HttpSettings::new("127.0.0.1", 0);
        let (dirs, config, clock) = (TestDirs::new(), Map::new(), WallClock::default());
        Self {
            dirs,
            config,
            http,
            has_registry: false,
            clock,
            limits: RegistryLimits::default(),
            client_documents: ClientDocuments::Fetched,
        }
    }

    /// One stdio server called `fake`.
    pub(crate) fn of(plan: &FakePlan) -> Self {
        Self::new().server("fake", plan)
    }

    pub(crate) fn server(self, id: &str, plan: &FakePlan) -> Self {
        self.entry("mcpServers", id, plan.deck_entry())
    }

    pub(crate) fn entry(mut self, map: &str, id: &str, entry: Value) -> Self {
        self.config.entry(map).or_insert_with(|| json!({}))[id] = entry;
        self
    }

    /// A top-level member of the config.
    pub(crate) fn config(mut self, key: &str, value: Value) -> Self {
        self.config.insert(key.to_owned(), value);
        self
    }

    pub(crate) fn exposure(mut self, exposure: Exposure) -> Self {
        self.http.policy.exposure = Some(exposure);
        self
    }

    pub(crate) fn key(mut self, key: &str) -> Self {
        self.http.key = Some(admin_key(key));
        self
    }

    pub(crate) fn address(mut self, host: &str) -> Self {
        self.http.host = host.to_owned();
        self
    }

    pub(crate) fn port(mut self, port: u16) -> Self {
        self.http.port = port;
        self
    }

    pub(crate) fn allowed_host(mut self, name: &str) -> Self {
        self.http.allowed_hosts.push(name.to_owned());
        self
    }

    pub(crate) fn limits(mut self, limits: HttpLimits) -> Self {
        self.http.limits = limits;
        self
    }

    /// With the registry in the data folder, every event of it recorded there.
    pub(crate) fn registry(mut self) -> Self {
        self.has_registry = true;
        self
    }

    /// As a host that fetches no documents of clients.
    pub(crate) fn without_client_documents(mut self) -> Self {
        self.client_documents = ClientDocuments::Refused;
        self
    }

    /// What the registry takes for the time.
    pub(crate) fn clock(mut self, clock: WallClock) -> Self {
        self.clock = clock;
        self
    }

    /// How many wrong keys cost nothing.
    pub(crate) fn failed_credentials(mut self, free: u32) -> Self {
        self.limits.failed_credentials = free;
        self
    }

    /// Who needs a token.
    pub(crate) fn auth(mut self, mode: ServeAuthMode) -> Self {
        self.http.auth = Some(mode);
        self
    }

    pub(crate) fn public_url(mut self, url: &str) -> Self {
        self.http.public_url = Some(url.to_owned());
        self
    }

    /// Operators sign in at a provider.
    pub(crate) fn oidc(mut self, oidc: OidcSettings) -> Self {
        self.http.oidc = Some(oidc);
        self
    }

    /// Addresses whose `X-Forwarded-For` is believed.
    pub(crate) fn trusted_proxy(mut self, network: &str) -> Self {
        self.http.trusted_proxies.push(IpNetwork::parse(network).unwrap());
        self
    }

    pub(crate) fn rates(mut self, rates: RateLimits) -> Self {
        self.http.rates = rates;
        self
    }

    /// Where a fake server of this setting writes what it receives.
    pub(crate) fn record(&self) -> PathBuf {
        self.dirs.root().join("record")
    }

    /// Starts serving, or says why that is refused.
    pub(crate) fn try_serve(self) -> Result<Served, String> {
        let runtime = Runtime::new().unwrap();
        self.dirs.write_config(&Value::Object(self.config.clone()));
        let host = {
            let _inside = runtime.enter();
            Host::open(settings(&self.dirs))
        };
        let mut http = self.http;
        let registry = self.has_registry.then(|| {
            let service = host.capsules().unwrap().clone();
            let trail = RegistryTrail::new(service, runtime.handle().clone());
            let options = RegistryOptions {
                audit: Some(trail),
                clock: self.clock,
                limits: self.limits,
                client_documents: self.client_documents,
                ..RegistryOptions::default()
            };
            Registry::open(self.dirs.root().join("data/registry"), options).unwrap()
        });
        if let Some(registry) = &registry {
            http.registry = Ok(registry.clone());
        }
        let policy = http.policy.clone();
        let server = runtime.block_on(HttpServer::bind(host.clone(), http));
        let server = server.map_err(|error| error.to_string())?;
        let (url, stop) = (server.url(), CancellationToken::new());
        let running = Some(runtime.spawn(server.run(stop.clone())));
        Ok(Served { dirs: self.dirs, host, url, stop, running, runtime, policy, registry })
    }

    pub(crate) fn serve(self) -> Served {
        self.try_serve().unwrap()
    }
}

impl Served {
    /// The same host at another address, where everyone with the key is one principal.
    pub(crate) fn beside(&self, key: &str) -> Beside {
        let settings = HttpSettings {
            key: Some(admin_key(key)),
            policy: self.policy.clone(),
            ..HttpSettings::new("127.0.0.1", 0)
        };
        let bound = self.runtime.block_on(HttpServer::bind(self.host.clone(), settings));
        let server = bound.unwrap();
        let (url, stop) = (server.url(), CancellationToken::new());
        self.runtime.spawn(server.run(stop.clone()));
        Beside { url, key: key.to_owned(), stop }
    }

    /// A client of one path, such as `/mcp`.
    pub(crate) fn client(&self, path: &str) -> HttpClient {
        HttpClient::new(&format!("{}{path}", self.url))
    }

    /// A client that has shaken hands with the deck.
    pub(crate) fn deck_client(&self) -> HttpClient {
        let mut client = self.client("/mcp");
        client.initialize();
        client
    }

    /// The registry, where the setting has one.
    pub(crate) fn registry(&self) -> &Registry {
        self.registry.as_ref().unwrap()
    }

    /// `http://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// `127.0.0.1:PORT`.
    pub(crate) fn authority(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    /// Does something inside the host's runtime.
    pub(crate) fn inside<T>(&self, work: impl FnOnce(&Host) -> T) -> T {
        let _inside = self.runtime.enter();
        work(&self.host)
    }

    /// Waits for work inside the host's runtime.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Stops and waits for the end.
    pub(crate) fn stop(&mut self) {
        self.stop.cancel();
        if let Some(running) = self.running.take() {
            let ended =
                self.runtime.block_on(async { tokio::time::timeout(TEST_TIMEOUT, running).await });
            ended.expect("the host stops in time").unwrap();
        }
    }
}

/// A second address of a host. Dropping it stops it.
pub(crate) struct Beside {
    url: String,
    key: String,
    stop: CancellationToken,
}

impl Beside {
    /// A client of one path that has the key.
    pub(crate) fn client(&self, path: &str) -> HttpClient {
        let mut client = HttpClient::new(&format!("{}{path}", self.url));
        client.headers.push(("Authorization".to_owned(), format!("Bearer {}", self.key)));
        client
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn admin_key(text: &str) -> AdminKey {
    AdminKey::new(Secret::new(text)).unwrap()
}

pub(crate) fn settings(dirs: &TestDirs) -> HostSettings {
    #[expect(clippy::disallowed_methods, reason = "children need the machine's PATH")]
    let path = std::env::var("PATH").unwrap();
    HostSettings {
        user_roots: vec![DeckRoot { dir: dirs.config(), owner: RootOwner::User }],
        project: None,
        starter: Vec::new(),
        state_dir: dirs.state(),
        cache_dir: dirs.cache(),
        environment: EnvironmentSnapshot::from_iter([("PATH", path)]),
        vault: Vault::new(&dirs.state(), KeySettings::default()),
        guardian: None,
        sandbox: Some(WorkerCommand { program: sandbox_worker(), args: Vec::new() }),
        default_exposure: Exposure::Search,
        capsules: Some(Arc::new(SharedCapsuleService::new(SharedCapsulesSettings {
            folder: dirs.root().join("data"),
            schemes: None,
            audit: AuditMode::Lenient,
            version: "0.0.0-test".to_owned(),
            standing: ProcessLifetime::Lasting,
        }))),
        version: "0.0.0-test".to_owned(),
    }
}

/// Waits for a fact.
pub(crate) fn until<T>(what: &str, mut fact: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        if let Some(found) = fact() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited too long for: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
