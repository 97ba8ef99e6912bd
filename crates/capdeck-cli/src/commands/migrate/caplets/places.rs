//! Where Caplets keeps its files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::commands::migrate::system::{MigrationScene, SetupItem, SetupItemKind};

/// The places of one person.
#[derive(Debug)]
pub(super) struct CapletsPlaces {
    pub(super) config_file: PathBuf,
    /// The folder of the deck.
    pub(super) deck: PathBuf,
    /// The folder with the vault and the sign-ins of older versions.
    pub(super) state: PathBuf,
    /// None where the database is elsewhere.
    pub(super) database: Option<PathBuf>,
    /// Why there is no database that could be read.
    pub(super) no_database: Option<String>,
}

impl CapletsPlaces {
    /// None without a home folder.
    pub(super) fn find(scene: &MigrationScene<'_>) -> Option<Self> {
        let env = &scene.context.env;
        let base = env.base.as_ref()?;
        let here = env.current_dir.clone().unwrap_or_default();
        let config_file = match &env.caplets_config {
            Some(file) => here.join(file),
            None => base.config.join("caplets/config.json"),
        };
        let storage = fs::read(&config_file).ok();
        let storage: Value =
            storage.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        let storage = storage.get("storage").cloned().unwrap_or_default();
        let is_remote = storage.get("type").is_some_and(|kind| kind == "postgres");
        let named = storage.get("path").and_then(Value::as_str);
        let deck = config_file.parent().map(Path::to_owned).unwrap_or_default();
        let usual = || base.state.join("caplets.sqlite3");
        let database = named.map_or_else(usual, |path| deck.join(path));
        let reason = "it is a PostgreSQL server; export its records with: caplets storage records";
        Some(Self {
            state: base.state.join("caplets"),
            database: (!is_remote).then_some(database),
            no_database: is_remote.then(|| reason.to_owned()),
            config_file,
            deck,
        })
    }

    /// What of it is there.
    pub(super) fn existing(&self) -> Vec<PathBuf> {
        let secrets = ["vault", "auth"].map(|name| self.state.join(name));
        let deck = Some(self.deck.clone()).filter(|dir| has_entries(dir));
        let database = self.database.clone().filter(|file| file.is_file());
        let secrets = secrets.into_iter().filter(|dir| has_entries(dir));
        deck.into_iter().chain(database).chain(secrets).collect()
    }

    /// What the project has, which is read where it is.
    pub(super) fn project_items(&self, scene: &MigrationScene<'_>) -> Vec<SetupItem> {
        let project = scene.settings.project_dir();
        let found = [
            (".caplets", "it is read where it is, once you trust the project: capdeck trust"),
            (".caplets.lock.json", "its packages are updated with: capdeck update --project-deck"),
        ];
        let present = found.into_iter().filter(|(name, _)| project.join(name).exists());
        let item = |(name, note): (&str, &str)| {
            let name = project.join(name).display().to_string();
            SetupItem::in_place(SetupItemKind::Project, name, note)
        };
        present.map(item).collect()
    }

    /// Whether its daemon starts with the session.
    pub(super) fn has_daemon(&self, scene: &MigrationScene<'_>) -> bool {
        let env = &scene.context.env;
        let units = [
            env.base
                .as_ref()
                .map(|base| base.config.join("systemd/user/caplets-daemon-default.service")),
            env.home
                .as_ref()
                .map(|home| home.join("Library/LaunchAgents/dev.caplets.daemon.default.plist")),
        ];
        units.into_iter().flatten().any(|unit| unit.exists())
    }
}

fn has_entries(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}
