//! Set-ups: what a capability declares is run once a person has approved it, and remembered when it
//! was verified.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use capdeck_backend::{CallError, ErrorCode, SetupEvent, SetupReport};
use capdeck_catalog::CapabilityStatus;
use capdeck_definition::Definition;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{Host, durable, gate};

/// Verified set-ups, by fingerprint: a changed definition needs a new approval.
#[derive(Debug, Clone)]
pub struct SetupState {
    path: PathBuf,
}

type VerifiedSetups = BTreeMap<String, VerifiedSetup>;

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
            setups.insert(definition.id.to_string(), entry);
        })
    }

    /// Reads all verified set-ups, once per catalog. An unreadable file verifies nothing.
    pub(crate) fn load(&self) -> impl Fn(&Definition) -> bool + use<> {
        let setups: VerifiedSetups = durable::load_json(&self.path).unwrap_or_default();
        move |definition| {
            let setup = setups.get(definition.id.as_str());
            setup.is_some_and(|setup| setup.fingerprint == definition.fingerprint)
        }
    }

    /// Runs the declared commands, then the checks. When all succeed, the capability becomes
    /// visible.
    pub async fn run(
        host: &Host,
        id: &str,
        cancel: &CancellationToken,
        tell: impl FnMut(SetupEvent<'_>) + Send,
    ) -> Result<SetupReport, CallError> {
        let catalog = host.catalog();
        let Some(capability) = catalog.get(id) else {
            let message = format!("there is no capability `{id}`");
            return Err(CallError::new(ErrorCode::ServerNotFound, message)
                .hint("see what there is with: capdeck list --all"));
        };
        // Set-up commands of a project need the same trust as its capabilities.
        if let CapabilityStatus::Untrusted { reason } = &capability.status {
            return Err(gate::untrusted(id, reason));
        }
        let definition = &capability.definition;
        let report = host.0.connector.run_setup(definition, cancel, tell).await?;
        if report.succeeded() {
            Self::new(&host.0.settings.state_dir).record_verified(definition).map_err(|error| {
                CallError::internal("the set-up could not be saved").detail(error)
            })?;
            host.rebuild();
        }
        Ok(report)
    }
}
