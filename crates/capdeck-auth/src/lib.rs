//! Secrets, outbound sign-in to other services, and inbound access to Capdeck.
//!
//! Read [`Secret`] first, then [`resolve_value`] (replaces the references of a definition) and [`Credentials`] (the
//! headers of a request). [`SignIn`] handles OAuth sign-ins, [`Vault`] stores secrets. [`inbound`] decides who may
//! use this host.
//!
//! This crate never reads the process environment and knows nothing of capabilities. A resolved value is never
//! logged; only [`Vault`] and [`TokenStore`] write one to disk, encrypted.

mod environment;
pub mod inbound;
mod interpolate;
mod key;
mod key_file;
mod keyring;
mod keys;
mod outbound;
mod pkce;
mod private_file;
mod project_variables;
mod scrub;
mod sealed_folder;
mod secret;
mod vault;

pub use environment::Environment;
pub use interpolate::{
    Lookup, MissingReason, Reference, ResolveError, Resolved, ResolvedText, Substitution,
    Unresolved, has_reference, references, resolve_text, resolve_value,
};
pub use keyring::{Keyring, KeyringError};
pub use keys::{KeyError, KeyHome, KeySettings};
pub use outbound::{
    AuthHeader, BuildClient, Credentials, GuardedClients, GuardedResolver, Names, OutOfReach,
    OutboundError, Reach, SystemNames, TRANSPORT_HEADERS, is_transport_header,
    oauth::{
        Begun, Challenge, DeviceLogin, Login, LoginKind, LoginWay, OAuthError, OAuthSettings,
        ProviderAnswer, ProviderIdentity, ProviderPage, ProviderReturn, ProviderSettings,
        ProviderSignIn, ProviderVisit, Refusal, Revocation, SignIn, SignInState, SignInStatus,
        SignedOut, TokenStore,
    },
};
pub use project_variables::ProjectVariables;
pub use scrub::{ScrubStream, Scrubber};
pub use sealed_folder::SealedError;
pub use secret::{Secret, is_secret_name};
pub use vault::{
    EntryFacts, Grant, Holder, ListedEntry, Rekeyed, Vault, VaultError, VaultMiss, VaultMissKind,
};
