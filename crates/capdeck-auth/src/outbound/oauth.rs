//! OAuth 2.1 client: sign-in, token storage and renewal.
//!
//! Start with [`SignIn`]: requests get their token from it and report refusals to it. [`SignIn::begin`] starts a
//! [`Login`] or a [`DeviceLogin`], in the order discovery ([`plan`]), client identity ([`registration`]), consent
//! ([`redirect`] or a code), tokens ([`token`]). Remote data is validated where it is read, and every address in it
//! is checked against [`crate::Reach`].

mod begin;
mod challenge;
mod device;
mod error;
mod fetch;
mod id_token;
mod json_keys;
mod login;
mod plan;
mod profile;
mod provider_sign_in;
mod record;
mod redirect;
mod registration;
mod renew;
mod resource_metadata;
mod scopes;
mod server_metadata;
mod settings;
mod sign_in;
mod sign_out;
mod started;
mod status;
mod store;
mod token;

pub use begin::{Begun, LoginWay};
pub use challenge::Challenge;
pub use device::DeviceLogin;
pub use error::OAuthError;
pub use login::Login;
pub use provider_sign_in::{
    ProviderAnswer, ProviderIdentity, ProviderPage, ProviderReturn, ProviderSettings,
    ProviderSignIn, ProviderVisit,
};
pub use settings::{LoginKind, OAuthSettings};
pub use sign_in::{Refusal, SignIn};
pub use sign_out::{Revocation, SignedOut};
pub use status::{SignInState, SignInStatus};
pub use store::TokenStore;
