//! The deck that imported servers are written into.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use capdeck_auth::{Secret, VaultGrant};
use capdeck_definition::{Definition, DiagnosticSeverity, SourceLayer};
use capdeck_host::vault_holder;
use capdeck_install::{ImportedServer, MissingSecret, OverwritePolicy};
use capdeck_storage::FileReaders;
use serde::Serialize;
use serde_json::Value;

use crate::{
    commands::add::read_caplet,
    errors::CommandFailure,
    new_file::{BackendBlock, caplet_text, write_new},
    settings::CommandSettings,
};

/// The deck that servers are written into.
pub(super) struct TargetDeck<'a> {
    settings: &'a CommandSettings,
    folder: PathBuf,
    layer: SourceLayer,
    readers: FileReaders,
    force: bool,
    dry_run: bool,
    /// What this run has imported, by id: another block may have a server of the same name.
    imported: HashMap<String, (Value, PathBuf)>,
}

/// What became of one server.
#[derive(Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub(super) enum ServerImport {
    #[serde(rename = "taken")]
    Kept {
        id: String,
        path: PathBuf,
        secrets: Vec<String>,
        /// Entries of the vault that still need a value.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        missing: Vec<String>,
        ignored: Vec<String>,
        /// Limits and choices that came along, in words.
        #[serde(skip)]
        carried: Vec<String>,
        /// What the agent's file says about the missing values.
        #[serde(skip)]
        wanted: Vec<MissingSecret>,
    },
    /// A capability of that id is there already.
    Exists {
        path: PathBuf,
    },
    Refused {
        reason: String,
    },
}

impl<'a> TargetDeck<'a> {
    pub(super) fn new(
        settings: &'a CommandSettings,
        is_project: bool,
        force: bool,
        dry_run: bool,
    ) -> Self {
        let (folder, readers) = settings.target_deck(is_project);
        let layer = if is_project { SourceLayer::ProjectFile } else { SourceLayer::UserFile };
        Self { settings, folder, layer, readers, force, dry_run, imported: HashMap::new() }
    }

    /// Checks and writes one server. The secrets come first: without them the file is of no use, and with --replace they
    /// would be nowhere else. `owner`: what distinguishes another server of the same name.
    pub(super) fn keep(&mut self, mut server: ImportedServer, owner: &str) -> ServerImport {
        if let Some((fields, path)) = self.imported.get(&server.id) {
            if *fields == server.fields {
                return ServerImport::Exists { path: path.clone() };
            }
            server = self.renamed(server, owner);
        }
        let path = self.folder.join(format!("{}.md", server.id));
        let twin = self.folder.join(&server.id).join("CAPLET.md");
        if let Some(path) = [&path, &twin].into_iter().find(|path| path.exists())
            && !self.force
        {
            return ServerImport::Exists { path: path.clone() };
        }
        match self.write(&server, &path) {
            Ok(missing) => {
                self.imported.insert(server.id.clone(), (server.fields.clone(), path.clone()));
                let carried = carried(&server.fields);
                let secrets = server.secrets.iter().map(|secret| secret.name.clone()).collect();
                ServerImport::Kept {
                    id: server.id,
                    path,
                    secrets,
                    missing: missing.iter().map(|secret| secret.name.clone()).collect(),
                    ignored: server.ignored,
                    carried,
                    wanted: missing,
                }
            }
            Err(failure) => ServerImport::Refused { reason: failure.message },
        }
    }

    /// Another server of the same name gets an id of its own.
    fn renamed(&self, server: ImportedServer, owner: &str) -> ImportedServer {
        let named = format!("{}-{owner}", server.id);
        let numbered = (2..).map(|count| format!("{}-{count}", server.id));
        let is_free = |id: &String| id.len() <= 64 && !self.imported.contains_key(id);
        let id = std::iter::once(named).filter(|_| !owner.is_empty()).chain(numbered).find(is_free);
        server.with_id(id.unwrap_or_default())
    }

    /// Writes one server. Returns what the vault still needs.
    fn write(
        &self,
        server: &ImportedServer,
        path: &Path,
    ) -> Result<Vec<MissingSecret>, CommandFailure> {
        let (fields, summary) = (server.fields.clone(), server.summary.clone());
        let block = BackendBlock { key: "mcpServer", fields, summary };
        let text = caplet_text(&server.id, Some(&server.name), None, &[], block)?;
        let definition = self.check(&text, &server.id, path)?;
        let vault = &self.settings.vault;
        let taken = |name: &str| {
            let message = format!("the vault has another value for `{name}`");
            CommandFailure::request("VAULT_ENTRY_TAKEN", message)
        };
        for secret in &server.secrets {
            let is_other =
                vault.value(&secret.name).is_ok_and(|kept| kept.expose() != secret.value);
            if is_other && !self.force {
                return Err(taken(&secret.name));
            }
        }
        // A text from elsewhere must not choose which of the person's secrets a program gets.
        let mut missing = server.missing.clone();
        if let Some(known) = missing.iter().find(|one| vault.facts(&one.name).is_ok())
            && !self.force
        {
            return Err(taken(&known.name));
        }
        missing.retain(|secret| vault.facts(&secret.name).is_err());
        if self.dry_run {
            return Ok(missing);
        }
        for secret in &server.secrets {
            vault.set(&secret.name, &Secret::new(secret.value.clone()))?;
        }
        write_new(path, &text, OverwritePolicy::from_force(self.force), self.readers)?;
        let asked = server.missing.iter().map(|secret| &secret.name);
        for name in server.secrets.iter().map(|secret| &secret.name).chain(asked) {
            let holder = vault_holder(&definition);
            vault.grant(VaultGrant { holder, reference: name.clone(), entry: name.clone() })?;
        }
        Ok(missing)
    }

    /// Reads the new file as the host would.
    fn check(&self, text: &str, id: &str, path: &Path) -> Result<Definition, CommandFailure> {
        let deck = read_caplet(text, id, path, self.layer);
        let errors =
            deck.diagnostics.iter().filter(|found| found.severity == DiagnosticSeverity::Error);
        let errors: Vec<&str> = errors.map(|found| found.message.as_str()).collect();
        match deck.definitions.first() {
            Some(definition) if errors.is_empty() => Ok(Definition::clone(definition)),
            _ => Err(CommandFailure::request("INVALID_SERVER", errors.join("; "))),
        }
    }
}

/// The limits and the choice of tools in the fields of a server, in words.
fn carried(fields: &Value) -> Vec<String> {
    let seconds = |key: &str| fields.get(key).and_then(Value::as_f64).map(|time| time / 1000.0);
    let names = |key: &str| {
        let names = fields.pointer(&format!("/tools/{key}"))?.as_array()?.iter();
        Some(names.filter_map(Value::as_str).collect::<Vec<_>>().join(", "))
    };
    let lines = [
        seconds("startupTimeoutMs").map(|time| format!("startup timeout: {time} s")),
        seconds("callTimeoutMs").map(|time| format!("call timeout: {time} s")),
        names("exactly").map(|names| format!("only these tools: {names}")),
        names("except").map(|names| format!("without these tools: {names}")),
        (fields["disabled"] == true).then(|| "disabled, as it is in the agent".to_owned()),
    ];
    lines.into_iter().flatten().collect()
}
