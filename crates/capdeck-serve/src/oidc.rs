//! Operators sign in with an account somewhere else (OpenID Connect): `/api/oidc/begin` sends a browser to the provider,
//! `/api/oidc/callback` takes it back. Who they are here is decided by `capdeck_auth::inbound`.
//!
//! Browsers come to these addresses as pages, so everything that goes wrong is told on a page, without anything that the
//! provider or the address said.

mod begin;
mod callback;
mod destination;
mod pages;
mod state_cookie;

use std::{fmt, sync::Arc};

use axum::{Router, routing::get};
use capdeck_auth::{GuardedClients, ProviderSettings, ProviderSignIn, inbound::Newcomers};

use crate::http_state::HttpState;

/// Where the browser begins.
const BEGIN: &str = "/api/oidc/begin";
/// Where the provider sends it back to, below this host's own address.
const CALLBACK: &str = "/api/oidc/callback";

/// A provider of sign-ins, and who of its people is let in.
#[derive(Debug, Clone)]
pub struct OidcSettings {
    pub provider: ProviderSettings,
    /// What the provider is called on the button.
    pub label: String,
    /// Who becomes a member by signing in. Others are let in if an admin made them operators.
    pub newcomers: Newcomers,
}

/// The provider of a host that has one.
pub(crate) struct Provider {
    sign_in: ProviderSignIn,
    label: String,
    newcomers: Newcomers,
}

impl Provider {
    pub(crate) fn new(settings: OidcSettings, clients: GuardedClients) -> Self {
        let OidcSettings { provider, label, newcomers } = settings;
        Self { sign_in: ProviderSignIn::new(provider, clients), label, newcomers }
    }

    /// What the provider is called on the button.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// How the provider calls itself.
    pub(crate) fn issuer(&self) -> &str {
        self.sign_in.issuer()
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Provider").field("issuer", &self.issuer()).finish_non_exhaustive()
    }
}

/// The address that begins a sign-in and goes on at `then`, which is a path of this host.
pub(crate) fn begin_address(then: &str) -> String {
    let query =
        url::form_urlencoded::Serializer::new(String::new()).append_pair("then", then).finish();
    format!("{BEGIN}?{query}")
}

/// Routes for those who are not let in yet.
pub(crate) fn routes() -> Router<Arc<HttpState>> {
    Router::new().route(BEGIN, get(begin::begin)).route(CALLBACK, get(callback::callback))
}
