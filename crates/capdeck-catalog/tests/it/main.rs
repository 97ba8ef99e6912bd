//! Tests through the crate's public face.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod deck;
mod grants;
mod policy;
mod quality;
mod search;
mod tokens;
