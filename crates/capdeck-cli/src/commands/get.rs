//! `capdeck get SOURCE [ID…]`: capabilities of others, copied into a deck.

use capdeck_install::{PackageDeck, PackageSource, find_packages};

use super::package::{Outcome, PackageArgs, Verdict, carry_out, conclude, failed, git, item, show};
use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Get capabilities from a folder or a git repository
///
/// Shows what each can do on this machine, copies it into the deck with the files beside it, and records where it came from.
/// Nothing is written when one of them is broken or stands in the way of something else.
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

pub(crate) fn run(args: &GetArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
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
    let deck = PackageDeck::new(&package.deck_dir(&settings));
    let command = format!("capdeck get {text}");
    let mut outcomes = Vec::new();
    for found in find_packages(&fetched.dir, ids).map_err(failed)? {
        let change = deck.change(found, &fetched.source).map_err(failed)?;
        show(&change, printer);
        let verdict = package.judge(&change, &command, printer);
        outcomes.push(Outcome { change, verdict });
    }
    // All of what was asked for, or nothing.
    let is_refused = |outcome: &Outcome| matches!(outcome.verdict, Verdict::Refused { .. });
    let may_write = !outcomes.iter().any(is_refused);
    if !may_write {
        name_the_rest(&mut outcomes, &command);
    }
    let mut items = Vec::new();
    for outcome in &outcomes {
        let is_written = may_write && carry_out(&deck, outcome, package)?;
        items.push(item(outcome, is_written));
    }
    conclude(&outcomes, items, package, context)
}

/// Where one is refused none is written, so whoever wants the others has to know how to ask for them.
fn name_the_rest(outcomes: &mut [Outcome], command: &str) {
    let is_wanted = |outcome: &&Outcome| outcome.verdict == Verdict::Write;
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
        if let Verdict::Refused { hint, .. } = &mut outcome.verdict {
            hint.push_str(&how);
        }
    }
}
