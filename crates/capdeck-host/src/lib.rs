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

mod access_source;
mod approvals;
mod attach;
mod audience;
mod audit;
mod backend_times;
mod capsules;
mod card;
mod connections;
mod consent;
mod deck_snapshot;
mod discover;
mod discoveries;
mod discovery_cache;
mod durable;
mod eras;
mod event;
mod flow;
mod forwarded_capabilities;
mod gate;
mod grant_desk;
mod health;
mod host;
mod journal;
mod kept_json;
mod long_result;
mod meta_tools;
mod observed_shapes;
mod on_demand;
mod operations;
mod pins;
mod pool;
mod projection;
mod questions;
mod raw;
mod redact;
mod report;
mod request_context;
mod required_scopes;
mod seal_key;
mod session;
mod set_tools;
mod settings;
mod setup_run;
mod setup_state;
mod sign_in;
mod spans;
mod trust;
mod usage;
mod view;
mod watch;

// Re-exports for the crates that serve the host.
pub use capdeck_access::{
    Access, CapsuleAccess, CapsuleGrant, EntryScope, GrantTools, Principal, Role,
};
pub use capdeck_backend::{
    Artifact, ArtifactReader, Begun, CallContext, CallError, Caller, ClientProfile, DeviceLogin,
    ErrorCode, ErrorKind, GuardianCommand, JsonSender, Listener, LocalImport, Login, LoginWay,
    MANIFEST_VERSION, Manifest, ManifestFacts, NoCaller, NoListener, RemoteHost, Revocation,
    RpcFailure, SetupEvent, SetupPhase, SetupReport, SignIn, SignInState, SignInStatus, SignedOut,
    StepReport, StepStatus, StoredArtifact, Swept, fetch_text, project_variables, run_guardian,
    vault_holder,
};
pub use capdeck_capsule::{
    AccessEvent, AnchorState, AuditLine, AuditMode, AuditOutcome, AuditProblem, Author,
    BlobCollection, CapsuleErrorCode, CapsuleInfo, CapsuleUpdate, Change, ChangeKind, Conflict,
    DeletedEntry, Existing, Format, ImportMode, ImportOutcome, ImportReport, ImportedFile,
    Indexing, Mode, NameScope, Origin, PatchStep, PromotionReason, RiskClass, Scheme, SchemeCount,
    SchemeError, Share, ShareExpiry, Signal, SkippedFile, StoreOptions, Visibility, WriteOutcome,
    probe_folder, service::*,
};
pub use capdeck_catalog::{Capability, Catalog, RawObject, estimate_tokens, sha256_hex};
pub use capdeck_definition::{
    BackendKind, CapabilityId, Exposure, PinMode, RemoteCapability, Source,
};
pub use capdeck_sandbox::{
    DeckOperation, Diagnostic, Envelope, RunError, RunReport, SessionChoice, SessionId, Severity,
    TypeCheck, WorkerCommand, run_worker,
};

pub use access_source::{AccessSource, SharedAccess};
pub use approvals::{Approval, ApprovalError, ApprovalState, ApprovalStore, Hold};
pub use attach::Attachment;
pub use audit::{TrailCounts, TrailFilter, TrailLine, TrailOutcome};
pub use calls::{CallForm, ToolRequest};
pub use capsules::{
    CapsuleTool, EntryHit, EntryNaming, EntryOffer, EntryPage, EntryPlace, Mount, ToolCaller,
    client_changes,
};
pub use card::card;
pub use check::CheckReport;
pub use code_mode::CodeRequest;
pub use consent::Consent;
pub use deck_snapshot::DeckSnapshot;
pub use event::HostEvent;
pub use flow::FlowGuard;
pub use grant_desk::{AccessRequest, GrantDesk, NarrowedGrant, WantedGrant};
pub use health::{Health, LastFailure};
pub use host::Host;
pub use journal::{
    RecordedCall, RecordedOutcome, RecordedScope, Rehearsal, RehearsalError, ReplayReport, RunEnd,
    RunListing, RunRecord, RunState, RunStore, RunStoreError, TestCall, TestCell, TestExpectation,
    TestFile, TestReport,
};
pub use pins::PinReview;
pub use report::{
    Account, BudgetItem, ItemStatus, ListItem, PinItem, artifact_created, artifact_item,
    budget_items, capabilities_of_file, described_tool, found_tool, inspection, known_capability,
    list_items, pin_changes, pin_items, tool_item, tools_with_hidden_text,
};
pub use request_context::RequestContext;
pub use required_scopes::capsule_scope;
pub use search::{SearchAnswer, ToolQuery};
pub use session::{Continuity, Scope, Session, SessionSettings};
pub use settings::HostSettings;
pub use setup_state::SetupState;
pub use shell::{ShellCommand, ShellGroup, ShellPlace, ShellTool};
pub use sign_in::sign_in;
pub use spans::{Span, SpanKind, SpanSink, TraceParent};
pub use tasks::{TaskForm, is_task_request};
pub use trust::TrustStore;
pub use usage::Relevance;
pub use view::{META_TOOLS, PromptRoute, Route, View, ViewPolicy, direct_tokens};
pub use watch::WatchError;
