//! Files of the machine that become entries, and entries that become files.

use std::{
    fs::{self, File},
    io,
    path::Path,
    process::Command,
};

use super::{ServiceCall, id_of};
use crate::{
    CapsuleErrorCode, CapsuleHandle, ExportFormat, ExportReport, blocking::blocking, export,
    import, service::*,
};

pub(crate) async fn write_files(
    call: &ServiceCall<'_>,
    request: ExportRequest,
) -> CapsuleResult<ExportResponse> {
    let session = call.session().await?;
    call.require_machine("write to this machine's disk")?;
    let path = request.path;
    let report = match request.form {
        ExportTarget::Folder => export(&session, ExportFormat::Folder, &path).await?,
        ExportTarget::Tar => export(&session, ExportFormat::Tar, &path).await?,
        ExportTarget::Git => to_repository(&session, &path).await?,
    };
    Ok(ExportResponse { capsule: id_of(&session), report, path: path.display().to_string() })
}

/// Reads entries from a path.
pub(crate) async fn read_files(
    call: &ServiceCall<'_>,
    request: ImportFilesRequest,
) -> CapsuleResult<ImportResponse> {
    let session = call.session().await?;
    call.require_machine("read from this machine's disk")?;
    let report = import(&session, &request).await?;
    Ok(ImportResponse { capsule: id_of(&session), report })
}

/// A new repository whose commits are the versions of entries. It is made beside its place and moved there whole.
async fn to_repository(session: &CapsuleHandle, path: &Path) -> CapsuleResult<ExportReport> {
    let failed = |error: io::Error| cannot(&format!("write `{}`", path.display()), &error);
    let exists = match path.read_dir().map(|mut inside| inside.next().is_some()) {
        Ok(true) => {
            let message = format!("`{}` is not empty", path.display());
            return Err(CapsuleError::invalid(message).hint("export to a new folder"));
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
    let report = export(session, ExportFormat::GitStream, &stream).await?;
    let (is_empty, there) = (report.entries == 0, repository.clone());
    let import = move || fill_repository(&stream, &there, is_empty);
    blocking(import).await.map_err(failed)??;
    if exists {
        fs::remove_dir(path).map_err(failed)?;
    }
    fs::rename(&repository, path).map_err(failed)?;
    Ok(report)
}

fn fill_repository(stream: &Path, repository: &Path, is_empty: bool) -> CapsuleResult<()> {
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

fn git(command: &mut Command) -> CapsuleResult<()> {
    let output = command
        .output()
        .map_err(|error| cannot("run `git`", &error).hint("install git, or export to a folder"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(CapsuleError::new(CapsuleErrorCode::IoFailed, format!("`git` failed: {}", said.trim())))
}

fn cannot(what: &str, error: &io::Error) -> CapsuleError {
    CapsuleError::new(CapsuleErrorCode::of_io(error), format!("cannot {what}: {error}"))
}
