//! The host from the outside: real files, real processes, real sockets, sessions as clients have them.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod approvals;
mod arguments;
mod artifacts;
mod audiences;
mod audit;
mod capability_file;
mod capsules;
mod chaos;
mod client;
mod client_eras;
mod code_mode;
mod deck;
mod described_sets;
mod direct;
mod discovery;
mod failures;
mod fields;
mod grants;
mod half_open;
mod health;
mod http_server;
mod interruptions;
mod lifecycle;
mod long_results;
mod odd_names;
mod on_demand;
mod pages;
mod pins;
mod policy;
mod process_turns;
mod processes;
mod progressive;
mod projects;
mod questions;
mod record;
mod reload;
mod retries;
mod runs;
mod search;
mod sets;
mod setup;
mod shapes;
mod strict_schemas;
mod surface;
mod tasks;
mod unoffered;
mod views;

mod starting;
