//! Who may use what, as plain values: roles, scopes, parts of a capsule, terms of grants, and the [`Access`] that they
//! add up to. No I/O, nothing async, no other crate of this workspace.
//!
//! Start with [`Access`]: the registry compiles one per credential ([`Access::new`]), keeps it until something of it
//! changes, and every request is decided by it. [`GrantTarget`] is what a grant is about as it is stored,
//! [`DeckAccess`] the part of an access that decides which tools exist for its holder.

mod access;
mod capsule_key;
mod deck_access;
mod entry_uri;
mod grant;
mod name_pattern;
mod principal;
mod role;
mod scope;
mod uri_prefix;

pub use access::{Access, CapsuleAccess, CapsuleGrant, GrantTools};
pub use capsule_key::{
    CapsuleKeyText, capsule_id_of, capsule_key, is_capsule_key, missing_capsule_key,
};
pub use deck_access::DeckAccess;
pub use entry_uri::{EntryUri, UriError, UriProblem, check_scheme, is_device_name};
pub use grant::{DeckGrant, GrantTarget, InvalidTarget};
pub use name_pattern::NamePattern;
pub use principal::Principal;
pub use role::{OperatorRole, Role};
pub use scope::{OAuthScope, Scopes, UnknownScope};
pub use uri_prefix::{EntryScope, UriPrefix};
