//! OAuth 2.1 client: sign-in, token storage and renewal.
//!
//! Start with [`SignIn`]: requests get their token from it and report refusals to it. [`SignIn::begin`] starts a
//! [`BrowserLogin`] or a [`DeviceLogin`], in the order discovery ([`plan`]), client identity ([`registration`]), consent
//! ([`redirect`] or a code), tokens ([`token`]). Remote data is validated where it is read, and every address in it
//! is checked against [`crate::Reach`].

mod caplets_sign_in;
mod challenge;
mod device_login;
mod error;
mod fetch;
mod id_token;
mod login;
mod provider_sign_in;
mod redirect;
mod registration;
mod server_metadata;
mod settings;
mod sign_in;
mod sign_in_plan;
mod store;
mod token;

pub use caplets_sign_in::{CapletsSignIn, CapletsSignInError};
pub use challenge::BearerChallenge;
pub use device_login::DeviceLogin;
pub use error::{OAuthError, OAuthResult};
pub use login::{BrowserLogin, LoginMethod, LoginStart};
pub use provider_sign_in::{
    ProviderIdentity, ProviderRedirect, ProviderSettings, ProviderSignIn, ProviderSignInRequest,
    ProviderSignInResult,
};
pub use redirect::RedirectParams;
pub use settings::{LoginKind, OAuthSettings};
pub use sign_in::{
    RevocationOutcome, SignIn, SignInRefusal, SignInState, SignInStatus, SignOutReport,
};
pub use store::TokenStore;
