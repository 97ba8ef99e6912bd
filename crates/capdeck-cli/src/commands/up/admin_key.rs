//! The admin key of an `up`: given, or made once.

use capdeck_auth::inbound::AdminKey;

use crate::{context::Context, env_vars::EnvVars, errors::Failure, settings::Settings};

/// How to come by one.
pub(super) const HINT: &str =
    "set CAPDECK_ADMIN_KEY to a long random text, such as the output of: openssl rand -hex 32";

/// The key that was given. One that could not be signed in with is no key at all.
pub(super) fn given(env: &EnvVars) -> Result<Option<AdminKey>, Failure> {
    let key = env.admin_key.clone().map(AdminKey::new).transpose();
    key.map_err(|error| {
        Failure::setup("BAD_ADMIN_KEY", format!("CAPDECK_ADMIN_KEY cannot be used: {error}"))
            .hint(HINT)
    })
}

/// The key of a host that needs one and was given none: made once, kept in the state folder, shown once.
pub(super) fn own(places: &Settings, context: &Context<'_>) -> Result<AdminKey, Failure> {
    let file = places.state_dir.join("admin.key");
    let loaded = AdminKey::load_or_create(&file).map_err(|error| {
        Failure::setup("NO_ADMIN_KEY", format!("there is no admin key: {error}")).hint(HINT)
    })?;
    let place = file.display();
    let may_show = context.env.print_admin_key || context.printer.stderr_is_terminal();
    match (loaded.is_new, may_show) {
        (true, true) => {
            let key = loaded.key.reveal();
            context.printer.note(&format!(
                "The admin key of this host, to sign in to the dashboard. It is shown this once and kept in {place}\n\n{key}\n"
            ));
        }
        _ => context.printer.note(&format!("The admin key of this host is in {place}")),
    }
    Ok(loaded.key)
}
