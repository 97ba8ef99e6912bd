//! The crate through its public face: files in, definitions and diagnostics out.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests fail by panicking and say when they are skipped"
)]

mod capability_file;
mod client_block;
mod cmp;
mod cmp_export;
mod cmp_matcher;
mod cmp_phrases;
mod definitions;
mod examples;
mod fixtures;
mod folder;
mod hostile;
mod inert;
#[cfg(unix)]
mod links;
mod many_entries;
mod merge;
mod never_panics;
mod parsing;
mod policy;
mod project;
mod rendered;
mod schema_agreement;

mod sets;
