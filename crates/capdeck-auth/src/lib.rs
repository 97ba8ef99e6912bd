//! Secrets, and how Capdeck signs in to others.
//!
//! Read [`Secret`] first, then [`resolve_value`] (references in a definition become values) and
//! [`Credentials`] (what is sent along with a request). [`SignIn`] is for the services a person signs in to.
//!
//! This crate never reads the process environment and knows nothing of capabilities. A resolved value is never
//! logged, and only [`TokenStore`] writes one down.

mod environment;
mod interpolate;
mod outbound;
mod scrub;
mod secret;

pub use environment::Environment;
pub use interpolate::{
    MissingReason, Reference, ResolveError, Resolved, ResolvedText, Substitution, Unresolved,
    has_reference, references, resolve_text, resolve_value,
};
pub use outbound::{
    AuthHeader, BuildClient, Credentials, GuardedClients, GuardedResolver, Names, OutOfReach,
    OutboundError, Reach, SystemNames, is_transport_header,
    oauth::{
        Begun, Challenge, Login, LoginKind, OAuthError, OAuthSettings, Refusal, SignIn,
        SignInState, SignInStatus, TokenStore,
    },
};
pub use scrub::{ScrubStream, Scrubber};
pub use secret::{Secret, is_secret_name};
