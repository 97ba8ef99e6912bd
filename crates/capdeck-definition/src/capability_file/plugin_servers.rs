//! Servers that plugins bring: files of the project's deck, of which the capability file may choose tools.

use std::sync::Arc;

use super::CapabilityFile;
use crate::{
    Backend, CapabilityTailoring, Definition, SourceLayer, ToolChoice,
    fingerprint::{FingerprintInput, fingerprint},
};

impl CapabilityFile {
    /// A definition of the project's deck with the tools that this file chooses of it. Everything but a plugin's server
    /// stays as it is.
    pub(crate) fn tailor(&self, definition: Definition) -> Definition {
        let is_file = definition.source.layer == SourceLayer::ProjectFile;
        let is_server = matches!(definition.backend, Backend::Mcp(_));
        let server = self.ids.of_plugins.get(&definition.id);
        let Some(server) = server.filter(|_| is_file && is_server) else { return definition };
        let tools = ToolChoice::Chosen(self.chosen_of(server));
        let tailoring = Arc::new(CapabilityTailoring { tools, ..CapabilityTailoring::default() });
        let fingerprint = fingerprint(FingerprintInput {
            id: &definition.id,
            backend: &definition.backend,
            setup: definition.setup.as_ref(),
            project_bound: definition.project_bound,
            features: &definition.runtime.features,
            tailoring: Some(&tailoring),
        });
        Definition { tailoring: Some(tailoring), fingerprint, ..definition }
    }
}
