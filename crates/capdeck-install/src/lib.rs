//! What Capdeck writes into files that are not its own: agents' configuration, skills, rules, hooks, packages.
//!
//! Every write is planned first, so that it can be shown; atomic; recorded; and can be taken back without touching what
//! others wrote. Nothing here knows a host, a connection or a protocol.

mod atomic_file;
mod client;
mod connect;
mod edit;
mod frontmatter;
mod git;
mod import;
mod package;
mod project;
mod provider;
mod secrets;
mod source;

pub use atomic_file::{WriteError, replace_file};
pub use client::{Client, ClientServer, Folders, Launch, Scope, ServerFields};
pub use connect::{
    ConnectError, EntryChange, ForeignPolicy, Plan, Presence, Records, RecordsHold, Target,
    is_capdeck, plan_connect, plan_disconnect, plan_takeover, presence,
};
pub use edit::{Document, EditError, FileFormat, Splice, Step, SyntaxError, keys};
pub use git::{Git, GitError, RepoAddress, Revision, Snapshot};
pub use import::{ImportedSecret, ImportedServer, take_server};
pub use package::{
    FetchedSource, LockedPackage, LockedSource, Obstacle, Package, PackageAction, PackageChange,
    PackageDeck, PackageError, PackageKind, PackageLock, PackageSource, Removal, Risk, RiskChange,
    find_packages,
};
pub use project::{
    Action, ApplyError, Change, EditedPolicy, Endpoints, Fetch, FetchError, InstallPlan,
    InstallRequest, Installer, OpenError, PinUse, Problem,
};
pub use provider::{
    EntryTarget, HookAgent, HookFile, McpFile, Provider, RuleFiles, RuleHeader, SubagentFiles,
    SubagentForm,
};
pub use secrets::looks_secret;
