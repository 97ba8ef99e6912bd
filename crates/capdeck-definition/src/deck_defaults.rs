//! What a deck gives to its own capabilities: variables for their programs, and networks for their requests.

use std::sync::Arc;

use crate::{
    Backend, Definition, Glob, NetworkAccess, SourceLayer, shape::config_file::HostOptions,
};

/// The defaults of the decks, separately for the person and the project: neither hands its variables to the files of the
/// other.
#[derive(Debug, Default)]
pub(crate) struct DeckDefaults {
    user: OwnerDefaults,
    project: OwnerDefaults,
}

#[derive(Debug, Default)]
struct OwnerDefaults {
    pass_env: Vec<Glob>,
    network: Option<NetworkAccess>,
}

impl DeckDefaults {
    /// Adds the options of one file. A later file decides about the network; variables add up.
    pub(crate) fn add_options(&mut self, options: &HostOptions, layer: SourceLayer) {
        self.add_variables(&options.pass_env, layer);
        let own = self.of_layer_mut(layer);
        own.network = options.network.or(own.network);
    }

    pub(crate) fn add_variables(&mut self, variables: &[Glob], layer: SourceLayer) {
        self.of_layer_mut(layer).pass_env.extend_from_slice(variables);
    }

    /// Gives a definition what the deck it belongs to has for it.
    pub(crate) fn apply(&self, definition: &mut Arc<Definition>) {
        let OwnerDefaults { pass_env, network } =
            if definition.source.layer.needs_trust() { &self.project } else { &self.user };
        // Most decks have none of them, and a start should not pay for it.
        if pass_env.is_empty() && network.is_none() {
            return;
        }
        let mut backend = definition.backend.clone();
        backend.add_pass_env(pass_env);
        if let Some(network) = network {
            backend.set_default_network(*network);
        }
        replace_backend(definition, backend);
    }

    fn of_layer_mut(&mut self, layer: SourceLayer) -> &mut OwnerDefaults {
        if layer.needs_trust() { &mut self.project } else { &mut self.user }
    }
}

/// Opens private networks to the APIs of a project, where their files do not say otherwise.
pub(crate) fn open_private_networks(definition: &mut Arc<Definition>) {
    let mut backend = definition.backend.clone();
    backend.set_default_network(NetworkAccess::Private);
    replace_backend(definition, backend);
}

/// A changed backend is another behaviour, so it gets another fingerprint.
fn replace_backend(definition: &mut Arc<Definition>, backend: Backend) {
    if definition.backend != backend {
        let changed = Definition { backend, ..Definition::clone(definition) };
        *definition = Arc::new(changed.with_fingerprint());
    }
}

impl Backend {
    /// The patterns of the variables that its programs get of the host's environment.
    pub fn pass_env(&self) -> &[Glob] {
        match self {
            Self::Mcp(server) => &server.pass_env,
            Self::Cli(tools) => &tools.pass_env,
            Self::Cmp(tool) => &tool.pass_env,
            Self::Http(_)
            | Self::OpenApi(_)
            | Self::GoogleDiscovery(_)
            | Self::GraphQl(_)
            | Self::Caplets(_)
            | Self::Capsules => &[],
        }
    }

    fn add_pass_env(&mut self, more: &[Glob]) {
        let own = match self {
            Self::Mcp(server) if server.command.is_some() => &mut server.pass_env,
            Self::Cli(tools) => &mut tools.pass_env,
            Self::Cmp(tool) => &mut tool.pass_env,
            Self::Mcp(_)
            | Self::Http(_)
            | Self::OpenApi(_)
            | Self::GoogleDiscovery(_)
            | Self::GraphQl(_)
            | Self::Caplets(_)
            | Self::Capsules => return,
        };
        for pattern in more {
            if !own.contains(pattern) {
                own.push(pattern.clone());
            }
        }
    }

    /// The network that the file or the deck names for the requests of an API.
    pub(crate) fn network(&self) -> Option<NetworkAccess> {
        match self {
            Self::Http(api) => api.requests.network,
            Self::OpenApi(api) => api.import.requests.network,
            Self::GoogleDiscovery(api) => api.import.requests.network,
            Self::GraphQl(api) => api.requests.network,
            Self::Mcp(_) | Self::Cli(_) | Self::Cmp(_) | Self::Caplets(_) | Self::Capsules => None,
        }
    }

    /// Sets the network of an API whose file does not name one.
    fn set_default_network(&mut self, network: NetworkAccess) {
        let requests = match self {
            Self::Http(api) => &mut api.requests,
            Self::OpenApi(api) => &mut api.import.requests,
            Self::GoogleDiscovery(api) => &mut api.import.requests,
            Self::GraphQl(api) => &mut api.requests,
            Self::Mcp(_) | Self::Cli(_) | Self::Cmp(_) | Self::Caplets(_) | Self::Capsules => {
                return;
            }
        };
        requests.network.get_or_insert(network);
    }
}
