//! What a child process gets to see of the environment: little, plus what its definition asks for.
//!
//! Caplets gives a stdio server the safe variables only while no `env` is configured, and the whole
//! environment as soon as one is. Here configuring `env` adds to the safe variables and nothing else:
//! a token meant for one server must not reach every other one.

use std::path::{Path, PathBuf};

use capdeck_auth::EnvironmentSnapshot;
use indexmap::IndexMap;
use serde_json::json;

use crate::{CallError, ErrorCode};

/// Variables that programs need to find their home, their tools, their language and their network.
const SAFE_VARIABLES: [&str; 28] = [
    "HOME",
    "PATH",
    "SHELL",
    "TERM",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "NO_COLOR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "DOCKER_HOST",
    "NVM_DIR",
    "VOLTA_HOME",
    "PYENV_ROOT",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "JAVA_HOME",
    "GOPATH",
    "NIX_SSL_CERT_FILE",
];

const SAFE_PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// Passed on only when they hold no password.
const PROXY_VARIABLES: [&str; 8] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];

/// The whole environment of a child: the safe variables, then each layer over the ones before.
pub(crate) fn child_environment<'a>(
    host: &EnvironmentSnapshot,
    layers: impl IntoIterator<Item = &'a IndexMap<String, String>>,
) -> IndexMap<String, String> {
    let mut variables: IndexMap<String, String> = host
        .iter()
        .filter(|(name, value)| is_safe(name, value))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    for layer in layers {
        variables.extend(layer.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    variables
}

fn is_safe(name: &str, value: &str) -> bool {
    SAFE_VARIABLES.contains(&name)
        || SAFE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || (PROXY_VARIABLES.contains(&name) && !value.contains('@'))
}

#[derive(Debug, Clone)]
pub(crate) enum WorkingFolder {
    /// Anywhere; by default where the host was started.
    Anywhere,
    /// Only inside this project; by default at its root. The path is real, without links.
    Project { root: PathBuf },
}

impl WorkingFolder {
    pub(crate) fn new(project_bound: bool, project: Option<&Path>) -> Result<Self, CallError> {
        if !project_bound {
            return Ok(Self::Anywhere);
        }
        let project = project.ok_or_else(|| {
            CallError::new(
                ErrorCode::UnsupportedCapability,
                "this capability works inside a project and there is none",
            )
            .hint("start capdeck inside the project or pass `--project DIR`")
        })?;
        let root = project.canonicalize().map_err(|source| {
            CallError::unavailable(format!(
                "the project folder cannot be opened: `{}`",
                project.display()
            ))
            .detail(source)
        })?;
        Ok(Self::Project { root })
    }

    /// The folder for a process, checked to exist. `None` means the host's own.
    pub(crate) fn resolve(&self, configured: Option<&str>) -> Result<Option<PathBuf>, CallError> {
        match (self, configured) {
            (Self::Anywhere, None) => Ok(None),
            (Self::Anywhere, Some(configured)) => existing(Path::new(configured)).map(Some),
            (Self::Project { root }, None) => Ok(Some(root.clone())),
            (Self::Project { root }, Some(configured)) => {
                // Links are followed before the check: a link inside the project may lead out of it.
                let folder = existing(&root.join(configured))?;
                if folder.starts_with(root) {
                    return Ok(Some(folder));
                }
                Err(CallError::new(
                    ErrorCode::UnsupportedCapability,
                    format!("the working folder is outside the project: `{configured}`"),
                )
                .hint("this capability is bound to its project; choose a `cwd` inside it")
                .data(json!({"reason": "invalid_cwd"})))
            }
        }
    }
}

fn existing(folder: &Path) -> Result<PathBuf, CallError> {
    let missing = |detail: String| {
        CallError::unavailable(format!("the working folder does not exist: `{}`", folder.display()))
            .hint("create it or correct `cwd`")
            .detail(detail)
    };
    let real = folder.canonicalize().map_err(|source| missing(source.to_string()))?;
    if real.is_dir() { Ok(real) } else { Err(missing("not a folder".to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_sees_safe_variables_and_its_own() {
        let host: EnvironmentSnapshot = [
            ("HOME", "/home/ada"),
            ("PATH", "/bin"),
            ("LC_ALL", "C.UTF-8"),
            ("GH_TOKEN", "canary-1"),
            ("HTTP_PROXY", "http://proxy:3128"),
            ("HTTPS_PROXY", "http://ada:canary-2@proxy:3128"),
        ]
        .into_iter()
        .collect();
        let backend = IndexMap::from([("A".to_owned(), "1".to_owned()), ("B".into(), "1".into())]);
        let action = IndexMap::from([("B".to_owned(), "2".to_owned())]);
        let seen: Vec<_> = child_environment(&host, [&backend, &action])
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            seen,
            [
                "HOME=/home/ada",
                "HTTP_PROXY=http://proxy:3128",
                "LC_ALL=C.UTF-8",
                "PATH=/bin",
                "A=1",
                "B=2"
            ]
        );
    }
}
