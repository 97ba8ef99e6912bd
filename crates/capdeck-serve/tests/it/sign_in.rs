//! Clients and people are let in over HTTP: OAuth, operators, enrollments, limits.

pub(crate) mod browser;
mod documents;
mod enrollments;
mod flow;
mod limits;
mod operators;
mod refusals;
mod tokens;
