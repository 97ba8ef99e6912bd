//! Sign-ins against a real authorization server on loopback, the vault, and the registry.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod aborts;
mod device;
mod identity;
mod inbound_clients;
mod inbound_crash;
mod inbound_enrollment;
mod inbound_grants;
mod inbound_oauth;
mod inbound_operators;
mod inbound_policy;
mod inbound_self_approval;
mod inbound_storage;
mod inbound_support;
mod issuers;
mod provider_sign_in;
mod renewal;
mod sign_in;
mod sign_out;
mod step_up;
mod support;
mod vault;
mod vault_keyring;
mod vault_keys;
