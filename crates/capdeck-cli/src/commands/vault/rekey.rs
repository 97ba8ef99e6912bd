//! `capdeck vault rekey`: a new key for everything that is sealed.

use capdeck_auth::{KeyHome, Rekeyed};
use clap::ValueEnum;
use serde_json::json;

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Make a new key and seal everything with it
///
/// Values, grants and sign-ins are all sealed anew, or nothing changes. Copies that were made before open only with the old key.
#[derive(Debug, clap::Args)]
pub(crate) struct RekeyArgs {
    /// Where the new key is kept; where the old one was without it
    #[arg(long, value_name = "PLACE")]
    to: Option<Place>,
}

/// Where a key can be kept.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Place {
    /// The key file, readable by you only
    File,
    /// The keyring of the system, open while you are logged in
    Keyring,
}

pub(crate) fn run(args: &RekeyArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let RekeyArgs { to } = args;
    let home = to.map(|place| match place {
        Place::File => KeyHome::File,
        Place::Keyring => KeyHome::Keyring,
    });
    let Rekeyed { files, key, place, home } = context.settings()?.vault.rekey(home)?;
    let (word, told) = match home {
        KeyHome::File => ("file", place.clone()),
        KeyHome::Keyring => ("keyring", format!("the keyring of the system, as {place} says")),
    };
    if context.printer.wants_json() {
        let outcome = json!({ "files": files, "key": key, "path": place, "home": word });
        context.printer.json(&outcome);
    } else {
        context.printer.note(&format!("sealed anew: {files}; the new key {key} is in {told}"));
    }
    Ok(ExitStatus::Done)
}
