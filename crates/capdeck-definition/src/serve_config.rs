//! Defaults of the HTTP host: where it listens, who is let in and how much each may ask for.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{pattern, shape::serve_fields::ServeFields};

/// Defaults of the HTTP host. What is `None` is left to the host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServeConfig {
    /// The address to listen on.
    pub host: Option<String>,
    /// The port to listen on.
    pub port: Option<u16>,
    /// How long a client's session lives without being used.
    pub session_idle_ms: Option<u64>,
    /// How long a client without a session may take to answer a question before its call is cancelled.
    pub question_lifetime_ms: Option<u64>,
    /// Who needs a token.
    pub auth: Option<ServeAuthMode>,
    /// Addresses of proxies whose word about the client's address is taken.
    pub trusted_proxies: Vec<String>,
    /// How much a client may ask for.
    pub limits: LimitConfig,
    /// Where clients that sign in may be sent back to.
    pub redirects: RedirectConfig,
    /// How long the token of a client that signed in lives.
    pub token_lifetime_seconds: Option<u64>,
    /// Where operators may sign in with an account of theirs.
    pub oidc: Option<OidcConfig>,
    /// Where spans of calls go.
    pub otlp: Option<OtlpConfig>,
}

/// Who needs a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "AuthMode")]
pub enum ServeAuthMode {
    /// Requests without a token from this machine are its owner's.
    Local,
    /// Every request needs a token.
    Required,
}

/// How much a client may ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LimitConfig {
    /// Sign-in, `/oauth/*` and enrollments, per address.
    #[serde(default)]
    pub auth: Option<BucketConfig>,
    /// `/v1/*` and `/api/*`, per credential.
    #[serde(default)]
    pub api: Option<BucketConfig>,
    /// The MCP endpoints, per credential.
    #[serde(default)]
    pub mcp: Option<BucketConfig>,
    /// How many requests of one credential may be under way at once.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub concurrent: Option<u32>,
    /// How many MCP sessions of one credential may be open at one endpoint.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub sessions: Option<u32>,
    /// How many streams of one credential may be open that it listens to with GET.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub streams: Option<u32>,
}

/// A rate, and how much of it may come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OidcConfig {
    /// How the provider calls itself, letter by letter: its address without `/.well-known/…`.
    #[schemars(regex(pattern = pattern::ISSUER))]
    pub issuer: String,
    /// How this host is known there.
    #[schemars(length(min = 1))]
    pub client_id: String,
    /// What proves it, if the provider gave one: a reference such as `$vault:OIDC_SECRET` or `$env:OIDC_SECRET`.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub client_secret: Option<String>,
    /// What the provider is called on the button; its host name when left out.
    #[serde(default)]
    #[schemars(length(min = 1, max = 60))]
    pub label: Option<String>,
    /// Domains such as `example.com`: whoever has a verified address there becomes a member with the first sign-in. Without
    /// any, only those are let in whom an admin made operators.
    #[serde(default)]
    #[schemars(inner(regex(pattern = pattern::DOMAIN)))]
    pub new_members: Vec<String>,
}

/// A collector of spans, as OTLP over HTTP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OtlpConfig {
    /// The collector's address, below which `/v1/traces` is, such as `http://127.0.0.1:4318`.
    #[serde(default)]
    #[schemars(regex(pattern = pattern::WEB_ADDRESS))]
    pub endpoint: Option<String>,
    /// Sent with every request, such as a key; values may be references.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// What this host is called in traces.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub service: Option<String>,
}

impl ServeConfig {
    /// Lays what one file says over what is known so far.
    pub(crate) fn apply(&mut self, file: &ServeFields) {
        self.host = file.host.clone().or(self.host.take());
        self.port = file.port.or(self.port);
        self.session_idle_ms = file.session_idle_ms.or(self.session_idle_ms);
        self.question_lifetime_ms = file.question_lifetime_ms.or(self.question_lifetime_ms);
        self.auth = file.auth.or(self.auth);
        if let Some(proxies) = &file.trusted_proxies {
            self.trusted_proxies.clone_from(proxies);
        }
        if let Some(limits) = file.limits {
            self.limits = LimitConfig {
                auth: limits.auth.or(self.limits.auth),
                api: limits.api.or(self.limits.api),
                mcp: limits.mcp.or(self.limits.mcp),
                concurrent: limits.concurrent.or(self.limits.concurrent),
                sessions: limits.sessions.or(self.limits.sessions),
                streams: limits.streams.or(self.limits.streams),
            };
        }
        if let Some(redirects) = &file.redirects {
            self.redirects.clone_from(redirects);
        }
        self.oidc = file.oidc.clone().or(self.oidc.take());
        self.otlp = file.otlp.clone().or(self.otlp.take());
        self.token_lifetime_seconds = file.token_lifetime_seconds.or(self.token_lifetime_seconds);
    }
}
