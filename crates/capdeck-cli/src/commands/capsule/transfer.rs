//! `capdeck capsule export` and `import`: a capsule as files, and files as entries.

use std::path::{Path, PathBuf};

use capdeck_host::{
    ExistingEntryMode, ExportRequest, ExportTarget, ImportFilesRequest, ImportMode, ImportOutcome,
    ImportReport, ImportResponse, ImportSource, ImportedFile,
};
use serde::Serialize;

use super::CapsuleNameArg;
use crate::{
    args::{ChoiceRow, choice},
    capsule_client::ask,
    commands::CommandContext,
    completion::entries,
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::{counted, one_line, written},
    printer::{Printer, TextStyle},
    table::{TextTable, cell, styled},
};

/// Write a capsule to a folder, a tar archive or a git repository
///
/// A folder and an archive hold the current entries, their attached bytes and what is known about them; `capdeck capsule import`
/// reads both. A repository has a commit for every version. Memories, signals, shares and the audit stay.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck capsule export team backup.tar
  capdeck capsule export team team-files
  capdeck capsule export team team-history --as git")]
pub(crate) struct CapsuleExportArgs {
    #[command(flatten)]
    capsule: CapsuleNameArg,
    /// A path where nothing is yet, or an empty folder.
    #[arg(value_name = "TARGET")]
    target: PathBuf,
    /// What to make; a tar archive if the target ends in `.tar`, else a folder.
    #[arg(long = "as", value_name = "FORM", value_parser = choice(FORMS))]
    form: Option<ExportTarget>,
}

const FORMS: [ChoiceRow<ExportTarget>; 3] = [
    ("folder", "", ExportTarget::Folder),
    ("tar", "", ExportTarget::Tar),
    ("git", "A repository with a commit for every version", ExportTarget::Git),
];

pub(super) fn export(args: &CapsuleExportArgs, context: &CommandContext<'_>) -> CommandResult {
    let CapsuleExportArgs { capsule, target, form } = args;
    let is_tar = target.extension().is_some_and(|ending| ending == "tar");
    let usual = if is_tar { ExportTarget::Tar } else { ExportTarget::Folder };
    let form = form.unwrap_or(usual);
    let path = absolute(target, context)?;
    let answer = ask(context, Some(&capsule.name), ExportRequest { path, form })?;
    let report = &answer.report;
    let printer = context.printer;
    printer.json_or(&answer, || {
        let what = match form {
            ExportTarget::Git => counted(report.entries, "version", "versions"),
            ExportTarget::Folder | ExportTarget::Tar => counted(report.entries, "entry", "entries"),
        };
        printer.note(&format!("wrote {what} to {}", answer.path));
        for entry in &report.skipped {
            printer.note(&one_line(&format!("left out {}: {}", entry.uri, entry.reason)));
        }
    })?;
    Ok(ExitStatus::done_unless(!report.skipped.is_empty()))
}

/// The path as the process that has the capsules must see it.
fn absolute(path: &Path, context: &CommandContext<'_>) -> Result<PathBuf, CommandFailure> {
    match &context.env.current_dir {
        Some(here) => Ok(here.join(path)),
        None if path.is_absolute() => Ok(path.to_owned()),
        None => {
            Err(CommandFailure::setup("NO_CURRENT_FOLDER", "the current folder no longer exists"))
        }
    }
}

/// Instruction files of agents, and where they go when nothing else is said.
const INSTRUCTIONS: [(&str, &str); 4] = [
    ("AGENTS.md", "guidance://agents"),
    ("CLAUDE.md", "guidance://claude"),
    ("GEMINI.md", "guidance://gemini"),
    ("copilot-instructions.md", "guidance://copilot"),
];

/// Import files into a capsule
///
/// Reads what `capdeck capsule export` wrote, a folder of files for one scheme, a folder of skills, or one file such as AGENTS.md. What
/// is there already gets a new version, unless it says the same. Its writer is not imported: you are its writer here.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck capsule import team backup.tar --dry-run
  capdeck capsule import team AGENTS.md
  capdeck capsule import team docs/ --scheme docs
  capdeck capsule import team .claude/skills --skills")]
pub(crate) struct CapsuleImportArgs {
    #[command(flatten)]
    capsule: CapsuleNameArg,
    /// A file or a folder.
    #[arg(value_name = "SOURCE")]
    source: PathBuf,
    /// Take the files of the folder as entries of this scheme.
    #[arg(long, value_name = "SCHEME", conflicts_with_all = ["skills", "uri"])]
    scheme: Option<String>,
    /// Take `<name>/SKILL.md` and `<name>.md` of the folder as skills.
    #[arg(long, conflicts_with = "uri")]
    skills: bool,
    /// Take the file as this entry.
    #[arg(long, value_name = "URI", add = entries())]
    uri: Option<String>,
    /// Leave entries alone that are there already.
    #[arg(long)]
    keep: bool,
    /// Show what would happen, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn import(args: &CapsuleImportArgs, context: &CommandContext<'_>) -> CommandResult {
    let CapsuleImportArgs { capsule, source, scheme, skills, uri, keep, dry_run } = args;
    let path = absolute(source, context)?;
    let form = match (scheme, skills, uri) {
        (Some(scheme), _, _) => ImportSource::Folder { scheme: scheme.clone() },
        (None, true, _) => ImportSource::Skills,
        (None, false, Some(uri)) => ImportSource::File { uri: uri.clone() },
        (None, false, None) => recognised(&path)?,
    };
    let operation = ImportFilesRequest {
        path,
        form,
        existing: if *keep { ExistingEntryMode::Keep } else { ExistingEntryMode::Replace },
        mode: if *dry_run { ImportMode::Rehearse } else { ImportMode::Write },
    };
    #[derive(Serialize)]
    struct ImportOutput<'a> {
        #[serde(flatten)]
        response: &'a ImportResponse,
        dry_run: bool,
    }
    let response = ask(context, Some(&capsule.name), operation)?;
    let (report, printer) = (&response.report, context.printer);
    let output = ImportOutput { response: &response, dry_run: *dry_run };
    printer.json_or(&output, || show(report, *dry_run, printer))?;
    Ok(ExitStatus::done_unless(report.entries.is_empty() && !report.skipped.is_empty()))
}

/// What a source is, by its looks.
fn recognised(path: &Path) -> Result<ImportSource, CommandFailure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let found = path.metadata().map_err(|error| CommandFailure::file("read", path, &error))?;
    if found.is_dir() {
        if path.join("capsule.json").is_file() {
            return Ok(ImportSource::Export);
        }
        let message = format!("`{}` was not made by an export", path.display());
        return Err(CommandFailure::usage(message)
            .hint("say what is in it with --scheme SCHEME or --skills"));
    }
    if path.extension().is_some_and(|ending| ending == "tar") {
        return Ok(ImportSource::Export);
    }
    let known = INSTRUCTIONS.into_iter().find(|(file, _)| file.eq_ignore_ascii_case(&name));
    match known {
        Some((_, uri)) => Ok(ImportSource::File { uri: uri.to_owned() }),
        None => Err(CommandFailure::usage(format!("what is `{}` to become?", path.display()))
            .hint("name its address with --uri, such as --uri docs://readme")),
    }
}

fn show(report: &ImportReport, dry_run: bool, printer: &Printer) {
    let ImportReport { schemes, entries, skipped } = report;
    if !entries.is_empty() {
        let table = TextTable::new(["URI", "VERSION", "OUTCOME", "FILE"], entries, |entry| {
            let style = match entry.outcome {
                ImportOutcome::Created | ImportOutcome::Replaced => TextStyle::Good,
                ImportOutcome::Unchanged => TextStyle::Dim,
            };
            [
                styled(TextStyle::Strong, &entry.uri),
                cell(entry.version),
                styled(style, written(entry.outcome)),
                cell(entry.file.display()),
            ]
        });
        table.print(printer);
    }
    let (done, added) = if dry_run { ("would write", "would add") } else { ("wrote", "added") };
    if !schemes.is_empty() {
        printer.note(&format!("{added} the schemes: {}", schemes.join(", ")));
    }
    for file in skipped {
        let (file, reason) = (file.file.display().to_string(), &file.reason);
        printer.warn(&format!("left out {}: {}", one_line(&file), one_line(reason)));
    }
    let is_written = |entry: &&ImportedFile| entry.outcome != ImportOutcome::Unchanged;
    let written = entries.iter().filter(is_written).count();
    let mut line = format!("{done} {}", counted(written, "entry", "entries"));
    let same = entries.len() - written;
    if same > 0 {
        line.push_str(&format!(", {same} said the same already"));
    }
    if !skipped.is_empty() {
        line.push_str(&format!(", {} left out", skipped.len()));
    }
    printer.note(&line);
}
