//! Operations on the registry: access requests, grants, operators, policy and audit.

mod access_requests;
mod audit;
mod clients;
mod enrollments;
mod grants;
mod library;
mod operators;
mod policy;
mod profiles;
mod settings;
mod shapes;

use super::operation::RestOperation;

pub(super) fn operations() -> Vec<RestOperation> {
    let parts = [
        library::operations(),
        access_requests::operations(),
        enrollments::operations(),
        grants::operations(),
        policy::operations(),
        profiles::operations(),
        operators::operations(),
        clients::operations(),
        audit::operations(),
        settings::operations(),
    ];
    parts.into_iter().flatten().collect()
}
