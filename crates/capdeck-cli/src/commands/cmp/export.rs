//! `capdeck cmp export CAPABILITY FOLDER`: a capability of commands as a CMP tool.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use capdeck_definition::{CmpExport, ExportError, export_cmp};
use capdeck_host::known_capability;
use capdeck_install::replace_file;
use serde_json::{Value, json};

use crate::{
    completion::ids,
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::one_line,
};

/// Write a capability of commands as a CMP tool
///
/// Makes `cmp/manifest.json` and `cmp/capability.json` in the folder. Files that are already there and say something else
/// are not touched unless --force is given.
#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// The capability's id.
    #[arg(value_name = "CAPABILITY", add = ids())]
    id: String,
    /// The tool's folder, such as ~/.cmp/tools/NAME.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Replace the two files.
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &ExportArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let ExportArgs { id, folder, force } = args;
    let host = context.open_host()?;
    let capability = known_capability(&host, id)?;
    let exported = export_cmp(&capability.definition).map_err(refused)?;
    let here = context.env.current_dir.clone().unwrap_or_default();
    let folder = here.join(folder);
    write(&folder, &exported, *force)?;
    let printer = context.printer;
    let notes: Vec<String> = exported.notes.iter().map(|note| one_line(note)).collect();
    if printer.wants_json() {
        printer.json(&json!({ "id": id, "path": folder.join("cmp"), "notes": notes }));
        return Ok(ExitStatus::Done);
    }
    for note in &notes {
        printer.warn(note);
    }
    printer.note(&format!("wrote {}", folder.join("cmp").display()));
    Ok(ExitStatus::Done)
}

fn refused(error: ExportError) -> Failure {
    let message = error.to_string();
    match error {
        ExportError::NoCommands { .. } => Failure::request("NOT_EXPORTABLE", message)
            .hint("only capabilities of commands can be written as CMP tools"),
        ExportError::Inexpressible { problems, .. } => {
            let mut failure = Failure::request("NOT_EXPORTABLE", message)
                .hint("move what is named into a script, and let the action run that");
            failure.details = Some(json!({ "problems": problems }));
            failure
        }
    }
}

/// Writes both files or neither. A new tool's folder appears whole.
fn write(folder: &Path, exported: &CmpExport, force: bool) -> Result<(), Failure> {
    let files = [("manifest.json", &exported.manifest), ("capability.json", &exported.capability)];
    let texts: Vec<(&str, String)> = files
        .into_iter()
        .map(|(name, value)| Ok((name, pretty(value)?)))
        .collect::<Result<_, Failure>>()?;
    let place = folder.join("cmp");
    if fs::symlink_metadata(&place).is_err() {
        let failed = |error: io::Error| Failure::file("write", &place, &error);
        fs::create_dir_all(folder)
            .map_err(|error| Failure::file("make the folder", folder, &error))?;
        let staged =
            tempfile::Builder::new().prefix(".capdeck-").tempdir_in(folder).map_err(failed)?;
        let inner = staged.path().join("cmp");
        fs::create_dir(&inner).map_err(failed)?;
        for (name, text) in &texts {
            replace_file(&inner.join(name), text.as_bytes())
                .map_err(|error| Failure::request("FILE_ERROR", error.to_string()))?;
        }
        return fs::rename(&inner, &place).map_err(failed);
    }
    for (name, text) in &texts {
        let path = place.join(name);
        match fs::read(&path) {
            Ok(known) if known != text.as_bytes() && !force => {
                return Err(Failure::request(
                    "FILE_EXISTS",
                    format!("`{}` is already there and says something else", path.display()),
                )
                .hint("choose another folder, or replace it with --force"));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::file("read", &path, &error)),
        }
    }
    for (name, text) in &texts {
        replace_file(&place.join(name), text.as_bytes())
            .map_err(|error| Failure::request("FILE_ERROR", error.to_string()))?;
    }
    Ok(())
}

fn pretty(value: &Value) -> Result<String, Failure> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| Failure::bug(format!("the file cannot be written as JSON: {error}")))
}
