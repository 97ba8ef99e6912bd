//! `capdeck capsule import NAME SOURCE`: exports, folders, instruction files and skills as entries.

use std::path::{Path, PathBuf};

use capdeck_host::{
    ExistingEntryMode, ImportFilesRequest, ImportMode, ImportOutcome, ImportReport, ImportResponse,
    ImportSource, ImportedFile,
};
use serde::Serialize;

use super::export::absolute;
use crate::{
    capsule_client::ask,
    completion::{capsules, entries},
    context::CommandContext,
    errors::{CommandFailure, ExitStatus},
    plain_text::{counted, one_line},
    printer::{Printer, TextStyle},
    table::{TableCell, TextTable},
};

/// Instruction files of agents, and where they go when nothing else is said.
const INSTRUCTIONS: [(&str, &str); 4] = [
    ("AGENTS.md", "guidance://agents"),
    ("CLAUDE.md", "guidance://claude"),
    ("GEMINI.md", "guidance://gemini"),
    ("copilot-instructions.md", "guidance://copilot"),
];

/// Take files into a capsule
///
/// Reads what `capdeck capsule export` wrote, a folder of files for one scheme, a folder of skills, or one file such as AGENTS.md. What
/// is there already gets a new version, unless it says the same. Who wrote it before is not taken over: you are its writer here.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck capsule import team backup.tar --dry-run
  capdeck capsule import team AGENTS.md
  capdeck capsule import team docs/ --scheme docs
  capdeck capsule import team .claude/skills --skills")]
pub(crate) struct CapsuleImportArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
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

pub(crate) fn run(
    args: &CapsuleImportArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    let CapsuleImportArgs { name, source, scheme, skills, uri, keep, dry_run } = args;
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
    let response = ask(context, Some(name), operation)?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&ImportOutput { response: &response, dry_run: *dry_run });
    } else {
        show(&response.report, *dry_run, printer);
    }
    let nothing_came = response.report.entries.is_empty() && !response.report.skipped.is_empty();
    Ok(if nothing_came { ExitStatus::RequestFailed } else { ExitStatus::Done })
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
        let mut table = TextTable::new(["URI", "VERSION", "OUTCOME", "FILE"]);
        for entry in entries {
            let (outcome, style) = match entry.outcome {
                ImportOutcome::Created => ("created", TextStyle::Good),
                ImportOutcome::Replaced => ("replaced", TextStyle::Good),
                ImportOutcome::Unchanged => ("unchanged", TextStyle::Dim),
            };
            table.row([
                TableCell::styled(TextStyle::Strong, entry.uri.as_str()),
                TableCell::plain(entry.version.to_string()),
                TableCell::styled(style, outcome),
                TableCell::plain(entry.file.display().to_string()),
            ]);
        }
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
