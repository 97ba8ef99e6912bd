//! Operations on capsules.

mod asking;
mod connections;
mod create;
mod entries;
mod lifecycle;
mod logs;
mod schemes;
mod search;
mod shapes;
mod signals;
mod transfer;
mod versions;

pub(super) use self::shapes::CapsuleItem;
use super::operation::RestOperation;

pub(super) fn operations() -> Vec<RestOperation> {
    let parts = [
        lifecycle::operations(),
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
