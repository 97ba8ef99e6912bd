//! Operators sign in with OpenID Connect: `/api/oidc/begin` redirects to the provider, `/api/oidc/callback` handles the
//! response. `capdeck_auth::inbound` maps accounts to operators.
//!
//! Errors are HTML pages without text from the provider or the request.

mod pages;
mod sign_in;

use std::sync::Arc;

use axum::{Router, routing::get};
use capdeck_auth::{GuardedClients, ProviderSettings, ProviderSignIn, inbound::SignUpDomains};

use crate::http_state::HttpState;

const BEGIN_PATH: &str = "/api/oidc/begin";
const CALLBACK_PATH: &str = "/api/oidc/callback";

/// The OpenID provider of operators, and who becomes an operator.
#[derive(Debug, Clone)]
pub struct OidcSettings {
    pub provider: ProviderSettings,
    /// The label of the sign-in button.
    pub label: String,
    /// Accounts that become members at the first sign-in. Other accounts must be operators already.
    pub newcomers: SignUpDomains,
}

pub(crate) struct OidcProvider {
    sign_in: ProviderSignIn,
    label: String,
    newcomers: SignUpDomains,
}

impl OidcProvider {
    pub(crate) fn new(settings: OidcSettings, clients: GuardedClients) -> Self {
        let OidcSettings { provider, label, newcomers } = settings;
        Self { sign_in: ProviderSignIn::new(provider, clients), label, newcomers }
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    pub(crate) fn issuer(&self) -> &str {
        self.sign_in.issuer()
    }
}

/// The address that starts a sign-in and continues at `then`, a path of this host.
pub(crate) fn begin_address(then: &str) -> String {
    let query =
        url::form_urlencoded::Serializer::new(String::new()).append_pair("then", then).finish();
    format!("{BEGIN_PATH}?{query}")
}

/// Routes without a session.
pub(crate) fn routes() -> Router<Arc<HttpState>> {
    Router::new()
        .route(BEGIN_PATH, get(sign_in::begin))
        .route(CALLBACK_PATH, get(sign_in::callback))
}
