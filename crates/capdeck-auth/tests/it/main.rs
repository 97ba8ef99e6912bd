//! Sign-ins against a real authorization server on loopback.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod aborts;
mod device;
mod identity;
mod issuers;
mod renewal;
mod sign_in;
mod sign_out;
mod step_up;
mod support;
mod vault;
mod vault_keyring;
mod vault_keys;
