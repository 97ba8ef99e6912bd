//! Backends through the public API: real processes, real loopback servers.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

mod cli;
mod cli_processes;
mod connect;
mod described_documents;
mod described_refusals;
mod google;
mod google_server;
mod google_uploads;
mod graphql;
mod guardian;
mod http;
mod http_limits;
mod http_network;
mod http_rebinding;
mod http_retries;
mod http_turns;
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
