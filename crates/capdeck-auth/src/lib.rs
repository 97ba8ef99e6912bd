//! Secrets, and how Capdeck signs in to others.
//!
//! Read [`Secret`] first, then [`resolve_value`] (references in a definition become values) and
//! [`Credentials`] (what is sent along with a request).
//!
//! This crate never reads the process environment, never opens a socket and knows nothing of
//! capabilities. A resolved value is never logged and never serialised as itself.

mod environment;
mod interpolate;
mod outbound;
mod scrub;
mod secret;

pub use environment::Environment;
pub use interpolate::{
    MissingReason, ResolveError, Resolved, ResolvedText, Substitution, Unresolved, has_reference,
    resolve_text, resolve_value,
};
pub use outbound::{AuthHeader, Credentials, LoginKind, OutboundError, is_transport_header};
pub use scrub::{ScrubStream, Scrubber};
pub use secret::{Secret, is_secret_name};
