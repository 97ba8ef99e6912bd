//! Folders of one test: a home, a deck and a project of its own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use tempfile::TempDir;

/// Temporary home, config, state, cache, data and project folders; removed when dropped.
#[derive(Debug)]
pub struct TestDirs {
    root: TempDir,
}

impl Default for TestDirs {
    fn default() -> Self {
        Self::new()
    }
}

impl TestDirs {
    /// Creates all folders, empty.
    pub fn new() -> Self {
        let root = tempfile::Builder::new().prefix("capdeck-test-").tempdir().unwrap();
        let dirs = Self { root };
        for folder in ["home", "config", "state", "cache", "data", "project"] {
            fs::create_dir(dirs.root.path().join(folder)).unwrap();
        }
        dirs
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// `CAPDECK_CONFIG_DIR`: the user deck.
    pub fn config(&self) -> PathBuf {
        self.root.path().join("config")
    }

    /// `CAPDECK_STATE_DIR`.
    pub fn state(&self) -> PathBuf {
        self.root.path().join("state")
    }

    /// `CAPDECK_CACHE_DIR`.
    pub fn cache(&self) -> PathBuf {
        self.root.path().join("cache")
    }

    /// `CAPDECK_DATA_DIR`.
    pub fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    /// The working folder of commands; has no deck until a test writes one.
    pub fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    /// Writes a file below the root, with the folders it needs, and gives its path.
    pub fn write(&self, relative: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.path().join(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes the user deck's `config.json`.
    pub fn write_config(&self, config: &Value) -> PathBuf {
        self.write("config/config.json", serde_json::to_string_pretty(config).unwrap())
    }

    /// Clears the command's environment and points every folder variable in here.
    ///
    /// Only `PATH` survives, because programs a deck names are looked up there.
    pub fn isolate<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        #[expect(clippy::disallowed_methods, reason = "a child without PATH finds no program")]
        let path = std::env::var_os("PATH").unwrap_or_default();
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.home())
            .env("XDG_CONFIG_HOME", self.home().join(".config"))
            .env("XDG_STATE_HOME", self.home().join(".local/state"))
            .env("XDG_CACHE_HOME", self.home().join(".cache"))
            .env("XDG_DATA_HOME", self.home().join(".local/share"))
            .env("CAPDECK_CONFIG_DIR", self.config())
            .env("CAPDECK_STATE_DIR", self.state())
            .env("CAPDECK_CACHE_DIR", self.cache())
            .env("CAPDECK_DATA_DIR", self.data())
            .env("NO_COLOR", "1")
            .env("LANG", "C.UTF-8")
            .current_dir(self.project())
    }
}
