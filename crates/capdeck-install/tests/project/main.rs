//! Installing as a function from a folder to a folder.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod cleaning;
mod fixture;
mod golden;
mod refusals;
mod repositories;
