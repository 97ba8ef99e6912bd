//! Tools that are known without asking anyone, because the definition itself declares them.

use capdeck_auth::SecretScrubber;
use capdeck_catalog::Discovery;
use capdeck_definition::{Backend, Definition};

use crate::{cli, cmp, declared_tool::declared_discovery, http_actions};

/// What a definition declares, references left as text. `None` for backends that must be asked.
pub fn static_discovery(definition: &Definition) -> Option<Discovery> {
    let scrubber = SecretScrubber::default();
    match &definition.backend {
        Backend::Cli(tools) => {
            let declared = tools.actions.iter().map(|(name, action)| cli::declare(name, action));
            declared_discovery(declared, &scrubber).ok()
        }
        Backend::Http(api) => {
            let declared =
                api.actions.iter().map(|(name, action)| http_actions::declare(name, action));
            declared_discovery(declared, &scrubber).ok()
        }
        Backend::Cmp(tool) => cmp::discovery(tool).ok(),
        Backend::Mcp(_)
        | Backend::OpenApi(_)
        | Backend::GoogleDiscovery(_)
        | Backend::GraphQl(_)
        | Backend::Caplets(_)
        | Backend::Capsules => None,
    }
}
