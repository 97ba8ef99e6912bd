//! Where operators sign in with an account of theirs: `serve.oidc` of the config, with its secret looked up.

use capdeck_auth::{
    Lookup, ProviderSettings, Secret, Unresolved, inbound::Newcomers, resolve_text,
};
use capdeck_definition::{OidcConfig, ServeConfig};
use capdeck_serve::OidcSettings;

use super::host_of;
use crate::{errors::Failure, settings::Settings};

/// The provider of a config, if it has one.
pub(super) fn provider(
    config: &ServeConfig,
    places: &Settings,
) -> Result<Option<OidcSettings>, Failure> {
    let Some(oidc) = &config.oidc else { return Ok(None) };
    let client_secret = client_secret(oidc, places).map_err(|missing| {
        let what = format!("`serve.oidc.clientSecret` cannot be used: {missing}");
        Failure::setup("NO_CLIENT_SECRET", what).hint(missing.hint())
    })?;
    let OidcConfig { issuer, client_id, client_secret: _, label, new_members } = oidc;
    let label = label.clone().or_else(|| host_of(issuer)).unwrap_or_else(|| issuer.clone());
    Ok(Some(OidcSettings {
        provider: ProviderSettings::new(issuer, client_id, client_secret),
        label,
        newcomers: Newcomers { domains: new_members.clone() },
    }))
}

/// What proves this host to the provider.
fn client_secret(oidc: &OidcConfig, places: &Settings) -> Result<Option<Secret>, Unresolved> {
    let Some(text) = &oidc.client_secret else { return Ok(None) };
    resolve_own(text, places).map(Some)
}

/// A text of the person's own settings with its references replaced, or the first one that stands for nothing.
pub(super) fn resolve_own(text: &str, places: &Settings) -> Result<Secret, Unresolved> {
    let lookup = Lookup::of_owner(&places.environment, &places.vault);
    match resolve_text(text, lookup) {
        Ok(resolved) => Ok(Secret::new(resolved.text)),
        Err(mut missing) => Err(missing.swap_remove(0)),
    }
}
