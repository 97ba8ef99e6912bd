//! Backends through the public API: real processes, real loopback servers.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

mod cli;
mod cli_processes;
mod connect;
mod google;
mod google_server;
mod google_uploads;
mod guardian;
mod http;
mod http_limits;
mod mcp;
mod mcp_faults;
mod mcp_http;
mod mcp_modern;
mod openapi;
mod openapi_bodies;
mod openapi_documents;
mod people;
mod secrets;
mod setup;
mod support;
