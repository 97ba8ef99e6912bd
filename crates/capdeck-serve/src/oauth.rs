//! An OAuth 2.1 authorization server for the MCP endpoints of this host: documents, registration, consent, tokens.
//!
//! Grants are decided in `capdeck_auth::inbound`; this module parses requests, shows the consent page and renders OAuth responses.

mod authorize;
mod consent_page;
mod form;
mod html;
mod metadata;
mod sign_in_page;
mod token;

use std::sync::Arc;

use axum::{
    Router,
    routing::{get, post},
};

pub(crate) use self::{
    form::{FormSeal, OauthForm, RepeatedParameter},
    html::{escape, page, see_other},
    metadata::OauthResource,
};
use crate::http_state::HttpState;

pub(crate) fn documents() -> Router<Arc<HttpState>> {
    metadata::routes().route("/oauth/style.css", get(html::style))
}

pub(crate) fn routes() -> Router<Arc<HttpState>> {
    Router::new()
        .route("/oauth/register", post(token::register))
        .route("/oauth/authorize", get(authorize::show_authorize_page).post(authorize::decide))
        .route("/oauth/sign-in", post(sign_in_page::submit))
        .route("/oauth/token", post(token::token))
        .route("/oauth/revoke", post(token::revoke))
}
