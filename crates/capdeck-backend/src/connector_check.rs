//! What can be known of a capability without connecting: unset variables, missing programs and folders, addresses that
//! would not be contacted.

use std::sync::Arc;

use capdeck_definition::{
    Backend, CliTools, CmpTool, Definition, HttpBlock, McpServer, McpTransport, PlaceholderStyle,
};
use indexmap::IndexMap;
use serde::{Serialize, de::DeserializeOwned};
use url::Url;

use crate::{
    CallError, Connector,
    child_environment::{PassedVariables, child_environment},
    cli::placeholders::has_input,
    cmp,
    connect::ResolvedBackend,
    http::EndpointNetwork,
    openapi,
    process::find_program,
    tailored::split_command,
};

impl Connector {
    /// What prevents the use of a capability: unset variables, missing programs and folders.
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
            Backend::Http(api) => self.prepare(definition, api).map(|ready| check_reach(&ready)),
            Backend::OpenApi(api) => self.prepare(definition, api).map(|ready| {
                let problem = openapi::check(&ready).err();
                let problem = problem.map(|problem| problem.scrubbed(&ready.log_scrubber));
                problem.into_iter().chain(check_reach(&ready)).collect()
            }),
            Backend::GoogleDiscovery(api) => {
                self.prepare(definition, api).map(|ready| check_reach(&ready))
            }
            Backend::GraphQl(api) => self.prepare(definition, api).map(|ready| {
                let problems = crate::graphql::check(&ready);
                // An address that cannot be used is one problem, whatever else is wrong with it.
                match problems.is_empty() {
                    true => check_reach(&ready),
                    false => problems,
                }
            }),
            Backend::Caplets(set) => self.prepare(definition, set).map(|_ready| Vec::new()),
            Backend::Capsules => Ok(Vec::new()),
        };
        found.unwrap_or_else(|error| vec![error])
    }
}

/// Why no request to an address of this block would be made.
fn check_reach<T: HttpBlock>(prepared: &ResolvedBackend<T>) -> Vec<CallError> {
    let network = EndpointNetwork::new(prepared);
    let addresses = prepared.block.addresses().into_iter().filter_map(|text| Url::parse(text).ok());
    addresses
        .filter_map(|address| network.check(&address).err())
        .map(|problem| problem.scrubbed(&prepared.log_scrubber))
        .collect()
}

/// The commands of a capability file whose program is known before a call; variables are looked up by each call.
fn fixed_commands(tools: &CliTools) -> CliTools {
    let mut fixed = tools.clone();
    let is_open = |text: &str| text.contains(['{', '$']);
    fixed.actions.retain(|_, action| {
        !is_open(&action.program.command) && !action.program.cwd.as_deref().is_some_and(is_open)
    });
    fixed
}

fn check_cli(prepared: &ResolvedBackend<CliTools>) -> Vec<CallError> {
    let tools = &prepared.block;
    let mut problems: Vec<CallError> = Vec::new();
    for action in tools.actions.values() {
        let cwd = action.program.cwd.as_ref().or(tools.cwd.as_ref());
        let found = check_command(
            prepared,
            &action.program.command,
            cwd,
            &[&tools.env, &action.program.env],
        );
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
    let home = env.get("HOME").map_or("~", String::as_str);
    let mut programs: Vec<String> =
        tool.intents.values().map(|intent| intent.command.program_at(home)).collect();
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
    let passed = PassedVariables::default();
    let host = &prepared.surroundings.settings.environment;
    let env = child_environment(host, &passed, layers.iter().copied());
    find_program(command, env.get("PATH").map(String::as_str), folder.as_deref())?;
    Ok(())
}

impl Connector {
    /// Why the names in the addresses of a capability would not be contacted: they are looked up, and nothing is sent to
    /// them.
    pub async fn check_names(&self, definition: &Definition) -> Result<(), CallError> {
        match &definition.backend {
            Backend::Http(api) => self.check_names_of(definition, api).await,
            Backend::OpenApi(api) => self.check_names_of(definition, api).await,
            Backend::GoogleDiscovery(api) => self.check_names_of(definition, api).await,
            Backend::GraphQl(api) => self.check_names_of(definition, api).await,
            Backend::Mcp(_)
            | Backend::Cli(_)
            | Backend::Cmp(_)
            | Backend::Caplets(_)
            | Backend::Capsules => Ok(()),
        }
    }

    async fn check_names_of<T: HttpBlock + Serialize + DeserializeOwned>(
        &self,
        definition: &Definition,
        block: &T,
    ) -> Result<(), CallError> {
        let prepared = self.prepare(definition, block)?;
        let network = EndpointNetwork::new(&prepared);
        for address in
            prepared.block.addresses().into_iter().filter_map(|text| Url::parse(text).ok())
        {
            let names = Arc::clone(&self.surroundings().names);
            let checked = network.check_name(&address, names).await;
            checked.map_err(|problem| problem.scrubbed(&prepared.log_scrubber))?;
        }
        Ok(())
    }
}
