//! What Capdeck writes into files that are not its own: agents' configuration, skills, rules, hooks, packages.
//!
//! The main types are [`ProjectInstaller`] (the content of a capability file in the files of agents), [`ClientEntryPlan`]
//! (Capdeck's entry in an agent's configuration) and [`CapabilityPackage`] (a capability from another place). Start with
//! `project.rs`, or with `connect.rs` for the smallest complete plan.
//!
//! Every write is planned first, so that it can be shown; it is atomic and recorded, and can be undone without changing
//! what others wrote. Nothing here knows a host, a connection or a protocol.

mod atomic_file;
mod capa;
mod caplets_store;
mod client;
mod connect;
mod database_copy;
mod deck_edit;
mod edit;
mod frontmatter;
mod git;
mod import;
mod migration;
mod package;
mod project;
mod provider;
mod secrets;
mod source;

pub use atomic_file::{OverwritePolicy, WriteError, replace_file};
pub use capa::{CapaDatabaseError, CapaEdit, CapaVariables};
pub use caplets_store::{
    CapletsStore, CapletsStoreError, StoredCaplet, StoredCapletFile, StoredCapletOrigin,
    StoredVaultGrant, StoredVaultValue,
};
pub use client::{
    AgentClient, ClientFolders, ClientScope, ClientServerEntry, LaunchTarget, ServerFields,
};
pub use connect::{
    ClientEntryChange, ClientEntryPlan, ClientEntryRecords, ClientEntryTarget, ConnectError,
    EntryPresence, connected_entry, is_capdeck, plan_connect, plan_disconnect, presence,
    starts_program,
};
pub use deck_edit::{
    DeckEditError, DefinitionOwner, DefinitionPlace, RemovedDefinitions, UndoneRemoval,
};
pub use edit::{
    ConfigDocument, DocumentStep, EditError, FileFormat, SyntaxError, TextSplice, keys,
};
pub use git::{CommitSnapshot, GitClient, GitError, GitRevision, RepoAddress};
pub use import::{
    ClientInputs, ImportedSecret, ImportedServer, MissingSecret, ServerBlock, ServerBlocks,
    ServerBlocksError, import_server,
};
pub use migration::{
    MigratedFile, MigratedPart, Migration, MigrationError, MigrationPlan, MigrationRecord,
    real_place,
};
pub use package::{
    CapabilityPackage, FetchedSource, LockedPackage, LockedSource, PackageAction, PackageChange,
    PackageDeck, PackageError, PackageKind, PackageLock, PackageObstacle, PackageRemoval,
    PackageRisk, PackageSource, RiskChange, find_packages,
};
pub use project::{
    AgentEndpoints, CAPA_PROBLEM, FetchError, FileAction, FileChange, InstallPlan, InstallProblem,
    InstallRequest, OpenError, PinUse, ProjectInstaller,
};
pub use provider::{
    AgentProvider, HookAgent, HookFile, McpFile, RuleFiles, RuleHeader, SubagentFiles, SubagentForm,
};
pub use secrets::looks_secret;
