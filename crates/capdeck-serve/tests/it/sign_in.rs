//! Clients and people are let in over HTTP: OAuth, operators, enrollments, limits.

pub(crate) mod browser;
mod documents;
mod elsewhere;
mod enrollments;
mod flow;
mod limits;
mod operators;
mod provider;
mod refusals;
mod self_approval;
mod tokens;

pub(crate) use provider::Provider;
