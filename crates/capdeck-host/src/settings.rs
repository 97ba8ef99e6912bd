//! The settings of a host. Everything that depends on the machine arrives here as a value.

use std::{path::PathBuf, sync::Arc};

use capdeck_auth::{EnvironmentSnapshot, Vault};
use capdeck_backend::GuardianCommand;
use capdeck_definition::{DeckProject, DeckRoot, Exposure, SourceFile};
use capdeck_sandbox::WorkerCommand;

use crate::CapsuleService;

/// The resolved settings of one host.
#[derive(Debug, Clone)]
pub struct HostSettings {
    /// The person's own decks, lowest precedence first.
    pub user_roots: Vec<DeckRoot>,
    pub project: Option<DeckProject>,
    /// The deck used when the roots declare nothing.
    pub starter: Vec<SourceFile>,
    pub state_dir: PathBuf,
    pub cache_dir: PathBuf,
    /// The variables that `${NAME}` is resolved from, at connect time.
    pub environment: EnvironmentSnapshot,
    /// The secrets that `$vault:NAME` is resolved from, and the sign-ins.
    pub vault: Vault,
    /// Starts the process that ends orphaned children when the host is killed.
    pub guardian: Option<GuardianCommand>,
    /// Starts the workers of code mode. Without it, runs fail.
    pub sandbox: Option<WorkerCommand>,
    /// The exposure when neither the capability nor the deck sets one.
    pub default_exposure: Exposure,
    /// The capsules of this machine, opened on first use.
    pub capsules: Option<Arc<dyn CapsuleService>>,
    /// The version reported to servers and clients.
    pub version: String,
}
