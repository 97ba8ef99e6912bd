//! The set-ups that have been approved, run and verified on this machine.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use capdeck_definition::Definition;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::durable;

/// Verified set-ups, by fingerprint: a changed definition needs a new approval.
#[derive(Debug, Clone)]
pub struct SetupState {
    path: PathBuf,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct VerifiedSetups(BTreeMap<String, VerifiedSetup>);

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VerifiedSetup {
    fingerprint: String,
    verified_at: Timestamp,
}

impl SetupState {
    pub fn new(state_dir: &Path) -> Self {
        Self { path: state_dir.join("setup.json") }
    }

    /// Stores that the set-up of this definition was approved and verified.
    pub fn record_verified(&self, definition: &Definition) -> io::Result<()> {
        let entry = VerifiedSetup {
            fingerprint: definition.fingerprint.clone(),
            verified_at: Timestamp::now(),
        };
        durable::update_json(&self.path, |setups: &mut VerifiedSetups| {
            setups.0.insert(definition.id.to_string(), entry);
        })
    }

    /// All verified set-ups, read once per catalog. An unreadable file verifies nothing.
    pub(crate) fn load(&self) -> VerifiedSetups {
        durable::load_json(&self.path).unwrap_or_default()
    }
}

impl VerifiedSetups {
    pub(crate) fn covers(&self, definition: &Definition) -> bool {
        self.0
            .get(definition.id.as_str())
            .is_some_and(|setup| setup.fingerprint == definition.fingerprint)
    }
}
