//! `capdeck migrate`: what another program has set up, taken over, and put back with `--undo`.

mod agents;
mod capa;
mod caplets;
mod capsol;
mod cmp;
mod report;
mod staging;
mod system;

use capdeck_install::{ClientEntryRecords, Migration};
use serde_json::json;

pub(super) use self::system::{MigrationScene, PeerSystem};
use self::system::{MigrationUndo, MigrationWork, PeerSetup};
use crate::{
    commands::CommandContext,
    errors::{CommandFailure, CommandResult, ExitStatus},
};

/// The systems, in the order they are looked for.
pub(super) const SYSTEMS: [&PeerSystem; 4] =
    [&caplets::SYSTEM, &capa::SYSTEM, &capsol::SYSTEM, &cmp::SYSTEM];

/// Take over what Caplets, CAPA, capsol or CMP has set up
///
/// Reads what is there, shows what is taken and what differs, and takes it once you agree: capabilities, secrets, sign-ins and the
/// entries in agents' files. Nothing of the other program is changed but those entries, and `capdeck migrate --undo` brings
/// everything back, byte for byte. Without a name, everything that is found is taken.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck migrate --dry-run
  capdeck migrate caplets
  capdeck migrate caplets --undo")]
pub(crate) struct MigrateArgs {
    /// What to take over; everything that is found by default.
    #[arg(value_name = "SYSTEM", value_parser = SYSTEMS.map(|system| system.id))]
    system: Option<String>,
    /// Show what would happen, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Put everything back as it was before.
    #[arg(long)]
    undo: bool,
    /// Do it without being asked.
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(args: &MigrateArgs, context: &CommandContext<'_>) -> CommandResult {
    let settings = context.settings()?;
    let records = ClientEntryRecords::new(&settings.state_dir);
    let scene = MigrationScene { settings: &settings, records: &records, context };
    let is_chosen =
        |system: &&PeerSystem| args.system.as_ref().is_none_or(|named| named == system.id);
    let systems: Vec<&'static PeerSystem> = SYSTEMS.into_iter().filter(is_chosen).collect();
    if args.undo { undo(args, &systems, &scene) } else { migrate(args, &systems, &scene) }
}

fn migrate(
    args: &MigrateArgs,
    systems: &[&'static PeerSystem],
    scene: &MigrationScene<'_>,
) -> CommandResult {
    let mut setups: Vec<PeerSetup> = Vec::new();
    for system in systems {
        if let Some(found) = (system.look)(scene)? {
            setups.push((system.plan)(found, scene)?);
        }
    }
    let printer = scene.context.printer;
    if setups.is_empty() {
        let names: Vec<&str> = systems.iter().map(|system| system.name).collect();
        let message = format!("nothing of {} is here", names.join(", "));
        return match &args.system {
            Some(_) => Err(CommandFailure::request("NOTHING_TO_MIGRATE", message)),
            None => printer.answer(&json!({ "items": [] }), &message),
        };
    }
    if !printer.wants_json() {
        setups.iter().for_each(|setup| report::show(setup, printer));
    }
    let has_work = setups.iter().any(PeerSetup::has_work);
    if args.dry_run || !has_work {
        return report::finish(&setups, args.dry_run, printer);
    }
    if !args.yes {
        let refused = || {
            CommandFailure::request("CONFIRMATION_REQUIRED", "Confirmation required")
                .hint("read what happens with --dry-run, then add --yes")
        };
        printer.require("Take this over?", refused, "nothing was changed")?;
    }
    let _alone = scene.records.hold()?;
    for (count, setup) in setups.iter().enumerate() {
        if let Err(failure) = setup.work.apply(scene) {
            // What came before it is put back, too: a failed command leaves the former state.
            for earlier in setups.iter().take(count) {
                earlier.work.undo(scene, false)?;
            }
            return Err(failure);
        }
    }
    report::finish(&setups, false, printer)
}

fn undo(
    args: &MigrateArgs,
    systems: &[&'static PeerSystem],
    scene: &MigrationScene<'_>,
) -> CommandResult {
    let printer = scene.context.printer;
    let _alone = if args.dry_run { None } else { Some(scene.records.hold()?) };
    let mut undone: Vec<(&'static PeerSystem, MigrationUndo)> = Vec::new();
    for system in systems {
        for work in (system.done)(scene)? {
            undone.push((*system, work.undo(scene, args.dry_run)?));
        }
    }
    if undone.is_empty() {
        let message = "nothing was taken over, so there is nothing to put back";
        return match &args.system {
            Some(_) => Err(CommandFailure::request("NOTHING_TO_UNDO", message)),
            None => printer.answer(&json!({ "items": [] }), message),
        };
    }
    report::undone(&undone, args.dry_run, printer)
}

impl MigrationWork {
    /// Carries it out, whole or not at all.
    fn apply(&self, scene: &MigrationScene<'_>) -> Result<(), CommandFailure> {
        let (Self::Files { name, plan } | Self::Project { name, plan }) = self else {
            return Ok(());
        };
        let plan = plan.as_ref().ok_or_else(|| CommandFailure::bug("no plan was made"))?;
        let skipped = Migration::open(&scene.settings.state_dir, name)?.apply(plan)?;
        for path in skipped {
            let message = format!("{} was changed in the meantime and is left", path.display());
            scene.context.printer.warn(&message);
        }
        if matches!(self, Self::Project { .. })
            && let Err(failure) = capa::install(scene)
        {
            put_back(name, scene, false)?;
            return Err(failure);
        }
        Ok(())
    }

    /// Puts back what was taken over.
    fn undo(
        &self,
        scene: &MigrationScene<'_>,
        dry_run: bool,
    ) -> Result<MigrationUndo, CommandFailure> {
        match self {
            Self::Nothing => Ok(MigrationUndo::default()),
            Self::Files { name, .. } => put_back(name, scene, dry_run),
            Self::Project { name, .. } => {
                let mut undone = capa::clean(scene, dry_run)?;
                undone.add(put_back(name, scene, dry_run)?);
                Ok(undone)
            }
        }
    }
}

/// Takes back what the journal of this name wrote.
fn put_back(
    name: &str,
    scene: &MigrationScene<'_>,
    dry_run: bool,
) -> Result<MigrationUndo, CommandFailure> {
    let state_dir = &scene.settings.state_dir;
    let migration = match dry_run {
        true => Migration::look(state_dir, name)?,
        false => Migration::open(state_dir, name)?,
    };
    let plan = migration.plan_undo(scene.records);
    let mut undone = MigrationUndo::of_changes(&plan.changes, &plan.problems);
    if !dry_run {
        let skipped = migration.apply(&plan)?;
        undone.skip(&skipped);
    }
    Ok(undone)
}

impl MigrationUndo {
    fn status(undone: &[(&'static PeerSystem, Self)]) -> ExitStatus {
        ExitStatus::done_unless(undone.iter().any(|(_, one)| !one.stays.is_empty()))
    }
}
