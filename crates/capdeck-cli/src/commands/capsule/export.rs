//! `capdeck capsule export NAME TARGET`: a capsule as files.

use std::path::{Path, PathBuf};

use capdeck_host::{ExportRequest, ExportTarget};

use crate::{
    capsule_client::ask,
    completion::capsules,
    context::CommandContext,
    errors::{CommandFailure, ExitStatus},
    plain_text::{counted, one_line},
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
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
    /// A path where nothing is yet, or an empty folder.
    #[arg(value_name = "TARGET")]
    target: PathBuf,
    /// What to make; a tar archive if the target ends in `.tar`, else a folder.
    #[arg(long = "as", value_name = "FORM")]
    form: Option<ExportFormatArg>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ExportFormatArg {
    Folder,
    Tar,
    /// A repository with a commit for every version.
    Git,
}

pub(crate) fn run(
    args: &CapsuleExportArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    let CapsuleExportArgs { name, target, form } = args;
    let form = match form {
        Some(ExportFormatArg::Folder) => ExportTarget::Folder,
        Some(ExportFormatArg::Tar) => ExportTarget::Tar,
        Some(ExportFormatArg::Git) => ExportTarget::Git,
        None if target.extension().is_some_and(|ending| ending == "tar") => ExportTarget::Tar,
        None => ExportTarget::Folder,
    };
    let path = absolute(target, context)?;
    let answer = ask(context, Some(name), ExportRequest { path, form })?;
    let printer = context.printer;
    let report = &answer.report;
    let status =
        if report.skipped.is_empty() { ExitStatus::Done } else { ExitStatus::RequestFailed };
    if printer.wants_json() {
        printer.json(&answer);
        return Ok(status);
    }
    let what = match form {
        ExportTarget::Git => counted(report.entries, "version", "versions"),
        ExportTarget::Folder | ExportTarget::Tar => counted(report.entries, "entry", "entries"),
    };
    printer.note(&format!("wrote {what} to {}", answer.path));
    for entry in &report.skipped {
        let what = format!("left out {}: {}", entry.uri, entry.reason);
        printer.note(&one_line(&what));
    }
    Ok(status)
}

/// The path as the process that has the capsules must see it.
pub(super) fn absolute(
    path: &Path,
    context: &CommandContext<'_>,
) -> Result<PathBuf, CommandFailure> {
    match &context.env.current_dir {
        Some(here) => Ok(here.join(path)),
        None if path.is_absolute() => Ok(path.to_owned()),
        None => {
            Err(CommandFailure::setup("NO_CURRENT_FOLDER", "the current folder no longer exists"))
        }
    }
}
