//! The wire over real transports: our client against our server, and each against peers that misbehave.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod both_halves;
mod chaos;
mod http_credentials;
mod legacy_sse;
mod modern_bounds;
mod modern_http;
mod modern_programs;
mod modern_questions;
mod modern_stdio;
mod odd_http_servers;
mod odd_modern_servers;
mod odd_stdio_servers;
mod server_http;
mod server_stdio;
mod support;
