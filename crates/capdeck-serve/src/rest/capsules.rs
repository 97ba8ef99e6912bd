//! Operations on capsules.

mod asking;
mod connections;
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

pub(super) use self::shapes::Capsule;
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
