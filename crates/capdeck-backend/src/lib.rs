//! Live backends: one [`Connection`] per remote, whatever its kind.
//!
//! Read [`Connection`] first, then [`Connector`]. Every wait here has a deadline and can be cancelled;
//! every child process is in its own group and dies with the host.
//!
//! This crate never knows who is calling or how a result is shown.

mod api_connection;
mod arguments;
mod artifact;
mod call_error;
mod capture;
mod check;
mod child_environment;
mod cli;
mod cmp;
mod command_run;
mod connect;
mod connection;
mod connector_context;
mod data_url;
mod declared_tool;
mod fault_sources;
mod filter_run;
mod google_discovery;
mod graphql;
mod guardian;
mod http;
mod http_actions;
mod init_records;
mod listener;
mod local_import;
mod mcp;
mod openapi;
mod option_guard;
mod outbound;
mod process;
mod process_log;
mod project_file;
mod project_values;
mod remote_host;
mod scrub_json;
mod setup_run;
mod sign_in;
mod static_discovery;
mod tailored;
mod tool_result;
mod vault_holder;
mod working_folder;

pub use capdeck_auth::{
    BrowserLogin, DeviceLogin, LoginMethod, LoginStart, RevocationOutcome, SignIn, SignInState,
    SignInStatus, SignOutReport,
};

pub use artifact::{
    Artifact, ArtifactError, ArtifactLimits, ArtifactPart, ArtifactReader, ArtifactStore,
    ArtifactSweepReport, ArtifactUri, ArtifactWriter, StoredArtifact,
};
pub use call_error::{CallError, ErrorCode, ErrorKind, RpcFailure};
pub use connect::{ClientProfile, ConnectOptions, Connector, ConnectorSettings};
pub use connection::{CallContext, CallerHandle, Connection, NoCaller, ToolCall};
pub use guardian::{GuardianCommand, run_guardian};
pub use http::{JsonSender, fetch_text};
pub use listener::{ConnectionListener, NoListener};
pub use local_import::LocalImport;
pub use project_values::project_variables;
pub use remote_host::{
    HostManifest, HostManifestFacts, MANIFEST_VERSION, RemoteHost, TaggedManifest,
};
pub use setup_run::{SetupEvent, SetupPhase, SetupReport, StepReport, StepStatus};
pub use static_discovery::static_discovery;
pub use vault_holder::vault_holder;
