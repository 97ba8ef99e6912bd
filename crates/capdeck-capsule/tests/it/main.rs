//! Capsules as a host uses them: over real files, several callers at once.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod addresses;
mod bad_input;
mod blobs;
mod concurrency;
mod crash;
mod damage;
mod filter;
mod import;
mod messages;
mod records;
mod search;
mod session;
mod stage;
mod storage;
mod transfer;
mod trust;
