//! Files of the machine that become entries, and entries that become files.

use std::{
    fs::{self, File},
    io,
    path::Path,
    process::Command,
};

use capdeck_capsule::{
    self as capsule, CapsuleSession, EntryUri, Existing, ExportReport, ImportMode, ImportRequest,
    StoreError,
};
use serde_json::{Value, json};

use super::{Answer, LocalDesk, answer, refused_if_bad};
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
            ExportForm::Folder => {
                capsule::export(&session, capsule::ExportForm::Folder, path).await?
            }
            ExportForm::Tar => capsule::export(&session, capsule::ExportForm::Tar, path).await?,
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
        existing: Existing,
        mode: ImportMode,
    ) -> Answer {
        let session = self.session(caller, capsule).await?;
        self.admit(caller).require_machine("read from this machine's disk")?;
        let form = match form {
            ImportForm::Export => capsule::ImportForm::Export,
            ImportForm::File { uri } => {
                let uri = EntryUri::parse(&uri).map_err(StoreError::from);
                capsule::ImportForm::File { uri: refused_if_bad(&session, "import", uri).await? }
            }
            ImportForm::Folder { scheme } => capsule::ImportForm::Folder { scheme },
            ImportForm::Skills => capsule::ImportForm::Skills,
        };
        let request = ImportRequest { source: path.to_owned(), form, existing, mode };
        answer(&session, &capsule::import(&session, &request).await?)
    }
}

/// A new repository whose commits are the versions of entries. It is made beside its place and moved there whole.
async fn to_repository(
    session: &CapsuleSession,
    path: &Path,
) -> Result<ExportReport, CapsuleFailure> {
    let failed = |error: io::Error| cannot(&format!("write `{}`", path.display()), &error);
    let exists = match path.read_dir().map(|mut inside| inside.next().is_some()) {
        Ok(true) => {
            let message = format!("`{}` is not empty", path.display());
            return Err(CapsuleFailure::invalid(message).hint("export to a new folder"));
        }
        Ok(false) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(failed(error)),
    };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let unfinished = tempfile::Builder::new()
        .prefix(".capdeck-export-")
        .tempdir_in(parent.unwrap_or(Path::new(".")))
        .map_err(failed)?;
    let (stream, repository) = (unfinished.path().join("stream"), unfinished.path().join("git"));
    let report = capsule::export(session, capsule::ExportForm::GitStream, &stream).await?;
    let (is_empty, there) = (report.entries == 0, repository.clone());
    let import = move || fill_repository(&stream, &there, is_empty);
    let done = tokio::task::spawn_blocking(import).await;
    done.unwrap_or_else(|error| Err(CapsuleFailure::new("internal", error.to_string())))?;
    if exists {
        fs::remove_dir(path).map_err(failed)?;
    }
    fs::rename(&repository, path).map_err(failed)?;
    Ok(report)
}

fn fill_repository(stream: &Path, repository: &Path, is_empty: bool) -> Result<(), CapsuleFailure> {
    // Without templates there are no hooks, so nothing runs but git.
    let mut init = Command::new("git");
    git(init.args(["init", "--quiet", "--template=", "--initial-branch=main"]).arg(repository))?;
    let commits = File::open(stream).map_err(|error| cannot("read the commits", &error))?;
    let mut import = Command::new("git");
    import.arg("-C").arg(repository).args(["fast-import", "--quiet", "--done"]);
    git(import.stdin(commits))?;
    // A capsule without entries is a repository without commits.
    if is_empty {
        return Ok(());
    }
    let mut checkout = Command::new("git");
    git(checkout.arg("-C").arg(repository).args(["reset", "--hard", "--quiet", "main"]))
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
    CapsuleFailure::new(capsule::io_code(error), format!("cannot {what}: {error}"))
}
