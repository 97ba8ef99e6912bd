//! What is kept of a sign-in between runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Challenge, LoginKind};
use crate::Secret;

/// Everything kept for one capability at one server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    /// The server it is for; a record found under another server's name is not used.
    pub(super) server: String,
    /// Clients that registered themselves, by issuer: an identity is worth nothing, or too much, anywhere else.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) registrations: BTreeMap<String, Client>,
    /// Clients that registered themselves for signing in on another device, by issuer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) device_registrations: BTreeMap<String, Client>,
    /// The sign-ins, by issuer: a definition that names another issuer and is changed back finds its earlier one again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) sign_ins: BTreeMap<String, Tokens>,
    /// The issuer of the newest sign-in, which counts where the definition names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) newest: Option<String>,
    /// The only sign-in of a file of earlier versions. Taken up when the file is read, never written.
    #[serde(default, skip_serializing)]
    tokens: Option<Tokens>,
    /// What the server last asked for in vain; a sign-in answers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) challenge: Option<Challenge>,
}

/// How this program is known to an authorization server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Client {
    pub(super) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "plain_option")]
    pub(super) secret: Option<Secret>,
    pub(super) method: ClientMethod,
    /// Where it said the browser would come back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) redirect_uri: Option<String>,
    /// In seconds since 1970; never when absent or 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret_expires_at: Option<u64>,
}

/// How the program shows at the token endpoint who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientMethod {
    None,
    ClientSecretBasic,
    ClientSecretPost,
}

/// The tokens of one sign-in, with all that is needed to renew them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tokens {
    pub(super) issuer: String,
    pub(super) resource: String,
    pub(super) token_endpoint: String,
    pub(super) client: Client,
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
    /// True when the program signed in for itself and can do so again at any time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) unattended: bool,
    /// What the sign-in was for. Absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<LoginKind>,
    /// The scopes that were asked for, which may be more than were granted, or other words for the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) asked_scopes: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revocation_endpoint: Option<String>,
    /// Where the keys are that identity tokens are signed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) keys_url: Option<String>,
}

impl Record {
    /// A record as it was kept, in this form or the one before.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let mut record: Self = serde_json::from_slice(bytes)?;
        if let Some(tokens) = record.tokens.take() {
            record.keep(tokens);
        }
        Ok(record)
    }

    /// The sign-in at this issuer. Without one, or where no issuer is named, the newest.
    pub(super) fn sign_in(&self, issuer: Option<&str>) -> Option<&Tokens> {
        let named = issuer.and_then(|issuer| self.sign_ins.get(issuer));
        named.or_else(|| self.sign_ins.get(self.newest.as_deref()?))
    }

    /// Keeps a new sign-in, in place of an earlier one at the same issuer.
    pub(super) fn keep(&mut self, tokens: Tokens) {
        self.newest = Some(tokens.issuer.clone());
        self.sign_ins.insert(tokens.issuer.clone(), tokens);
    }

    /// Forgets all there is of one issuer; the sign-in there, if there was one.
    pub(super) fn forget(&mut self, issuer: &str) -> Option<Tokens> {
        self.forget_registrations(issuer);
        self.newest.take_if(|newest| newest == issuer);
        self.sign_ins.remove(issuer)
    }

    /// Forgets how this program is known to one issuer.
    pub(super) fn forget_registrations(&mut self, issuer: &str) {
        self.registrations.remove(issuer);
        self.device_registrations.remove(issuer);
    }

    /// True when nothing in it is worth a file.
    pub(super) fn is_empty(&self) -> bool {
        self.sign_ins.is_empty()
            && self.registrations.is_empty()
            && self.device_registrations.is_empty()
    }
}

impl Client {
    /// Adds to a form who is asking; with HTTP Basic that goes into a header instead.
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

/// Writes a secret as it is: the store is where it belongs.
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
        let client = Client {
            id: "c-1".to_owned(),
            secret: Some(Secret::new("canary-secret")),
            method: ClientMethod::ClientSecretPost,
            redirect_uri: None,
            secret_expires_at: Some(0),
        };
        let tokens = Tokens {
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
        let record = Record {
            server: "https://a.example/mcp".to_owned(),
            registrations: [(tokens.issuer.clone(), client)].into(),
            device_registrations: BTreeMap::new(),
            sign_ins: [(tokens.issuer.clone(), tokens.clone())].into(),
            newest: Some(tokens.issuer.clone()),
            tokens: None,
            challenge: Some(Challenge::default()),
        };
        let text = serde_json::to_string(&record).unwrap();
        assert!(text.contains("canary-refresh"));
        let read = Record::parse(text.as_bytes()).unwrap();
        assert_eq!(read.sign_in(None), Some(&tokens));
        assert_eq!(read.registrations, record.registrations);
        assert!(!format!("{read:?}").contains("canary"));

        // A file of earlier versions had one sign-in, whoever its issuer was.
        let mut earlier = serde_json::to_value(&record).unwrap();
        let members = earlier.as_object_mut().unwrap();
        members.remove("newest").unwrap();
        let sign_in = members.remove("signIns").unwrap()[&tokens.issuer].clone();
        members.insert("tokens".to_owned(), sign_in);
        let read = Record::parse(earlier.to_string().as_bytes()).unwrap();
        assert_eq!(read.sign_in(None), Some(&tokens));
        assert_eq!(read.sign_in(Some("https://sso.example.com")), Some(&tokens));
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
