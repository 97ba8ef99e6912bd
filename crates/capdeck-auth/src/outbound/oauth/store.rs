//! The sign-in store: one encrypted file per capability and server, with a sign-in for each issuer.
//!
//! Unencrypted files of older versions are encrypted when they are read.

use std::{collections::BTreeMap, fs, time::SystemTime};

use capdeck_storage::{FileLock, sha256_hex};
use serde::{Deserialize, Serialize, Serializer};
use serde_with::skip_serializing_none;
use url::Url;
use zeroize::Zeroizing;

use super::{BearerChallenge, LoginKind, OAuthError, OAuthResult};
use crate::{
    Secret, Vault,
    inbound::ClientAuthMethod,
    sealed_folder::{SealedContent, SealedError, SealedFolder},
};

#[derive(Debug, Clone)]
pub struct TokenStore {
    folder: SealedFolder,
}

#[derive(Debug, Clone)]
pub(super) struct SignInFile {
    folder: SealedFolder,
    name: String,
    server: String,
}

/// Identifies a version of a file. Every write creates a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    modified: Option<SystemTime>,
    length: u64,
    number: u64,
}

impl TokenStore {
    /// Opens the sign-ins beside a vault; both use the same key.
    pub fn new(vault: &Vault) -> Self {
        Self { folder: vault.sign_ins() }
    }

    /// Returns the entry of a name at a server. The same name at another server is a different sign-in.
    pub(super) fn entry(&self, name: &str, server: &Url) -> SignInFile {
        let server = server.to_string();
        let mark: String = sha256_hex(&server).chars().take(12).collect();
        SignInFile { folder: self.folder.clone(), name: format!("{name}-{mark}"), server }
    }
}

impl SignInFile {
    /// Loads the record. Rejects a file that others may read or that is for another server.
    pub(super) fn load(&self) -> OAuthResult<Option<SignInRecord>> {
        let (bytes, is_sealed) = match self.folder.load(&self.name)? {
            None => return Ok(None),
            Some(SealedContent::Sealed(bytes)) => (bytes, true),
            Some(SealedContent::Plain(bytes)) => (bytes, false),
        };
        // The parser's message would quote the file, including a token.
        let record = SignInRecord::parse(&bytes)
            .map_err(|error| self.unusable(format!("it is damaged (line {})", error.line())))?;
        if record.server != self.server {
            return Err(self.unusable("it belongs to another server".to_owned()));
        }
        if !is_sealed {
            self.seal(&bytes);
        }
        Ok(Some(record))
    }

    pub(super) fn save(&self, mut record: SignInRecord) -> OAuthResult<()> {
        record.server.clone_from(&self.server);
        let text = serde_json::to_vec(&record).map_err(|error| self.unusable(error.to_string()))?;
        Ok(self.folder.save(&self.name, &Zeroizing::new(text))?)
    }

    pub(super) fn remove(&self) -> OAuthResult<bool> {
        Ok(self.folder.remove(&self.name)?)
    }

    pub(super) fn stamp(&self) -> Option<FileStamp> {
        let facts = fs::metadata(self.folder.path(&self.name)).ok()?;
        Some(FileStamp {
            modified: facts.modified().ok(),
            length: facts.len(),
            number: number(&facts),
        })
    }

    /// Locks this sign-in. Blocks the thread.
    pub(super) fn lock(&self) -> OAuthResult<FileLock> {
        Ok(self.folder.lock(&self.name)?)
    }

    /// Checks that a record can be saved before a person is asked for anything.
    pub(super) fn check(&self) -> OAuthResult<()> {
        Ok(self.folder.check_key()?)
    }

    /// Encrypts a plain file. The holder of the lock, if any, writes it encrypted anyway.
    fn seal(&self, bytes: &[u8]) {
        let Some(_held) = self.folder.try_hold(&self.name) else { return };
        if let Err(error) = self.folder.save(&self.name, bytes) {
            tracing::warn!(%error, "a sign-in could not be encrypted");
        }
    }

    fn unusable(&self, reason: String) -> OAuthError {
        let path = self.folder.path(&self.name).display().to_string();
        OAuthError::Store { path, reason }
    }
}

impl From<SealedError> for OAuthError {
    fn from(error: SealedError) -> Self {
        let (path, reason) = match error {
            SealedError::Key(error) => return Self::Key(error),
            SealedError::OtherKey { path, .. } => {
                (path, "it was sealed with another key".to_owned())
            }
            SealedError::Damaged { path, reason } => (path, reason.to_owned()),
            SealedError::OpenToOthers { path } => (path, "others may read or change it".to_owned()),
            SealedError::File { path, reason } => (path, reason),
        };
        Self::Store { path, reason }
    }
}

#[cfg(unix)]
fn number(facts: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(facts)
}

#[cfg(not(unix))]
fn number(_facts: &fs::Metadata) -> u64 {
    0
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SignInRecord {
    /// The server of the record; a record of another server is not used.
    pub(super) server: String,
    /// Dynamic client registrations by issuer: a registration is only valid at its issuer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) registrations: BTreeMap<String, ClientRegistration>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) device_registrations: BTreeMap<String, ClientRegistration>,
    /// The sign-ins by issuer, so that a definition that changes its issuer back finds its earlier sign-in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) sign_ins: BTreeMap<String, StoredTokens>,
    /// The issuer of the newest sign-in, used when the definition names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) newest: Option<String>,
    /// The single sign-in of older files. Converted on load, never written.
    #[serde(default, skip_serializing)]
    tokens: Option<StoredTokens>,
    /// The last unmet challenge of the server; the next sign-in requests its scopes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) challenge: Option<BearerChallenge>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClientRegistration {
    pub(super) id: String,
    #[serde(serialize_with = "serialize_exposed")]
    pub(super) secret: Option<Secret>,
    pub(super) method: ClientAuthMethod,
    pub(super) redirect_uri: Option<String>,
    /// In seconds since 1970; absent or 0 means never.
    pub(super) secret_expires_at: Option<u64>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredTokens {
    pub(super) issuer: String,
    pub(super) resource: String,
    pub(super) token_endpoint: String,
    pub(super) client: ClientRegistration,
    #[serde(serialize_with = "serialize_exposed")]
    pub(super) access_token: Secret,
    #[serde(serialize_with = "serialize_exposed")]
    pub(super) refresh_token: Option<Secret>,
    /// In seconds since 1970.
    pub(super) expires_at: Option<u64>,
    pub(super) scopes: Vec<String>,
    /// In seconds since 1970.
    pub(super) obtained_at: u64,
    pub(super) subject: Option<String>,
    /// True for client credentials, which need no person to renew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) unattended: bool,
    /// The sign-in kind. Absent in older files.
    pub(super) kind: Option<LoginKind>,
    /// The requested scopes, which may differ from the granted ones.
    pub(super) asked_scopes: Option<Vec<String>>,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) keys_url: Option<String>,
}

impl SignInRecord {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let mut record: Self = serde_json::from_slice(bytes)?;
        if let Some(tokens) = record.tokens.take() {
            record.keep(tokens);
        }
        Ok(record)
    }

    /// Returns the sign-in of this issuer. Without an issuer or a match, returns the newest.
    pub(super) fn sign_in(&self, issuer: Option<&str>) -> Option<&StoredTokens> {
        let named = issuer.and_then(|issuer| self.sign_ins.get(issuer));
        named.or_else(|| self.sign_ins.get(self.newest.as_deref()?))
    }

    pub(super) fn keep(&mut self, tokens: StoredTokens) {
        self.newest = Some(tokens.issuer.clone());
        self.sign_ins.insert(tokens.issuer.clone(), tokens);
    }

    pub(super) fn forget(&mut self, issuer: &str) -> Option<StoredTokens> {
        self.forget_registrations(issuer);
        self.newest.take_if(|newest| newest == issuer);
        self.sign_ins.remove(issuer)
    }

    pub(super) fn forget_registrations(&mut self, issuer: &str) {
        self.registrations.remove(issuer);
        self.device_registrations.remove(issuer);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sign_ins.is_empty()
            && self.registrations.is_empty()
            && self.device_registrations.is_empty()
    }
}

impl ClientRegistration {
    /// A client that Capdeck did not register. Without a method to send it, the secret is dropped.
    pub(super) fn new(id: &str, secret: Option<Secret>, method: ClientAuthMethod) -> Self {
        let secret = secret.filter(|_| method != ClientAuthMethod::None);
        Self { id: id.to_owned(), secret, method, redirect_uri: None, secret_expires_at: None }
    }

    /// Adds client authentication to a form. HTTP Basic uses a header instead.
    pub(super) fn identify<'a>(
        &'a self,
        fields: &mut Vec<(&'a str, &'a str)>,
    ) -> Option<(&'a str, &'a Secret)> {
        let Self { id, secret, method, .. } = self;
        match (method, secret) {
            (ClientAuthMethod::ClientSecretBasic, Some(secret)) => {
                return Some((id.as_str(), secret));
            }
            (ClientAuthMethod::ClientSecretPost, Some(secret)) => {
                fields.extend([("client_id", id.as_str()), ("client_secret", secret.expose())]);
            }
            _ => fields.push(("client_id", id)),
        }
        None
    }
}

/// Serializes a secret in clear text, only for the encrypted store.
fn serialize_exposed<'a, S: Serializer>(
    secret: impl Into<Option<&'a Secret>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    secret.into().map(Secret::expose).serialize(to)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::KeySettings;

    fn store(folder: &tempfile::TempDir) -> TokenStore {
        TokenStore::new(&Vault::new(folder.path(), KeySettings::default()))
    }

    fn entry(folder: &tempfile::TempDir) -> SignInFile {
        store(folder).entry("linear", &Url::parse("https://a.example/mcp").unwrap())
    }

    fn path(entry: &SignInFile) -> std::path::PathBuf {
        entry.folder.path(&entry.name)
    }

    #[test]
    fn a_record_is_kept_for_its_server_only() {
        let folder = tempfile::tempdir().unwrap();
        let entry = entry(&folder);
        assert!(entry.load().unwrap().is_none());
        assert!(entry.stamp().is_none());
        entry.save(SignInRecord::default()).unwrap();
        let first = entry.stamp().unwrap();
        assert_eq!(entry.load().unwrap().unwrap().server, "https://a.example/mcp");
        assert!(!fs::read_to_string(path(&entry)).unwrap().contains("a.example"));
        entry.save(SignInRecord::default()).unwrap();
        assert_ne!(entry.stamp().unwrap(), first);

        let other = Url::parse("https://b.example/mcp").unwrap();
        let other = store(&folder).entry("linear", &other);
        assert!(other.load().unwrap().is_none());
        fs::copy(path(&entry), path(&other)).unwrap();
        let error = other.load().unwrap_err().to_string();
        assert!(error.ends_with("it was changed after it was sealed"), "{error}");

        assert!(entry.remove().unwrap());
        assert!(!entry.remove().unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_the_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let entry = entry(&folder);
        entry.save(SignInRecord::default()).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let file = path(&entry);
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let error = entry.load().unwrap_err();
        assert!(error.to_string().ends_with("others may read or change it"), "{error}");
    }

    #[test]
    fn a_plain_file_is_read_once_and_sealed() {
        let folder = tempfile::tempdir().unwrap();
        let entry = entry(&folder);
        entry.save(SignInRecord::default()).unwrap();
        let plain = r#"{"server": "https://a.example/mcp", "registrations": {"https://canary.example":
            {"id": "canary-1", "method": "none"}}}"#;
        fs::write(path(&entry), plain).unwrap();
        let held = entry.lock().unwrap();
        assert_eq!(entry.load().unwrap().unwrap().registrations.len(), 1);
        assert_eq!(fs::read_to_string(path(&entry)).unwrap(), plain, "the lock is held");
        drop(held);
        assert_eq!(entry.load().unwrap().unwrap().registrations.len(), 1);
        assert!(!fs::read_to_string(path(&entry)).unwrap().contains("canary"));
        assert_eq!(entry.load().unwrap().unwrap().registrations.len(), 1);

        let elsewhere = plain.replace("a.example", "b.example");
        fs::write(path(&entry), &elsewhere).unwrap();
        let error = entry.load().unwrap_err().to_string();
        assert!(error.ends_with("it belongs to another server"), "{error}");
    }

    #[test]
    fn a_damaged_file_is_refused_without_quoting_it() {
        let folder = tempfile::tempdir().unwrap();
        let entry = entry(&folder);
        entry.save(SignInRecord::default()).unwrap();
        fs::write(path(&entry), "{\"server\": \"canary-1\", \"tokens\": \"canary-2\"}").unwrap();
        let error = entry.load().unwrap_err().to_string();
        assert!(error.contains("it is damaged (line 1)") && !error.contains("canary"), "{error}");
    }

    #[test]
    fn one_at_a_time_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let entry = entry(&folder);
        let held = entry.lock().unwrap();
        assert!(entry.folder.try_hold(&entry.name).is_none());
        drop(held);
        assert!(entry.folder.try_hold(&entry.name).is_some());
    }

    #[test]
    fn a_record_is_read_back_as_written_and_shows_no_secret() {
        let client = ClientRegistration {
            id: "c-1".to_owned(),
            secret: Some(Secret::new("canary-secret")),
            method: ClientAuthMethod::ClientSecretPost,
            redirect_uri: None,
            secret_expires_at: Some(0),
        };
        let tokens = StoredTokens {
            issuer: "https://sso.example.com".to_owned(),
            resource: "https://a.example/mcp".to_owned(),
            token_endpoint: "https://sso.example.com/token".to_owned(),
            client: client.clone(),
            access_token: Secret::new("canary-access"),
            refresh_token: Some(Secret::new("canary-refresh")),
            expires_at: Some(1),
            scopes: vec!["read".to_owned()],
            obtained_at: 1,
            subject: None,
            unattended: false,
            kind: Some(LoginKind::Oidc),
            asked_scopes: Some(vec!["read".to_owned()]),
            revocation_endpoint: None,
            keys_url: None,
        };
        let record = SignInRecord {
            server: "https://a.example/mcp".to_owned(),
            registrations: [(tokens.issuer.clone(), client)].into(),
            device_registrations: BTreeMap::new(),
            sign_ins: [(tokens.issuer.clone(), tokens.clone())].into(),
            newest: Some(tokens.issuer.clone()),
            tokens: None,
            challenge: Some(BearerChallenge::default()),
        };
        let text = serde_json::to_string(&record).unwrap();
        assert!(text.contains("canary-refresh"));
        let read = SignInRecord::parse(text.as_bytes()).unwrap();
        assert_eq!(read.sign_in(None), Some(&tokens));
        assert_eq!(read.registrations, record.registrations);
        assert!(!format!("{read:?}").contains("canary"));

        // Older files have one sign-in for any issuer.
        let mut earlier = serde_json::to_value(&record).unwrap();
        let members = earlier.as_object_mut().unwrap();
        members.remove("newest").unwrap();
        let sign_in = members.remove("signIns").unwrap()[&tokens.issuer].clone();
        members.insert("tokens".to_owned(), sign_in);
        let read = SignInRecord::parse(earlier.to_string().as_bytes()).unwrap();
        assert_eq!(read.sign_in(None), Some(&tokens));
        assert_eq!(read.sign_in(Some("https://sso.example.com")), Some(&tokens));
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
