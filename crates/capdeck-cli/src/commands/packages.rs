//! `capdeck get`, `update` and `remove`: packages, which are capabilities from another source.

mod change;

use std::collections::HashMap;

use capdeck_install::{
    FetchedSource, LockedPackage, PackageDeck, PackageError, PackageRemoval, PackageSource,
    find_packages,
};
use serde_json::{Value, json};

use self::change::{PackageArgs, PackageOutcome, PackageVerdict, conclude, failed, git, judge};
use crate::{
    completion::ids,
    context::CommandContext,
    errors::{CommandFailure, CommandResult},
    plain_text::{without_nulls, written},
};

/// Get capabilities from a folder or a git repository
///
/// Shows what each can do on this machine, copies it into the deck with the files beside it, and records where it came from.
/// Nothing is written when one of them is broken or would replace something else.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck get ./shared-deck
  capdeck get owner/repo github
  capdeck get owner/repo@v1.2.0 --dry-run
  capdeck get https://git.example/team/deck.git#main --path tools")]
pub(crate) struct GetArgs {
    /// A folder, a git address, or `owner/repo`; then `#ref` or `@tag`, and a subfolder after `owner/repo/`.
    #[arg(value_name = "SOURCE")]
    source: String,
    /// Only these; everything the source has if none is named.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Look in this folder of the source.
    #[arg(long, value_name = "FOLDER")]
    path: Option<String>,
    #[command(flatten)]
    package: PackageArgs,
}

pub(crate) fn get(args: &GetArgs, context: &CommandContext<'_>) -> CommandResult {
    let GetArgs { source: text, ids, path, package } = args;
    let printer = context.printer;
    let settings = context.settings()?;
    let here = context.env.current_dir.clone().unwrap_or_default();
    let mut source = PackageSource::parse(text, &here).map_err(failed)?;
    if let Some(path) = path {
        source = source.in_folder(path).map_err(failed)?;
    }
    let progress = printer.progress(&format!("fetching {text}"));
    let fetched = source.fetch(&git(&settings)).map_err(failed)?;
    drop(progress);
    let deck = PackageDeck::new(&settings.target_deck(package.project_deck).0);
    let command = format!("capdeck get {text}");
    let mut outcomes = Vec::new();
    for found in find_packages(&fetched.dir, ids).map_err(failed)? {
        let change = deck.change(found, &fetched.source).map_err(failed)?;
        outcomes.push(judge(change, package, &command, printer));
    }
    // All of what was asked for, or nothing.
    let is_refused =
        |outcome: &PackageOutcome| matches!(outcome.verdict, PackageVerdict::Refused { .. });
    let may_write = !outcomes.iter().any(is_refused);
    if !may_write {
        name_the_rest(&mut outcomes, &command);
    }
    conclude(&outcomes, may_write.then_some(&deck), package, context)
}

/// Where one is refused none is written, so the hint names the command for the others.
fn name_the_rest(outcomes: &mut [PackageOutcome], command: &str) {
    let is_wanted = |outcome: &&PackageOutcome| outcome.verdict == PackageVerdict::Write;
    let rest: Vec<String> = outcomes
        .iter()
        .filter(is_wanted)
        .map(|outcome| outcome.change.package.id.clone())
        .collect();
    if rest.is_empty() {
        return;
    }
    let how = format!("; nothing was written; get the rest with: {command} {}", rest.join(" "));
    for outcome in outcomes {
        if let PackageVerdict::Refused { hint, .. } = &mut outcome.verdict {
            hint.push_str(&how);
        }
    }
}

/// Update installed packages
///
/// One that can do more than before (a new command, host, right, changing tool or set-up step) is left as it is until you
/// approve it. One that you edited is left as it is. The others are updated all the same.
#[derive(Debug, clap::Args)]
pub(crate) struct UpdateArgs {
    /// Only these; all if none is named.
    #[arg(value_name = "ID", add = ids())]
    ids: Vec<String>,
    #[command(flatten)]
    package: PackageArgs,
}

pub(crate) fn update(args: &UpdateArgs, context: &CommandContext<'_>) -> CommandResult {
    let UpdateArgs { ids, package } = args;
    let printer = context.printer;
    let settings = context.settings()?;
    let deck = PackageDeck::new(&settings.target_deck(package.project_deck).0);
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
        printer.note("No installed packages; install one with: capdeck get SOURCE");
    }
    let git = git(&settings);
    // Packages of one source are brought to the same commit.
    let mut sources: HashMap<String, FetchedSource> = HashMap::new();
    let mut outcomes = Vec::new();
    for known in chosen {
        let source = &known.source.source;
        let key = format!("{source:?}");
        if !sources.contains_key(&key) {
            let _progress = printer.progress(&format!("fetching {}", known.source.describe()));
            let fetched = source.fetch(&git).map_err(failed)?;
            sources.insert(key.clone(), fetched);
        }
        let Some(fetched) = sources.get(&key) else { continue };
        for found in find_packages(&fetched.dir, std::slice::from_ref(&known.id)).map_err(failed)? {
            let change = deck.change(found, &fetched.source).map_err(failed)?;
            let command = format!("capdeck update {}", known.id);
            outcomes.push(judge(change, package, &command, printer));
        }
    }
    conclude(&outcomes, Some(&deck), package, context)
}

/// Remove installed packages
///
/// Deletes what was installed and is unchanged. What you edited stays unless --force is given; what you wrote yourself is
/// never touched.
#[derive(Debug, clap::Args)]
pub(crate) struct RemoveArgs {
    /// The capabilities' ids.
    #[arg(value_name = "ID", required = true, add = ids())]
    ids: Vec<String>,
    #[command(flatten)]
    package: PackageArgs,
}

pub(crate) fn remove(args: &RemoveArgs, context: &CommandContext<'_>) -> CommandResult {
    let RemoveArgs { ids, package } = args;
    let printer = context.printer;
    let settings = context.settings()?;
    let deck = PackageDeck::new(&settings.target_deck(package.project_deck).0);
    let removals: Vec<PackageRemoval> =
        ids.iter().map(|id| deck.removal(id)).collect::<Result<_, _>>().map_err(failed)?;
    for removal in &removals {
        if let Some(obstacle) = removal.obstacle.filter(|_| !package.force) {
            let message = format!("`{}` is not removed: {obstacle}", removal.id);
            let hint = format!("keep a copy of `{}`, then add --force", removal.path.display());
            return Err(CommandFailure::request("PACKAGE_REFUSED", message).hint(hint));
        }
    }
    if !package.yes && !package.dry_run && printer.can_ask() {
        let question = format!("Remove {}?", ids.join(", "));
        if !printer.confirm(&question) {
            return Err(CommandFailure::request("CANCELLED", "nothing was removed"));
        }
    }
    let mut items: Vec<Value> = Vec::new();
    for removal in &removals {
        if !package.dry_run {
            deck.remove(removal).map_err(failed)?;
        }
        items.push(without_nulls(json!({
            "id": removal.id,
            "path": removal.path,
            "wasThere": removal.is_there,
            "removed": !package.dry_run,
            "obstacle": removal.obstacle.map(written),
        })));
        let verb = if package.dry_run { "would remove" } else { "removed" };
        if !printer.wants_json() {
            printer.note(&format!("{verb} {}", removal.path.display()));
        }
    }
    printer.json_or(&json!({ "items": items }), || ())
}
