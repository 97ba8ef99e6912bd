//! The host: files, catalog, connections and clients put together.
//!
//! Read [`Host`] first, then [`Session`] (lives as long as a client) and [`RequestContext`] (one
//! request, with the deck as it was when the request began). Every request is answered by one of
//! the services below; every tool call, from MCP, the command line, a script or a nested set, is
//! one call of [`calls::call`]: resolve, check the arguments, gate, backend, audit.
//!
//! This crate never knows MCP server types, HTTP statuses, terminals or argument parsers.

// The services. Each answers one kind of request, given its `RequestContext`.
pub mod artifacts;
pub mod calls;
pub mod check;
pub mod code_mode;
pub mod forward;
pub mod listing;
pub mod prompts;
pub mod resources;
pub mod search;
pub mod shell;
pub mod skills;
pub mod subscriptions;
pub mod tasks;
pub mod transparent;

mod access_response;
mod access_source;
mod approvals;
mod attach;
mod audience;
mod audit;
mod capsules;
mod client_questions;
mod consent;
mod deck_snapshot;
mod discover;
mod discovery_table;
mod durable;
mod flow;
mod forwarded_capabilities;
mod gate;
mod health;
mod host;
mod journal;
mod known_agent;
mod linked_files;
mod local_artifacts;
mod long_result;
mod meta_tools;
mod observed_shapes;
mod on_demand;
mod operations;
mod optional_argument;
mod page;
mod partial_json;
mod pins;
mod pool;
mod process_turns;
mod projection;
mod queue_worker;
mod raw;
mod redact;
mod report;
mod request_context;
mod server_eras;
mod session;
mod session_connections;
mod setup;
mod spans;
mod start_wait;
mod trust;
mod usage;
mod view;
mod watch;

// Re-exports for the crates that serve the host.
pub use capdeck_access::{
    Access, CapsuleAccess, CapsuleGrant, EntryScope, GrantTools, Principal, Role,
};
pub use capdeck_backend::{
    ApiDescription, Artifact, ArtifactReader, ArtifactSweepReport, BrowserLogin, CallContext,
    CallError, CallerHandle, ClientProfile, DeviceLogin, ErrorCode, ErrorKind, GuardianCommand,
    HostManifest, HostManifestFacts, JsonSender, LocalImport, LoginMethod, LoginStart,
    MANIFEST_VERSION, NoCaller, RemoteHost, RevocationOutcome, RpcFailure, SecurityKind,
    SecurityScheme, SetupEvent, SetupPhase, SetupReport, SignIn, SignInState, SignInStatus,
    SignOutReport, StartingServer, StepReport, StepStatus, StoredArtifact, WithheldVariable,
    fetch_text, project_variables, run_guardian, vault_holder, withheld_variables,
};
pub use capdeck_capsule::{
    AccessEvent, AnchorState, AuditFollower, AuditLogLine, AuditMode, AuditOutcome, AuditProblem,
    BlobCollection, BodyFormat, CapsuleAuthor, CapsuleErrorCode, CapsuleInfo, CapsuleUpdate,
    CapsuleVisibility, ChangeEvent, ChangeKind, DeletedEntry, ExistingEntryMode, ImportMode,
    ImportOutcome, ImportReport, ImportedFile, IndexTiming, NameScope, PatchStep, PromotionReason,
    RiskClass, Scheme, SchemeCount, SchemeError, SchemeOrigin, Share, ShareExpiry, Signal,
    SkippedFile, StoreMode, StoreOptions, WriteConflict, WriteOutcome, probe_folder, service::*,
};
pub use capdeck_catalog::{Capability, Catalog, RawMembers, estimate_tokens};
pub use capdeck_definition::{
    BackendKind, CapabilityId, DefinitionSource, Exposure, PinMode, RemoteCapability, ServeAuthMode,
};
pub use capdeck_sandbox::{
    CodeDiagnostic, CodeSeverity, DeckOperation, RunEnvelope, RunError, RunReport, SessionChoice,
    SessionId, TypeCheck, WorkerCommand, run_worker,
};

pub use access_response::{
    AccessOutcome, AccessResponse, AccessTarget, ConnectionStatus, GrantConnection, GrantedTerms,
    PendingGrantRequest,
};
pub use access_source::{
    AccessRequest, AccessSource, GrantOverrides, GrantService, RequestedGrant, SharedAccess,
};
pub use approvals::{Approval, ApprovalDuration, ApprovalError, ApprovalState, ApprovalStore};
pub use attach::HostAttachment;
pub use audit::{
    CallAuditProblem, CallTrail, TrailCounts, TrailFilter, TrailFollower, TrailLine, TrailOutcome,
};
pub use calls::{CallForm, ToolRequest};
pub use capsules::{
    CapsuleMount, CapsuleTool, CapsuleToolContext, ClientEntries, EntryAddress, EntryCatalog,
    EntryHit, EntryNaming, EntryPage, client_changes, unknown_cursor,
};
pub use check::CheckReport;
pub use code_mode::CodeRequest;
pub use consent::{CallConsent, is_asked_about};
pub use deck_snapshot::DeckSnapshot;
pub use discover::MissingList;
pub use durable::seal_key;
pub use flow::FlowGuard;
pub use gate::{UNKNOWN_ID_HINT, capsule_scope, sign_in};
pub use health::{HealthStatus, LastFailure};
pub use host::{Host, HostEvent, HostSettings};
pub use journal::{
    RecordedCall, RecordedOutcome, RecordedScope, ReplayError, ReplayReport, RunEnd, RunListing,
    RunRecord, RunReplayer, RunState, RunStore, RunStoreError, TestCall, TestCell, TestExpectation,
    TestFile,
};
pub use observed_shapes::observed_shape;
pub use pins::{PinReview, approve_tools, offered_tools};
pub use report::{
    BudgetItem, CapabilityReport, DeckSize, ItemStatus, ListItem, PinItem, Visibility,
    artifact_created, artifact_item, budget_items, capabilities_of_file, card, described_tool,
    found_tool, inspection, known_capability, list_items, pin_changes, pin_items, tool_item,
    tools_with_hidden_text,
};
pub use request_context::RequestContext;
pub use search::{DeckSearchResults, ToolQuery};
pub use session::{Session, SessionContinuity, SessionScope, SessionSettings};
pub use setup::SetupState;
pub use shell::{ShellCommand, ShellGroup, ShellTarget, ShellTool};
pub use spans::{SpanKind, SpanSink, TraceParent, TraceSpan};
pub use start_wait::AGENT_START_WAIT;
pub use tasks::{TaskForm, is_task_request};
pub use trust::TrustStore;
pub use usage::CapabilityRelevance;
pub use view::{META_TOOLS, ToolRoute, View, ViewPolicy, direct_tokens};
pub use watch::{WatchError, watch_files};
