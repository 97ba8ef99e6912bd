//! What a shared host needs besides its deck: its key, and the secrets of its settings. Nothing is asked over the network.

use capdeck_auth::{Unresolved, inbound::AdminKey};
use capdeck_definition::ServeConfig;

use super::Finding;
use crate::{
    commands::up::{provider::client_secret, traces::configured_headers},
    env_vars::EnvVars,
    settings::Settings,
};

pub(super) fn examine(settings: &Settings, env: &EnvVars, serve: &ServeConfig) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(Err(error)) = env.admin_key.clone().map(AdminKey::new) {
        let message = format!("CAPDECK_ADMIN_KEY cannot be used: {error}");
        findings.push(Finding::error(
            "admin key",
            message,
            "use the output of: openssl rand -hex 32",
        ));
    }
    let missing = |place: &str, missing: Unresolved| {
        Finding::error("sign-in", format!("`{place}` cannot be used: {missing}"), missing.hint())
    };
    if let Some(oidc) = &serve.oidc {
        findings.push(match client_secret(oidc, settings) {
            Ok(_) => Finding::ok("sign-in", format!("operators may sign in at {}", oidc.issuer)),
            Err(one) => missing("serve.oidc.clientSecret", one),
        });
    }
    if let Some(otlp) = &serve.otlp
        && let Err(one) = configured_headers(otlp, settings)
    {
        let message = format!("`serve.otlp.headers` cannot be used: {one}");
        findings.push(Finding::warning("traces", message, one.hint()));
    }
    findings
}
