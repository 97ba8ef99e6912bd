//! An OAuth 2.1 authorization server for the MCP endpoints of this host: documents, registration, consent, tokens.
//!
//! Who may use what is decided in `capdeck_auth::inbound`; here requests are read, people are asked, and answers are
//! written in the words of OAuth.

mod authorize;
mod authorize_request;
mod choice;
mod consent_page;
mod form;
mod html;
mod invalid_request;
mod metadata;
mod offer;
mod register;
mod resource;
mod seal;
mod sign_in_page;
mod token;

use std::sync::Arc;

use axum::{
    Router,
    routing::{get, post},
};

pub(crate) use self::{
    form::{Form, Repeated},
    html::{escape, page},
    resource::Resource,
    seal::FormSeal,
};
use crate::http_state::HttpState;

/// Documents that need no token and cost nothing.
pub(crate) fn documents() -> Router<Arc<HttpState>> {
    metadata::routes().route("/oauth/style.css", get(html::style))
}

/// What somebody does who wants to be let in.
pub(crate) fn routes() -> Router<Arc<HttpState>> {
    Router::new()
        .route("/oauth/register", post(register::register))
        .route("/oauth/authorize", get(authorize::ask).post(authorize::decide))
        .route("/oauth/sign-in", post(sign_in_page::submit))
        .route("/oauth/token", post(token::token))
        .route("/oauth/revoke", post(token::revoke))
}
