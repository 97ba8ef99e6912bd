//! `capdeck uninstall`: everything that Capdeck put on this machine, named first.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use capdeck_install::{
    ClientEntryChange, ClientEntryPlan, ClientEntryRecords, OverwritePolicy, plan_disconnect,
};
use serde_json::{Value, json};

use super::connect::connected_entries;
use crate::{
    commands::CommandContext,
    errors::{CommandFailure, CommandResult},
    plain_text::counted,
    settings::CommandSettings,
};

/// Remove everything that Capdeck wrote on this machine
///
/// Lists it all first: the entries in agents' files, in every project; the deck; the state with the vault; the caches; the capsules.
/// Then it asks. Agents' files get their former bytes back. The program itself and files of projects stay, and it is said how to
/// remove them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck uninstall --dry-run
  capdeck uninstall --keep-data")]
pub(crate) struct UninstallArgs {
    /// Keep the deck, the vault and the capsules; remove entries of agents and caches.
    #[arg(long)]
    keep_data: bool,
    /// List what would go, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Remove it without being asked.
    #[arg(long, short)]
    yes: bool,
}

/// A folder and what is in it.
struct OwnFolder {
    path: PathBuf,
    what: &'static str,
    files: usize,
    bytes: u64,
    /// Why it stays.
    kept: Option<&'static str>,
}

pub(crate) fn run(args: &UninstallArgs, context: &CommandContext<'_>) -> CommandResult {
    let UninstallArgs { keep_data, dry_run, yes } = args;
    let settings = context.settings()?;
    let records = ClientEntryRecords::new(&settings.state_dir);
    let printer = context.printer;
    let mut plans = Vec::new();
    for target in connected_entries(&settings, &records, context)? {
        let plan = plan_disconnect(&target, OverwritePolicy::Keep, &records)?;
        if plan.change != ClientEntryChange::None {
            plans.push(plan);
        }
    }
    let folders = own_folders(&settings, *keep_data, context);
    if !printer.wants_json() {
        list(&plans, &folders, context);
    }
    let goes = |folder: &&OwnFolder| folder.kept.is_none();
    if plans.is_empty() && !folders.iter().any(|folder| goes(&folder)) {
        return printer.json_or(&to_json(&plans, &folders, false), || {
            printer.note("There is nothing to remove.");
        });
    }
    if !dry_run {
        if !yes {
            let refused = || {
                CommandFailure::request("CONFIRMATION_REQUIRED", "Confirmation required")
                    .hint("read the list with --dry-run, then run: capdeck uninstall --yes")
            };
            printer.require("Remove all of this?", refused, "nothing was removed")?;
        }
        // The records are in the state folder, so agents' files come first.
        for plan in &plans {
            plan.apply(&records)?;
        }
        for folder in folders.iter().filter(goes) {
            fs::remove_dir_all(&folder.path)
                .map_err(|error| CommandFailure::file("remove", &folder.path, &error))?;
        }
    }
    printer.json_or(&to_json(&plans, &folders, !dry_run), || {
        if !dry_run {
            printer.note("Removed. Restart your agents.");
        }
        if let Some(program) = &context.env.executable {
            let is_by_cargo = program.components().any(|part| part.as_os_str() == ".cargo");
            let how = match is_by_cargo {
                true => "cargo uninstall capdeck-cli".to_owned(),
                false => format!("rm {}", program.display()),
            };
            printer.note(&format!("The program itself goes with: {how}"));
        }
        printer
            .note("Skills and rules in projects go with `capdeck clean`, run there before this.");
    })
}

/// The folders that are there, the one that the others need last.
fn own_folders(
    settings: &CommandSettings,
    keep_data: bool,
    context: &CommandContext<'_>,
) -> Vec<OwnFolder> {
    let home = context.env.home.as_deref();
    let here = context.env.current_dir.as_deref();
    let rows = [
        (&settings.cache_dir, "caches", false),
        (&settings.data_dir, "capsules", true),
        (&settings.config_dir, "your deck", true),
        (&settings.state_dir, "state: vault, sign-ins, pins, trust, records", true),
    ];
    let mut folders: Vec<OwnFolder> = Vec::new();
    for (path, what, is_data) in rows {
        if !path.is_dir() || folders.iter().any(|known| known.path == *path) {
            continue;
        }
        let (files, bytes) = contents(path).unwrap_or_default();
        let holds = |other: Option<&Path>| other.is_some_and(|other| other.starts_with(path));
        let is_usual = path.file_name().is_some_and(|name| name == "capdeck");
        let kept = match () {
            () if keep_data && is_data => Some("kept: --keep-data"),
            () if holds(home) || holds(here) || path.parent().is_none() => {
                Some("kept: it holds more than this; remove it by hand")
            }
            // A deck that has its own name may hold other files of its owner.
            () if *what == *"your deck" && !is_usual => {
                Some("kept: a folder of your own choice; remove it by hand")
            }
            () => None,
        };
        folders.push(OwnFolder { path: path.clone(), what, files, bytes, kept });
    }
    folders
}

/// How many files there are below a folder, and their size.
fn contents(folder: &Path) -> io::Result<(usize, u64)> {
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let (inner_files, inner_bytes) = contents(&entry.path())?;
            files += inner_files;
            bytes += inner_bytes;
        } else {
            files += 1;
            bytes += entry.metadata()?.len();
        }
    }
    Ok((files, bytes))
}

fn list(plans: &[ClientEntryPlan], folders: &[OwnFolder], context: &CommandContext<'_>) {
    let mut lines = String::new();
    for plan in plans {
        let target = &plan.target;
        let (client, file) = (target.client.name, target.file.display());
        lines.push_str(&match plan.after {
            Some(_) => format!("{client}: the entry `{}` in {file}\n", target.name),
            None => format!("{client}: {file}, which was made for the entry\n"),
        });
    }
    for folder in folders {
        let files = counted(folder.files, "file", "files");
        let size = folder.bytes.div_ceil(1024);
        let kept = folder.kept.map(|kept| format!("; {kept}")).unwrap_or_default();
        let path = folder.path.display();
        lines.push_str(&format!("{path} ({}; {files}, {size} KiB{kept})\n", folder.what));
    }
    context.printer.data(&lines);
}

/// `{items: [{kind, path, client?, name?, files?, bytes?, removed, kept?}]}`.
fn to_json(plans: &[ClientEntryPlan], folders: &[OwnFolder], is_done: bool) -> Value {
    let entry = |plan: &ClientEntryPlan| {
        let target = &plan.target;
        json!({ "kind": "entry", "path": target.file, "client": target.client.id, "name": target.name, "removed": is_done })
    };
    let folder = |folder: &OwnFolder| {
        let removed = is_done && folder.kept.is_none();
        let mut shown = json!({ "kind": "folder", "path": folder.path, "files": folder.files, "bytes": folder.bytes, "removed": removed });
        if let Some(kept) = folder.kept {
            shown["kept"] = json!(kept);
        }
        shown
    };
    let items: Vec<Value> = plans.iter().map(entry).chain(folders.iter().map(folder)).collect();
    json!({ "items": items })
}
