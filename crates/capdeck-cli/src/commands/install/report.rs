//! What a run changes, for people and for programs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use capdeck_definition::{
    CAPABILITY_FILE_NAMES, CapabilityFile, DiagnosticSeverity, parse_capability_file,
};
use capdeck_install::{
    AgentProvider, FileAction, FileChange, InstallPlan, InstallProblem, ProjectInstaller,
    WriteError,
};
use serde_json::{Value, json};

use crate::{
    errors::{CommandFailure, CommandResult},
    plain_text::one_line,
    printer::{Printer, TextStyle},
    settings::CommandSettings,
    source_frames::SourceFrames,
};

/// Everything there is to say about a plan.
pub(crate) struct InstallReport<'a> {
    project: PathBuf,
    plan: &'a InstallPlan,
    providers: &'a [&'static AgentProvider],
}

impl<'a> InstallReport<'a> {
    pub(crate) fn new(
        installer: &ProjectInstaller,
        plan: &'a InstallPlan,
        providers: &'a [&'static AgentProvider],
    ) -> Self {
        Self { project: installer.project().to_owned(), plan, providers }
    }

    /// Fails when the plan has an error. All problems are shown at once.
    pub(crate) fn check_errors(&self, printer: &Printer) -> Result<(), CommandFailure> {
        let errors = self.plan.problems.iter().filter(|one| one.is_error());
        let errors: Vec<String> = errors.map(|one| self.problem(one)).collect();
        if errors.is_empty() {
            return Ok(());
        }
        self.warn(printer);
        let message = match errors.len() {
            1 => "there is a problem, so nothing was written".to_owned(),
            count => format!("there are {count} problems, so nothing was written"),
        };
        Err(CommandFailure::request("NOT_INSTALLED", message)
            .with_details(errors.join("\n"))
            .with_data(json!({ "problems": self.plan.problems })))
    }

    /// Shows the changes and what becomes able to run.
    pub(crate) fn show(&self, printer: &Printer) {
        printer.note(&self.text(printer));
    }

    /// Prints a plan, or one that was carried out except for files that changed at the same moment.
    pub(crate) fn print(&self, done: Option<Vec<PathBuf>>, printer: &Printer) -> CommandResult {
        let is_applied = done.is_some();
        self.warn(printer);
        for path in done.iter().flatten() {
            let path = project_path(path, &self.project);
            printer.warn(&format!("{path}: it was changed at this very moment and is left alone"));
        }
        printer.json_or(&self.to_json(is_applied), || match is_applied {
            true => printer.note(&self.summary()),
            false => printer.data(&self.text(printer)),
        })
    }

    fn to_json(&self, is_applied: bool) -> Value {
        let item = |change: &FileChange| {
            let FileChange { action, path, what, .. } = change;
            json!({ "action": action, "path": project_path(path, &self.project), "what": what })
        };
        let changes: Vec<Value> = self.plan.changes.iter().map(item).collect();
        json!({
            "project": self.project,
            "applied": is_applied,
            "providers": self.providers.iter().map(|one| one.id).collect::<Vec<_>>(),
            "items": changes,
            "problems": self.plan.problems,
            "surface": self.plan.surface,
        })
    }

    fn text(&self, printer: &Printer) -> String {
        let palette = printer.note_palette;
        let mut text = String::new();
        for FileChange { action, path, what, .. } in &self.plan.changes {
            let (style, mark) = match action {
                FileAction::Create => (TextStyle::Good, "create"),
                FileAction::Update => (TextStyle::Strong, "update"),
                FileAction::Remove => (TextStyle::Bad, "remove"),
            };
            let (mark, path) = (palette.paint(style, mark), project_path(path, &self.project));
            text.push_str(&format!("{mark}  {path}  {}\n", palette.paint(TextStyle::Dim, what)));
        }
        if self.plan.changes.is_empty() {
            text.push_str("nothing changes\n");
        }
        if !self.plan.surface.is_empty() {
            text.push_str("\nThis becomes able to run:\n");
            for line in &self.plan.surface {
                text.push_str(&format!("  {}\n", one_line(line)));
            }
        }
        text
    }

    fn summary(&self) -> String {
        let changes = &self.plan.changes;
        let count =
            |action: FileAction| changes.iter().filter(|change| change.action == action).count();
        let parts: Vec<String> = [
            (FileAction::Create, "created"),
            (FileAction::Update, "updated"),
            (FileAction::Remove, "removed"),
        ]
        .into_iter()
        .map(|(action, word)| (count(action), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
        if parts.is_empty() {
            return "everything is as it should be".to_owned();
        }
        format!("files: {}", parts.join(", "))
    }

    fn warn(&self, printer: &Printer) {
        for problem in self.plan.problems.iter().filter(|one| !one.is_error()) {
            printer.warn(&self.problem(problem));
        }
    }

    fn problem(&self, problem: &InstallProblem) -> String {
        let about = project_path(Path::new(&problem.about), &self.project);
        let mut text = format!("{about}: {}", one_line(&problem.message));
        if let Some(hint) = &problem.hint {
            text.push_str(&format!(" ({hint})"));
        }
        text
    }
}

/// Finishes what an earlier run could not; a dry run only says so.
pub(crate) fn finish_interrupted(
    installer: &mut ProjectInstaller,
    is_dry: bool,
    printer: &Printer,
) -> Result<(), CommandFailure> {
    if !installer.is_interrupted().map_err(|error| apply_failed(&error))? {
        return Ok(());
    }
    if is_dry {
        printer.warn("an earlier run was interrupted; it is finished first, so more may change");
        return Ok(());
    }
    printer.note("an earlier run was interrupted; it is finished first");
    let skipped = installer.finish_interrupted().map_err(|error| apply_failed(&error))?;
    for path in skipped {
        printer.warn(&format!("{}: it was changed since and is left alone", path.display()));
    }
    Ok(())
}

pub(crate) fn apply_failed(error: &WriteError) -> CommandFailure {
    CommandFailure::file("write", &error.path, &error.source)
        .hint("make room or give access, then run this again: it goes on where it stopped")
}

/// A path inside the project without the project's own.
fn project_path(path: &Path, project: &Path) -> String {
    path.strip_prefix(project).unwrap_or(path).display().to_string()
}

/// Reads the capability file. One with an error is not installed from: what it leaves out could be what protects.
pub(crate) fn capability_file(
    settings: &CommandSettings,
    printer: &Printer,
) -> Result<CapabilityFile, CommandFailure> {
    let project = settings.project.as_ref().map(|project| project.dir.as_path());
    let folders = project.into_iter().chain([settings.start_dir.as_path()]);
    let files_in = |folder: &Path| {
        let mut paths = CAPABILITY_FILE_NAMES.map(|name| folder.join(name)).to_vec();
        paths.retain(|path| path.is_file());
        paths
    };
    let found = folders.map(files_in).find(|paths| !paths.is_empty()).unwrap_or_default();
    let refused =
        |code, message: String, hint: &str| Err(CommandFailure::request(code, message).hint(hint));
    let path = match found.as_slice() {
        [path] => path,
        [] => {
            let start = settings.start_dir.display();
            let message = format!("there is no capability file in `{start}`");
            let hint = "write a `capabilities.yaml`, or name the project with --project DIR";
            return refused("NO_CAPABILITY_FILE", message, hint);
        }
        [yaml, json, ..] => {
            let (yaml, json) = (yaml.display(), json.display());
            let message = format!("there are two capability files: `{yaml}` and `{json}`");
            return refused("CAPABILITY_FILE", message, "keep one of them");
        }
    };
    let text =
        fs::read_to_string(path).map_err(|error| CommandFailure::file("read", path, &error))?;
    let (file, diagnostics) = parse_capability_file(&text, path);
    let is_sound = !diagnostics.iter().any(|found| found.severity == DiagnosticSeverity::Error);
    let mut frames = SourceFrames::default();
    let shown: Vec<String> =
        diagnostics.iter().map(|one| frames.render(one, printer.note_palette)).collect();
    match file.filter(|_| is_sound) {
        Some(file) => {
            if !shown.is_empty() {
                printer.note(&shown.join("\n"));
            }
            Ok(file)
        }
        None => {
            let message = format!("`{}` has errors, so nothing was installed", path.display());
            Err(CommandFailure::request("CAPABILITY_FILE", message)
                .with_details(shown.join("\n"))
                .with_data(json!({ "problems": diagnostics })))
        }
    }
}

pub(crate) fn open_installer(
    settings: &CommandSettings,
    project: &Path,
) -> Result<ProjectInstaller, CommandFailure> {
    ProjectInstaller::open(project, &settings.state_dir, &settings.cache_dir)
        .map_err(|error| CommandFailure::file("use", &error.path, &error.source))
}
