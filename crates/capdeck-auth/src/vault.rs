//! Encrypted secrets on this machine, readable only by the holders of grants.
//!
//! Below the state folder: `vault/values/NAME.json` (one encrypted file per entry), `vault/grants.json`, and `auth/`
//! (sign-ins, see [`crate::TokenStore`]). One key encrypts all of them.

mod error;
mod grant;
mod rekey;

use std::path::{Path, PathBuf};

use capdeck_storage::{FileLock, unix_seconds};
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, Zeroizing};

pub use self::{
    error::{VaultError, VaultResult},
    grant::{VaultGrant, VaultHolder, VaultLookupError, VaultLookupErrorKind},
    rekey::RekeyReport,
};
use self::{
    error::{check_name, check_reference},
    grant::{GRANTS, VaultGrants},
};
use crate::{
    KeySettings, Secret,
    key_source::KeySource,
    sealed_folder::{SealedError, SealedFolder},
};

/// In bytes.
const MAX_VALUE_BYTES: usize = 65_536;

/// The secrets of one state folder. Cheap to clone; files are read on demand.
#[derive(Debug, Clone)]
pub struct Vault {
    keys: KeySource,
    state: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultEntryInfo {
    pub name: String,
    pub bytes: usize,
    /// In seconds since 1970.
    pub created_at: u64,
    /// In seconds since 1970.
    pub updated_at: u64,
}

/// A listed entry: its metadata, or the reason it cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultListItem {
    pub name: String,
    pub facts: VaultResult<VaultEntryInfo>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VaultEntry {
    value: String,
    created_at: u64,
    updated_at: u64,
}

impl Vault {
    /// Opens the vault below a state folder, which need not exist yet.
    pub fn new(state: &Path, settings: KeySettings) -> Self {
        let folder = state.join("vault");
        let keys = KeySource::new(settings, &folder, folder.join("values"));
        Self { keys, state: state.to_owned() }
    }

    /// The vault below another state folder, with the same settings for its key.
    #[must_use]
    pub fn at(&self, state: &Path) -> Self {
        Self::new(state, self.keys.settings().clone())
    }

    pub fn set(&self, name: &str, value: &Secret) -> VaultResult<VaultEntryInfo> {
        check_name(name)?;
        check_value(value)?;
        let _held = self.lock()?;
        let values = self.values();
        values.check_keys()?;
        let now = unix_seconds();
        // An unreadable entry is replaced like any other.
        let created_at = self.entry(name).map_or(now, |earlier| earlier.created_at);
        let entry = VaultEntry { value: value.expose().to_owned(), created_at, updated_at: now };
        values.save(name, &entry.to_bytes())?;
        Ok(entry.facts(name))
    }

    /// Returns the value of an entry, for the owner.
    pub fn value(&self, name: &str) -> VaultResult<Secret> {
        check_name(name)?;
        self.entry(name).map(|mut entry| Secret::new(std::mem::take(&mut entry.value)))
    }

    pub fn facts(&self, name: &str) -> VaultResult<VaultEntryInfo> {
        check_name(name)?;
        self.entry(name).map(|entry| entry.facts(name))
    }

    pub fn list(&self) -> VaultResult<Vec<VaultListItem>> {
        let names = self.values().names()?;
        let listed = names.into_iter().map(|name| VaultListItem { facts: self.facts(&name), name });
        Ok(listed.collect())
    }

    /// Deletes a value; false when there was none. Its grants stay for the next value of this name.
    pub fn delete(&self, name: &str) -> VaultResult<bool> {
        check_name(name)?;
        let _held = self.lock()?;
        Ok(self.values().remove(name)?)
    }

    pub fn grants(&self) -> VaultResult<Vec<VaultGrant>> {
        Ok(VaultGrants::load(&self.grants_folder())?.0)
    }

    /// Lets a holder read an entry under its own reference. Replaces the holder's earlier grant of that reference.
    pub fn grant(&self, grant: VaultGrant) -> VaultResult<()> {
        check_name(&grant.entry)?;
        check_reference(&grant.reference)?;
        let _held = self.lock()?;
        self.values().check_keys()?;
        let folder = self.grants_folder();
        let mut grants = VaultGrants::load(&folder)?;
        grants.add(grant);
        grants.save(&folder)
    }

    /// Revokes the grants of an entry for holders of this name, for one reference or all. Returns the revoked grants.
    pub fn revoke(
        &self,
        holder: &str,
        entry: &str,
        reference: Option<&str>,
    ) -> VaultResult<Vec<VaultGrant>> {
        let _held = self.lock()?;
        let folder = self.grants_folder();
        let mut grants = VaultGrants::load(&folder)?;
        let taken = grants.take(|grant| {
            grant.holder.name == holder
                && grant.entry == entry
                && reference.is_none_or(|wanted| wanted == grant.reference)
        });
        if !taken.is_empty() {
            grants.save(&folder)?;
        }
        Ok(taken)
    }

    /// Returns the value that a holder's reference means.
    pub fn resolve(
        &self,
        holder: &VaultHolder,
        reference: &str,
    ) -> Result<Secret, VaultLookupError> {
        let unusable = |error: VaultError| VaultLookupError::unusable(reference, &error);
        let grants = VaultGrants::load(&self.grants_folder()).map_err(unusable)?;
        let Some(entry) = grants.entry_for(holder, reference) else {
            let exists = self.values().path(reference).exists();
            return Err(VaultLookupError::no_grant(holder, reference, exists));
        };
        match self.value(entry) {
            Err(VaultError::Missing { name }) => Err(VaultLookupError::no_value(&name)),
            Err(error) => Err(unusable(error)),
            Ok(value) => Ok(value),
        }
    }

    /// Returns the value of a reference in the owner's host settings. These need no grant: only the owner writes
    /// them.
    pub(crate) fn resolve_own(&self, reference: &str) -> Result<Secret, VaultLookupError> {
        self.value(reference).map_err(|error| match error {
            VaultError::Missing { name } => VaultLookupError::no_value(&name),
            error => VaultLookupError::unusable(reference, &error),
        })
    }

    pub(crate) fn sign_ins(&self) -> SealedFolder {
        SealedFolder::new(self.keys.clone(), self.state.join("auth"), "sign-in")
    }

    fn values(&self) -> SealedFolder {
        SealedFolder::new(self.keys.clone(), self.folder().join("values"), "value")
    }

    fn grants_folder(&self) -> SealedFolder {
        SealedFolder::new(self.keys.clone(), self.folder(), GRANTS)
    }

    fn folder(&self) -> PathBuf {
        self.state.join("vault")
    }

    fn lock(&self) -> VaultResult<FileLock> {
        let lock = self.folder().join("vault.lock");
        FileLock::wait(&lock).map_err(|error| {
            let path = lock.display().to_string();
            SealedError::File { path, reason: error.to_string() }.into()
        })
    }

    fn entry(&self, name: &str) -> VaultResult<VaultEntry> {
        let entry = self.values().load_json(name, "it holds no entry")?;
        entry.ok_or_else(|| VaultError::Missing { name: name.to_owned() })
    }
}

fn check_value(value: &Secret) -> VaultResult<()> {
    let bad = |reason| Err(VaultError::BadValue { reason });
    match value.expose() {
        "" => bad("it is empty"),
        text if text.len() > MAX_VALUE_BYTES => bad("it is longer than 65536 bytes"),
        text if text.contains('\0') => bad("it holds a zero byte, which no header or variable can"),
        _ => Ok(()),
    }
}

impl VaultEntry {
    fn facts(&self, name: &str) -> VaultEntryInfo {
        VaultEntryInfo {
            name: name.to_owned(),
            bytes: self.value.len(),
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }

    fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        // Strings and numbers always serialize.
        Zeroizing::new(serde_json::to_vec(self).unwrap_or_default())
    }
}

impl Drop for VaultEntry {
    fn drop(&mut self) {
        self.value.zeroize();
    }
}
