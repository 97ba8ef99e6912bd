//! Live backends: one [`Connection`] per remote, for every kind of backend.
//!
//! The main types are [`Connector`] (opens connections from definitions), [`Connection`] (lists and calls tools) and
//! [`CallContext`] (timeout, cancellation and caller of one request). Start with `connection.rs`, then `connect.rs`;
//! each kind of backend has a module of its own. Every wait here has a deadline and can be cancelled; every child process
//! is in its own group and dies with the host.
//!
//! This crate never knows who is calling or how a result is shown.

mod api_connection;
mod arguments;
mod artifact;
mod call_error;
mod capture;
mod child_environment;
mod cli;
mod cmp;
mod command_run;
mod connect;
mod connection;
mod connector_check;
mod connector_context;
mod declared_tool;
mod failure_reason;
mod google_discovery;
mod graphql;
mod guardian;
mod http;
mod http_actions;
mod init_records;
mod mcp;
mod openapi;
mod option_guard;
mod process;
mod process_log;
mod project_values;
mod remote_host;
mod setup_run;
mod sign_in;
mod start_allowance;
mod starting_servers;
mod tailored;

pub use capdeck_auth::{
    BrowserLogin, DeviceLogin, LoginMethod, LoginStart, RevocationOutcome, SignIn, SignInState,
    SignInStatus, SignOutReport,
};

pub use artifact::{
    Artifact, ArtifactError, ArtifactLimits, ArtifactPart, ArtifactReader, ArtifactStore,
    ArtifactSweepReport, ArtifactUri, ArtifactWriter, StoredArtifact,
};
pub use call_error::{CallError, ErrorCode, ErrorKind, RpcFailure};
pub use child_environment::{WithheldVariable, withheld_variables};
pub use connect::LocalImport;
pub use connect::{ClientProfile, ConnectOptions, Connector, ConnectorSettings, EraHint};
pub use connection::{CallContext, CallResult, CallerHandle, Connection, NoCaller, ToolCall};
pub use connector_context::vault_holder;
pub use declared_tool::static_discovery;
pub use guardian::{GuardianCommand, run_guardian};
pub use http::{JsonSender, encode_segment, fetch_text};
pub use openapi::{ApiDescription, SecurityKind, SecurityScheme};
pub use project_values::project_variables;
pub use remote_host::{
    HostManifest, HostManifestFacts, MANIFEST_VERSION, RemoteHost, TaggedManifest,
};
pub use setup_run::{SetupEvent, SetupPhase, SetupReport, StepReport, StepStatus};
pub use starting_servers::StartingServer;
