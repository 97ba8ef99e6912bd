//! Everything that letting clients and people in needs to know: how tokens are checked, how this host is called, and the
//! registry, where this process has it.

use std::sync::Arc;

use capdeck_auth::inbound::{
    ADMIN_OPERATOR, AdminKey, AuthenticatedOperator, FailedCredentials, Registry, RegistryLimits,
};
use capdeck_host::{Host, ServeAuthMode};
use capdeck_storage::WallClock;
use http::{HeaderMap, header};

use crate::{
    oauth::FormSeal,
    oidc::{OidcProvider, OidcSettings},
    request_actor::RequestActor,
    transport::http::ClientAddress,
};

/// Why this process has no registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryUnavailable {
    /// In a sentence, without secrets.
    pub reason: String,
    /// Where the process that has it serves, if that is known.
    pub served_at: Option<String>,
}

impl RegistryUnavailable {
    /// For a host that is served without one.
    pub fn not_asked_for() -> Self {
        Self { reason: "this host was started without a registry".to_owned(), served_at: None }
    }
}

/// What every HTTP handler shares.
pub(crate) struct HttpState {
    pub(crate) host: Host,
    pub(crate) mode: ServeAuthMode,
    pub(crate) registry: Result<Registry, RegistryUnavailable>,
    pub(crate) seal: FormSeal,
    /// Invalid credentials, counted over all endpoints.
    pub(crate) failures: Arc<FailedCredentials>,
    /// What operators sign in with who have no key of their own.
    pub(crate) key: Option<AdminKey>,
    /// Where operators may sign in with an account of theirs, if anywhere.
    pub(crate) provider: Option<OidcProvider>,
    public_url: Option<String>,
}

impl HttpState {
    pub(crate) fn new(
        host: Host,
        mode: ServeAuthMode,
        key: Option<AdminKey>,
        public_url: Option<&str>,
        registry: Result<Registry, RegistryUnavailable>,
        oidc: Option<OidcSettings>,
    ) -> Arc<Self> {
        // Sessions of an earlier key are over.
        if let (Ok(registry), Some(key)) = (&registry, &key) {
            registry.sessions().use_admin_key(key);
        }
        let failures = match &registry {
            Ok(registry) => Arc::clone(registry.failed_credentials()),
            Err(_) => {
                let free = RegistryLimits::default().failed_credentials;
                Arc::new(FailedCredentials::new(WallClock::default(), free))
            }
        };
        Arc::new(Self {
            public_url: public_url.map(|url| url.trim_end_matches('/').to_owned()),
            provider: oidc.map(|oidc| OidcProvider::new(oidc, host.guarded_clients().clone())),
            seal: FormSeal::new(),
            host,
            mode,
            registry,
            failures,
            key,
        })
    }

    /// The registry, where this process has it.
    pub(crate) fn registry(&self) -> Option<&Registry> {
        self.registry.as_ref().ok()
    }

    /// The id of the operator whose key this is. An admin key that can be guessed is not compared here.
    pub(crate) fn recognize_key(&self, key: &str) -> Option<String> {
        let is_admin = |admin: &AdminKey| !admin.is_guessable() && admin.is(key);
        if self.key.as_ref().is_some_and(is_admin) {
            return Some(ADMIN_OPERATOR.to_owned());
        }
        self.registry()?.operators().by_key(key).map(|operator| operator.id)
    }

    /// Where this host is, as its clients know it: what was configured, else as the client reached it. The name was checked
    /// before.
    pub(crate) fn issuer(&self, headers: &HeaderMap, address: Option<ClientAddress>) -> String {
        if let Some(url) = &self.public_url {
            return url.clone();
        }
        let is_plain = |name: &&str| {
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte))
        };
        let name = headers.get(header::HOST).and_then(|name| name.to_str().ok()).filter(is_plain);
        let scheme = if address.is_some_and(|address| address.is_https) { "https" } else { "http" };
        format!("{scheme}://{}", name.unwrap_or("localhost").to_ascii_lowercase())
    }

    /// Whether people reach this host over HTTPS.
    pub(crate) fn is_https(&self, address: Option<ClientAddress>) -> bool {
        match &self.public_url {
            Some(url) => url.starts_with("https://"),
            None => address.is_some_and(|address| address.is_https),
        }
    }

    /// The operator who sends a request; `None` for others.
    pub(crate) fn operator(&self, actor: &RequestActor) -> Option<AuthenticatedOperator> {
        match actor {
            RequestActor::Owner if self.mode == ServeAuthMode::Local => {
                Some(AuthenticatedOperator::local())
            }
            RequestActor::Owner => Some(AuthenticatedOperator::admin()),
            RequestActor::Operator(operator) => Some(operator.clone()),
            RequestActor::Credential(_) | RequestActor::Share(_) => None,
        }
    }
}
