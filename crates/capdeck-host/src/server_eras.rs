//! The protocol revision that each server speaks, as far as it is known.

use std::collections::HashMap;

use capdeck_catalog::{Catalog, ServerDetails};
use capdeck_definition::{Backend, Definition, ProtocolEra};
use parking_lot::Mutex;

/// By definition fingerprint: a changed definition may lead to another server.
#[derive(Debug, Default)]
pub(crate) struct ServerEras(Mutex<HashMap<String, ServerRevision>>);

#[derive(Debug, Clone)]
struct ServerRevision {
    name: String,
    is_modern: bool,
}

impl ServerEras {
    /// Whether the server takes self-contained requests. `None` when it is not known.
    pub(crate) fn is_modern(&self, definition: &Definition) -> Option<bool> {
        let Backend::Mcp(server) = &definition.backend else { return Some(false) };
        match server.protocol_era {
            ProtocolEra::Legacy => Some(false),
            ProtocolEra::Modern => Some(true),
            ProtocolEra::Auto => {
                self.0.lock().get(&definition.fingerprint).map(|known| known.is_modern)
            }
        }
    }

    pub(crate) fn revision(&self, definition: &Definition) -> Option<String> {
        self.0.lock().get(&definition.fingerprint).map(|known| known.name.clone())
    }

    pub(crate) fn note_all(&self, catalog: &Catalog) {
        let mut eras = self.0.lock();
        for capability in catalog.capabilities() {
            if let Some(facts) =
                capability.discovery.as_ref().and_then(|known| known.server.as_ref())
            {
                let known = eras.entry(capability.definition.fingerprint.clone());
                known.or_insert_with(|| ServerRevision::from_details(facts));
            }
        }
    }

    pub(crate) fn note(&self, definition: &Definition, facts: &ServerDetails) {
        self.0.lock().insert(definition.fingerprint.clone(), ServerRevision::from_details(facts));
    }
}

impl ServerRevision {
    fn from_details(facts: &ServerDetails) -> Self {
        Self { name: facts.protocol_version.clone(), is_modern: facts.is_modern() }
    }
}
