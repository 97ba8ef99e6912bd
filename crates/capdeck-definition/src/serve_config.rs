//! Defaults of the HTTP host: where it listens, who is let in and how much each may ask for.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::pattern;

/// `serve`: defaults of the HTTP host.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "some keys are accepted for existing files only")]
pub(crate) struct ServeFields {
    #[serde(flatten)]
    pub(crate) config: ServeConfig,
    #[schemars(length(min = 1))]
    remote_state_path: Option<String>,
    upstream_url: Option<String>,
    allow_unauthenticated_http: Option<bool>,
    trust_proxy: Option<bool>,
    #[schemars(length(min = 1))]
    admin_upload_staging_dir: Option<String>,
    #[schemars(range(min = 1))]
    admin_upload_max_concurrent: Option<u64>,
    #[schemars(range(min = 369_283_314))]
    admin_upload_max_staged_bytes: Option<u64>,
    #[serde(default)]
    #[schemars(inner(regex(pattern = pattern::ORIGIN)))]
    public_origins: Vec<String>,
}

// Defaults of the HTTP host. What is `None` is left to the host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServeConfig {
    // The address to listen on.
    #[schemars(length(min = 1))]
    pub host: Option<String>,
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<u16>,
    /// How long a client's session lives without being used.
    #[schemars(range(min = 1000))]
    pub session_idle_ms: Option<u64>,
    /// How long a client without a session may take to answer a question before its call is cancelled.
    #[schemars(range(min = 1000))]
    pub question_lifetime_ms: Option<u64>,
    /// Who needs a token: `required` is the default with a key or off loopback, `local` otherwise.
    pub auth: Option<ServeAuthMode>,
    /// Addresses or networks of proxies whose word about the client's address is taken, such as `10.0.0.0/8`.
    #[schemars(inner(length(min = 1)))]
    pub trusted_proxies: Option<Vec<String>>,
    /// How much a client may ask for.
    pub limits: Option<LimitConfig>,
    /// Where clients that sign in may be sent back to.
    pub redirects: Option<RedirectConfig>,
    /// How long the token of a client that signed in lives; an hour when left out.
    #[schemars(range(min = 60))]
    pub token_lifetime_seconds: Option<u64>,
    /// Where operators may sign in with an account of theirs, besides with a key.
    pub oidc: Option<OidcConfig>,
    /// Where spans of calls go; the environment's `OTEL_…` come first.
    pub otlp: Option<OtlpConfig>,
}

/// Who needs a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "AuthMode")]
pub enum ServeAuthMode {
    /// Requests without a token from this machine are its owner's.
    Local,
    /// Every request needs a token.
    Required,
}

/// How much a client may ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LimitConfig {
    /// Sign-in, `/oauth/*` and enrollments, per address.
    pub auth: Option<BucketConfig>,
    /// `/v1/*` and `/api/*`, per credential.
    pub api: Option<BucketConfig>,
    /// The MCP endpoints, per credential.
    pub mcp: Option<BucketConfig>,
    /// How many requests of one credential may be under way at once.
    #[schemars(range(min = 1))]
    pub concurrent: Option<u32>,
    /// How many MCP sessions of one credential may be open at one endpoint.
    #[schemars(range(min = 1))]
    pub sessions: Option<u32>,
    /// How many streams of one credential may be open that it listens to with GET.
    #[schemars(range(min = 1))]
    pub streams: Option<u32>,
}

/// A rate, and how much of it may come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BucketConfig {
    /// How many requests a minute in the long run.
    #[schemars(range(min = 1))]
    pub per_minute: u32,
    /// How many may come at once.
    #[schemars(range(min = 1))]
    pub burst: u32,
}

/// Where clients that sign in may be sent back to. Empty lists allow every safe address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RedirectConfig {
    /// Host names of web clients. This machine itself is always allowed.
    #[serde(default)]
    #[schemars(inner(length(min = 1)))]
    pub hosts: Vec<String>,
    /// Schemes of programs on a person's machine, such as `cursor`.
    #[serde(default)]
    #[schemars(inner(length(min = 1)))]
    pub schemes: Vec<String>,
}

/// A provider of OpenID Connect, where operators may sign in instead of with a key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OidcConfig {
    /// How the provider calls itself, letter by letter: its address without `/.well-known/…`.
    #[schemars(regex(pattern = pattern::ISSUER))]
    pub issuer: String,
    /// How this host is known there.
    #[schemars(length(min = 1))]
    pub client_id: String,
    /// What proves it, if the provider gave one: a reference such as `$vault:OIDC_SECRET` or `$env:OIDC_SECRET`.
    #[schemars(length(min = 1))]
    pub client_secret: Option<String>,
    /// What the provider is called on the button; its host name when left out.
    #[schemars(length(min = 1, max = 60))]
    pub label: Option<String>,
    /// Domains such as `example.com`: a person with a verified address there becomes a member with the first sign-in. Without
    /// any, only operators that an admin created may sign in.
    #[serde(default)]
    #[schemars(inner(regex(pattern = pattern::DOMAIN)))]
    pub new_members: Vec<String>,
}

/// A collector of spans, as OTLP over HTTP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OtlpConfig {
    /// The collector's address, below which `/v1/traces` is, such as `http://127.0.0.1:4318`.
    #[schemars(regex(pattern = pattern::WEB_ADDRESS))]
    pub endpoint: Option<String>,
    /// Sent with every request, such as a key; values may be references.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// What this host is called in traces.
    #[schemars(length(min = 1))]
    pub service: Option<String>,
}

impl ServeConfig {
    /// Lays what one file says over what is known so far.
    pub(crate) fn apply(&mut self, file: &Self) {
        let known = std::mem::replace(self, file.clone());
        self.host = self.host.take().or(known.host);
        self.port = self.port.or(known.port);
        self.session_idle_ms = self.session_idle_ms.or(known.session_idle_ms);
        self.question_lifetime_ms = self.question_lifetime_ms.or(known.question_lifetime_ms);
        self.auth = self.auth.or(known.auth);
        self.trusted_proxies = self.trusted_proxies.take().or(known.trusted_proxies);
        if let (Some(limits), Some(known)) = (&mut self.limits, known.limits) {
            limits.auth = limits.auth.or(known.auth);
            limits.api = limits.api.or(known.api);
            limits.mcp = limits.mcp.or(known.mcp);
            limits.concurrent = limits.concurrent.or(known.concurrent);
            limits.sessions = limits.sessions.or(known.sessions);
            limits.streams = limits.streams.or(known.streams);
        }
        self.limits = self.limits.or(known.limits);
        self.redirects = self.redirects.take().or(known.redirects);
        self.token_lifetime_seconds = self.token_lifetime_seconds.or(known.token_lifetime_seconds);
        self.oidc = self.oidc.take().or(known.oidc);
        self.otlp = self.otlp.take().or(known.otlp);
    }
}
