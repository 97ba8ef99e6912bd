//! The wrapper tool of a capability: one tool, an `operation`, and everything behind it.
//!
//! Operations, fields and answer shapes are the ones existing Caplets clients know.

mod answer;
mod operation;
mod page;
mod run;
mod schema;

pub(crate) use schema::wrapper_tool;
