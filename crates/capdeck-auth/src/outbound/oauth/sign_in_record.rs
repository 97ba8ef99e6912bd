//! The stored record of the sign-ins at one server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{BearerChallenge, LoginKind};
use crate::Secret;

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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClientRegistration {
    pub(super) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "plain_option")]
    pub(super) secret: Option<Secret>,
    pub(super) method: ClientMethod,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) redirect_uri: Option<String>,
    /// In seconds since 1970; absent or 0 means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret_expires_at: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientMethod {
    None,
    ClientSecretBasic,
    ClientSecretPost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredTokens {
    pub(super) issuer: String,
    pub(super) resource: String,
    pub(super) token_endpoint: String,
    pub(super) client: ClientRegistration,
    #[serde(with = "plain")]
    pub(super) access_token: Secret,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "plain_option")]
    pub(super) refresh_token: Option<Secret>,
    /// In seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<u64>,
    pub(super) scopes: Vec<String>,
    /// In seconds since 1970.
    pub(super) obtained_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) subject: Option<String>,
    /// True for client credentials, which need no person to renew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) unattended: bool,
    /// The sign-in kind. Absent in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<LoginKind>,
    /// The requested scopes, which may differ from the granted ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) asked_scopes: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revocation_endpoint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    /// Adds client authentication to a form. HTTP Basic uses a header instead.
    pub(super) fn identify<'a>(
        &'a self,
        fields: &mut Vec<(&'a str, &'a str)>,
    ) -> Option<(&'a str, &'a Secret)> {
        let Self { id, secret, method, .. } = self;
        match (method, secret) {
            (ClientMethod::ClientSecretBasic, Some(secret)) => return Some((id.as_str(), secret)),
            (ClientMethod::ClientSecretPost, Some(secret)) => {
                fields.extend([("client_id", id.as_str()), ("client_secret", secret.expose())]);
            }
            _ => fields.push(("client_id", id)),
        }
        None
    }
}

impl ClientMethod {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        [Self::None, Self::ClientSecretBasic, Self::ClientSecretPost]
            .into_iter()
            .find(|method| method.as_str() == name)
    }
}

/// Serializes a secret in clear text, only for the encrypted store.
mod plain {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::Secret;

    pub(super) fn serialize<S: Serializer>(secret: &Secret, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(secret.expose())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Secret, D::Error> {
        String::deserialize(from).map(Secret::new)
    }
}

mod plain_option {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::Secret;

    pub(super) fn serialize<S: Serializer>(
        secret: &Option<Secret>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match secret {
            Some(secret) => to.serialize_some(secret.expose()),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Secret>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.map(Secret::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_back_as_written_and_shows_no_secret() {
        let client = ClientRegistration {
            id: "c-1".to_owned(),
            secret: Some(Secret::new("canary-secret")),
            method: ClientMethod::ClientSecretPost,
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
