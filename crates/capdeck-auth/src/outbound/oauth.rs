//! OAuth 2.1 client: sign-in, token storage and renewal.
//!
//! Start with [`SignIn`]: requests get their token from it and report refusals to it. [`SignIn::begin`] starts a
//! [`BrowserLogin`] or a [`DeviceLogin`], in the order discovery ([`plan`]), client identity ([`registration`]), consent
//! ([`redirect`] or a code), tokens ([`token`]). Remote data is validated where it is read, and every address in it
//! is checked against [`crate::Reach`].

mod browser_login;
mod challenge;
mod device_login;
mod error;
mod fetch;
mod id_token;
mod json_keys;
mod login_start;
mod profile;
mod provider_sign_in;
mod redirect;
mod registration;
mod renew;
mod resource_metadata;
mod scopes;
mod server_metadata;
mod settings;
mod sign_in;
mod sign_in_attempt;
mod sign_in_plan;
mod sign_in_record;
mod sign_out;
mod status;
mod store;
mod token;

pub use browser_login::BrowserLogin;
pub use challenge::BearerChallenge;
pub use device_login::DeviceLogin;
pub use error::OAuthError;
pub use login_start::{LoginMethod, LoginStart};
pub use provider_sign_in::{
    ProviderCallback, ProviderIdentity, ProviderRedirect, ProviderSettings, ProviderSignIn,
    ProviderSignInRequest, ProviderSignInResult,
};
pub use settings::{LoginKind, OAuthSettings};
pub use sign_in::{SignIn, SignInRefusal};
pub use sign_out::{RevocationOutcome, SignOutReport};
pub use status::{SignInState, SignInStatus};
pub use store::TokenStore;
