//! From a definition to a live connection. Interpolation happens here and nowhere else.

use std::{fmt, path::PathBuf, sync::Arc};

use capdeck_auth::{
    Environment, GuardedClients, Names, Reference, ResolveError, Scrubber, Secret, SystemNames,
    Unresolved, Vault, references, resolve_value,
};
use capdeck_catalog::RawObject;
use capdeck_definition::{Backend, CapabilityId, Definition, Placeholders};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    ArtifactStore, CallError, Connection, ErrorCode, GuardianCommand, Listener, NoListener,
    cli::{CliConnection, ProjectCommands},
    cmp::CmpConnection,
    google_discovery,
    graphql::GraphQlReader,
    http_actions::HttpActions,
    mcp, openapi,
    project_values::project_variables,
    surroundings::Surroundings,
    tailored, vault_holder,
    working_folder::WorkingFolder,
};

/// Opens connections. Cheap to clone; one per host.
#[derive(Debug, Clone)]
pub struct Connector {
    surroundings: Arc<Surroundings>,
}

/// What a connector needs to know about the machine and the host.
#[derive(Debug, Clone)]
pub struct ConnectorSettings {
    /// Where `${VAR}` is looked up, and what children may inherit from.
    pub environment: Environment,
    /// The project the host works for, if any.
    pub project: Option<PathBuf>,
    /// Large results are kept below this folder.
    pub artifacts_dir: PathBuf,
    /// Copies of fetched descriptions of APIs are kept below this folder.
    pub documents_dir: PathBuf,
    /// Which tools of projects were prepared is kept below this folder.
    pub inits_dir: PathBuf,
    /// Where `$vault:NAME` is looked up, and where sign-ins are kept.
    pub vault: Vault,
    /// How to start the process that ends children when the host is killed.
    pub guardian: Option<GuardianCommand>,
    /// How the host introduces itself to MCP servers.
    pub client_name: String,
    /// Also part of the `User-Agent` of HTTP requests.
    pub client_version: String,
}

/// What surrounds one connection.
#[derive(Clone)]
pub struct ConnectOptions {
    pub client: ClientProfile,
    pub listener: Arc<dyn Listener>,
    /// The protocol version an MCP server spoke when it was last connected (`ServerFacts::protocol_version`), so that
    /// it is not asked again. A wrong one costs no more than none.
    pub known_revision: Option<String>,
    /// Gives up connecting, and ends the connection later on.
    pub cancel: CancellationToken,
}

/// What an MCP server is told about the client.
#[derive(Debug, Clone, Default)]
pub struct ClientProfile {
    /// `clientInfo`; `None` means the host's own name and version.
    pub info: Option<RawObject>,
    /// The MCP client capabilities to declare.
    pub capabilities: RawObject,
}

/// A definition's block with its references resolved, and what its connection needs.
#[derive(Debug)]
pub(crate) struct Prepared<T> {
    pub(crate) id: CapabilityId,
    pub(crate) block: T,
    pub(crate) folder: WorkingFolder,
    /// For logs and error messages.
    pub(crate) log_scrubber: Scrubber,
    /// For results.
    pub(crate) result_scrubber: Scrubber,
    pub(crate) surroundings: Arc<Surroundings>,
    /// What its `auth` block refers to, as written.
    pub(crate) auth_references: Vec<Reference>,
    /// Headers beside those of its `auth` block.
    pub(crate) headers: Vec<(String, Secret)>,
}

impl Connector {
    /// A connector; nothing is started or opened yet.
    pub fn new(settings: ConnectorSettings) -> Self {
        Self::with_names(settings, Arc::new(SystemNames))
    }

    /// A connector that looks the names of HTTP APIs up in its own way.
    pub fn with_names(settings: ConnectorSettings, names: Arc<dyn Names>) -> Self {
        Self { surroundings: Arc::new(Surroundings::new(settings, names)) }
    }

    /// Opens a connection for a definition.
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
            Backend::Cli(tools) if tools.placeholders == Placeholders::Braces => {
                let prepared = self.unresolved(definition, tools.clone())?;
                let project = ProjectCommands::new(definition);
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
            Backend::Caplets(_) => Err(CallError::new(
                ErrorCode::InternalError,
                format!("`{}` is a set; its members are connected one by one", definition.id),
            )),
            Backend::Capsules => Err(CallError::new(
                ErrorCode::InternalError,
                format!("`{}` is answered by the host itself", definition.id),
            )),
        }
    }

    /// What a capability's processes last wrote to standard error, or why they failed.
    pub fn process_log(&self, id: &str) -> Option<String> {
        self.surroundings.logs.read(id)
    }

    /// HTTP clients that reach only where they may.
    pub fn guarded_clients(&self) -> &GuardedClients {
        &self.surroundings.guarded_clients
    }

    /// Large results.
    pub fn artifacts(&self) -> &ArtifactStore {
        &self.surroundings.artifacts
    }

    pub(crate) fn surroundings(&self) -> &Arc<Surroundings> {
        &self.surroundings
    }

    /// Resolves a block's references and its working folder rule.
    pub(crate) fn prepare<T: Serialize + DeserializeOwned>(
        &self,
        definition: &Definition,
        block: &T,
    ) -> Result<Prepared<T>, CallError> {
        let holder = vault_holder(definition);
        let variables = project_variables(definition)?;
        let lookup = self.surroundings.lookup(&holder);
        let lookup = lookup.in_project(variables.as_ref());
        let resolved = resolve_value(block, lookup)?;
        Ok(Prepared {
            log_scrubber: Scrubber::of_all(&resolved.substitutions),
            result_scrubber: Scrubber::of_sensitive(&resolved.substitutions),
            auth_references: references(block, "auth"),
            ..self.unresolved(definition, resolved.value)?
        })
    }

    /// A block as it is, for a backend that resolves its references itself.
    pub(crate) fn unresolved<T>(
        &self,
        definition: &Definition,
        block: T,
    ) -> Result<Prepared<T>, CallError> {
        let project = self.surroundings.project.as_deref();
        Ok(Prepared {
            id: definition.id.clone(),
            block,
            folder: WorkingFolder::new(definition.project_bound, project)?,
            log_scrubber: Scrubber::default(),
            result_scrubber: Scrubber::default(),
            surroundings: Arc::clone(&self.surroundings),
            auth_references: Vec::new(),
            headers: Vec::new(),
        })
    }
}

impl<T> Prepared<T> {
    /// Scrubs these values too: a token may also stand in the file itself.
    pub(crate) fn also_secret(&mut self, values: &[Secret]) {
        self.log_scrubber = std::mem::take(&mut self.log_scrubber).with(values);
        self.result_scrubber = std::mem::take(&mut self.result_scrubber).with(values);
    }
}

impl Default for ConnectOptions {
    /// No client behind it, nobody listening, nothing to cancel it.
    fn default() -> Self {
        Self {
            client: ClientProfile::default(),
            listener: Arc::new(NoListener),
            known_revision: None,
            cancel: CancellationToken::new(),
        }
    }
}

impl fmt::Debug for ConnectOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ConnectOptions")
            .field("client", &self.client)
            .finish_non_exhaustive()
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
                let mut hints: Vec<String> = unresolved.iter().map(Unresolved::hint).collect();
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
