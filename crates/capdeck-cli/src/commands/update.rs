//! `capdeck update [ID…]`: installed packages, brought to what their sources have now.

use std::collections::HashMap;

use capdeck_install::{
    Fetched, LockedPackage, PackageDeck, PackageError, PackageSource, find_packages,
};

use super::package::{Outcome, PackageArgs, carry_out, conclude, failed, git, item, show};
use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Update capabilities that were got from somewhere
///
/// One that can do more than before (a new command, host, right, changing tool or set-up step) is left as it is until you
/// approve it. One that you edited is left as it is. The others are updated all the same.
#[derive(Debug, clap::Args)]
pub(crate) struct UpdateArgs {
    /// Only these; all if none is named.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    package: PackageArgs,
}

pub(crate) fn run(args: &UpdateArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let UpdateArgs { ids, package } = args;
    let printer = context.printer;
    let settings = context.settings()?;
    let deck = PackageDeck::new(&package.deck_dir(&settings));
    let lock = deck.lock().map_err(failed)?;
    let chosen: Vec<LockedPackage> = if ids.is_empty() {
        lock.packages.clone()
    } else {
        ids.iter()
            .map(|id| {
                let missing = || failed(PackageError::NotInstalled { id: id.clone() });
                lock.get(id).cloned().ok_or_else(missing)
            })
            .collect::<Result<_, _>>()?
    };
    if chosen.is_empty() && !printer.wants_json() {
        printer.note("nothing was installed from anywhere; begin with: capdeck get SOURCE");
    }
    let git = git(&settings);
    // Packages of one source are brought to the same commit.
    let mut sources: HashMap<String, Fetched> = HashMap::new();
    let mut outcomes = Vec::new();
    for known in chosen {
        let source = PackageSource::from(&known.source);
        let key = format!("{source:?}");
        if !sources.contains_key(&key) {
            let _progress = printer.progress(&format!("fetching {}", known.source.describe()));
            let fetched = source.fetch(&git).map_err(failed)?;
            sources.insert(key.clone(), fetched);
        }
        let Some(fetched) = sources.get(&key) else { continue };
        for found in find_packages(&fetched.dir, std::slice::from_ref(&known.id)).map_err(failed)? {
            let change = deck.change(found, &fetched.source).map_err(failed)?;
            show(&change, printer);
            let command = format!("capdeck update {}", known.id);
            let verdict = package.judge(&change, &command, printer);
            outcomes.push(Outcome { change, verdict });
        }
    }
    let mut items = Vec::new();
    for outcome in &outcomes {
        let is_written = carry_out(&deck, outcome, package)?;
        items.push(item(outcome, is_written));
    }
    conclude(&outcomes, items, package, context)
}
