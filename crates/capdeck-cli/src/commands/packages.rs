//! `capdeck get` and `update`: packages, which are capabilities from another source.

use std::collections::HashMap;

use capdeck_install::{
    CapabilityPackage, FetchedSource, GitClient, LockedPackage, LockedSource, PackageAction,
    PackageChange, PackageDeck, PackageError, PackageObstacle, PackageSource, find_packages,
};
use serde_json::{Value, json};

use crate::{
    commands::{CommandContext, misplaced::MisplacedSource, starter::StarterNotice},
    completion::ids,
    errors::{CommandFailure, CommandResult, TRUST_NEXT},
    plain_text::{lines, one_line, without_nulls, written},
    printer::{Printer, TextStyle},
    source_frames::SourceFrames,
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
    if let Some(misplaced) =
        MisplacedSource::recognise(text, &here).filter(|misplaced| !misplaced.is_for("get"))
        && !here.join(text).is_dir()
    {
        return Err(misplaced.into_failure(text, "a source of capability files"));
    }
    let mut source = PackageSource::parse(text, &here).map_err(failed)?;
    if let Some(path) = path {
        source = source.in_folder(path).map_err(failed)?;
    }
    let progress = printer.progress(&format!("fetching {text}"));
    let fetched = source.fetch(&GitClient::new(&settings.cache_dir)).map_err(failed)?;
    drop(progress);
    let deck = PackageDeck::new(&settings.target_deck(package.project_deck).0);
    let command = format!("capdeck get {text}");
    let mut outcomes = Vec::new();
    for found in find_packages(&fetched, ids).map_err(failed)? {
        outcomes.push(package.judge(&deck, (found, &fetched.source), &command, printer)?);
    }
    // All of what was asked for, or nothing.
    let is_refused =
        |outcome: &PackageOutcome| matches!(outcome.verdict, PackageVerdict::Refused { .. });
    let may_write = !outcomes.iter().any(is_refused);
    if !may_write {
        name_the_rest(&mut outcomes, &command);
    }
    let starter = StarterNotice::of(&settings);
    let status = conclude(&outcomes, may_write, package, context)?;
    starter.tell(context);
    Ok(status)
}

/// Where one is refused none is written, so the hint names the command for the others.
fn name_the_rest(outcomes: &mut [PackageOutcome], command: &str) {
    let wanted = outcomes.iter().filter(|outcome| outcome.verdict == PackageVerdict::Write);
    let rest: Vec<&str> = wanted.map(|outcome| outcome.change.package.id.as_str()).collect();
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
    let decks = settings.package_decks(package.project_deck);
    let mut known: Vec<(&PackageDeck, LockedPackage)> = Vec::new();
    for deck in &decks {
        let lock = deck.lock().map_err(failed)?;
        known.extend(lock.packages.into_iter().map(|package| (deck, package)));
    }
    let find = |id: &String| {
        let missing = || failed(PackageError::NotInstalled { id: id.clone() });
        known.iter().find(|(_, package)| package.id == *id).ok_or_else(missing)
    };
    let chosen: Vec<&(&PackageDeck, LockedPackage)> = match ids.as_slice() {
        [] => known.iter().collect(),
        ids => ids.iter().map(find).collect::<Result<_, _>>()?,
    };
    if chosen.is_empty() && !printer.wants_json() {
        printer.note("No installed packages; install one with: capdeck get SOURCE");
        let has_packages =
            |deck: &PackageDeck| deck.lock().is_ok_and(|lock| !lock.packages.is_empty());
        if !package.project_deck && settings.package_decks(true).iter().any(has_packages) {
            printer.note("The project has some; update them with: capdeck update --project-deck");
        }
    }
    let git = GitClient::new(&settings.cache_dir);
    // Packages of one source are brought to the same commit.
    let mut sources: HashMap<String, FetchedSource> = HashMap::new();
    let mut outcomes = Vec::new();
    for (deck, known) in chosen {
        let source = &known.source.source;
        let key = format!("{source:?}");
        if !sources.contains_key(&key) {
            let _progress = printer.progress(&format!("fetching {}", known.source.describe()));
            let fetched = source.fetch(&git).map_err(failed)?;
            sources.insert(key.clone(), fetched);
        }
        let Some(fetched) = sources.get(&key) else { continue };
        for found in find_packages(fetched, std::slice::from_ref(&known.id)).map_err(failed)? {
            let command = format!("capdeck update {}", known.id);
            outcomes.push(package.judge(deck, (found, &fetched.source), &command, printer)?);
        }
    }
    conclude(&outcomes, true, package, context)
}

/// What every command about packages takes.
#[derive(Debug, clap::Args)]
struct PackageArgs {
    /// Work on the project's deck instead of your own.
    #[arg(long)]
    project_deck: bool,
    /// Show what would happen, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Approve without being asked.
    #[arg(long, short)]
    yes: bool,
    /// Also replace or remove what was edited since, or what was not installed from here.
    #[arg(long)]
    force: bool,
}

/// A change and what came of it.
struct PackageOutcome {
    deck: PackageDeck,
    change: PackageChange,
    verdict: PackageVerdict,
}

/// What is done about a change.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PackageVerdict {
    /// Nothing has to be done.
    Current,
    Write,
    /// Why not.
    Refused {
        reason: String,
        hint: String,
    },
}

impl PackageArgs {
    /// Shows a change and decides about it.
    fn judge(
        &self,
        deck: &PackageDeck,
        (package, source): (CapabilityPackage, &LockedSource),
        command: &str,
        printer: &Printer,
    ) -> Result<PackageOutcome, CommandFailure> {
        let change = deck.change(package, source).map_err(failed)?;
        show(&change, printer);
        let verdict = self.verdict(&change, command, printer);
        Ok(PackageOutcome { deck: deck.clone(), change, verdict })
    }

    /// Decides about a change, asking the person where that is possible.
    fn verdict(&self, change: &PackageChange, command: &str, printer: &Printer) -> PackageVerdict {
        let id = &change.package.id;
        let refused = |reason: String, hint: String| PackageVerdict::Refused { reason, hint };
        if change.obstacle == Some(PackageObstacle::Edited) && !change.has_news && !self.force {
            // There is nothing to lose the edit for.
            return PackageVerdict::Current;
        }
        if let Some(obstacle) = change.obstacle
            && !(self.force && obstacle.yields_to_force())
        {
            let hint = if obstacle.yields_to_force() {
                format!("keep a copy of `{}`, then add --force", change.path.display())
            } else {
                "tell its author".to_owned()
            };
            return refused(format!("`{id}` is left alone: {obstacle}"), hint);
        }
        if change.action == PackageAction::Nothing {
            return PackageVerdict::Current;
        }
        if change.widens() && !self.yes {
            let question = format!("`{id}` can do more than what you approved. Update it?");
            let may_ask = printer.can_ask() && !self.dry_run;
            if !may_ask || !printer.confirm(&question) {
                return refused(
                    format!("`{id}` can do more than what you approved, so it is left as it is"),
                    format!("the person reads what is new, then runs in a terminal: {command}"),
                );
            }
        }
        PackageVerdict::Write
    }
}

/// Shows a change: what is wrong with it, what it can do, and what its texts say differently.
fn show(change: &PackageChange, printer: &Printer) {
    if printer.wants_json() {
        return;
    }
    let package = &change.package;
    let palette = printer.note_palette;
    let verb = match change.action {
        PackageAction::Install => "install",
        PackageAction::Update => "update",
        PackageAction::Nothing => "keep",
    };
    let source = one_line(&change.source.describe());
    printer
        .note(&format!("{verb} {} from {source}", palette.paint(TextStyle::Strong, &package.id)));
    let mut frames = SourceFrames::default();
    for found in &package.diagnostics {
        printer.note(frames.render(found, palette).trim_end());
    }
    for risk in &change.risk_changes {
        let (mark, style) =
            if risk.is_new { ("+", TextStyle::Careful) } else { ("-", TextStyle::Good) };
        let part = match risk.part {
            "commands" => "runs",
            "programs" => "brings",
            "hosts" => "contacts",
            "scopes" => "asks for",
            "secrets" => "reads",
            "mutating" => "changes through",
            "setup" => "sets up with",
            _ => "reaches",
        };
        let line = format!("{mark} {part} {}", one_line(&risk.what));
        printer.note(&format!("  {}", palette.paint(style, &line)));
    }
    if change.risk_changes.is_empty() && change.action == PackageAction::Install {
        printer.note("  it runs nothing and contacts no host");
    }
    if !change.diff.is_empty() {
        printer.note(lines(&change.diff).trim_end());
    }
}

/// The answer for programs: everything about each package.
fn item(outcome: &PackageOutcome, is_written: bool) -> Value {
    let change = &outcome.change;
    let package = &change.package;
    let refused = match &outcome.verdict {
        PackageVerdict::Refused { reason, hint } => json!({ "reason": reason, "hint": hint }),
        PackageVerdict::Current | PackageVerdict::Write => Value::Null,
    };
    without_nulls(json!({
        "id": package.id,
        "action": change.action,
        "path": change.path,
        "source": change.source,
        "hash": package.hash,
        "risk": package.risk,
        "riskChanges": change.risk_changes,
        "widens": change.widens(),
        "diff": change.diff,
        "problems": package.diagnostics,
        "written": is_written,
        "obstacle": change.obstacle.map(written),
        "refused": refused,
    }))
}

/// Carries out what was decided, if anything may be written, and says what was refused or done.
fn conclude(
    outcomes: &[PackageOutcome],
    may_write: bool,
    args: &PackageArgs,
    context: &CommandContext<'_>,
) -> CommandResult {
    let printer = context.printer;
    let mut items = Vec::new();
    for outcome in outcomes {
        let writes = may_write && !args.dry_run && outcome.verdict == PackageVerdict::Write;
        if writes {
            outcome.deck.apply(&outcome.change).map_err(failed)?;
        }
        items.push(item(outcome, writes));
    }
    let refusals: Vec<(&String, &String)> = outcomes
        .iter()
        .filter_map(|outcome| match &outcome.verdict {
            PackageVerdict::Refused { reason, hint } => Some((reason, hint)),
            PackageVerdict::Current | PackageVerdict::Write => None,
        })
        .collect();
    if !printer.wants_json() {
        for (outcome, item) in outcomes.iter().zip(&items) {
            if item["written"] == true {
                printer.note(&format!("wrote {}", outcome.change.path.display()));
            } else if outcome.verdict == PackageVerdict::Current {
                let id = &outcome.change.package.id;
                printer.note(&match outcome.change.obstacle {
                    Some(_) => format!("{id} is edited; its source has nothing new"),
                    None => format!("{id} is as its source has it"),
                });
            }
        }
    }
    if let Some((_, hint)) = refusals.first() {
        let all: Vec<&str> = refusals.iter().map(|(reason, _)| reason.as_str()).collect();
        return Err(CommandFailure::request("PACKAGE_REFUSED", all.join("; "))
            .hint(*hint)
            .with_data(json!({ "items": items })));
    }
    printer.json_or(&json!({ "items": items }), || {
        if args.dry_run {
            printer.note("nothing was written");
        } else if args.project_deck && items.iter().any(|item| item["written"] == true) {
            printer.note(TRUST_NEXT);
        }
    })
}

/// A failure of packages in the words of the command line.
pub(super) fn failed(error: PackageError) -> CommandFailure {
    let hint = error.hint();
    let mut message = error.to_string();
    if let PackageError::File { source, .. } = &error {
        message = format!("{message}: {source}");
    }
    let failure = match error {
        PackageError::BadSource { .. } => CommandFailure::usage(message),
        PackageError::NoFolder { .. }
        | PackageError::Empty { .. }
        | PackageError::NoSuchPackage { .. }
        | PackageError::Child { .. } => CommandFailure::request("PACKAGE_NOT_FOUND", message),
        PackageError::NotInstalled { .. } => {
            CommandFailure::request("PACKAGE_NOT_INSTALLED", message)
        }
        PackageError::BadContents { .. } => CommandFailure::request("PACKAGE_REFUSED", message),
        PackageError::BadLock { .. } => CommandFailure::request("LOCK_UNREADABLE", message),
        PackageError::Git(_) => CommandFailure::request("SOURCE_UNAVAILABLE", message),
        PackageError::File { .. } | PackageError::Write(_) => {
            CommandFailure::request("FILE_ERROR", message)
        }
    };
    CommandFailure { hint, ..failure }
}
