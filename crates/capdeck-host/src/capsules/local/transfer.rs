//! Files of the machine that become entries, and entries that become files.

use std::{
    fs::File,
    io::{self, BufWriter},
    path::Path,
    process::{Command, Stdio},
};

use capdeck_capsule::{
    CapsuleSession, EntryUri, ExportReport, StoreError, export_folder, export_git_stream,
    export_tar, import_file, import_folder, import_skills,
};
use serde_json::{Value, json};

use super::{Answer, LocalDesk, answer};
use crate::capsules::{CapsuleCaller, CapsuleFailure, ExportForm, ImportForm};

impl LocalDesk {
    /// Writes what there is to a path.
    pub(super) async fn export(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
        path: &Path,
        form: ExportForm,
    ) -> Answer {
        let session = self.session(caller, capsule).await?;
        self.admit(caller).require_machine("write to this machine's disk")?;
        let report = match form {
            ExportForm::Folder => export_folder(&session, path).await?,
            ExportForm::Tar => to_archive(&session, path).await?,
            ExportForm::Git => to_repository(&session, path).await?,
        };
        let mut fields = json!(report);
        if let Value::Object(fields) = &mut fields {
            fields.insert("path".to_owned(), path.display().to_string().into());
        }
        answer(&session, &fields)
    }

    /// Reads entries from a path.
    pub(super) async fn import(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
        path: &Path,
        form: ImportForm,
    ) -> Answer {
        let session = self.session(caller, capsule).await?;
        self.admit(caller).require_machine("read from this machine's disk")?;
        let report = match form {
            ImportForm::File { uri } => {
                let uri = EntryUri::parse(&uri).map_err(StoreError::from)?;
                import_file(&session, path, uri).await?
            }
            ImportForm::Folder { scheme } => import_folder(&session, path, &scheme).await?,
            ImportForm::Skills => import_skills(&session, path).await?,
        };
        answer(&session, &report)
    }
}

/// A finished archive at the path, or nothing there.
async fn to_archive(session: &CapsuleSession, path: &Path) -> Result<ExportReport, CapsuleFailure> {
    if path.exists() {
        return Err(CapsuleFailure::invalid(format!("`{}` is there already", path.display())));
    }
    let failed = |error: io::Error| cannot(&format!("write `{}`", path.display()), &error);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file =
        tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(failed)?;
    let mut writer = BufWriter::new(file.as_file_mut());
    let report = export_tar(session, &mut writer).await?;
    writer.into_inner().map_err(|error| failed(error.into_error()))?.sync_all().map_err(failed)?;
    file.persist_noclobber(path).map_err(|error| failed(error.error))?;
    Ok(report)
}

/// A new repository whose commits are the versions of entries.
async fn to_repository(
    session: &CapsuleSession,
    path: &Path,
) -> Result<ExportReport, CapsuleFailure> {
    if path.read_dir().is_ok_and(|mut inside| inside.next().is_some()) || path.is_file() {
        let message = format!("`{}` is not empty", path.display());
        return Err(CapsuleFailure::invalid(message).hint("export to a new folder"));
    }
    let failed = |error: io::Error| cannot("write the stream of commits", &error);
    let stream = tempfile::NamedTempFile::new().map_err(failed)?;
    let mut writer = BufWriter::new(stream.reopen().map_err(failed)?);
    let report = export_git_stream(session, &mut writer).await?;
    drop(writer);
    let path = path.to_owned();
    let import = move || -> Result<(), CapsuleFailure> {
        git(Command::new("git")
            .arg("init")
            .arg("--quiet")
            .arg("--initial-branch=main")
            .arg(&path))?;
        let commits =
            File::open(stream.path()).map_err(|error| cannot("read the commits", &error))?;
        let mut git_there = Command::new("git");
        git_there.arg("-C").arg(&path);
        git(git_there.args(["fast-import", "--quiet", "--done"]).stdin(commits))?;
        if report_is_empty(&path) {
            return Ok(());
        }
        let mut checkout = Command::new("git");
        git(checkout.arg("-C").arg(&path).args(["reset", "--hard", "--quiet", "main"]))
    };
    let done = tokio::task::spawn_blocking(import).await;
    done.unwrap_or_else(|error| Err(CapsuleFailure::new("internal", error.to_string())))?;
    Ok(report)
}

/// A capsule without entries is a repository without commits.
fn report_is_empty(path: &Path) -> bool {
    let mut check = Command::new("git");
    let found = check.arg("-C").arg(path).args(["rev-parse", "--verify", "--quiet", "main"]);
    !found.stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn git(command: &mut Command) -> Result<(), CapsuleFailure> {
    let output = command
        .output()
        .map_err(|error| cannot("run `git`", &error).hint("install git, or export to a folder"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(CapsuleFailure::new("io_failed", format!("`git` failed: {}", said.trim())))
}

fn cannot(what: &str, error: &io::Error) -> CapsuleFailure {
    CapsuleFailure::new("io_failed", format!("cannot {what}: {error}"))
}
