//! Grants: which definition may read which vault entry.

use std::path::Path;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::error::{VaultError, VaultResult, check_name, suggestion};
use crate::sealed_folder::SealedFolder;

pub(super) const GRANTS: &str = "grants";

/// A reader of vault entries: a name and its definition's file. The same name in another file is another holder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultHolder {
    pub name: String,
    /// The kind of source, such as `user-file`.
    pub kind: String,
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultGrant {
    pub holder: VaultHolder,
    pub reference: String,
    pub entry: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct VaultLookupError {
    pub kind: VaultLookupErrorKind,
    pub message: String,
    pub hint: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum VaultLookupErrorKind {
    Missing,
    /// The entry exists, but this holder has no grant.
    Ungranted,
    /// The vault or the entry cannot be read.
    Unavailable,
    InvalidKeySource,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct VaultGrants(pub(super) Vec<VaultGrant>);

impl VaultHolder {
    /// Creates a holder from a file. The canonical path identifies the file.
    pub fn new(name: impl Into<String>, kind: impl Into<String>, path: &Path) -> Self {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self { name: name.into(), kind: kind.into(), path: path.display().to_string() }
    }
}

impl VaultLookupErrorKind {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl VaultLookupError {
    pub(crate) fn no_vault(reference: &str) -> Self {
        Self {
            kind: VaultLookupErrorKind::Unavailable,
            message: format!("vault entry `{reference}` cannot be read: there is no vault here"),
            hint: format!("use `$env:{reference}`"),
        }
    }

    pub(super) fn no_grant(holder: &VaultHolder, reference: &str, exists: bool) -> Self {
        let VaultHolder { name: id, path, .. } = holder;
        // A reference may have a name that no entry can have; the grant then names the entry.
        let (entry, alias) = match check_name(reference) {
            Ok(()) => (reference.to_owned(), String::new()),
            Err(_) => (suggestion(reference), format!(" --as {reference}")),
        };
        if exists {
            Self {
                kind: VaultLookupErrorKind::Ungranted,
                message: format!("`{id}` in `{path}` may not read vault entry `{reference}`"),
                hint: format!("run: capdeck vault grant {id} {entry}{alias}"),
            }
        } else {
            Self {
                kind: VaultLookupErrorKind::Missing,
                message: format!("there is no vault entry for `{reference}`"),
                hint: format!("run: capdeck vault set {entry} --grant {id}{alias}"),
            }
        }
    }

    pub(super) fn no_value(entry: &str) -> Self {
        Self {
            kind: VaultLookupErrorKind::Missing,
            message: format!("there is no vault entry `{entry}`"),
            hint: format!("run: capdeck vault set {entry}"),
        }
    }

    pub(super) fn unusable(reference: &str, error: &VaultError) -> Self {
        Self {
            kind: if error.is_about_the_key() {
                VaultLookupErrorKind::InvalidKeySource
            } else {
                VaultLookupErrorKind::Unavailable
            },
            message: format!("vault entry `{reference}` cannot be read: {error}"),
            hint: error.hint(),
        }
    }
}

impl VaultGrants {
    pub(super) fn load(folder: &SealedFolder) -> VaultResult<Self> {
        Ok(folder.load_json(GRANTS, "it holds no grants")?.unwrap_or_default())
    }

    pub(super) fn save(&self, folder: &SealedFolder) -> VaultResult<()> {
        // Strings always serialize.
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        Ok(folder.save(GRANTS, &bytes)?)
    }

    pub(super) fn entry_for(&self, holder: &VaultHolder, reference: &str) -> Option<&str> {
        let fits = |grant: &&VaultGrant| grant.holder == *holder && grant.reference == reference;
        self.0.iter().find(fits).map(|grant| grant.entry.as_str())
    }

    pub(super) fn add(&mut self, grant: VaultGrant) {
        self.0.retain(|one| one.holder != grant.holder || one.reference != grant.reference);
        self.0.push(grant);
    }

    pub(super) fn take(&mut self, unwanted: impl Fn(&VaultGrant) -> bool) -> Vec<VaultGrant> {
        let (taken, kept) = std::mem::take(&mut self.0).into_iter().partition(unwanted);
        self.0 = kept;
        taken
    }
}
