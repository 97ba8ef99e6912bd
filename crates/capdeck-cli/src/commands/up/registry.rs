//! The registry of an `up`: opened when it starts, in the data folder, which one process has at a time.

use std::{sync::Arc, time::Duration};

use capdeck_auth::inbound::{
    AdminKey, AuditSink, Lifetimes, OpenRegistryError, RedirectPolicy, Registry, RegistryOptions,
};
use capdeck_definition::ServeConfig;
use capdeck_host::Host;
use capdeck_serve::{NoRegistry, RegistryTrail};
use tokio::runtime::Handle;

use crate::{context::Context, errors::Failure, settings::Settings};

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

/// The key of a host that needs one and was given none: made once, kept in the state folder, shown once.
pub(super) fn own_key(
    places: &Settings,
    context: &Context<'_>,
) -> Result<capdeck_auth::Secret, Failure> {
    let file = places.state_dir.join("admin.key");
    let loaded = AdminKey::load_or_create(&file).map_err(|error| {
        Failure::setup("NO_ADMIN_KEY", format!("there is no admin key: {error}")).hint(
            "set CAPDECK_ADMIN_KEY to a long random text, such as the output of: openssl rand -hex 32",
        )
    })?;
    let place = file.display();
    let may_show = context.env.print_admin_key || context.printer.stderr_is_terminal();
    match (loaded.is_new, may_show) {
        (true, true) => {
            let key = loaded.key.reveal();
            context.printer.note(&format!(
                "The admin key of this host, shown this once and kept in {place}:\n\n  {key}\n"
            ));
        }
        _ => context.printer.note(&format!("The admin key of this host is in {place}")),
    }
    Ok(capdeck_auth::Secret::new(loaded.key.reveal()))
}
