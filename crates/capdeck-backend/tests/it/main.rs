//! Backends through the public API: real processes, real loopback servers.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod cli;
mod cli_processes;
mod guardian;
mod support;
