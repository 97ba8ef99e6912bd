//! Secrets, outbound sign-in to other services, and inbound access to Capdeck.
//!
//! Read [`Secret`] first, then [`resolve_value`] (replaces the references of a definition) and [`StaticCredentials`] (the
//! headers of a request). [`SignIn`] handles OAuth sign-ins, [`Vault`] stores secrets. [`inbound`] decides who may
//! use this host.
//!
//! This crate never reads the process environment and knows nothing of capabilities. A resolved value is never
//! logged; only [`Vault`] and [`TokenStore`] write one to disk, encrypted.

mod blocking;
mod caplets_key;
mod environment;
pub mod inbound;
mod interpolate;
mod key_source;
mod keyring;
mod outbound;
mod pkce;
mod scrub;
mod sealed_folder;
mod sealing_key;
mod secret;
mod vault;

pub use caplets_key::{CapletsKey, CapletsSealedValue};
pub use environment::{EnvironmentSnapshot, ProjectVariables};
pub use interpolate::{
    MissingReason, ReferenceLookup, ReferenceSubstitution, ReferenceTarget, ResolveError,
    ResolvedText, ResolvedValue, UnresolvedReference, has_any_reference, has_reference, references,
    resolve_text, resolve_value,
};
pub use key_source::{KeyError, KeyLocation, KeySettings};
pub use keyring::{KeyringError, KeyringStore};
pub use outbound::{
    AuthHeader, ClientFactory, GuardedClients, GuardedResolver, NameResolver, NetworkReach,
    OutboundError, ReachError, StaticCredentials, SystemResolver, TRANSPORT_HEADERS,
    is_transport_header,
    oauth::{
        BearerChallenge, BrowserLogin, CapletsSignIn, CapletsSignInError, DeviceLogin, LoginKind,
        LoginMethod, LoginStart, OAuthError, OAuthResult, OAuthSettings, ProviderIdentity,
        ProviderRedirect, ProviderSettings, ProviderSignIn, ProviderSignInRequest,
        ProviderSignInResult, RedirectParams, RevocationOutcome, SignIn, SignInRefusal,
        SignInState, SignInStatus, SignOutReport, TokenStore,
    },
};
pub use scrub::{ScrubStream, SecretScrubber};
pub use sealed_folder::SealedError;
pub use secret::{Secret, is_secret_name};
pub use vault::{
    RekeyReport, Vault, VaultEntryInfo, VaultError, VaultGrant, VaultHolder, VaultListItem,
    VaultLookupError, VaultLookupErrorKind, VaultResult,
};
