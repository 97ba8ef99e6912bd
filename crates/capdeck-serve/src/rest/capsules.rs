//! Operations on capsules.

mod connections;
mod desk;
mod entries;
mod logs;
mod make;
mod schemes;
mod search;
mod shapes;
mod signals;
mod transfer;
mod versions;
mod whole;

pub(super) use self::{
    desk::shaped,
    shapes::{AuditLine, Capsule},
};
use super::operation::Operation;

pub(super) fn operations() -> Vec<Operation> {
    let parts = [
        whole::operations(),
        entries::operations(),
        search::operations(),
        versions::operations(),
        schemes::operations(),
        connections::operations(),
        signals::operations(),
        logs::operations(),
        transfer::operations(),
    ];
    parts.into_iter().flatten().collect()
}
