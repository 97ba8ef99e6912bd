//! What a child process gets to see of the environment: little, plus what its definition asks for, and for a launcher what it
//! reads to find its packages.
//!
//! Caplets gives a stdio server the safe variables only while no `env` is configured, and the whole
//! environment as soon as one is. Here configuring `env` adds to the safe variables and nothing else:
//! a token meant for one server must not reach every other one.

use std::path::{Path, PathBuf};

use capdeck_auth::{EnvironmentSnapshot, Secret, is_secret_name};
use capdeck_definition::{Backend, Definition, Glob, Launcher, McpServer, used_variables};
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

/// The variables of the host that a child gets besides the safe ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct PassedVariables<'a> {
    /// What the definition and its deck name.
    declared: &'a [Glob],
    /// What a launcher reads to find its packages.
    launcher: Option<Launcher>,
}

impl<'a> PassedVariables<'a> {
    pub(crate) fn declared(declared: &'a [Glob]) -> Self {
        Self { declared, launcher: None }
    }

    /// The same with the registries of the launcher that the command may be.
    pub(crate) fn of_command(declared: &'a [Glob], command: &str, args: &[String]) -> Self {
        Self { declared, launcher: Launcher::of(command, args.iter().map(String::as_str)) }
    }

    fn include(&self, name: &str) -> bool {
        self.declared.iter().any(|pattern| pattern.matches(name))
            || self.launcher.as_ref().is_some_and(|launcher| launcher.reads(name))
    }
}

/// The whole environment of a child: the safe variables and those it is passed, then each layer over the ones before.
pub(crate) fn child_environment<'a>(
    host: &EnvironmentSnapshot,
    passed: &PassedVariables<'_>,
    layers: impl IntoIterator<Item = &'a IndexMap<String, String>>,
) -> IndexMap<String, String> {
    let mut variables: IndexMap<String, String> = host
        .iter()
        .filter(|(name, value)| is_safe(name, value) || passed.include(name))
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

/// The secrets among the variables that a definition passes on.
pub(crate) fn passed_secrets(host: &EnvironmentSnapshot, declared: &[Glob]) -> Vec<Secret> {
    let passed = PassedVariables::declared(declared);
    let secrets = host.iter().filter(|(name, _)| is_secret_name(name) && passed.include(name));
    secrets.map(|(_, value)| Secret::new(value.to_owned())).collect()
}

/// A variable that is set here, that a definition's programs seem to use and that they do not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldVariable {
    pub name: String,
    /// What shows that it is used: a program, a package, or the text of the definition.
    pub evidence: String,
}

/// The variables of this environment that the programs of a definition seem to use and do not get.
pub fn withheld_variables(
    host: &EnvironmentSnapshot,
    definition: &Definition,
) -> Vec<WithheldVariable> {
    let uses = used_variables(definition);
    if uses.is_empty() {
        return Vec::new();
    }
    let declared = definition.backend.pass_env();
    let passed = match &definition.backend {
        Backend::Mcp(McpServer { command: Some(command), args, .. }) => {
            PassedVariables::of_command(declared, command, args)
        }
        _ => PassedVariables::declared(declared),
    };
    let reaches = |name: &str, value: &str| is_safe(name, value) || passed.include(name);
    let set = host.iter().filter(|(name, value)| !value.is_empty() && !reaches(name, value));
    let withheld = set.filter_map(|(name, _)| {
        let used = uses.iter().find(|used| used.is_of(name))?;
        Some(WithheldVariable { name: name.to_owned(), evidence: used.evidence.clone() })
    });
    withheld.collect()
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
        let seen: Vec<_> =
            child_environment(&host, &PassedVariables::default(), [&backend, &action])
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

    fn seen(host: &EnvironmentSnapshot, passed: &PassedVariables<'_>) -> Vec<String> {
        child_environment(host, passed, []).into_keys().collect()
    }

    #[test]
    fn what_a_definition_names_is_passed_on() {
        let host: EnvironmentSnapshot =
            [("AWS_PROFILE", "a"), ("AWS_REGION", "b"), ("GH_TOKEN", "canary-1"), ("PATH", "/bin")]
                .into_iter()
                .collect();
        let named = [Glob::new("AWS_*"), Glob::new("MISSING")];
        assert_eq!(
            seen(&host, &PassedVariables::declared(&named)),
            ["AWS_PROFILE", "AWS_REGION", "PATH"]
        );
        assert_eq!(passed_secrets(&host, &named), []);
        assert_eq!(
            passed_secrets(&host, &[Glob::new("GH_TOKEN")]),
            [Secret::new("canary-1".to_owned())]
        );
    }

    #[test]
    fn launchers_get_their_registries_and_nothing_of_others() {
        let host: EnvironmentSnapshot = [
            ("npm_config_registry", "https://npm.example"),
            ("NPM_CONFIG_REGISTRY", "https://npm.example"),
            ("UV_INDEX_URL", "https://uv.example"),
            ("PIP_INDEX_URL", "https://pip.example"),
            ("DOCKER_CONTEXT", "remote"),
            ("NPM_TOKEN", "canary-1"),
        ]
        .into_iter()
        .collect();
        for (line, expected) in [
            ("npx -y one", &["NPM_CONFIG_REGISTRY", "npm_config_registry"][..]),
            ("cmd /c npx one", &["NPM_CONFIG_REGISTRY", "npm_config_registry"]),
            ("uvx one", &["PIP_INDEX_URL", "UV_INDEX_URL"]),
            ("pipx run one", &["PIP_INDEX_URL", "UV_INDEX_URL"]),
            ("docker run one", &["DOCKER_CONTEXT"]),
            ("node one.js", &[]),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let (command, args) = words.split_first().unwrap();
            assert_eq!(
                seen(&host, &PassedVariables::of_command(&[], command, args)),
                expected,
                "{line}"
            );
        }
    }
}
