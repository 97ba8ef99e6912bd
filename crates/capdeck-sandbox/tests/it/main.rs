//! The sandbox from outside, with real worker processes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod attacks;
mod cells;
mod pool;
mod repeat;
mod support;
mod type_check;
