//! The registry of an `up`: opened when it starts, in the data folder, which one process has at a time.

use std::{sync::Arc, time::Duration};

use capdeck_auth::inbound::{
    AuditSink, Lifetimes, OpenRegistryError, RedirectPolicy, Registry, RegistryOptions,
};
use capdeck_definition::ServeConfig;
use capdeck_host::Host;
use capdeck_serve::{NoRegistry, RegistryTrail};
use tokio::runtime::Handle;

use crate::settings::Settings;

/// Opens the registry. Nothing is made on disk by it. Without it the deck is served all the same.
pub(super) fn open(
    places: &Settings,
    host: &Host,
    config: &ServeConfig,
    token_lifetime: Option<Duration>,
) -> Result<Registry, NoRegistry> {
    let lifetimes = Lifetimes::default();
    let options = RegistryOptions {
        lifetimes: Lifetimes {
            access_token: token_lifetime.unwrap_or(lifetimes.access_token),
            ..lifetimes
        },
        redirects: RedirectPolicy {
            hosts: config.redirects.hosts.clone(),
            native_schemes: config.redirects.schemes.clone(),
        },
        audit: host.capsules().map(|desk| -> Arc<dyn AuditSink> {
            RegistryTrail::new(Arc::clone(desk), Handle::current())
        }),
        ..RegistryOptions::default()
    };
    Registry::open(places.data_dir.join("registry"), options).map_err(|error| {
        tracing::warn!(%error, "clients cannot sign in to this host");
        let reason = error.to_string();
        let served_at = match error {
            OpenRegistryError::InUse { at, .. } => at,
            _ => None,
        };
        NoRegistry { reason, served_at }
    })
}
