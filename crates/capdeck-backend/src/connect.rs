//! Opens a connection for a definition. The only place of interpolation.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use capdeck_auth::{
    EnvironmentSnapshot, GuardedClients, NameResolver, ReferenceTarget, ResolveError, Secret,
    SecretScrubber, SystemResolver, UnresolvedReference, Vault, references, resolve_value,
};
use capdeck_catalog::{Discovery, RawMembers};
use capdeck_definition::{
    Backend, BackendAuth, CapabilityId, Definition, PlaceholderStyle, StartLimit,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    ApiDescription, ArtifactStore, CallContext, CallError, CallerHandle, Connection, ErrorCode,
    GuardianCommand, NoCaller, StartingServer,
    child_environment::{WithheldVariable, WorkingFolder, passed_secrets, withheld_variables},
    cli::{CliConnection, CommandVariables},
    cmp::CmpConnection,
    connector_context::{ConnectorContext, vault_holder},
    google_discovery,
    graphql::GraphQlReader,
    http_actions::HttpActions,
    mcp, openapi,
    project_values::project_variables,
    tailored,
};

/// Opens connections. Cheap to clone; one per host.
#[derive(Debug, Clone)]
pub struct Connector {
    surroundings: Arc<ConnectorContext>,
}

#[derive(Debug, Clone)]
pub struct ConnectorSettings {
    /// The source of `${VAR}` and of the environment of children.
    pub environment: EnvironmentSnapshot,
    pub project: Option<PathBuf>,
    pub artifacts_dir: PathBuf,
    pub documents_dir: PathBuf,
    /// The folder of the records of prepared project tools.
    pub inits_dir: PathBuf,
    /// The source of `$vault:NAME`, and the store of sign-ins.
    pub vault: Vault,
    /// Starts the process that ends children when the host is killed.
    pub guardian: Option<GuardianCommand>,
    pub client_name: String,
    pub client_version: String,
}

#[derive(Clone)]
pub struct ConnectOptions {
    pub client: ClientProfile,
    pub listener: Arc<dyn CallerHandle>,
    /// Where the definition leaves the era open. A wrong hint costs no more than none.
    pub era: EraHint,
    /// How long a server may take to start. `None` means what its definition says.
    pub start_limit: Option<StartLimit>,
    /// Cancels connecting, and ends the connection later.
    pub cancel: CancellationToken,
}

/// Which era of the protocol to try first, and what earlier connections showed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EraHint {
    /// Begins with the handshake, because the client behind the connection did or because the server needs it. Else
    /// the newest era that the server speaks is used.
    pub legacy_first: bool,
    /// The server speaks only the era that is tried first.
    pub is_only_era: bool,
}

#[derive(Debug, Clone, Default)]
pub struct ClientProfile {
    /// `clientInfo`; `None` means the host's own name and version.
    pub info: Option<RawMembers>,
    pub capabilities: RawMembers,
}

/// A definition's block with its references resolved, and the values its connection needs.
#[derive(Debug)]
pub(crate) struct ResolvedBackend<T> {
    pub(crate) id: CapabilityId,
    pub(crate) block: T,
    pub(crate) folder: WorkingFolder,
    pub(crate) log_scrubber: SecretScrubber,
    pub(crate) result_scrubber: SecretScrubber,
    pub(crate) surroundings: Arc<ConnectorContext>,
    pub(crate) auth_references: Vec<ReferenceTarget>,
    /// Headers in addition to those of its `auth` block.
    pub(crate) headers: Vec<(String, Secret)>,
    /// What opens private networks to it, for hints.
    pub(crate) network_hint: String,
}

impl Connector {
    pub fn new(settings: ConnectorSettings) -> Self {
        Self::with_names(settings, Arc::new(SystemResolver))
    }

    pub fn with_names(settings: ConnectorSettings, names: Arc<dyn NameResolver>) -> Self {
        Self { surroundings: Arc::new(ConnectorContext::new(settings, names)) }
    }

    pub async fn connect(
        &self,
        definition: &Definition,
        options: ConnectOptions,
    ) -> Result<Arc<dyn Connection>, CallError> {
        match &definition.backend {
            Backend::Mcp(server) => {
                let prepared = self.prepare(definition, server)?;
                match &definition.tailoring {
                    Some(tailoring) => {
                        tailored::connect(prepared, definition, tailoring, options).await
                    }
                    None => mcp::connect(prepared, options).await,
                }
            }
            Backend::Http(api) => {
                Ok(Arc::new(HttpActions::new(self.prepare(definition, api)?, &options.cancel)?))
            }
            Backend::Cli(tools) if tools.placeholders == PlaceholderStyle::Braces => {
                let prepared = self.unresolved(definition, tools.clone())?;
                let project = CommandVariables::new(definition);
                Ok(Arc::new(CliConnection::of_project(prepared, project, &options.cancel)))
            }
            Backend::Cli(tools) => {
                Ok(Arc::new(CliConnection::new(self.prepare(definition, tools)?, &options.cancel)))
            }
            Backend::Cmp(tool) => {
                let prepared = self.unresolved(definition, tool.clone())?;
                Ok(Arc::new(CmpConnection::new(prepared, &options.cancel)))
            }
            Backend::OpenApi(api) => {
                let prepared = self.prepare(definition, api)?;
                let base_dir = &definition.base_dir;
                Ok(Arc::new(openapi::connect(prepared, base_dir, &options.cancel).await?))
            }
            Backend::GoogleDiscovery(api) => {
                let prepared = self.prepare(definition, api)?;
                Ok(Arc::new(google_discovery::connect(prepared, &options.cancel)?))
            }
            Backend::GraphQl(api) => {
                let prepared = self.prepare(definition, api)?;
                Ok(Arc::new(GraphQlReader::connect(prepared, &options.cancel)?))
            }
            Backend::Caplets(_) => Err(CallError::internal(format!(
                "`{}` is a set; its members are connected one by one",
                definition.id
            ))),
            Backend::Capsules => Err(CallError::internal(format!(
                "`{}` is answered by the host itself",
                definition.id
            ))),
        }
    }

    /// Returns the last standard error output of a capability's processes, or why they failed.
    pub fn process_log(&self, id: &str) -> Option<String> {
        self.surroundings.logs.read(id)
    }

    /// The servers that launchers are starting now, the oldest start first.
    pub fn starting_servers(&self) -> Vec<StartingServer> {
        self.surroundings.starting.all()
    }

    /// The start of this server that goes on, if there is one.
    pub fn starting(&self, id: &CapabilityId) -> Option<StartingServer> {
        self.starting_servers().into_iter().find(|server| server.id == *id)
    }

    pub fn guarded_clients(&self) -> &GuardedClients {
        &self.surroundings.guarded_clients
    }

    pub fn artifacts(&self) -> &ArtifactStore {
        &self.surroundings.artifacts
    }

    pub(crate) fn surroundings(&self) -> &Arc<ConnectorContext> {
        &self.surroundings
    }

    pub(crate) fn prepare<T: Serialize + DeserializeOwned>(
        &self,
        definition: &Definition,
        block: &T,
    ) -> Result<ResolvedBackend<T>, CallError> {
        let holder = vault_holder(definition);
        let variables = project_variables(definition)?;
        let lookup = self.surroundings.lookup(&holder);
        let lookup = lookup.in_project(variables.as_ref());
        let resolved = resolve_value(block, lookup)?;
        let mut prepared = ResolvedBackend {
            log_scrubber: SecretScrubber::of_all(&resolved.substitutions),
            result_scrubber: SecretScrubber::of_sensitive(&resolved.substitutions),
            auth_references: references(block, "auth"),
            ..self.unresolved(definition, resolved.value)?
        };
        prepared.add_secrets(&self.passed_secrets(definition));
        Ok(prepared)
    }

    /// Prepares a block without resolving it, for a backend that resolves references itself.
    pub(crate) fn unresolved<T>(
        &self,
        definition: &Definition,
        block: T,
    ) -> Result<ResolvedBackend<T>, CallError> {
        let project = self.surroundings.settings.project.as_deref();
        let passed = SecretScrubber::new(&self.passed_secrets(definition));
        Ok(ResolvedBackend {
            id: definition.id.clone(),
            block,
            folder: WorkingFolder::new(definition.project_bound, project)?,
            log_scrubber: passed.clone(),
            result_scrubber: passed,
            surroundings: Arc::clone(&self.surroundings),
            auth_references: Vec::new(),
            headers: Vec::new(),
            network_hint: network_hint(definition),
        })
    }

    fn passed_secrets(&self, definition: &Definition) -> Vec<Secret> {
        let host = &self.surroundings.settings.environment;
        passed_secrets(host, definition.backend.pass_env())
    }

    /// The variables that are set here, that the programs of a capability seem to use and that they do not get.
    pub fn withheld_variables(&self, definition: &Definition) -> Vec<WithheldVariable> {
        withheld_variables(&self.surroundings.settings.environment, definition)
    }
}

fn network_hint(definition: &Definition) -> String {
    let place = definition.block_place();
    let for_all = match definition.source.layer.needs_trust() {
        true => "for the whole project run: capdeck trust --network",
        false => "for the whole deck set `options.network` in its config file",
    };
    format!("if the service is yours, add `network: private` to {place}; {for_all}")
}

impl<T> ResolvedBackend<T> {
    /// Also scrubs these values: a token may be in the file itself.
    pub(crate) fn add_secrets(&mut self, values: &[Secret]) {
        self.log_scrubber = std::mem::take(&mut self.log_scrubber).with(values);
        self.result_scrubber = std::mem::take(&mut self.result_scrubber).with(values);
    }
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            client: ClientProfile::default(),
            listener: Arc::new(NoCaller),
            era: EraHint::default(),
            start_limit: None,
            cancel: CancellationToken::new(),
        }
    }
}

impl From<ResolveError> for CallError {
    fn from(error: ResolveError) -> Self {
        match &error {
            ResolveError::Unresolved { unresolved } => {
                let references: Vec<_> = unresolved
                    .iter()
                    .map(|one| {
                        json!({
                            "reference": one.reference,
                            "place": one.place,
                            "code": one.code(),
                            "reason": one.to_string(),
                        })
                    })
                    .collect();
                let mut hints: Vec<String> =
                    unresolved.iter().map(UnresolvedReference::hint).collect();
                hints.dedup();
                Self::new(ErrorCode::ConfigInvalid, error.to_string())
                    .hint(hints.join("; "))
                    .data(json!({"unresolved": references}))
            }
            ResolveError::Shape { source } => {
                Self::new(ErrorCode::InternalError, error.to_string()).detail(source)
            }
        }
    }
}

/// Reading a file takes no longer; parsing a very large one may.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct LocalImport {
    pub file: PathBuf,
    pub outcome: Result<Discovery, CallError>,
}

impl Connector {
    /// Imports the description of a capability if it is a local file. Nothing is fetched, no credential is used, and what
    /// depends on a variable that is not set is left to the connection.
    pub async fn import_local(&self, definition: &Definition) -> Option<LocalImport> {
        let (file, backend) = without_credentials(&definition.backend)?;
        // A device or a pipe has no end.
        if fs::metadata(&file).is_ok_and(|facts| !facts.is_file()) {
            return None;
        }
        let anonymous = Definition { backend, ..definition.clone() };
        let connection = self.connect(&anonymous, ConnectOptions::default()).await.ok()?;
        let outcome = connection.discover(&CallContext::detached(IMPORT_TIMEOUT)).await;
        connection.close().await;
        Some(LocalImport { file, outcome })
    }
}

/// Fetching a description from the web takes no longer.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(30);

impl Connector {
    /// Reads what an `OpenAPI` capability's description says about the API as a whole. No credential is used.
    pub async fn describe_api(&self, definition: &Definition) -> Result<ApiDescription, CallError> {
        let Backend::OpenApi(api) = &definition.backend else {
            return Err(CallError::internal(format!(
                "`{}` is no OpenAPI capability",
                definition.id
            )));
        };
        let mut anonymous = api.clone();
        anonymous.import.requests.auth = BackendAuth::None {};
        let prepared = self.prepare(definition, &anonymous)?;
        let describing = openapi::describe(prepared, &definition.base_dir);
        tokio::time::timeout(DESCRIBE_TIMEOUT, describing).await.unwrap_or_else(|_elapsed| {
            let seconds = DESCRIBE_TIMEOUT.as_secs();
            let message = format!("the description did not arrive within {seconds} s");
            Err(CallError::unavailable(message))
        })
    }
}

/// The file that describes a backend, and the backend with a sign-in of the same kind that holds no credential: what the
/// description asks for is compared with what the definition gives.
fn without_credentials(backend: &Backend) -> Option<(PathBuf, Backend)> {
    let mut anonymous = backend.clone();
    let (path, requests) = match &mut anonymous {
        Backend::OpenApi(api) => (&api.spec_path, &mut api.import.requests),
        Backend::GoogleDiscovery(api) => (&api.discovery_path, &mut api.import.requests),
        Backend::GraphQl(api) => (&api.schema_path, &mut api.requests),
        Backend::Mcp(_)
        | Backend::Http(_)
        | Backend::Cli(_)
        | Backend::Cmp(_)
        | Backend::Caplets(_)
        | Backend::Capsules => return None,
    };
    let file = PathBuf::from(path.as_ref()?);
    requests.auth = requests.auth.without_credentials();
    Some((file, anonymous))
}
