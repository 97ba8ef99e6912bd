//! What a migration does, and what it did.

use capdeck_install::FileChange;
use serde_json::{Value, json};

use super::system::{
    MigrationUndo, MigrationWork, PeerSetup, PeerSystem, SetupItem, SetupItemKind, SetupItemStatus,
};
use crate::{
    errors::CommandResult,
    plain_text::{counted, one_line, without_nulls, written},
    printer::{Printer, TextStyle},
};

/// Shows a set-up, what is taken of it, what is not, and what differs.
pub(super) fn show(setup: &PeerSetup, printer: &Printer) {
    let palette = printer.note_palette;
    let sources: Vec<String> =
        setup.traces.sources.iter().map(|path| path.display().to_string()).collect();
    let name = palette.paint(TextStyle::Strong, setup.system.name);
    printer.note(&format!("{name}: {}", one_line(&sources.join(", "))));
    if let Some(at) = &setup.traces.migrated_at {
        let id = setup.system.id;
        printer
            .note(&format!("  taken over at {at}; put it back with: capdeck migrate {id} --undo"));
        return;
    }
    for item in &setup.items {
        let (mark, style) = match item.status {
            SetupItemStatus::Take => ("+", TextStyle::Good),
            SetupItemStatus::InPlace => ("=", TextStyle::Dim),
            SetupItemStatus::Leave => ("-", TextStyle::Careful),
        };
        let note = item.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
        let line = format!("{} {}{note}", kind(item), item.name);
        printer.note(&format!("  {} {}", palette.paint(style, mark), one_line(&line)));
    }
    if !setup.differences.is_empty() {
        printer.note("  What differs:");
    }
    for difference in &setup.differences {
        printer.note(&format!("    {}", one_line(difference)));
    }
}

fn kind(item: &SetupItem) -> String {
    match item.kind {
        SetupItemKind::SignIn => "sign-in".to_owned(),
        kind => written(kind),
    }
}

/// Ends the command: what was, or would be, done.
pub(super) fn finish(setups: &[PeerSetup], dry_run: bool, printer: &Printer) -> CommandResult {
    let items: Vec<Value> = setups.iter().map(|setup| to_json(setup, dry_run)).collect();
    printer.json_or(&json!({ "items": items, "dryRun": dry_run }), || {
        if dry_run {
            printer.note("nothing was written");
            return;
        }
        for setup in setups.iter().filter(|setup| setup.has_work()) {
            let taken = setup.items.iter().filter(|item| item.status == SetupItemStatus::Take);
            let things = counted(taken.count(), "thing", "things");
            let (name, id) = (setup.system.name, setup.system.id);
            printer.note(&format!(
                "Took over {things} of {name}; put them back with: capdeck migrate {id} --undo"
            ));
        }
        for next in setups.iter().flat_map(|setup| &setup.next) {
            printer.note(&format!("next: {next}"));
        }
    })
}

/// `{system, status, sources, migratedAt?, items: [{kind, name, status, note?}], differences, next, changes}`.
fn to_json(setup: &PeerSetup, dry_run: bool) -> Value {
    let changes: &[FileChange] = match &setup.work {
        MigrationWork::Files { plan, .. } | MigrationWork::Project { plan, .. } => {
            plan.as_ref().map(|plan| plan.changes.as_slice()).unwrap_or_default()
        }
        MigrationWork::Nothing => &[],
    };
    let change = |change: &FileChange| json!({ "path": change.path, "action": change.action });
    let status = match (setup.has_work(), dry_run) {
        (true, true) => "found",
        (true, false) => "taken",
        (false, _) if setup.traces.migrated_at.is_some() => "taken",
        (false, _) => "in-place",
    };
    without_nulls(json!({
        "system": setup.system.id,
        "status": status,
        "sources": setup.traces.sources,
        "migratedAt": setup.traces.migrated_at,
        "items": setup.items,
        "differences": setup.differences,
        "next": setup.next,
        "changes": changes.iter().map(change).collect::<Vec<_>>(),
    }))
}

/// Ends `--undo`.
pub(super) fn undone(
    undone: &[(&'static PeerSystem, MigrationUndo)],
    dry_run: bool,
    printer: &Printer,
) -> CommandResult {
    let item = |(system, one): &(&'static PeerSystem, MigrationUndo)| {
        json!({
            "system": system.id,
            "restored": one.restored,
            "removed": one.removed,
            "stays": one.stays,
        })
    };
    let items: Vec<Value> = undone.iter().map(item).collect();
    printer.json_or(&json!({ "items": items, "dryRun": dry_run }), || {
        let (put, took) = if dry_run { ("would put", "would remove") } else { ("put", "removed") };
        for (system, one) in undone {
            let files = |count| counted(count, "file", "files");
            let (restored, removed) = (files(one.restored.len()), files(one.removed.len()));
            printer.note(&format!("{}: {put} back {restored}, {took} {removed}", system.name));
            for stays in &one.stays {
                printer.warn(&one_line(stays));
            }
        }
    })?;
    Ok(if dry_run { crate::errors::ExitStatus::Done } else { MigrationUndo::status(undone) })
}
