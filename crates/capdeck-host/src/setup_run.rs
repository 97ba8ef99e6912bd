//! Runs a capability's declared set-up, once a person has approved it.

use capdeck_backend::{CallError, ErrorCode, SetupEvent, SetupReport};
use capdeck_catalog::CapabilityStatus;
use tokio_util::sync::CancellationToken;

use crate::{Host, SetupState, gate};

impl Host {
    /// Runs the declared commands, then the checks. When all succeed, the capability becomes
    /// visible.
    pub async fn run_setup(
        &self,
        id: &str,
        cancel: &CancellationToken,
        tell: impl FnMut(SetupEvent<'_>) + Send,
    ) -> Result<SetupReport, CallError> {
        let catalog = self.catalog();
        let Some(capability) = catalog.get(id) else {
            return Err(CallError::new(
                ErrorCode::ServerNotFound,
                format!("there is no capability `{id}`"),
            )
            .hint("see what there is with: capdeck list --all"));
        };
        // Set-up commands of a project need the same trust as its capabilities.
        if let CapabilityStatus::Untrusted { reason } = &capability.status {
            return Err(gate::untrusted(id, reason));
        }
        let definition = &capability.definition;
        let report = self.0.connector.run_setup(definition, cancel, tell).await?;
        if report.succeeded() {
            SetupState::new(&self.0.settings.state_dir).record_verified(definition).map_err(
                |error| {
                    CallError::new(ErrorCode::InternalError, "the set-up could not be saved")
                        .detail(error)
                },
            )?;
            self.rebuild();
        }
        Ok(report)
    }
}
