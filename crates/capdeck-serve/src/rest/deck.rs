//! Operations on the deck: capabilities, tools, calls, approvals, pins and runs.

mod approvals;
mod capabilities;
mod runs;
mod tools;

pub(super) use self::{approvals::waiting_pins, capabilities::count_tokens};
use super::RestOperation;

pub(super) fn operations() -> Vec<RestOperation> {
    let parts = [
        capabilities::operations(),
        tools::operations(),
        capabilities::health_operations(),
        approvals::operations(),
        runs::operations(),
    ];
    parts.into_iter().flatten().collect()
}
