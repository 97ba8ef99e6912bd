//! Capsules over HTTP: the endpoint of one, and what the token of a share opens.

mod bad_requests;
mod changes;
mod endpoint;
mod filter;
mod shares;
mod stage;
mod trust;
