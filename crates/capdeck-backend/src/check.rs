//! What can be known about a definition without connecting to what it describes.

use std::{fs, path::PathBuf, time::Duration};

use capdeck_catalog::Discovery;
use capdeck_definition::{
    Backend, BackendAuth, CliTools, CmpTool, Definition, McpServer, McpTransport, PlaceholderStyle,
};
use indexmap::IndexMap;

use crate::{
    CallContext, CallError, ConnectOptions, Connector, child_environment::child_environment,
    cli::placeholders::has_input, cmp, connect::ResolvedBackend, openapi, process::find_program,
    tailored::split_command,
};

impl Connector {
    /// What stands in the way of using a capability: unset variables, missing programs and folders.
    ///
    /// Looks at the machine only; starts nothing and sends nothing. Empty means ready as far as one can tell.
    pub fn check(&self, definition: &Definition) -> Vec<CallError> {
        let found = match &definition.backend {
            Backend::Cli(tools) if tools.placeholders == PlaceholderStyle::Braces => {
                self.unresolved(definition, fixed_commands(tools)).map(|ready| check_cli(&ready))
            }
            Backend::Cli(tools) => self.prepare(definition, tools).map(|ready| check_cli(&ready)),
            Backend::Cmp(tool) => {
                self.unresolved(definition, tool.clone()).map(|ready| check_cmp(&ready))
            }
            Backend::Mcp(server) => self.prepare(definition, server).map(|mut ready| {
                let split = definition.tailoring.is_some().then(|| split_command(&mut ready));
                match split {
                    Some(Err(problem)) => vec![problem],
                    Some(Ok(())) | None => check_mcp(&ready),
                }
            }),
            Backend::Http(api) => self.prepare(definition, api).map(|_ready| Vec::new()),
            Backend::OpenApi(api) => self.prepare(definition, api).map(|ready| {
                let problem = openapi::check(&ready).err();
                problem.map(|problem| problem.scrubbed(&ready.log_scrubber)).into_iter().collect()
            }),
            Backend::GoogleDiscovery(api) => self.prepare(definition, api).map(|_ready| Vec::new()),
            Backend::GraphQl(api) => {
                self.prepare(definition, api).map(|ready| crate::graphql::check(&ready))
            }
            Backend::Caplets(set) => self.prepare(definition, set).map(|_ready| Vec::new()),
            Backend::Capsules => Ok(Vec::new()),
        };
        found.unwrap_or_else(|error| vec![error])
    }
}

/// The commands of a capability file whose program is known before a call; variables are looked up by each call.
fn fixed_commands(tools: &CliTools) -> CliTools {
    let mut fixed = tools.clone();
    let is_open = |text: &str| text.contains(['{', '$']);
    fixed.actions.retain(|_, action| {
        !is_open(&action.command) && !action.cwd.as_deref().is_some_and(is_open)
    });
    fixed
}

fn check_cli(prepared: &ResolvedBackend<CliTools>) -> Vec<CallError> {
    let tools = &prepared.block;
    let mut problems: Vec<CallError> = Vec::new();
    for action in tools.actions.values() {
        let cwd = action.cwd.as_ref().or(tools.cwd.as_ref());
        let found = check_command(prepared, &action.command, cwd, &[&tools.env, &action.env]);
        if let Err(problem) = found {
            let problem = problem.scrubbed(&prepared.log_scrubber);
            // Ten actions of one missing program are one problem.
            if !problems.iter().any(|known| known.message == problem.message) {
                problems.push(problem);
            }
        }
    }
    problems
}

fn check_cmp(prepared: &ResolvedBackend<CmpTool>) -> Vec<CallError> {
    let tool = &prepared.block;
    let env = cmp::environment(tool, &prepared.surroundings);
    let path = env.get("PATH").map(String::as_str);
    let mut programs: Vec<String> =
        tool.intents.values().map(|intent| intent.command.program()).collect();
    programs.sort_unstable();
    programs.dedup();
    let missing = programs.iter().filter_map(|program| find_program(program, path, None).err());
    missing.map(CallError::from).collect()
}

fn check_mcp(prepared: &ResolvedBackend<McpServer>) -> Vec<CallError> {
    let server = &prepared.block;
    let (McpTransport::Stdio, Some(command)) = (server.effective_transport(), &server.command)
    else {
        return Vec::new();
    };
    check_command(prepared, command, server.cwd.as_ref(), &[&server.env])
        .err()
        .map(|problem| problem.scrubbed(&prepared.log_scrubber))
        .into_iter()
        .collect()
}

/// What depends on a call's arguments can only be known at the call, and counts as fine here.
fn check_command<T>(
    prepared: &ResolvedBackend<T>,
    command: &str,
    cwd: Option<&String>,
    layers: &[&IndexMap<String, String>],
) -> Result<(), CallError> {
    if cwd.is_some_and(|cwd| has_input(cwd)) {
        return Ok(());
    }
    let folder = prepared.folder.resolve(cwd.map(String::as_str))?;
    if has_input(command) {
        return Ok(());
    }
    let env = child_environment(&prepared.surroundings.environment, layers.iter().copied());
    find_program(command, env.get("PATH").map(String::as_str), folder.as_deref())?;
    Ok(())
}

/// Reading a file takes no longer; parsing a very large one may.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(60);

/// What became of a description.
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

/// The file that describes a backend, and the backend as if nobody had to sign in.
fn without_credentials(backend: &Backend) -> Option<(PathBuf, Backend)> {
    let mut anonymous = backend.clone();
    let (path, requests) = match &mut anonymous {
        Backend::OpenApi(api) => (&api.spec_path, &mut api.requests),
        Backend::GoogleDiscovery(api) => (&api.discovery_path, &mut api.requests),
        Backend::GraphQl(api) => (&api.schema_path, &mut api.requests),
        Backend::Mcp(_)
        | Backend::Http(_)
        | Backend::Cli(_)
        | Backend::Cmp(_)
        | Backend::Caplets(_)
        | Backend::Capsules => return None,
    };
    let file = PathBuf::from(path.as_ref()?);
    requests.auth = BackendAuth::None {};
    Some((file, anonymous))
}
