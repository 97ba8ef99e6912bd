//! The settings of the host.

use capdeck_auth::inbound::ApprovalMode;
use capdeck_host::ServeAuthMode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::rest::{
    ApiResult, JsonBody, RequiredAccess::Admin, RestCall, RestOperation, get, patch,
};

const PATH: &str = "/v1/settings";

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(Admin, PATH, "getSettings", "Get the settings of this host").handled_by(show),
        patch(Admin, PATH, "updateSettings", "Change the settings of this host")
            .about("Only the approval mode can be changed at runtime. All other settings are in the configuration and are read at startup.")
            .handled_with_body(update),
    ]
}

/// The settings of this host.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Settings")]
struct SettingsResponse {
    version: String,
    /// `local`: requests from this machine need no token. `required`: every request needs one.
    auth: &'static str,
    /// The address for clients.
    public_url: String,
    registry: RegistryState,
    /// Who decides access requests; null if this process has no registry.
    approval_mode: Option<ApprovalMode>,
}

/// Whether this process holds the registry.
#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
struct RegistryState {
    available: bool,
    /// Why not.
    reason: Option<String>,
    /// The address of the process that holds it.
    served_at: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SettingsChange {
    approval_mode: ApprovalMode,
}

async fn show(call: RestCall) -> ApiResult<SettingsResponse> {
    Ok(settings(&call))
}

async fn update(call: RestCall, body: JsonBody<SettingsChange>) -> ApiResult<SettingsResponse> {
    let registry = call.registry()?;
    let mut policy = registry.approval().policy();
    policy.mode = body.0.approval_mode;
    registry.approval().set_policy(&call.registry_caller(), policy).await?;
    Ok(settings(&call))
}

fn settings(call: &RestCall) -> SettingsResponse {
    let http_state = &call.rest.http_state;
    let (registry, approval_mode) = match &http_state.registry {
        Ok(registry) => {
            let state = RegistryState { available: true, reason: None, served_at: None };
            (state, Some(registry.approval().policy().mode))
        }
        Err(none) => {
            let (reason, served_at) = (Some(none.reason.clone()), none.served_at.clone());
            (RegistryState { available: false, reason, served_at }, None)
        }
    };
    SettingsResponse {
        version: call.rest.host.settings().version.clone(),
        auth: match http_state.mode {
            ServeAuthMode::Local => "local",
            ServeAuthMode::Required => "required",
        },
        public_url: http_state.issuer(&call.headers, call.address),
        registry,
        approval_mode,
    }
}
