//! Operations on the deck: capabilities, tools, calls, approvals, pins and runs.

mod approvals;
mod artifacts;
mod budget;
mod calls;
mod capabilities;
mod health;
mod pins;
mod runs;
mod session;
mod tools;

pub(super) use self::{budget::count as count_tokens, pins::waiting_pins};
use super::operation::RestOperation;

pub(super) fn operations() -> Vec<RestOperation> {
    let parts = [
        capabilities::operations(),
        tools::operations(),
        calls::operations(),
        budget::operations(),
        health::operations(),
        approvals::operations(),
        pins::operations(),
        runs::operations(),
        artifacts::operations(),
    ];
    parts.into_iter().flatten().collect()
}
