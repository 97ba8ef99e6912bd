//! The capability file of the project a command is about.

use std::{fs, path::Path};

use capdeck_definition::{CAPABILITY_FILE_NAMES, CapabilityFile, Severity, parse_capability_file};
use capdeck_install::Installer;

use crate::{errors::Failure, frames::Frames, printer::Printer, settings::Settings};

/// Reads the capability file. One with an error is not installed from: what it leaves out could be what protects.
pub(crate) fn capability_file(
    settings: &Settings,
    printer: &Printer,
) -> Result<CapabilityFile, Failure> {
    let project = settings.project.as_ref().map(|project| project.dir.as_path());
    let folders = project.into_iter().chain([settings.start_dir.as_path()]);
    let found = folders
        .map(|folder| CAPABILITY_FILE_NAMES.map(|name| folder.join(name)))
        .find(|paths| paths.iter().any(|path| path.is_file()));
    let path = match found {
        Some([yaml, json]) if yaml.is_file() && json.is_file() => {
            return Err(Failure::request(
                "CAPABILITY_FILE",
                format!(
                    "there are two capability files: `{}` and `{}`",
                    yaml.display(),
                    json.display()
                ),
            )
            .hint("keep one of them"));
        }
        Some([yaml, json]) => {
            if yaml.is_file() {
                yaml
            } else {
                json
            }
        }
        None => {
            return Err(Failure::request(
                "NO_CAPABILITY_FILE",
                format!("there is no capability file in `{}`", settings.start_dir.display()),
            )
            .hint("write a `capabilities.yaml`, or name the project with --project DIR"));
        }
    };
    let text = fs::read_to_string(&path).map_err(|error| Failure::file("read", &path, &error))?;
    let (file, diagnostics) = parse_capability_file(&text, &path);
    let is_sound = !diagnostics.iter().any(|found| found.severity == Severity::Error);
    let mut frames = Frames::default();
    let shown: Vec<String> =
        diagnostics.iter().map(|one| frames.render(one, printer.note_palette())).collect();
    match file.filter(|_| is_sound) {
        Some(file) => {
            if !shown.is_empty() {
                printer.note(&shown.join("\n"));
            }
            Ok(file)
        }
        None => {
            let mut failure = Failure::request(
                "CAPABILITY_FILE",
                format!("`{}` has errors, so nothing was installed", path.display()),
            )
            .said(shown.join("\n"));
            failure.details = Some(serde_json::json!({ "problems": diagnostics }));
            Err(failure)
        }
    }
}

/// Opens the project for writing.
pub(crate) fn open_installer(settings: &Settings, project: &Path) -> Result<Installer, Failure> {
    Installer::open(project, &settings.state_dir, &settings.cache_dir)
        .map_err(|error| Failure::file("use", &error.path, &error.source))
}
