//! Sign-ins against a real authorization server on loopback.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod aborts;
mod renewal;
mod sign_in;
mod step_up;
mod support;
mod vault;
mod vault_keys;
