//! What flags, environment and folders mean together: plain values for the host and the commands.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use capdeck_auth::{EnvironmentSnapshot, KeySettings, Secret, Vault};
use capdeck_definition::{
    DeckProject, DeckRoot, Exposure, RootOwner, SourceFile, SourceFormat, SourceLayer, find_project,
};
use capdeck_host::{
    ApprovalStore, AuditMode, GuardianCommand, Host, HostSettings, RunStore, TrustStore,
    WorkerCommand,
};
use capdeck_install::{Migration, PackageDeck};
use capdeck_serve::{ProcessLifetime, SharedCapsuleService, SharedCapsulesSettings};
use capdeck_storage::{FileReaders, sha256_hex};

use crate::{
    args::GlobalArgs,
    env_vars::{BaseFolders, EnvVars},
    errors::CommandFailure,
};

/// The hidden subcommand that ends orphaned children.
pub(crate) const GUARDIAN: &str = "__guardian";

/// The hidden subcommand that runs code of code mode.
pub(crate) const SANDBOX_WORKER: &str = "__sandbox-worker";

/// Where a machine's CMP tools are installed for everyone.
const SHARED_CMP_TOOLS: &str = "/usr/local/share/cmp/tools";

/// Resolved settings. Nothing here is read from the environment again.
#[derive(Debug, Clone)]
pub(crate) struct CommandSettings {
    /// The user deck that `add` and `init` write to.
    pub(crate) config_dir: PathBuf,
    /// The person's decks, lowest precedence first.
    pub(crate) user_roots: Vec<DeckRoot>,
    /// True when a flag named the user deck, so that a missing folder is a mistake.
    pub(crate) config_is_named: bool,
    pub(crate) project: Option<DeckProject>,
    /// The folder a project was looked for from.
    pub(crate) start_dir: PathBuf,
    pub(crate) state_dir: PathBuf,
    pub(crate) cache_dir: PathBuf,
    /// Where capsules are kept.
    pub(crate) data_dir: PathBuf,
    capsule_schemes: Option<String>,
    capsule_audit: AuditMode,
    pub(crate) environment: EnvironmentSnapshot,
    pub(crate) vault: Vault,
    executable: Option<PathBuf>,
}

impl CommandSettings {
    /// Puts flags over environment over defaults.
    pub(crate) fn resolve(args: &GlobalArgs, env: &EnvVars) -> Result<Self, CommandFailure> {
        // Only the folders matter here; the rest of the flags made the printer and the log.
        let GlobalArgs { project, config, json: _, quiet: _, verbose: _, color: _ } = args;
        let base = env.base.as_ref();
        let here = env.current_dir.as_deref().ok_or_else(|| {
            CommandFailure::setup("NO_CURRENT_FOLDER", "the current folder no longer exists")
                .hint("change to another folder")
        })?;
        let place =
            |named: Option<&PathBuf>, variable: &str, choose: fn(&BaseFolders) -> &Path| match (
                named, base,
            ) {
                (Some(dir), _) => Ok(here.join(dir)),
                (None, Some(base)) => Ok(choose(base).join("capdeck")),
                (None, None) => {
                    Err(CommandFailure::setup("NO_HOME_FOLDER", "there is no home folder")
                        .hint(format!("set HOME, or {variable}")))
                }
            };
        let chosen = config.as_ref().or(env.config_dir.as_ref());
        let config_dir = place(chosen, "CAPDECK_CONFIG_DIR", |base| &base.config)?;
        let start_dir = match (project, &env.caplets_project_config) {
            (Some(dir), _) => existing_folder(&here.join(dir), "--project")?,
            (None, Some(file)) => project_of_config(&here.join(file)),
            (None, None) => here.to_owned(),
        };
        let state_dir = place(env.state_dir.as_ref(), "CAPDECK_STATE_DIR", |base| &base.state)?;
        Ok(Self {
            user_roots: user_roots(&config_dir, chosen.is_some(), &state_dir, env, here),
            config_is_named: config.is_some(),
            project: project_from(&start_dir, project.is_some(), env.home.as_deref()),
            vault: Vault::new(&state_dir, key_settings(env, here, &state_dir)),
            state_dir,
            cache_dir: place(env.cache_dir.as_ref(), "CAPDECK_CACHE_DIR", |base| &base.cache)?,
            data_dir: place(env.data_dir.as_ref(), "CAPDECK_DATA_DIR", |base| &base.data)?,
            capsule_schemes: env.capsule_schemes.clone(),
            capsule_audit: if env.strict_audit { AuditMode::Strict } else { AuditMode::Lenient },
            environment: env.snapshot.clone(),
            executable: env.executable.clone(),
            config_dir,
            start_dir,
        })
    }

    /// Opens the host for a deck that another host's is added to: without a starter deck, and with the other host's key in a
    /// variable that no file can name, because its name is made up here.
    pub(crate) fn open_host_with(
        &self,
        key: Option<&Secret>,
    ) -> Result<(Host, Option<String>), CommandFailure> {
        let mut settings = self.host_settings(ProcessLifetime::Lasting)?;
        settings.starter = Vec::new();
        let variable = key.map(|key| {
            let name = format!("CAPDECK_ATTACHED_{}", random_secret());
            let known = settings.environment.iter();
            let known = known.map(|(name, value)| (name.to_owned(), value.to_owned()));
            settings.environment = known.chain([(name.clone(), key.expose().to_owned())]).collect();
            name
        });
        Ok((Host::open(settings), variable))
    }

    /// Opens the host. Broken files never fail this; a deck that is no folder does.
    pub(crate) fn open_host(&self) -> Result<Host, CommandFailure> {
        Ok(Host::open(self.host_settings(ProcessLifetime::Passing)?))
    }

    /// The same for a command that runs until it is stopped.
    pub(crate) fn open_lasting_host(&self) -> Result<Host, CommandFailure> {
        Ok(Host::open(self.host_settings(ProcessLifetime::Lasting)?))
    }

    /// The way to the capsules for a short command. Needs no deck.
    pub(crate) fn capsules(&self) -> SharedCapsuleService {
        self.capsule_client(ProcessLifetime::Passing)
    }

    fn capsule_client(&self, lifetime: ProcessLifetime) -> SharedCapsuleService {
        SharedCapsuleService::new(SharedCapsulesSettings {
            folder: self.data_dir.clone(),
            schemes: self.capsule_schemes.clone(),
            audit: self.capsule_audit,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            standing: lifetime,
        })
    }

    fn check_folders(&self) -> Result<(), CommandFailure> {
        if self.config_is_named && !self.config_dir.exists() {
            let make = format!("make it with: capdeck init --config {}", self.config_dir.display());
            return Err(no_such_folder(&self.config_dir, "--config").hint(make));
        }
        let decks = self.user_roots.iter().filter(|root| root.owner == RootOwner::User);
        for root in decks {
            if root.dir.exists() && !root.dir.is_dir() {
                return Err(not_a_folder(&root.dir, "the user deck"));
            }
        }
        Ok(())
    }

    /// What people approved. Needs no deck.
    pub(crate) fn approvals(&self) -> ApprovalStore {
        ApprovalStore::new(&self.state_dir)
    }

    /// The recorded runs. Needs no deck.
    pub(crate) fn runs(&self) -> RunStore {
        RunStore::new(&self.state_dir)
    }

    /// How code is run without a host.
    pub(crate) fn sandbox_worker(&self) -> Result<WorkerCommand, CommandFailure> {
        self.worker().ok_or_else(|| {
            let message = "this program cannot find itself, so it cannot run code";
            CommandFailure::setup("NO_PROGRAM", message)
        })
    }

    /// Where a running host of the very same decks answers `capdeck sh`.
    pub(crate) fn shell_socket(&self) -> PathBuf {
        let real = |dir: &Path| dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        let project = self.project.iter().map(|project| project.dir.as_path());
        let decks = self.user_roots.iter().map(|root| root.dir.as_path());
        let places: Vec<String> = project
            .chain([Path::new("")])
            .chain(decks)
            .chain([self.cache_dir.as_path()])
            .map(|dir| real(dir).to_string_lossy().into_owned())
            .collect();
        let identity: String = sha256_hex(places.join("\0")).chars().take(24).collect();
        self.state_dir.join("sh").join(format!("{identity}.sock"))
    }

    /// Remembers that the project's files may act as they are, by their hash.
    pub(crate) fn trust(&self, project: &DeckProject, hash: &str) -> Result<(), CommandFailure> {
        TrustStore::new(&self.state_dir)
            .trust(&project.dir, hash)
            .map_err(|error| CommandFailure::file("remember the trust in", &self.state_dir, &error))
    }

    fn worker(&self) -> Option<WorkerCommand> {
        let program = self.executable.clone();
        program.map(|program| WorkerCommand { program, args: vec![SANDBOX_WORKER.into()] })
    }

    /// The project's folder; without a project the one it was looked for from.
    pub(crate) fn project_dir(&self) -> &Path {
        self.project.as_ref().map_or(&self.start_dir, |project| &project.dir)
    }

    /// The deck that new files go to, and who may read them there: the project's, or the person's own.
    pub(crate) fn target_deck(&self, is_project: bool) -> (PathBuf, FileReaders) {
        match is_project {
            true => (self.project_dir().join(".capdeck"), FileReaders::Unchanged),
            false => (self.config_dir.clone(), FileReaders::Owner),
        }
    }

    /// The same with another deck and another state folder, and nothing else in reach.
    pub(crate) fn beside(&self, config_dir: &Path, state_dir: &Path) -> Self {
        let deck = DeckRoot { dir: config_dir.to_owned(), owner: RootOwner::User };
        Self {
            config_dir: config_dir.to_owned(),
            user_roots: vec![deck],
            project: None,
            vault: self.vault.at(state_dir),
            state_dir: state_dir.to_owned(),
            cache_dir: state_dir.join("cache"),
            data_dir: state_dir.join("data"),
            ..self.clone()
        }
    }

    /// The decks that packages are installed in. A project may have one of Caplets beside its own.
    pub(crate) fn package_decks(&self, is_project: bool) -> Vec<PackageDeck> {
        let own = self.target_deck(is_project).0;
        let caplets = self.project_dir().join(".caplets");
        let caplets = Some(caplets).filter(|dir| is_project && dir.is_dir());
        std::iter::once(own).chain(caplets).map(|dir| PackageDeck::new(&dir)).collect()
    }

    fn host_settings(&self, lifetime: ProcessLifetime) -> Result<HostSettings, CommandFailure> {
        self.check_folders()?;
        let executable = self.executable.clone();
        Ok(HostSettings {
            user_roots: self.user_roots.clone(),
            project: self.project.clone(),
            starter: starter_deck(),
            state_dir: self.state_dir.clone(),
            cache_dir: self.cache_dir.clone(),
            environment: self.environment.clone(),
            vault: self.vault.clone(),
            guardian: executable
                .map(|program| GuardianCommand { program, args: vec![GUARDIAN.into()] }),
            sandbox: self.worker(),
            default_exposure: Exposure::CodeModeAndSearch,
            capsules: Some(Arc::new(self.capsule_client(lifetime))),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }
}

/// An unguessable word.
fn random_secret() -> String {
    let one = std::hash::RandomState::new();
    let other = std::hash::RandomState::new();
    let number = |state: &std::hash::RandomState| std::hash::BuildHasher::hash_one(state, 0_u8);
    format!("{:016X}{:016X}", number(&one), number(&other))
}

/// What the environment says about the key, and where Caplets keeps one.
fn key_settings(env: &EnvVars, here: &Path, state_dir: &Path) -> KeySettings {
    let states = env.base.iter().map(|base| base.state.as_path());
    let places = states.chain([state_dir]).map(|state| state.join("caplets/vault/vault-key"));
    KeySettings {
        key_file: env.key_file.as_ref().map(|file| here.join(file)),
        caplets_key: env.caplets_key.clone(),
        caplets_key_file: env.caplets_key_file.as_ref().map(|file| here.join(file)),
        caplets_places: places.collect(),
        keyring: None,
    }
}

/// A deck that was named is the only one; else an existing Caplets deck lies below Capdeck's own, until it is taken over.
fn user_roots(
    config_dir: &Path,
    is_chosen: bool,
    state_dir: &Path,
    env: &EnvVars,
    here: &Path,
) -> Vec<DeckRoot> {
    let root = |dir: PathBuf| DeckRoot { dir, owner: RootOwner::User };
    let caplets = match &env.caplets_config {
        Some(file) => here.join(file).parent().map(Path::to_owned),
        None => env.base.as_ref().map(|base| base.config.join("caplets")),
    };
    let mut roots = cmp_roots(env, here);
    let is_left = |dir: &PathBuf| dir.is_dir() && !is_migrated(state_dir, "caplets", dir);
    if !is_chosen && let Some(caplets) = caplets.filter(is_left) {
        roots.push(root(caplets));
    }
    roots.push(root(config_dir.to_owned()));
    roots
}

/// Whether a folder was taken over, so that reading it where it is would bring back what was removed since.
fn is_migrated(state_dir: &Path, name: &str, folder: &Path) -> bool {
    let record = Migration::look(state_dir, name).ok().and_then(|migration| migration.record());
    record.is_some_and(|record| record.sources.iter().any(|source| source == folder))
}

/// Where CMP tools live, the shared place first and what the variable names last. They are the person's, whatever deck was
/// named, as they are installed apart from any deck.
fn cmp_roots(env: &EnvVars, here: &Path) -> Vec<DeckRoot> {
    let own = env.home.as_ref().map(|home| home.join(".cmp/tools"));
    let places = [Some(PathBuf::from(SHARED_CMP_TOOLS)), own].into_iter().flatten();
    let mut roots: Vec<DeckRoot> =
        places.map(|dir| DeckRoot { dir, owner: RootOwner::CmpTools }).collect();
    let named = env.cmp_tool_path.iter();
    roots.extend(named.map(|dir| DeckRoot { dir: here.join(dir), owner: RootOwner::CmpTool }));
    roots
}

/// The project of a folder: one with a deck, else the one that was named, else the repository around it.
fn project_from(start: &Path, is_named: bool, home: Option<&Path>) -> Option<DeckProject> {
    let bare = |dir: &Path| {
        let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        DeckProject { dir, roots: Vec::new() }
    };
    find_project(start, home).or_else(|| {
        if is_named {
            return Some(bare(start));
        }
        let below_home = |dir: &&Path| home != Some(*dir);
        start.ancestors().take_while(below_home).find(|dir| dir.join(".git").exists()).map(bare)
    })
}

/// `CAPLETS_PROJECT_CONFIG` names `<project>/.caplets/config.json`.
fn project_of_config(file: &Path) -> PathBuf {
    let deck = file.parent().unwrap_or(file);
    deck.parent().unwrap_or(deck).to_owned()
}

fn existing_folder(dir: &Path, what: &str) -> Result<PathBuf, CommandFailure> {
    if dir.is_dir() {
        return Ok(dir.to_owned());
    }
    Err(if dir.exists() { not_a_folder(dir, what) } else { no_such_folder(dir, what) })
}

fn no_such_folder(dir: &Path, what: &str) -> CommandFailure {
    let message = format!("{what}: there is no folder `{}`", dir.display());
    CommandFailure::setup("NO_SUCH_FOLDER", message).hint("name a folder that is there")
}

fn not_a_folder(dir: &Path, what: &str) -> CommandFailure {
    let message = format!("{what}: this is not a folder: `{}`", dir.display());
    CommandFailure::setup("NOT_A_FOLDER", message).hint("move the file away, or name a folder")
}

/// The ids of the starter deck.
pub(crate) fn starter_ids() -> Vec<&'static str> {
    FILES.iter().map(|(id, _)| *id).collect()
}

/// The files of the starter deck, by capability id.
pub(crate) const FILES: [(&str, &str); 2] =
    [("authoring", include_str!("../starter/authoring.md")), ("machine", MACHINE)];

/// Facts about the machine; also what `init` writes as an example.
pub(crate) const MACHINE: &str = include_str!("../starter/machine.md");

pub(crate) fn starter_deck() -> Vec<SourceFile> {
    FILES
        .map(|(id, text)| SourceFile {
            path: format!("starter/{id}.md").into(),
            layer: SourceLayer::Starter,
            format: SourceFormat::Caplet { id: id.to_owned() },
            text: Ok(text.to_owned()),
        })
        .into()
}

#[cfg(test)]
mod tests {
    use capdeck_definition::Deck;

    use super::*;

    #[test]
    fn the_starter_deck_is_sound() {
        let deck = Deck::from_sources(starter_deck());
        assert_eq!(deck.diagnostics, []);
        assert_eq!(deck.definitions.len(), FILES.len());
    }
}
