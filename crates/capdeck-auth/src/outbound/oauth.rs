//! OAuth 2.1 as a client: a person signs in once, the tokens are kept and renewed.
//!
//! Start with [`SignIn`]: requests ask it for their token and tell it of refusals. [`SignIn::begin`] starts a
//! [`Login`], which goes discovery ([`plan`]), identity ([`registration`]), consent ([`redirect`]), tokens
//! ([`token`]). Everything a remote says on the way is checked where it is read, and every address it names is held
//! against [`crate::Reach`].

mod challenge;
mod error;
mod fetch;
mod login;
mod pkce;
mod plan;
mod record;
mod redirect;
mod registration;
mod resource_metadata;
mod scopes;
mod server_metadata;
mod settings;
mod sign_in;
mod store;
mod token;

pub use challenge::Challenge;
pub use error::OAuthError;
pub use login::{Begun, Login};
pub use settings::{LoginKind, OAuthSettings};
pub use sign_in::{Refusal, SignIn, SignInState, SignInStatus};
pub use store::TokenStore;
