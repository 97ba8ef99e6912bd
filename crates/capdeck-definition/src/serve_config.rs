//! Defaults of the HTTP host: where it listens, who is let in and how much each may ask for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shape::serve_fields::ServeFields;

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
    pub auth: Option<AuthMode>,
    /// Addresses of proxies whose word about the client's address is taken.
    pub trusted_proxies: Vec<String>,
    /// How much a client may ask for.
    pub limits: LimitConfig,
    /// Where clients that sign in may be sent back to.
    pub redirects: RedirectConfig,
    /// How long the token of a client that signed in lives.
    pub token_lifetime_seconds: Option<u64>,
}

/// Who needs a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthMode {
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
            };
        }
        if let Some(redirects) = &file.redirects {
            self.redirects.clone_from(redirects);
        }
        self.token_lifetime_seconds = file.token_lifetime_seconds.or(self.token_lifetime_seconds);
    }
}
