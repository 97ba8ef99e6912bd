//! CAPA: what `capa install` wrote into a project's agents, replaced by what `capdeck install` writes from the same file.

mod variables;

use std::path::PathBuf;

use capdeck_definition::CAPABILITY_FILE_NAMES;
use capdeck_install::{
    CAPA_PROBLEM, CapaEdit, InstallProblem, MigratedPart, Migration, OverwritePolicy, PinUse,
    ProjectInstaller,
};

use self::variables::take_variables;
use super::{
    staging::StagedSetup,
    system::{
        MigrationScene, MigrationUndo, MigrationWork, PeerSetup, PeerSystem, PeerTraces, SetupItem,
        SetupItemKind, migration_time, recorded_time,
    },
};
use crate::{
    commands::install::{
        FailurePolicy, InstallOptions, PreparedInstall, apply_failed, open_installer,
    },
    errors::CommandFailure,
};

pub(super) static SYSTEM: PeerSystem = PeerSystem { id: "capa", name: "CAPA", look, plan, done };

/// The project, and the name its migration is recorded under. None where it has no capability file.
fn project(
    scene: &MigrationScene<'_>,
) -> Result<Option<(ProjectInstaller, String)>, CommandFailure> {
    let settings = scene.settings;
    let folder = settings.project_dir();
    if !CAPABILITY_FILE_NAMES.iter().any(|name| folder.join(name).is_file()) {
        return Ok(None);
    }
    let found = ProjectInstaller::look(folder, &settings.state_dir, &settings.cache_dir)?;
    let name = format!("capa-{}", found.key());
    Ok(Some((found, name)))
}

fn look(scene: &MigrationScene<'_>) -> Result<Option<PeerTraces>, CommandFailure> {
    let Some((project, name)) = project(scene)? else { return Ok(None) };
    let migrated_at = recorded_time(scene, &name)?;
    let edits = project.capa_edits();
    let sources: Vec<PathBuf> = edits.iter().map(|edit| edit.path.clone()).collect();
    let is_here = migrated_at.is_some() || edits.iter().any(|edit| edit.is_active);
    Ok(is_here.then_some(PeerTraces { sources, migrated_at, is_in_place: false }))
}

fn plan(traces: PeerTraces, scene: &MigrationScene<'_>) -> Result<PeerSetup, CommandFailure> {
    let mut setup = PeerSetup {
        system: &SYSTEM,
        traces,
        items: Vec::new(),
        differences: differences(),
        next: Vec::new(),
        work: MigrationWork::Nothing,
    };
    let Some((project, name)) = project(scene)? else { return Ok(setup) };
    if setup.traces.migrated_at.is_some() {
        return Ok(setup);
    }
    let edits = project.capa_edits();
    for edit in &edits {
        let note = format!("without {}", edit.parts.join(", "));
        let path = edit.path.strip_prefix(project.project()).unwrap_or(&edit.path);
        let path = path.display().to_string();
        setup.items.push(SetupItem::take(SetupItemKind::File, path, Some(note)));
    }
    let mut prepared = prepare(true, scene)?;
    prepared.planned.problems.retain(|problem| problem.code != CAPA_PROBLEM);
    prepared.check_errors(scene.context.printer)?;
    for change in &prepared.planned.changes {
        let path = change.path.strip_prefix(project.project()).unwrap_or(&change.path);
        let note = Some(format!("as `capdeck install` writes it: {}", change.what));
        setup.items.push(SetupItem::take(SetupItemKind::File, path.display().to_string(), note));
    }
    setup.items.extend(prepared.planned.problems.iter().map(warning));
    let staged = StagedSetup::new(scene)?;
    take_variables(project.project(), &staged, scene, &mut setup.items)?;
    let files = staged.changed_files()?;
    let parts = edits.into_iter().map(part).collect();
    let migration = Migration::look(&scene.settings.state_dir, &name)?;
    let (now, sources) = (migration_time(), setup.traces.sources.clone());
    let plan = migration.plan(files, parts, &[], scene.records, sources, &now);
    setup.next = vec![
        "end the server of CAPA with: capa stop".to_owned(),
        "restart your agents, then test: capdeck check".to_owned(),
    ];
    setup.work = MigrationWork::Project { name, plan: Some(Box::new(plan)) };
    Ok(setup)
}

fn done(scene: &MigrationScene<'_>) -> Result<Vec<MigrationWork>, CommandFailure> {
    let Some((_, name)) = project(scene)? else { return Ok(Vec::new()) };
    let is_done = recorded_time(scene, &name)?.is_some();
    let work = MigrationWork::Project { name, plan: None };
    Ok(is_done.then_some(work).into_iter().collect())
}

fn part(edit: CapaEdit) -> MigratedPart {
    let CapaEdit { path, before, after, parts, .. } = edit;
    MigratedPart { path, before, after, what: parts.join(", ") }
}

fn warning(problem: &InstallProblem) -> SetupItem {
    SetupItem::leave(SetupItemKind::File, problem.about.clone(), problem.message.clone())
}

/// What CAPA wrote as whole files is replaced and kept, so that it comes back with `--undo`.
fn prepare(dry_run: bool, scene: &MigrationScene<'_>) -> Result<PreparedInstall, CommandFailure> {
    let options = InstallOptions {
        providers: &[],
        edited: OverwritePolicy::Overwrite,
        pin_use: PinUse::Keep,
        url: None,
        dry_run,
    };
    PreparedInstall::new(&options, scene.settings, scene.context.printer)
}

/// Installs in the place of what was taken out.
pub(super) fn install(scene: &MigrationScene<'_>) -> Result<(), CommandFailure> {
    let prepared = prepare(false, scene)?;
    prepared.check_errors(scene.context.printer)?;
    let PreparedInstall { step, planned, .. } = prepared;
    let policy = FailurePolicy::TakeBack;
    let skipped = step.carry_out(&planned, policy, scene.settings, scene.context)?;
    for path in skipped {
        let message = format!("{} was changed in the meantime and is left", path.display());
        scene.context.printer.warn(&message);
    }
    Ok(())
}

/// Takes back what was installed, which brings back the files that it replaced.
pub(super) fn clean(
    scene: &MigrationScene<'_>,
    dry_run: bool,
) -> Result<MigrationUndo, CommandFailure> {
    let installer = open_installer(scene.settings, scene.settings.project_dir())?;
    let plan = installer.plan_clean(OverwritePolicy::Keep);
    let mut undone = MigrationUndo::of_changes(&plan.changes, &plan.problems);
    if !dry_run {
        let skipped = installer.apply(&plan).map_err(|error| apply_failed(&error))?;
        undone.skip(&skipped);
    }
    Ok(undone)
}

fn differences() -> Vec<String> {
    [
        "agents start `capdeck serve` themselves; no server has to run beside them",
        "no hook reports activity: every call is in `capdeck audit`",
        "files of agents keep their comments and their form",
        "the project acts as long as its files are as you trusted them: capdeck trust",
        "a tool's name is `server__tool`, and `capdeck sh` takes `server tool`",
    ]
    .map(str::to_owned)
    .into()
}
