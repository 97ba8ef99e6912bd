//! Where in its file the block of a capability is, for hints that name the place to edit.

use crate::{BackendKind, Definition, SourceLayer};

impl Definition {
    /// The keys that lead to its block: `httpApi`, or `httpApis.pets` where one file has several. `None` for what no block
    /// declares.
    pub fn block_keys(&self) -> Option<String> {
        let (one, several) = match self.backend.kind() {
            BackendKind::Mcp => ("mcpServer", "mcpServers"),
            BackendKind::OpenApi => ("openapiEndpoint", "openapiEndpoints"),
            BackendKind::GoogleDiscovery => ("googleDiscoveryApi", "googleDiscoveryApis"),
            BackendKind::GraphQl => ("graphqlEndpoint", "graphqlEndpoints"),
            BackendKind::Http => ("httpApi", "httpApis"),
            BackendKind::Cli => ("cliTools", "cliTools"),
            BackendKind::Caplets => ("capletSet", "capletSets"),
            BackendKind::Cmp | BackendKind::Capsules => return None,
        };
        // The ids of sets and of plural files are before the key of the entry.
        let outer = self.parent.as_ref().or(self.member_of.as_ref());
        let id = self.id.as_str();
        let key = outer
            .and_then(|outer| id.strip_prefix(outer.as_str())?.strip_prefix("__"))
            .unwrap_or(id);
        match self.source.layer {
            SourceLayer::UserConfig | SourceLayer::ProjectConfig | SourceLayer::SetConfig => {
                Some(format!("{several}.{key}"))
            }
            SourceLayer::UserFile | SourceLayer::ProjectFile | SourceLayer::SetFile => {
                Some(match self.parent {
                    Some(_) => format!("{several}.{key}"),
                    None => one.to_owned(),
                })
            }
            SourceLayer::BuiltIn
            | SourceLayer::Starter
            | SourceLayer::Cmp
            | SourceLayer::ProjectCapabilityFile
            | SourceLayer::Remote => None,
        }
    }

    /// The block and its file, as a hint names them.
    pub fn block_place(&self) -> String {
        let file = self.source.path.display();
        match self.block_keys() {
            Some(keys) => format!("`{keys}` in {file}"),
            None => format!("`{}` in {file}", self.id),
        }
    }
}
