//! `serve` of a config file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{LimitConfig, OidcConfig, OtlpConfig, RedirectConfig, ServeAuthMode, pattern};

/// `serve`: defaults of the HTTP host.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "some keys are accepted for existing files only")]
pub(crate) struct ServeFields {
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) host: Option<String>,
    #[serde(default)]
    #[schemars(range(min = 1, max = 65535))]
    pub(crate) port: Option<u16>,
    /// How long a client's session lives without being used.
    #[serde(default)]
    #[schemars(range(min = 1000))]
    pub(crate) session_idle_ms: Option<u64>,
    /// How long a client without a session may take to answer a question before its call is cancelled.
    #[serde(default)]
    #[schemars(range(min = 1000))]
    pub(crate) question_lifetime_ms: Option<u64>,
    /// Who needs a token: `required` is the default with a key or off loopback, `local` otherwise.
    #[serde(default)]
    pub(crate) auth: Option<ServeAuthMode>,
    /// Addresses or networks of proxies whose word about the client's address is taken, such as `10.0.0.0/8`.
    #[serde(default)]
    #[schemars(inner(length(min = 1)))]
    pub(crate) trusted_proxies: Option<Vec<String>>,
    /// How much a client may ask for.
    #[serde(default)]
    pub(crate) limits: Option<LimitConfig>,
    /// Where clients that sign in may be sent back to.
    #[serde(default)]
    pub(crate) redirects: Option<RedirectConfig>,
    /// How long the token of a client that signed in lives; an hour when left out.
    #[serde(default)]
    #[schemars(range(min = 60))]
    pub(crate) token_lifetime_seconds: Option<u64>,
    /// Where operators may sign in with an account of theirs, besides with a key.
    #[serde(default)]
    pub(crate) oidc: Option<OidcConfig>,
    /// Where spans of calls go; the environment's `OTEL_…` come first.
    #[serde(default)]
    pub(crate) otlp: Option<OtlpConfig>,
    #[serde(default)]
    #[schemars(length(min = 1))]
    remote_state_path: Option<String>,
    #[serde(default)]
    upstream_url: Option<String>,
    #[serde(default)]
    allow_unauthenticated_http: Option<bool>,
    #[serde(default)]
    trust_proxy: Option<bool>,
    #[serde(default)]
    #[schemars(length(min = 1))]
    admin_upload_staging_dir: Option<String>,
    #[serde(default)]
    #[schemars(range(min = 1))]
    admin_upload_max_concurrent: Option<u64>,
    #[serde(default)]
    #[schemars(range(min = 369_283_314))]
    admin_upload_max_staged_bytes: Option<u64>,
    #[serde(default)]
    #[schemars(inner(regex(pattern = pattern::ORIGIN)))]
    public_origins: Vec<String>,
}
