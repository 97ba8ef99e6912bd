//! Finds a program like a shell does, so that a missing one can be reported before the start, with a hint.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use crate::{CallError, ErrorCode};

/// Returns the file of a command, searched in `search_path` unless it is a path.
///
/// A relative path such as `./tool` starts at the working folder of the process.
pub(crate) fn find_program(
    program: &str,
    search_path: Option<&str>,
    folder: Option<&Path>,
) -> Result<PathBuf, SpawnError> {
    if program.is_empty() {
        return Err(SpawnError::Empty);
    }
    if program.contains('/') {
        let path = folder.map_or_else(|| PathBuf::from(program), |folder| folder.join(program));
        return match fs::metadata(&path) {
            Ok(facts) if is_executable(&facts) => Ok(path),
            Ok(facts) if facts.is_dir() => Err(SpawnError::Folder { path }),
            Ok(_) => Err(SpawnError::NotExecutable { path }),
            Err(_) => Err(SpawnError::NoSuchFile { path }),
        };
    }
    let mut refused = None;
    for place in search_path.unwrap_or(DEFAULT_PATH).split(':').filter(|place| !place.is_empty()) {
        let path = Path::new(place).join(program);
        match fs::metadata(&path) {
            Ok(facts) if is_executable(&facts) => return Ok(path),
            // A folder of that name is skipped.
            Ok(facts) if !facts.is_dir() => refused = refused.or(Some(path)),
            Ok(_) | Err(_) => {}
        }
    }
    Err(match refused {
        Some(path) => SpawnError::NotExecutable { path },
        None => SpawnError::NotOnPath { program: program.to_owned() },
    })
}

/// Used without a `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn is_executable(facts: &fs::Metadata) -> bool {
    facts.is_file() && facts.permissions().mode() & 0o111 != 0
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum SpawnError {
    #[error("the command is empty")]
    Empty,
    #[error("`{program}` was not found on PATH")]
    NotOnPath { program: String },
    #[error("there is no such program: `{}`", .path.display())]
    NoSuchFile { path: PathBuf },
    #[error("this is not an executable file: `{}`", .path.display())]
    NotExecutable { path: PathBuf },
    #[error("this is a folder, not a program: `{}`", .path.display())]
    Folder { path: PathBuf },
    #[error("an argument or variable holds a NUL character, which no program can be given")]
    NulCharacter,
    #[error("the arguments of `{program}` are too long for the system")]
    TooLong { program: String },
    #[error("`{program}` could not be started")]
    Failed { program: String, source: io::Error },
}

impl SpawnError {
    pub(super) fn from_io(program: &str, source: io::Error) -> Self {
        let program = program.to_owned();
        match source.kind() {
            io::ErrorKind::InvalidInput => Self::NulCharacter,
            io::ErrorKind::ArgumentListTooLong => Self::TooLong { program },
            _ => Self::Failed { program, source },
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Empty => Some("give `command` a program to run".to_owned()),
            Self::NotOnPath { program } => Some(installation(program)),
            Self::NoSuchFile { .. } => Some("correct `command` or install the program".to_owned()),
            Self::Folder { .. } => Some("give `command` the program in it".to_owned()),
            Self::NotExecutable { path } => Some(format!("chmod +x {}", path.display())),
            Self::NulCharacter => Some("remove the NUL character".to_owned()),
            Self::TooLong { .. } => Some("pass large values through a file".to_owned()),
            Self::Failed { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Some("the interpreter in its first line may be missing".to_owned())
            }
            Self::Failed { .. } => None,
        }
    }

    fn code(&self) -> ErrorCode {
        match self {
            Self::Empty => ErrorCode::ConfigInvalid,
            Self::NulCharacter | Self::TooLong { .. } => ErrorCode::RequestInvalid,
            Self::NotOnPath { .. }
            | Self::NoSuchFile { .. }
            | Self::NotExecutable { .. }
            | Self::Folder { .. }
            | Self::Failed { .. } => ErrorCode::ServerUnavailable,
        }
    }
}

impl From<SpawnError> for CallError {
    fn from(error: SpawnError) -> Self {
        let mut message = error.to_string();
        if let SpawnError::Failed { source, .. } = &error {
            message = format!("{message}: {source}");
        }
        Self { hint: error.hint(), ..Self::new(error.code(), message) }
    }
}

fn installation(program: &str) -> String {
    let with = match program {
        "npx" | "npm" | "node" => "install Node.js (https://nodejs.org)",
        "pnpm" => "npm install --global pnpm",
        "bun" | "bunx" => "install Bun (https://bun.sh)",
        "deno" => "install Deno (https://deno.com)",
        "uvx" | "uv" => "install uv (https://docs.astral.sh/uv)",
        "pipx" => "install pipx (https://pipx.pypa.io)",
        "python" | "python3" => "install Python (https://www.python.org)",
        "docker" => "install Docker (https://docs.docker.com/get-docker)",
        "podman" => "install Podman (https://podman.io)",
        "gh" => "install the GitHub CLI (https://cli.github.com)",
        "git" => "install Git (https://git-scm.com)",
        "cargo" => "install Rust (https://rustup.rs)",
        "go" => "install Go (https://go.dev)",
        _ => match program.split_once(char::is_whitespace) {
            Some((first, _)) => {
                return format!(
                    "`command` is the program alone, `{first}`; the rest belongs into `args`"
                );
            }
            None => return format!("install `{program}`, or give `command` the full path"),
        },
    };
    with.to_owned()
}

#[cfg(test)]
mod spawn_error_tests {
    use super::*;

    #[test]
    fn a_command_line_in_the_place_of_a_program_is_told_as_that() {
        let hint = |program: &str| SpawnError::NotOnPath { program: program.to_owned() }.hint();
        assert_eq!(
            hint("npx -y @example/notes").as_deref(),
            Some("`command` is the program alone, `npx`; the rest belongs into `args`")
        );
        assert_eq!(hint("rg").as_deref(), Some("install `rg`, or give `command` the full path"));
    }
}
