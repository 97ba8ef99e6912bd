//! The eras of the protocol that each server speaks, as far as it is known.

use std::collections::HashMap;

use capdeck_catalog::{Catalog, ServerDetails};
use capdeck_definition::{Backend, Definition, ProtocolEra};
use parking_lot::Mutex;

/// By definition fingerprint: a changed definition may lead to another server.
#[derive(Debug, Default)]
pub(crate) struct ServerEras(Mutex<HashMap<String, SpokenEras>>);

/// `None` for an era in which the server was not asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SpokenEras {
    pub(crate) legacy: Option<bool>,
    pub(crate) modern: Option<bool>,
}

impl ServerEras {
    pub(crate) fn spoken(&self, definition: &Definition) -> SpokenEras {
        let Backend::Mcp(server) = &definition.backend else { return SpokenEras::ONLY_LEGACY };
        match server.protocol_era {
            ProtocolEra::Legacy => SpokenEras::ONLY_LEGACY,
            ProtocolEra::Modern => SpokenEras::ONLY_MODERN,
            ProtocolEra::Auto => {
                self.0.lock().get(&definition.fingerprint).copied().unwrap_or_default()
            }
        }
    }

    /// Whether the server takes self-contained requests.
    pub(crate) fn is_modern(&self, definition: &Definition) -> bool {
        self.spoken(definition).modern == Some(true)
    }

    /// Lists tell how the server was reached when they were read. What connections showed since is newer.
    pub(crate) fn note_all(&self, catalog: &Catalog) {
        let mut eras = self.0.lock();
        for capability in catalog.capabilities() {
            if let Some(facts) =
                capability.discovery.as_ref().and_then(|known| known.server.as_ref())
            {
                let known = eras.entry(capability.definition.fingerprint.clone());
                known.or_insert_with(|| SpokenEras::default().after(facts));
            }
        }
    }

    pub(crate) fn note(&self, definition: &Definition, facts: &ServerDetails) {
        let mut eras = self.0.lock();
        let known = eras.entry(definition.fingerprint.clone()).or_default();
        *known = known.after(facts);
    }
}

impl SpokenEras {
    const ONLY_LEGACY: Self = Self { legacy: Some(true), modern: Some(false) };
    const ONLY_MODERN: Self = Self { legacy: Some(false), modern: Some(true) };

    /// With what a connection showed. A server may be replaced by a version that speaks more.
    fn after(self, facts: &ServerDetails) -> Self {
        match (facts.is_modern(), facts.refuses_other_era) {
            (true, true) => Self::ONLY_MODERN,
            (false, true) => Self::ONLY_LEGACY,
            (true, false) => Self { modern: Some(true), ..self },
            (false, false) => Self { legacy: Some(true), ..self },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_adds_what_it_showed() {
        let facts = |revision: &str, refuses_other_era| ServerDetails {
            protocol_version: revision.to_owned(),
            refuses_other_era,
            ..ServerDetails::default()
        };
        let unknown = SpokenEras::default();
        let legacy = unknown.after(&facts("2025-11-25", false));
        assert_eq!(legacy, SpokenEras { legacy: Some(true), modern: None });
        let both = legacy.after(&facts("2026-07-28", false));
        assert_eq!(both, SpokenEras { legacy: Some(true), modern: Some(true) });
        assert_eq!(both.after(&facts("2026-07-28", true)), SpokenEras::ONLY_MODERN);
        assert_eq!(unknown.after(&facts("2025-11-25", true)), SpokenEras::ONLY_LEGACY);
        let replaced = SpokenEras::ONLY_LEGACY.after(&facts("2026-07-28", false));
        assert_eq!(replaced, both);
    }
}
