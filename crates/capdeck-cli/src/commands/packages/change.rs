//! What `get`, `update` and `remove` share: the deck they work on, and how a change is shown and agreed to.

use capdeck_install::{
    GitClient, PackageAction, PackageChange, PackageDeck, PackageError, PackageObstacle,
};
use serde_json::{Value, json};

use crate::{
    context::CommandContext,
    errors::{CommandFailure, CommandResult, TRUST_NEXT},
    plain_text::{lines, one_line, without_nulls, written},
    printer::{Printer, TextStyle},
    settings::CommandSettings,
    source_frames::SourceFrames,
};

/// What every command about packages takes.
#[derive(Debug, clap::Args)]
pub(super) struct PackageArgs {
    /// Work on the project's deck instead of your own.
    #[arg(long)]
    pub(super) project_deck: bool,
    /// Show what would happen, and write nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Approve without being asked.
    #[arg(long, short)]
    pub(super) yes: bool,
    /// Also replace or remove what was edited since, or what was not installed from here.
    #[arg(long)]
    pub(super) force: bool,
}

/// A change and what came of it.
pub(super) struct PackageOutcome {
    pub(super) change: PackageChange,
    pub(super) verdict: PackageVerdict,
}

/// What is done about a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PackageVerdict {
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

/// Shows a change and decides about it.
pub(super) fn judge(
    change: PackageChange,
    args: &PackageArgs,
    command: &str,
    printer: &Printer,
) -> PackageOutcome {
    show(&change, printer);
    let verdict = args.verdict(&change, command, printer);
    PackageOutcome { change, verdict }
}

/// The system's git, with snapshots kept in the cache.
pub(super) fn git(settings: &CommandSettings) -> GitClient {
    GitClient::new(&settings.cache_dir)
}

/// Shows a change: what is wrong with it, what it can do, and what its texts say differently.
fn show(change: &PackageChange, printer: &Printer) {
    if printer.wants_json() {
        return;
    }
    let package = &change.package;
    let palette = printer.note_palette();
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

/// Carries out what was decided, in a deck that may be written, and says what was refused or done.
pub(super) fn conclude(
    outcomes: &[PackageOutcome],
    deck: Option<&PackageDeck>,
    args: &PackageArgs,
    context: &CommandContext<'_>,
) -> CommandResult {
    let printer = context.printer;
    let deck = deck.filter(|_| !args.dry_run);
    let mut items = Vec::new();
    for outcome in outcomes {
        let deck = deck.filter(|_| outcome.verdict == PackageVerdict::Write);
        if let Some(deck) = deck {
            deck.apply(&outcome.change).map_err(failed)?;
        }
        items.push(item(outcome, deck.is_some()));
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
    if let Some((reason, hint)) = refusals.first() {
        let all: Vec<&str> = refusals.iter().map(|(reason, _)| reason.as_str()).collect();
        let message = if refusals.len() == 1 { (*reason).clone() } else { all.join("; ") };
        return Err(CommandFailure::request("PACKAGE_REFUSED", message)
            .hint((*hint).clone())
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
