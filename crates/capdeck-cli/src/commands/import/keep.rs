//! Writes a server that was taken over into a deck, and its secrets into the vault.

use std::path::{Path, PathBuf};

use capdeck_auth::{Grant, Secret};
use capdeck_definition::{Definition, Format, Layer, Severity, SourceFile};
use capdeck_host::vault_holder;
use capdeck_install::Taken;

use crate::{
    caplet_document::{BackendBlock, Document, Words},
    errors::Failure,
    new_file::{Existing, Readers, write_new},
    settings::Settings,
};

/// The deck that servers are written into.
pub(super) struct Deck<'a> {
    settings: &'a Settings,
    folder: PathBuf,
    layer: Layer,
    readers: Readers,
    force: bool,
    dry_run: bool,
}

/// What became of one server.
pub(super) enum Outcome {
    Kept {
        id: String,
        path: PathBuf,
        secrets: Vec<String>,
        ignored: Vec<String>,
    },
    /// A capability of that id is there already.
    Exists {
        path: PathBuf,
    },
    Refused {
        reason: String,
    },
}

impl Outcome {
    /// Whether the deck has it now, so that the agent need not.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self, Self::Kept { .. })
    }
}

impl<'a> Deck<'a> {
    pub(super) fn new(
        settings: &'a Settings,
        is_project: bool,
        force: bool,
        dry_run: bool,
    ) -> Self {
        let (folder, layer, readers) = if is_project {
            (settings.project_deck_dir(), Layer::ProjectFile, Readers::Everyone)
        } else {
            (settings.config_dir.clone(), Layer::UserFile, Readers::Owner)
        };
        Self { settings, folder, layer, readers, force, dry_run }
    }

    /// Checks and writes one server. The secrets come first: without them the file is of no use, and with --replace they
    /// would be nowhere else.
    pub(super) fn keep(&self, taken: &Taken) -> Outcome {
        let path = self.folder.join(format!("{}.md", taken.id));
        let twin = self.folder.join(&taken.id).join("CAPLET.md");
        if let Some(path) = [&path, &twin].into_iter().find(|path| path.exists())
            && !self.force
        {
            return Outcome::Exists { path: path.clone() };
        }
        match self.write(taken, &path) {
            Ok(secrets) => {
                let ignored = taken.ignored.clone();
                Outcome::Kept { id: taken.id.clone(), path, secrets, ignored }
            }
            Err(failure) => Outcome::Refused { reason: failure.message },
        }
    }

    fn write(&self, taken: &Taken, path: &Path) -> Result<Vec<String>, Failure> {
        let words = Words { id: &taken.id, name: Some(&taken.name), description: None, tags: &[] };
        let block = BackendBlock {
            key: "mcpServer",
            fields: taken.fields.clone(),
            summary: taken.summary.clone(),
        };
        let text = Document::new(&words, block).render()?;
        let definition = self.check(&text, &taken.id, path)?;
        let names: Vec<String> = taken.secrets.iter().map(|secret| secret.name.clone()).collect();
        let vault = &self.settings.vault;
        for secret in &taken.secrets {
            let is_other =
                vault.value(&secret.name).is_ok_and(|kept| kept.expose() != secret.value);
            if is_other && !self.force {
                return Err(Failure::request(
                    "VAULT_ENTRY_TAKEN",
                    format!("the vault has another value for `{}`", secret.name),
                ));
            }
        }
        if self.dry_run {
            return Ok(names);
        }
        for secret in &taken.secrets {
            vault.set(&secret.name, &Secret::new(secret.value.clone()))?;
        }
        let existing = if self.force { Existing::Replace } else { Existing::Keep };
        write_new(path, &text, existing, self.readers)?;
        for name in &names {
            let holder = vault_holder(&definition);
            vault.grant(Grant { holder, reference: name.clone(), entry: name.clone() })?;
        }
        Ok(names)
    }

    /// Reads the new file as the host would.
    fn check(&self, text: &str, id: &str, path: &Path) -> Result<Definition, Failure> {
        let source = SourceFile {
            path: path.to_owned(),
            layer: self.layer,
            format: Format::Caplet { id: id.to_owned() },
            text: Ok(text.to_owned()),
        };
        let deck = capdeck_definition::Deck::from_sources(vec![source]);
        let errors = deck.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        let errors: Vec<&str> = errors.map(|found| found.message.as_str()).collect();
        match deck.definitions.first() {
            Some(definition) if errors.is_empty() => Ok(Definition::clone(definition)),
            _ => Err(Failure::request("INVALID_SERVER", errors.join("; "))),
        }
    }
}
