//! The environment and the person's folders: read here, once, and nowhere else.
#![expect(clippy::disallowed_methods, reason = "this is the one place the environment is read")]

use std::{env, path::PathBuf};

use capdeck_auth::{EnvironmentSnapshot, Secret};
use etcetera::BaseStrategy as _;

/// The variable that turns a run into an answer for a shell's completion.
pub(crate) const COMPLETE_VARIABLE: &str = "CAPDECK_COMPLETE";

/// Lets the starter deck and the person's own files name this very binary.
const EXECUTABLE: &str = "CAPDECK_EXE";

/// Keys of the host itself. A definition must not be able to send them anywhere.
const SECRET_VARIABLES: [&str; 6] = [
    "CAPDECK_ADMIN_KEY",
    "CAPSOL_ADMIN_KEY",
    "CAPDECK_ATTACH_KEY",
    "CAPDECK_KEY_FILE",
    "CAPLETS_ENCRYPTION_KEY",
    "CAPLETS_ENCRYPTION_KEY_FILE",
];

/// Everything the process was given besides its arguments. `read` has the names of the variables.
#[derive(Debug)]
pub(crate) struct EnvVars {
    pub(crate) config_dir: Option<PathBuf>,
    pub(crate) state_dir: Option<PathBuf>,
    pub(crate) cache_dir: Option<PathBuf>,
    pub(crate) data_dir: Option<PathBuf>,
    /// `CAPSOL_DATA_DIR`, which counts as the data folder where no other is named.
    pub(crate) capsol_data: Option<PathBuf>,
    pub(crate) capsule_schemes: Option<String>,
    /// `CAPDECK_AUDIT_STRICT=1`.
    pub(crate) strict_audit: bool,
    /// `VISUAL`, else `EDITOR`: a command line.
    pub(crate) editor: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) port: Option<String>,
    pub(crate) public_url: Option<String>,
    /// `OTEL_…`: where spans of calls go.
    pub(crate) traces: TraceVars,
    pub(crate) admin_key: Option<Secret>,
    /// `CAPDECK_PRINT_ADMIN_KEY=1`, or `CAPSOL_PRINT_ADMIN_KEY=1`.
    pub(crate) print_admin_key: bool,
    pub(crate) token_seconds: Option<String>,
    pub(crate) attach_key: Option<Secret>,
    pub(crate) key_file: Option<PathBuf>,
    pub(crate) caplets_key: Option<Secret>,
    pub(crate) caplets_key_file: Option<PathBuf>,
    pub(crate) log: Option<String>,
    pub(crate) caplets_config: Option<PathBuf>,
    pub(crate) caplets_project_config: Option<PathBuf>,
    /// `CMP_TOOL_PATH`: folders that are CMP tools, between colons.
    pub(crate) cmp_tool_path: Vec<PathBuf>,
    /// `NO_COLOR`, when it is not empty.
    pub(crate) no_color: bool,
    /// `TERM=dumb`: a terminal that understands no colours.
    pub(crate) dumb_terminal: bool,
    /// The shell that asks for completions.
    pub(crate) complete: Option<String>,
    pub(crate) home: Option<PathBuf>,
    /// The person's base folders, when there is a home folder.
    pub(crate) base: Option<BaseFolders>,
    pub(crate) current_dir: Option<PathBuf>,
    /// This binary.
    pub(crate) executable: Option<PathBuf>,
    /// What `${NAME}` in a definition is resolved from.
    pub(crate) snapshot: EnvironmentSnapshot,
}

/// Where spans of calls go. The address and the headers may hold a key.
#[derive(Debug)]
pub(crate) struct TraceVars {
    pub(crate) endpoint: Option<Secret>,
    pub(crate) headers: Option<Secret>,
    pub(crate) service: Option<String>,
}

/// The XDG base folders.
#[derive(Debug)]
pub(crate) struct BaseFolders {
    pub(crate) config: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) cache: PathBuf,
    pub(crate) data: PathBuf,
}

impl EnvVars {
    /// Reads everything. What is empty counts as not set.
    pub(crate) fn read() -> Self {
        let executable = env::current_exe().ok();
        Self {
            config_dir: path("CAPDECK_CONFIG_DIR"),
            state_dir: path("CAPDECK_STATE_DIR"),
            cache_dir: path("CAPDECK_CACHE_DIR"),
            capsol_data: path("CAPSOL_DATA_DIR"),
            data_dir: path("CAPDECK_DATA_DIR").or_else(|| path("CAPSOL_DATA_DIR")),
            capsule_schemes: text("CAPSOL_SCHEMES"),
            strict_audit: text("CAPDECK_AUDIT_STRICT").is_some_and(|value| value == "1"),
            editor: text("VISUAL").or_else(|| text("EDITOR")),
            host: text("CAPDECK_HOST"),
            port: text("CAPDECK_PORT"),
            public_url: text("CAPDECK_PUBLIC_URL").or_else(|| text("CAPSOL_PUBLIC_URL")),
            admin_key: text("CAPDECK_ADMIN_KEY")
                .or_else(|| text("CAPSOL_ADMIN_KEY"))
                .map(Secret::new),
            print_admin_key: ["CAPDECK_PRINT_ADMIN_KEY", "CAPSOL_PRINT_ADMIN_KEY"]
                .iter()
                .any(|name| text(name).is_some_and(|value| value == "1")),
            token_seconds: text("CAPSOL_TOKEN_TTL_SECONDS"),
            traces: TraceVars {
                endpoint: text("OTEL_EXPORTER_OTLP_ENDPOINT").map(Secret::new),
                headers: text("OTEL_EXPORTER_OTLP_HEADERS").map(Secret::new),
                service: text("OTEL_SERVICE_NAME"),
            },
            attach_key: text("CAPDECK_ATTACH_KEY").map(Secret::new),
            key_file: path("CAPDECK_KEY_FILE"),
            caplets_key: text("CAPLETS_ENCRYPTION_KEY").map(Secret::new),
            caplets_key_file: path("CAPLETS_ENCRYPTION_KEY_FILE"),
            log: text("CAPDECK_LOG"),
            caplets_config: path("CAPLETS_CONFIG"),
            caplets_project_config: path("CAPLETS_PROJECT_CONFIG"),
            cmp_tool_path: paths("CMP_TOOL_PATH"),
            no_color: text("NO_COLOR").is_some(),
            dumb_terminal: text("TERM").is_some_and(|terminal| terminal == "dumb"),
            complete: text(COMPLETE_VARIABLE).filter(|shell| shell != "0"),
            home: etcetera::home_dir().ok(),
            base: base_folders(),
            current_dir: env::current_dir().ok(),
            snapshot: snapshot(executable.as_ref()),
            executable,
        }
    }
}

/// The words of this run, program name included.
pub(crate) fn words() -> Vec<std::ffi::OsString> {
    env::args_os().collect()
}

fn text(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn path(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn paths(name: &str) -> Vec<PathBuf> {
    let named = env::var_os(name).unwrap_or_default();
    env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()).collect()
}

fn base_folders() -> Option<BaseFolders> {
    let base = etcetera::base_strategy::Xdg::new().ok()?;
    let state = base.state_dir().unwrap_or_else(|| base.home_dir().join(".local/state"));
    let (config, cache, data) = (base.config_dir(), base.cache_dir(), base.data_dir());
    Some(BaseFolders { config, state, cache, data })
}

fn snapshot(executable: Option<&PathBuf>) -> EnvironmentSnapshot {
    let variables = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| !SECRET_VARIABLES.contains(&name.as_str()));
    let executable = executable.and_then(|path| path.to_str()).map(str::to_owned);
    variables.chain(executable.map(|path| (EXECUTABLE.to_owned(), path))).collect()
}
