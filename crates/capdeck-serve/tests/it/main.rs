//! The HTTP host from the outside: raw HTTP on a real port, real servers behind it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod access;
mod capsules;
mod card;
mod code_mode;
mod crowd;
mod dashboard;
mod deck_endpoint;
mod deck_features;
mod edges;
mod event_stream;
mod grants;
mod modern;
mod modern_client;
mod otlp;
mod principals;
mod rest;
mod security;
mod served;
mod sign_in;
mod silent_clients;
mod skills;
mod slow_clients;
mod status;
mod stop;
mod tasks;
mod transparent_endpoint;
mod views;
