//! Fuzzing of every parser that takes bytes from outside: changed seeds go in, broken promises come out.
//!
//! Read [`FuzzTarget`] first, then [`run`]. A target hands one input to the product's own entry point and panics when
//! what comes back breaks a promise. Inputs are made from seeds by `InputMutator`; an input that leads to an outcome
//! not seen before becomes a seed itself. The same target, random seed and number of executions give the same inputs.
//!
//! This crate ships nothing. `cargo run -p capdeck-fuzz -- --help` says how to use the program; the tests run every target
//! for a fixed number of executions.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test program: a broken promise is a panic"
)]

mod json_mutation;
mod mutator;
mod panic_watch;
mod random;
mod report;
mod runner;
mod seeds;
mod shrink;
mod stuck_watch;
mod target;
mod targets;
mod usage;

pub use random::RandomSource;
pub use report::{FuzzFinding, FuzzReport};
pub use runner::{FuzzSettings, RunLimit, replay, run};
pub use target::{FuzzTarget, TargetInfo};
pub use targets::TARGETS;
