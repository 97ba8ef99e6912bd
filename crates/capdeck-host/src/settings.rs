//! What a host is opened with. Everything that depends on the machine arrives here as a value.

use std::{path::PathBuf, sync::Arc};

use capdeck_auth::{Environment, Vault};
use capdeck_backend::GuardianCommand;
use capdeck_definition::{Exposure, Project, Root, SourceFile};
use capdeck_sandbox::WorkerCommand;

use crate::CapsuleService;

/// The resolved settings of one host.
#[derive(Debug, Clone)]
pub struct HostSettings {
    /// The person's own decks, lowest precedence first.
    pub user_roots: Vec<Root>,
    /// The project the host works in, if any.
    pub project: Option<Project>,
    /// The deck used when the roots declare nothing at all.
    pub starter: Vec<SourceFile>,
    pub state_dir: PathBuf,
    pub cache_dir: PathBuf,
    /// The variables that `${NAME}` is resolved from, at connect time.
    pub environment: Environment,
    /// The secrets that `$vault:NAME` is resolved from, and where sign-ins are kept.
    pub vault: Vault,
    /// How to start the process that ends orphaned children when the host is killed.
    pub guardian: Option<GuardianCommand>,
    /// How to start the processes that code mode runs in. Without it, runs are answered with an error.
    pub sandbox: Option<WorkerCommand>,
    /// How capabilities are offered when neither they nor the deck say so.
    pub default_exposure: Exposure,
    /// The way to the capsules of this machine, opened on first use.
    pub capsules: Option<Arc<dyn CapsuleService>>,
    /// The version told to downstream servers and clients.
    pub version: String,
}
