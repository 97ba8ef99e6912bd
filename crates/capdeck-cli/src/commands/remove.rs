//! `capdeck remove ID…`: installed packages, taken out of a deck.

use capdeck_install::{PackageDeck, Removal};
use serde_json::{Value, json};

use super::package::{PackageArgs, failed};
use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::written,
};

/// Remove capabilities that were got from somewhere
///
/// Deletes what was installed and is unchanged. What you edited stays unless --force is given; what you wrote yourself is
/// never touched.
#[derive(Debug, clap::Args)]
pub(crate) struct RemoveArgs {
    /// The capabilities' ids.
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    package: PackageArgs,
}

pub(crate) fn run(args: &RemoveArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let RemoveArgs { ids, package } = args;
    let printer = context.printer;
    let settings = context.settings()?;
    let deck = PackageDeck::new(&package.deck_dir(&settings));
    let removals: Vec<Removal> =
        ids.iter().map(|id| deck.removal(id)).collect::<Result<_, _>>().map_err(failed)?;
    for removal in &removals {
        if let Some(obstacle) = removal.obstacle.filter(|_| !package.force) {
            let message = format!("`{}` is not removed: {obstacle}", removal.id);
            let hint = format!("keep a copy of `{}`, then add --force", removal.path.display());
            return Err(Failure::request("PACKAGE_REFUSED", message).hint(hint));
        }
    }
    if !package.yes && !package.dry_run && printer.can_ask() {
        let question = format!("Remove {}?", ids.join(", "));
        if !printer.confirm(&question) {
            return Err(Failure::request("CANCELLED", "nothing was removed"));
        }
    }
    let mut items: Vec<Value> = Vec::new();
    for removal in &removals {
        if !package.dry_run {
            deck.remove(removal).map_err(failed)?;
        }
        let mut item = json!({
            "id": removal.id,
            "path": removal.path,
            "wasThere": removal.is_there,
            "removed": !package.dry_run,
        });
        if let Some(obstacle) = removal.obstacle {
            item["obstacle"] = json!(written(obstacle));
        }
        items.push(item);
        let verb = if package.dry_run { "would remove" } else { "removed" };
        if !printer.wants_json() {
            printer.note(&format!("{verb} {}", removal.path.display()));
        }
    }
    if printer.wants_json() {
        printer.json(&json!({ "items": items }));
    }
    Ok(ExitStatus::Done)
}
